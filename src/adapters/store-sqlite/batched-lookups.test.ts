import { expect, test } from 'vitest'
import { StoreError } from '../../ports/store.ts'
import { answerAll, gatherLookUps } from './batched-lookups.ts'

test('look-ups of one tick go together, in bounded messages, and each has its own result', async () => {
  const sizes: number[] = []
  const ask = gatherLookUps(async (all) => {
    sizes.push(all.length)
    return answerAll(all, ([number]) => {
      if (number === 7) throw new StoreError('invalid_cursor', 'seven')
      return Number(number) * 2
    })
  })
  const answers = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => ask([index])))
  expect(sizes).toEqual([16, 4])
  expect(answers[19]).toEqual({ status: 'fulfilled', value: 38 })
  expect(answers.filter(({ status }) => status === 'rejected')).toMatchObject([
    { reason: { code: 'invalid_cursor' } },
  ])
  await expect(ask([21])).resolves.toBe(42)
})

test('a thread that ends rejects all pending look-ups', async () => {
  const ask = gatherLookUps(() => Promise.reject(new StoreError('unavailable', 'gone')))
  const answers = await Promise.allSettled([ask([1]), ask([2])])
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})
