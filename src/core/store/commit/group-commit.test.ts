import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type GatherOptions, makeGatherer } from './index.ts'

interface Commit {
  readonly name: number
  readonly keys: readonly string[]
  readonly weight?: number
}

interface Group {
  readonly commits: readonly Commit[]
  answer(): void
  fail(error: Error): void
}

/** A gatherer whose deferred calls and runs wait for the test. */
function makeBench(
  options: Pick<GatherOptions<Commit, string>, 'groupMax' | 'inFlightMax'>,
  hasKeys = false,
) {
  const deferred: (() => void)[] = []
  const underWay: Group[] = []
  const started: (readonly Commit[])[] = []
  const answers = new Map<number, string>()
  let onStart: (commits: readonly Commit[]) => void = () => {}
  const gatherer = makeGatherer<Commit, string>({
    ...options,
    defer: (callback) => deferred.push(callback),
    ...(hasKeys ? { touches: (commit: Commit) => commit.keys } : {}),
    run: (commits) =>
      new Promise((resolve, reject) => {
        onStart(commits)
        started.push(commits)
        const leave = () => void underWay.splice(underWay.indexOf(group), 1)
        const group: Group = {
          commits,
          answer() {
            leave()
            resolve(commits.map(({ name }) => `done ${name}`))
          },
          fail(error) {
            leave()
            reject(error)
          },
        }
        underWay.push(group)
      }),
  })
  return {
    gatherer,
    deferred,
    underWay,
    answers,
    names: () => started.map((commits) => commits.map(({ name }) => name)),
    watchStarts(watch: (commits: readonly Commit[]) => void) {
      onStart = watch
    },
    add(name: number, ...keys: readonly string[]) {
      gatherer.add({ name, keys }).then(
        (result) => answers.set(name, result),
        (error: Error) => answers.set(name, error.message),
      )
    },
    runDeferred() {
      for (const callback of deferred.splice(0)) callback()
    },
    settle: () => new Promise<void>((resolve) => setImmediate(resolve)),
  }
}

describe('gathering', () => {
  test('[G4] commits wait for the deferred call and share a group', () => {
    const bench = makeBench({})
    for (const name of [1, 2, 3]) bench.add(name)
    expect(bench.deferred).toHaveLength(1)
    expect(bench.names()).toEqual([])
    bench.runDeferred()
    bench.add(4)
    expect(bench.names()).toEqual([[1, 2, 3]])
    bench.runDeferred()
    expect(bench.names()).toEqual([[1, 2, 3], [4]])
  })

  test('[G2] by default groups have at most 24 commits, and two are under way', async () => {
    const bench = makeBench({})
    for (let name = 0; name < 100; name += 1) bench.add(name)
    bench.runDeferred()
    expect(bench.underWay.map(({ commits }) => commits.length)).toEqual([24, 24])
    while (bench.underWay.length > 0) {
      bench.underWay[0]?.answer()
      await bench.settle()
    }
    expect(bench.names().map((group) => group.length)).toEqual([24, 24, 24, 24, 4])
    expect(bench.names().flat()).toEqual(Array.from({ length: 100 }, (_, name) => name))
  })

  test('[G3] a commit that failed by itself is rejected with its error; the others of its group are not', async () => {
    const error = new Error('broken')
    const gatherer = makeGatherer<string, string, { readonly error: unknown }>({
      defer: (callback) => void setImmediate(callback),
      run: async (commits) => commits.map((name) => (name === 'b' ? { error } : `done ${name}`)),
      isFailure: (result) => typeof result !== 'string',
    })
    const added = ['a', 'b', 'c'].map((name) => gatherer.add(name))
    expect(await Promise.allSettled(added)).toEqual([
      { status: 'fulfilled', value: 'done a' },
      { status: 'rejected', reason: error },
      { status: 'fulfilled', value: 'done c' },
    ])
    await gatherer.idle()
  })

  test('[G1] commits that arrive while all groups are under way leave next, together', async () => {
    const bench = makeBench({ inFlightMax: 1 })
    bench.add(1)
    bench.runDeferred()
    for (const name of [2, 3]) bench.add(name)
    bench.runDeferred()
    bench.add(4)
    expect(bench.names()).toEqual([[1]])
    bench.underWay[0]?.answer()
    await bench.settle()
    expect(bench.names()).toEqual([[1], [2, 3, 4]])
  })

  test('[G1] a commit waits for its keys, later ones on the same keys wait with it, others pass', async () => {
    const bench = makeBench({ inFlightMax: 2 }, true)
    bench.add(1, 'a')
    bench.runDeferred()
    bench.add(2, 'a', 'b')
    bench.add(3, 'b')
    bench.add(4, 'c')
    bench.runDeferred()
    expect(bench.names()).toEqual([[1], [4]])
    bench.underWay[0]?.answer()
    await bench.settle()
    expect(bench.names()).toEqual([[1], [4], [2]])
    for (const group of [...bench.underWay]) group.answer()
    await bench.settle()
    expect(bench.names()).toEqual([[1], [4], [2], [3]])
  })

  test('[G5] one key twice in a tick makes two groups, one after the other', async () => {
    const bench = makeBench({}, true)
    bench.add(1, 'a')
    bench.add(2, 'a')
    bench.add(3)
    bench.runDeferred()
    expect(bench.names()).toEqual([[1, 3]])
    bench.underWay[0]?.fail(new Error('disk full'))
    await bench.settle()
    expect(bench.names()).toEqual([[1, 3], [2]])
  })

  test.each([true, false])(
    '[G7] a group is bounded in weight, and a heavier commit leaves by itself (with keys: %s)',
    async (hasKeys) => {
      const started: (readonly number[])[] = []
      const gatherer = makeGatherer<Commit, string>({
        inFlightMax: 1,
        weightMax: 10,
        weigh: ({ weight = 0 }) => weight,
        ...(hasKeys ? { touches: ({ keys }: Commit) => keys } : {}),
        defer: (callback) => void setImmediate(callback),
        run: async (commits) => {
          started.push(commits.map(({ name }) => name))
          return commits.map(({ name }) => `done ${name}`)
        },
      })
      const weights = [4, 6, 1, 25, 3, 7, 0]
      const added = weights.map((weight, name) => gatherer.add({ name, keys: [], weight }))
      expect(await Promise.all(added)).toEqual(weights.map((_, name) => `done ${name}`))
      expect(started).toEqual([[0, 1], [2], [3], [4, 5, 6]])
    },
  )

  test('[G3] each has its own result, and none before the run', async () => {
    const bench = makeBench({ groupMax: 2 })
    for (const name of [1, 2, 3]) bench.add(name)
    bench.runDeferred()
    await bench.settle()
    expect([...bench.answers]).toEqual([])
    bench.underWay[1]?.answer()
    await bench.settle()
    expect([...bench.answers]).toEqual([[3, 'done 3']])
    bench.underWay[0]?.answer()
    await bench.settle()
    expect([...bench.answers]).toEqual([
      [3, 'done 3'],
      [1, 'done 1'],
      [2, 'done 2'],
    ])
  })

  test('[G3] the error of a run reaches only its members', async () => {
    const bench = makeBench({ groupMax: 2 })
    for (const name of [1, 2, 3]) bench.add(name)
    bench.runDeferred()
    bench.underWay[0]?.fail(new Error('disk full'))
    await bench.settle()
    expect([...bench.answers]).toEqual([
      [1, 'disk full'],
      [2, 'disk full'],
    ])
    bench.add(4)
    bench.runDeferred()
    for (const group of [...bench.underWay]) group.answer()
    await bench.settle()
    expect(bench.answers.get(3)).toBe('done 3')
    expect(bench.answers.get(4)).toBe('done 4')
  })

  test('[G6] idle immediately when nothing is pending, otherwise after the last result', async () => {
    const bench = makeBench({ groupMax: 1, inFlightMax: 1 })
    await bench.gatherer.idle()
    bench.add(1)
    bench.add(2)
    let isIdle = false
    const idle = bench.gatherer.idle().then(() => {
      isIdle = true
    })
    bench.runDeferred()
    bench.underWay[0]?.answer()
    await bench.settle()
    expect(isIdle).toBe(false)
    bench.underWay[0]?.fail(new Error('disk full'))
    await idle
    expect([...bench.answers.keys()]).toEqual([1, 2])
  })
})

