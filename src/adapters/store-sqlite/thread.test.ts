// What a thread does between calls. The calls themselves are tested through the stores.

import { once } from 'node:events'
import { MessageChannel } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { serve } from './thread.ts'

test('what can wait runs between calls until there is no more, again after a call, and not after the end', async () => {
  const { port1: caller, port2: port } = new MessageChannel()
  const seen: string[] = []
  let left = 0
  serve(port, () => ({
    calls: {
      add: (count: number) => {
        left += count
        seen.push(`add ${count}`)
      },
    },
    whileIdle() {
      seen.push('idle')
      if (left > 0) left -= 1
      return left > 0
    },
    close: () => void seen.push('close'),
  }))
  const ask = async (number: number, name: string, argument: unknown) => {
    caller.postMessage([number, name, argument])
    const [[answered]] = await once(caller, 'message')
    expect(answered).toBe(number)
  }
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }
  try {
    await once(caller, 'message')
    await turns(5)
    expect(seen).toEqual(['idle'])
    await ask(1, 'add', 3)
    await turns(5)
    expect(seen).toEqual(['idle', 'add 3', 'idle', 'idle', 'idle'])
    await ask(2, 'add', 2)
    await ask(3, 'close', null)
    const end = seen.length
    await turns(5)
    expect(seen).toHaveLength(end)
    expect(seen.at(-1)).toBe('close')
  } finally {
    caller.close()
  }
})
