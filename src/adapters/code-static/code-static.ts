// Functions that are part of the process, as one bundle. Its hash covers their names and texts, so that a job pinned to
// an earlier text is not run by a later one. The hash does not cover what a function closes over: keep state out of
// them. They share their input with the other jobs of the event and must not change it.

import { createHash } from 'node:crypto'
import {
  failedFunction,
  isOpenTo,
  outcomeOfError,
  outcomeOfValue,
} from '../../core/effects/function/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import type { Code, FunctionContext } from '../../ports/code.ts'

export type StaticFunction = (input: JsonValue, context: FunctionContext) => unknown

export function makeStaticCode(functions: Readonly<Record<string, StaticFunction>>): Code {
  const byName = new Map(Object.entries(functions))
  const hash = hashOf(byName)
  return {
    hashes: () => [hash],
    has: (codeHash) => codeHash === hash,
    prepare: async (codeHash) => codeHash === hash,
    // They belong to the node's own tenant and are open to no other.
    find: (name, tenant) => (byName.has(name) && isOpenTo(undefined, tenant) ? hash : null),
    isOpen: (_codeHash, _name, tenant) => isOpenTo(undefined, tenant),
    run: (codeHash, name, input, context) => {
      const run = codeHash === hash ? byName.get(name) : undefined
      if (run === undefined) return failedFunction('threw', `no function ${name} in bundle ${codeHash}`)
      try {
        const value = run(input, context)
        return isThenable(value)
          ? Promise.resolve(value).then(outcomeOfValue, outcomeOfError)
          : outcomeOfValue(value)
      } catch (error) {
        return outcomeOfError(error)
      }
    },
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}

function hashOf(byName: ReadonlyMap<string, StaticFunction>): string {
  const hash = createHash('sha256')
  for (const name of [...byName.keys()].sort()) hash.update(JSON.stringify([name, String(byName.get(name))]))
  return hash.digest('hex')
}
