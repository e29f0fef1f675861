import { expect, test } from 'vitest'
import { makeTurns } from './tenant-serializer.ts'

function hand() {
  let give = () => {}
  const promise = new Promise<void>((resolve) => {
    give = resolve
  })
  return { promise, give }
}

test('[AC19] one at a time for each tenant, in order, and a failure is its own', async () => {
  const turns = makeTurns(2)
  const said: string[] = []
  const first = hand()
  const work = (name: string, wait?: Promise<void>) => async () => {
    said.push(name)
    await wait
    if (name === 'bad') throw new Error('bad')
    return name
  }
  const one = turns.take('a', work('one', first.promise))
  const bad = turns.take('a', work('bad'))
  const two = turns.take('a', work('two'))
  expect(await turns.take('b', work('other'))).toBe('other')
  expect(said).toEqual(['one', 'other'])
  await expect(turns.take('a', work('more'))).rejects.toMatchObject({ code: 'limited' })
  first.give()
  expect(await one).toBe('one')
  await expect(bad).rejects.toThrow('bad')
  expect(await two).toBe('two')
  expect(await turns.take('a', work('again'))).toBe('again')
  expect(said).toEqual(['one', 'other', 'bad', 'two', 'again'])
})
