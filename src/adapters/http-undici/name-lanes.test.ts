import { expect, test } from 'vitest'
import { makeLanes } from './name-lanes.ts'
import type { Resolve } from './names.ts'

const HERE = [{ address: '203.0.113.7', family: 4 }]

/** Names that end with `.silent` do not resolve until `release`; the others resolve at once. */
function makeOutside() {
  const asked: string[] = []
  const held: (() => void)[] = []
  let now = 0
  const resolve: Resolve = (hostname) => {
    asked.push(hostname)
    if (!hostname.endsWith('.silent')) return Promise.resolve(HERE)
    return new Promise((_resolve, reject) =>
      held.push(() => {
        now += 10_000
        reject(new Error('EAI_AGAIN'))
      }),
    )
  }
  const canary = (hostname: string) =>
    hostname.endsWith('.silent') ? Promise.reject(new Error('ETIMEOUT')) : Promise.resolve()
  const release = () => {
    for (const one of held.splice(0)) one()
  }
  const look = makeLanes(resolve, canary, () => now)
  return { look, asked, release, held }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('[OG15] a hundred names with silent servers delay no others', async () => {
  const { look, asked, held, release } = makeOutside()
  const silent = Array.from({ length: 100 }, (_, index) => look(`n${index}.silent`).catch(() => 'failed'))
  await turn()
  expect(held.length).toBe(1)
  for (let round = 0; round < 3; round += 1) {
    const others = Array.from({ length: 20 }, (_, index) => look(`n${index}.example`))
    expect(await Promise.all(others)).toEqual(others.map(() => HERE))
  }
  expect(asked.filter((name) => name.endsWith('.silent'))).toEqual(['n0.silent'])
  // They get the lane one by one, and fail.
  for (let index = 0; index < silent.length; index += 1) {
    release()
    await turn()
  }
  expect(await Promise.all(silent)).toEqual(silent.map(() => 'failed'))
})

test('[OG15] a name is looked up once, however many callers wait for it', async () => {
  const { look, asked } = makeOutside()
  await Promise.all([look('one.example'), look('one.example'), look('one.example')])
  await look('one.example')
  expect(asked).toEqual(['one.example', 'one.example'])
})

test('[OG15] a name that stops resolving loses its standing, and gets it back', async () => {
  let isSilent = false
  const lanes: string[] = []
  const look = makeLanes(
    (hostname) => (isSilent ? Promise.reject(new Error(hostname)) : Promise.resolve(HERE)),
    (hostname) => {
      lanes.push(hostname)
      return Promise.resolve()
    },
  )
  await look('a.example')
  await look('a.example')
  expect(lanes).toEqual(['a.example'])
  isSilent = true
  await expect(look('a.example')).rejects.toThrow('a.example')
  isSilent = false
  await look('a.example')
  await look('a.example')
  expect(lanes).toEqual(['a.example', 'a.example'])
})

test('[OG15] one thread stays free, whatever is looked up', async () => {
  let most = 0
  let running = 0
  const look = makeLanes(
    async () => {
      running += 1
      most = Math.max(most, running)
      await turn()
      running -= 1
      return HERE
    },
    () => Promise.resolve(),
  )
  for (let round = 0; round < 2; round += 1)
    await Promise.all(Array.from({ length: 50 }, (_, index) => look(`n${index}.example`)))
  expect(most).toBe(3)
})

test('[OG15] good names that fall silent together delay the others until the first is seen to be slow', async () => {
  const due: (() => void)[] = []
  let isDown = false
  const held: string[] = []
  const look = makeLanes(
    (hostname) => {
      if (!isDown || !hostname.endsWith('.dead')) return Promise.resolve(HERE)
      held.push(hostname)
      return new Promise(() => {})
    },
    (hostname) =>
      isDown && hostname.endsWith('.dead') ? Promise.reject(new Error('ETIMEOUT')) : Promise.resolve(),
    () => 0,
    (_ms, callback) => {
      due.push(callback)
      return () => due.splice(due.indexOf(callback), 1)
    },
  )
  for (let index = 0; index < 40; index += 1) await look(`n${index}.dead`)
  await look('well.example')
  isDown = true
  for (let index = 0; index < 40; index += 1) void look(`n${index}.dead`)
  const well = look('well.example')
  await turn()
  // They hold three of four threads, and the others wait behind them for a second.
  expect(held.length).toBe(3)
  for (const callback of due.splice(0)) callback()
  expect(await well).toEqual(HERE)
  expect(await look('another.example')).toEqual(HERE)
  expect(held.length).toBe(3)
})

test('[OG15] a standing lasts for some seconds', async () => {
  let now = 0
  const asked: string[] = []
  const look = makeLanes(
    () => Promise.resolve(HERE),
    (hostname) => {
      asked.push(hostname)
      return Promise.resolve()
    },
    () => now,
  )
  await look('a.example')
  now = 4_999
  await look('a.example')
  expect(asked).toEqual(['a.example'])
  now = 9_999
  await look('a.example')
  expect(asked).toEqual(['a.example', 'a.example'])
})
