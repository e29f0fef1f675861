// The functions of a definitions folder as flow tests run them: offline, and counted, so that time stands still while one of them runs.

import { type BundleCode, makeBundleCode } from '../../adapters/code-bundle/index.ts'
import { makeMemoryStore } from '../../adapters/store-memory/index.ts'
import type { CodeFolder } from '../../core/effects/function/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import type { Code } from '../../ports/code.ts'
import * as sdk from '../../sdk/index.ts'
import { withVendors } from './network-guard.ts'
import type { ScriptedVendors } from './scripted-vendors.ts'

/** A function that waits for something else than an answer may keep its test waiting for so long. */
const PATIENCE_MS = 5_000

export function makeTestCode(): BundleCode {
  return makeBundleCode({ sdk, copies: null })
}

/** Stores the code of a folder, for all tests of it. */
export async function keepTestCode(code: BundleCode, folder: CodeFolder): Promise<void> {
  const store = makeMemoryStore({ now: () => Date.now(), defer: (callback) => void setImmediate(callback) })
  await code.open({ store, tenant: DEFAULT_TENANT })
  await code.keep(folder)
}

export interface RunningCode extends Code {
  /** Resolves when no promise is left that settles without virtual time, or when the engine has something deferred. */
  settle(isDeferred: () => boolean): Promise<void>
}

/** `now`: the time that functions see. */
export function watchCode(code: Code, vendors: () => ScriptedVendors, now: () => number): RunningCode {
  let running = 0
  const isBusy = () => running > vendors().slowFetches()
  return {
    ...code,
    run(codeHash, name, input, context) {
      const outcome = withVendors({ fetch: vendors().fetch, now }, () =>
        code.run(codeHash, name, input, context),
      )
      if (!(outcome instanceof Promise)) return outcome
      running += 1
      return outcome.finally(() => {
        running -= 1
      })
    },
    async settle(isDeferred) {
      await tick()
      if (!isBusy() || isDeferred()) return
      const since = performance.now()
      const isPatient = () => performance.now() - since < PATIENCE_MS && vendors().unanswered().length === 0
      while (isBusy() && !isDeferred() && isPatient()) await turn()
      await tick()
    },
  }
}

/**
 * Resolves when no promise is left to settle. Enough for the engine over a memory store, which waits for nothing real, and a quarter of
 * the cost of a turn: an hour of a test's time is thousands of timers.
 */
async function tick(): Promise<void> {
  // From a promise: a tick that is set by anything else comes before the promises.
  await null
  await new Promise<void>((resolve) => {
    process.nextTick(resolve)
  })
}

/** One turn of the real loop, in which functions get what they wait for. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
