import { expect, test } from 'vitest'
import { makeTenantSerializer } from './tenant-serializer.ts'

function hand() {
  let give = () => {}
  const promise = new Promise<void>((resolve) => {
    give = resolve
  })
  return { promise, give }
}

test('[AC19] one at a time for each tenant, in order, and a failure is its own', async () => {
  const serializer = makeTenantSerializer(2)
  const said: string[] = []
  const first = hand()
  const work = (name: string, wait?: Promise<void>) => async () => {
    said.push(name)
    await wait
    if (name === 'bad') throw new Error('bad')
    return name
  }
  const one = serializer.take('a', work('one', first.promise))
  const bad = serializer.take('a', work('bad'))
  const two = serializer.take('a', work('two'))
  expect(await serializer.take('b', work('other'))).toBe('other')
  expect(said).toEqual(['one', 'other'])
  await expect(serializer.take('a', work('more'))).rejects.toMatchObject({ code: 'limited' })
  first.give()
  expect(await one).toBe('one')
  await expect(bad).rejects.toThrow('bad')
  expect(await two).toBe('two')
  expect(await serializer.take('a', work('again'))).toBe('again')
  expect(said).toEqual(['one', 'other', 'bad', 'two', 'again'])
})
