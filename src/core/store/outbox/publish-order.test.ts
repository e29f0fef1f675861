import fc from 'fast-check'
import { expect, test } from 'vitest'
import { publishInOrder, type Sent } from './index.ts'

test('[BU1] the last message of a subject is its last value, however often the bus fails in between', async () => {
  const message = fc.record({ subject: fc.constantFrom('a', 'b', 'c'), isTooLarge: fc.boolean() })
  const fates = fc.infiniteStream(fc.constantFrom('taken', 'lost', 'unanswered'))
  await fc.assert(
    fc.asyncProperty(fc.array(message, { maxLength: 20 }), fates, async (list, fate) => {
      const messages = list.map((one, index) => ({ ...one, index }))
      const held = new Map<string, number>()
      let waiting = messages
      for (let round = 0; waiting.length > 0 && round < 500; round += 1) {
        const answers = await publishInOrder(waiting, async ({ subject, index, isTooLarge }) => {
          if (isTooLarge) return 'refused'
          const is = fate.next().value
          if (is !== 'lost') held.set(subject, index)
          return is === 'taken' ? 'taken' : 'unknown'
        })
        waiting = waiting.filter((_, index) => answers[index] === 'unknown')
      }
      for (const subject of ['a', 'b', 'c']) {
        const fit = messages.filter((one) => one.subject === subject && !one.isTooLarge)
        expect(held.get(subject)).toBe(fit.at(-1)?.index)
      }
    }),
  )
})

test('[BU1] subjects do not wait for each other', async () => {
  const begun: string[] = []
  const answers = publishInOrder([{ subject: 'a' }, { subject: 'a' }, { subject: 'b' }], ({ subject }) => {
    begun.push(subject)
    return subject === 'a' ? new Promise<Sent>(() => {}) : Promise.resolve('taken')
  })
  expect(begun).toEqual(['a', 'b'])
  expect(answers).toBeInstanceOf(Promise)
})
