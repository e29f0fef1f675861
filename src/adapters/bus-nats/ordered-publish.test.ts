import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type LinkAnswer, publishChained } from './ordered-publish.ts'

/**
 * A stream as the server stores it: it ignores ids that it has, and refuses a message that names a last id other than
 * its own.
 */
function makeStream(before: readonly string[]) {
  const held = [...before]
  const put = (id: string, after: string | null): LinkAnswer => {
    if (held.includes(id)) return { sent: 'taken', isDuplicate: true }
    if (after !== null && held.at(-1) !== after) return { sent: 'broken', isDuplicate: false }
    held.push(id)
    return { sent: 'taken', isDuplicate: false }
  }
  return { held, put }
}

test('[BU1] whatever is lost on the way, a chain leaves no gap and reports nothing as stored that is not', async () => {
  const fate = fc.constantFrom('well', 'well', 'well', 'lost', 'unanswered')
  const property = fc.asyncProperty(
    fc.array(fate, { maxLength: 12 }),
    fc.integer({ min: 0, max: 3 }),
    async (fates, there) => {
      const ids = fates.map((_, index) => `${index}`)
      const { held, put } = makeStream(ids.slice(0, there))
      const answers = await publishChained(
        ids.map((id) => ({ id })),
        async ({ id }, after) => {
          if (fates[Number(id)] === 'lost') return { sent: 'unknown', isDuplicate: false }
          const answer = put(id, after)
          return fates[Number(id)] === 'unanswered' ? { sent: 'unknown', isDuplicate: false } : answer
        },
      )
      expect(held).toEqual(ids.slice(0, held.length))
      for (const [index, answer] of answers.entries()) {
        if (answer === 'taken') expect(held).toContain(ids[index])
        if (answer === 'broken') expect(held).not.toContain(ids[index])
      }
    },
  )
  await fc.assert(property, { numRuns: 500 })
})

test('[BU1] a lost response is inferred from the response to the next message', async () => {
  const answers: LinkAnswer[] = [
    { sent: 'taken', isDuplicate: false },
    { sent: 'unknown', isDuplicate: false },
    { sent: 'unknown', isDuplicate: false },
    { sent: 'taken', isDuplicate: false },
    { sent: 'unknown', isDuplicate: false },
  ]
  const messages = answers.map((answer, index) => ({ id: `${index}`, answer }))
  expect(await publishChained(messages, async ({ answer }) => answer)).toEqual([
    'taken',
    'taken',
    'taken',
    'taken',
    'unknown',
  ])
})
