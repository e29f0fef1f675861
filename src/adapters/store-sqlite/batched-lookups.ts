// Sends the look-ups of one tick to their thread in one message: a message costs more than a look-up.
//
// Each has its own result or error. A message has a bounded number, so that none waits behind many.

import { toStoreError } from './errors.ts'
import { type PackedError, packError, unpackError } from './protocol.ts'

/** The value, or the error as the second element. */
export type Answer = readonly [value: unknown, error?: PackedError]

interface Asked {
  readonly args: readonly unknown[]
  resolve(value: unknown): void
  reject(error: unknown): void
}

const TOGETHER_MAX = 16

export function gatherLookUps(
  send: (all: readonly (readonly unknown[])[]) => Promise<readonly Answer[]>,
): (args: readonly unknown[]) => Promise<unknown> {
  let waiting: Asked[] = []
  const flush = () => {
    const all = waiting
    waiting = []
    for (let at = 0; at < all.length; at += TOGETHER_MAX) void ask(all.slice(at, at + TOGETHER_MAX))
  }
  const ask = async (some: readonly Asked[]) => {
    try {
      const answers = await send(some.map(({ args }) => args))
      for (const [index, { resolve, reject }] of some.entries()) {
        const [value, error] = answers[index] as Answer
        if (error === undefined) resolve(value)
        else reject(unpackError(error))
      }
    } catch (error) {
      for (const { reject } of some) reject(error)
    }
  }
  return (args) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) queueMicrotask(flush)
      waiting.push({ args, resolve, reject })
    })
}

/** The thread's side. */
export function answerAll<Args>(all: readonly Args[], answer: (args: Args) => unknown): readonly Answer[] {
  return all.map((args): Answer => {
    try {
      return [answer(args)]
    } catch (error) {
      return [undefined, packError(toStoreError(error, 'no'))]
    }
  })
}
