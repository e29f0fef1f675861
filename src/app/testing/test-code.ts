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
  /** Resolves when no promise is left that settles without virtual time. */
  settle(): Promise<void>
}

export function watchCode(code: Code, vendors: () => ScriptedVendors): RunningCode {
  let running = 0
  const isBusy = () => running > vendors().slowFetches()
  return {
    ...code,
    run(codeHash, name, input, context) {
      const outcome = withVendors(vendors(), () => code.run(codeHash, name, input, context))
      if (!(outcome instanceof Promise)) return outcome
      running += 1
      return outcome.finally(() => {
        running -= 1
      })
    },
    async settle() {
      await turn()
      if (!isBusy()) return
      const since = performance.now()
      while (isBusy() && performance.now() - since < PATIENCE_MS && vendors().unanswered().length === 0)
        await turn()
      await turn()
    },
  }
}

/** One turn of the real loop runs every promise that is settled. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