const shares = (a: Commit, b: Commit): boolean => a.keys.some((key) => b.keys.includes(key))

/** The commits that must wait: their keys are busy, or wanted by an earlier one. */
function blockedNames(waiting: readonly Commit[], busy: readonly Commit[]): ReadonlySet<number> {
  const blocked = waiting.filter(
    (commit, index) =>
      busy.some((other) => shares(commit, other)) ||
      waiting.slice(0, index).some((other) => shares(commit, other)),
  )
  return new Set(blocked.map(({ name }) => name))
}

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      keys: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { maxLength: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('defer' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat(3), fails: fc.boolean() }),
  },
)

describe('any sequence', () => {
  test.each([true, false])('[G1] [G2] [G3] [G5] keeps the rules (with keys: %s)', async (hasKeys) => {
    const property = fc.asyncProperty(
      fc.array(step, { maxLength: 80 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 3 }),
      async (steps, groupMax, inFlightMax) => {
        const bench = makeBench({ groupMax, inFlightMax }, hasKeys)
        let waiting: readonly Commit[] = []
        let count = 0
        const expected = new Map<number, string>()
        bench.watchStarts((group) => {
          const busy = hasKeys ? bench.underWay.flatMap(({ commits }) => commits) : []
          const blocked = hasKeys ? blockedNames(waiting, busy) : new Set<number>()
          const free = waiting.filter(({ name }) => !blocked.has(name))
          expect(bench.underWay.length).toBeLessThan(inFlightMax)
          expect(group).toEqual(free.slice(0, groupMax))
          waiting = waiting.filter((commit) => !group.some(({ name }) => name === commit.name))
        })
        const end = async (group: Group | undefined, fails: boolean) => {
          for (const { name } of group?.commits ?? []) expected.set(name, fails ? 'failed' : `done ${name}`)
          if (fails) group?.fail(new Error('failed'))
          else group?.answer()
          await bench.settle()
          expect(bench.answers).toEqual(expected)
        }
        for (const one of steps) {
          if (one.do === 'add') {
            count += 1
            waiting = [...waiting, { name: count, keys: one.keys }]
            bench.add(count, ...one.keys)
          } else if (one.do === 'defer') bench.runDeferred()
          else await end(bench.underWay[one.which], one.fails)
        }
        bench.runDeferred()
        while (bench.underWay.length > 0) await end(bench.underWay[0], false)
        expect(waiting).toEqual([])
        expect(expected.size).toBe(count)
        await bench.gatherer.idle()
      },
    )
    await fc.assert(property, { seed: 20_260_114, numRuns: 300 })
  })
})
