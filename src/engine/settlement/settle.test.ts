import { describe, expect, test } from 'vitest'
import type { EventId, WorkId } from '../../core/foundation/ids/index.ts'
import type { CommitResult, Found, Guard, Write } from '../../ports/store.ts'
import { type Commits, makeUnitOfWork, type Planned } from '../commit/index.ts'
import { again, type Decision, done, type Settlement, skipped } from './job-decision.ts'
import type { JobEnd } from './job-end.ts'
import type { Part, Participant, Settling } from './participants.ts'
import { makeSettler } from './settle.ts'
import { DECISION_INPUT, makeLeased, OWNER, PLAIN_ROUTE } from './settlement.fixture.ts'

const APPLIED: Extract<CommitResult, { ok: true }> = { ok: true, at: 5, leased: [] }
const FOUND: Found = { f: 'event', id: 'evt_1' as EventId }
const refusing = (guard: number): CommitResult => ({ ok: false, at: 5, guard, found: FOUND })

const guardOf = (key: string): Guard => ({ g: 'unreserved', key })
const writeOf = (work: string): Write => ({
  w: 'work.settle',
  work: work as WorkId,
  to: 'done',
  counters: DECISION_INPUT.counters,
  note: DECISION_INPUT.note,
})
const namesOf = (guards: readonly Guard[]) =>
  guards.map((guard) => (guard.g === 'unreserved' ? guard.key : guard.g))
const worksOf = (writes: readonly Write[]) =>
  writes.map((write) => (write.w === 'work.settle' ? write.work : write.w))

/** A plan that is recognized by its name. */
interface NamedPlan {
  readonly plans: readonly []
  readonly name: string
}
const planOf = (name: string): NamedPlan => ({ plans: [], name })

interface World {
  readonly asked: string[]
  readonly ended: string[]
  readonly commits: { readonly guards: readonly string[]; readonly writes: readonly string[] }[]
  readonly planned: { readonly work: string; readonly to: Decision['to']; readonly isFirst: boolean }[]
  readonly woken: number[]
  settle(decision: Decision, lane?: string): Promise<Settlement>
  settleUnheld(decision: Decision): Promise<Settlement>
}

/** The results of the commits, in order; the last one repeats. */
function makeWorld(
  parts: Readonly<Record<string, (asked: number, decision: Decision, job: Settling) => Part | null>>,
  results: readonly (CommitResult | Error)[],
  end: Partial<JobEnd> = {},
): World {
  const asked: string[] = []
  const ended: string[] = []
  const commits: World['commits'] = []
  const planned: World['planned'] = []
  const woken: number[] = []
  const commit = async (
    _tenant: unknown,
    guards: readonly Guard[],
    writes: readonly Write[],
  ): Promise<CommitResult> => {
    commits.push({ guards: namesOf(guards), writes: worksOf(writes) })
    const result = results[Math.min(commits.length, results.length) - 1] as CommitResult | Error
    if (result instanceof Error) throw result
    return result
  }
  const unitOfWork = makeUnitOfWork({
    commits: {
      once: commit,
      firmly: async (
        tenant: unknown,
        guards: readonly Guard[],
        writes: readonly Write[],
        ...rest: unknown[]
      ) => {
        const then = (rest[1] ?? ((result: CommitResult) => result)) as (result: CommitResult) => never
        return then(await commit(tenant, guards, writes))
      },
    } as Pick<Commits, 'once' | 'firmly'>,
    leasedOnInsert: {
      end(plans, isStored) {
        for (const plan of plans)
          ended.push(`${(plan as unknown as NamedPlan).name} ${isStored ? 'started' : 'released'}`)
      },
    },
  })
  const list = Object.entries(parts).map(([name, part]): Participant => {
    let times = 0
    return (decision, job) => {
      asked.push(name)
      times += 1
      return part(times, decision, job)
    }
  })
  const settler = makeSettler({
    planEnd(held, _route, decision, isFirst) {
      planned.push({ work: held.work.id, to: decision.to, isFirst })
      const own = { guards: [], plans: [], ...end }
      return { ...own, writes: [writeOf(held.work.id), ...decision.writes] }
    },
    participantsOf: () => list,
    unitOfWork,
    onSettling: () => void asked.push('onSettling'),
    wake: (delayMs) => void woken.push(delayMs),
  })
  return {
    asked,
    ended,
    commits,
    planned,
    woken,
    settle: (decision, lane) =>
      settler.settle(makeLeased(lane === undefined ? {} : { lane }), PLAIN_ROUTE, decision),
    settleUnheld: (decision) => {
      const hold: Guard = { g: 'work', work: 'wrk_1' as WorkId, state: 'parked', epoch: 7 }
      return settler.settleUnheld(makeLeased({ lane: 'o1' }), PLAIN_ROUTE, decision, hold)
    },
  }
}

const OTHER = {
  held: makeLeased({ id: 'wrk_member' as WorkId }),
  route: PLAIN_ROUTE,
  decision: skipped({ ...DECISION_INPUT, guards: [guardOf('member’s own')] }),
  hold: guardOf('member’s hold'),
}

describe('one commit', () => {
  test('has the lease first, then the guards of the decision, of each participant in order, and of the row', async () => {
    const at = makeWorld(
      {
        a: () => ({ guards: [guardOf('a')], writes: [writeOf('a')] }),
        b: () => null,
        c: () => ({ guards: [guardOf('c1'), guardOf('c2')], writes: [writeOf('c')] }),
      },
      [APPLIED],
      { guards: [guardOf('row')] },
    )
    const decision = done({ ...DECISION_INPUT, guards: [guardOf('own')], writes: [writeOf('own')] })
    expect(await at.settle(decision)).toEqual({ ok: true, result: APPLIED })
    expect(at.commits).toEqual([
      { guards: ['lease', 'own', 'a', 'c1', 'c2', 'row'], writes: ['wrk_1', 'own', 'a', 'c'] },
    ])
  })

  test('is guarded by the lease of this node at its epoch', async () => {
    let hold: Guard | null = null
    const at = makeWorld(
      {
        a: (_times, _decision, job) => {
          hold = job.hold
          return null
        },
      },
      [APPLIED],
    )
    await at.settle(done(DECISION_INPUT))
    expect(hold).toEqual({ g: 'lease', work: 'wrk_1', owner: OWNER, epoch: 7 })
  })

  test('shows each participant the decision as those before it left it', async () => {
    const seen: (readonly [string, readonly string[]])[] = []
    const see = (decision: Decision) => void seen.push([decision.to, namesOf(decision.guards)])
    const at = makeWorld(
      {
        a: (_times, decision) => {
          see(decision)
          return { decision: { ...skipped(DECISION_INPUT), guards: decision.guards }, guards: [guardOf('a')] }
        },
        b: (_times, decision) => {
          see(decision)
          return null
        },
      },
      [APPLIED],
    )
    await at.settle(done({ ...DECISION_INPUT, guards: [guardOf('own')] }))
    expect(seen).toEqual([
      ['done', ['own']],
      ['skipped', ['own', 'a']],
    ])
    expect(at.planned).toEqual([{ work: 'wrk_1', to: 'skipped', isFirst: true }])
  })

  test('ends the jobs that end with it, each guarded by its own hold behind the guards of the job', async () => {
    const at = makeWorld(
      { a: () => ({ guards: [guardOf('a')], others: [OTHER] }), b: () => ({ guards: [guardOf('b')] }) },
      [APPLIED],
      { guards: [guardOf('row')] },
    )
    await at.settle(done(DECISION_INPUT))
    expect(at.commits).toEqual([
      {
        guards: ['lease', 'a', 'b', 'member’s hold', 'member’s own', 'row', 'row'],
        writes: ['wrk_1', 'wrk_member'],
      },
    ])
  })
})

describe('a refused guard', () => {
  test('of the lease: another node has the job, and no participant is asked again', async () => {
    const at = makeWorld({ a: () => ({ guards: [guardOf('a')], refused: () => 'rebuild' }) }, [refusing(0)])
    expect(await at.settle(done(DECISION_INPUT))).toEqual({ ok: false, why: 'stale', found: FOUND })
    expect(at.commits).toHaveLength(1)
  })

  test('of the decision: the caller gets it, by its index among the decision’s own', async () => {
    const at = makeWorld({ a: () => ({ guards: [guardOf('a')], refused: () => 'rebuild' }) }, [refusing(2)])
    const decision = done({ ...DECISION_INPUT, guards: [guardOf('own1'), guardOf('own2')] })
    expect(await at.settle(decision)).toEqual({ ok: false, why: 'guard', index: 1, found: FOUND })
    expect(at.commits).toHaveLength(1)
  })

  test('of a participant that rebuilds: it and those behind it are asked again, those before it are not', async () => {
    const at = makeWorld(
      {
        a: () => ({ guards: [guardOf('a')], refused: () => 'stale' }),
        b: (times) => ({ guards: [guardOf(`b${times}`)], refused: () => 'rebuild' }),
        c: (times) => ({ guards: [guardOf(`c${times}`)] }),
      },
      [refusing(3), APPLIED],
    )
    expect(await at.settle(done({ ...DECISION_INPUT, guards: [guardOf('own')] }))).toMatchObject({ ok: true })
    expect(at.asked.filter((name) => name !== 'onSettling')).toEqual(['a', 'b', 'c', 'b', 'c'])
    expect(at.commits.map(({ guards }) => guards)).toEqual([
      ['lease', 'own', 'a', 'b1', 'c1'],
      ['lease', 'own', 'a', 'b2', 'c2'],
    ])
  })

  test('of a participant that calls it stale: the job is settled elsewhere', async () => {
    const at = makeWorld({ a: () => ({ guards: [guardOf('a')], refused: () => 'stale' }) }, [refusing(1)])
    expect(await at.settle(done(DECISION_INPUT))).toEqual({ ok: false, why: 'stale', found: FOUND })
    expect(at.commits).toHaveLength(1)
  })

  test('of a participant without an answer: the caller gets it, whatever the others answer', async () => {
    const at = makeWorld(
      {
        a: () => ({ guards: [guardOf('a')], refused: () => 'rebuild' }),
        b: () => ({ guards: [guardOf('b')] }),
      },
      [refusing(2)],
    )
    expect(await at.settle(done(DECISION_INPUT))).toEqual({ ok: false, why: 'guard', index: 1, found: FOUND })
    expect(at.commits).toHaveLength(1)
  })

  test.each([2, 3])(
    'of a job that ends with it (%i): the participant that added it answers',
    async (guard) => {
      const at = makeWorld(
        { a: () => ({ guards: [guardOf('a')], others: [OTHER], refused: () => 'stale' }) },
        [refusing(guard)],
      )
      expect(await at.settle(done(DECISION_INPUT))).toEqual({ ok: false, why: 'stale', found: FOUND })
    },
  )

  test('of the row: only the end of the row is planned again, by what the store has now', async () => {
    const at = makeWorld(
      { a: () => ({ guards: [guardOf('a')], refused: () => 'stale' }) },
      [refusing(2), refusing(2), APPLIED],
      { guards: [guardOf('row')] },
    )
    expect(await at.settle(done(DECISION_INPUT))).toMatchObject({ ok: true })
    expect(at.asked.filter((name) => name === 'a')).toEqual(['a'])
    expect(at.planned.map(({ isFirst }) => isFirst)).toEqual([true, false, false])
  })

  test('of the row, again and again, is a defect', async () => {
    const at = makeWorld({}, [refusing(1)], { guards: [guardOf('row')] })
    await expect(at.settle(done(DECISION_INPUT))).rejects.toThrow(
      'the dead letter of a replay changes without end',
    )
    expect(at.commits).toHaveLength(20)
  })

  test('of a participant, again and again, is a defect only after a thousand rebuilds', async () => {
    const at = makeWorld({ a: () => ({ guards: [guardOf('a')], refused: () => 'rebuild' }) }, [refusing(1)])
    await expect(at.settle(done(DECISION_INPUT))).rejects.toThrow('changes without end')
    expect(at.commits).toHaveLength(1_000)
  })
})

describe('plans and ends', () => {
  test('of the decision, of the parts and of the row start with the commit', async () => {
    const at = makeWorld({ a: () => ({ plans: [planOf('a') as Planned] }) }, [APPLIED], {
      plans: [planOf('row') as never],
    })
    await at.settle(done({ ...DECISION_INPUT, plans: [planOf('own')] }))
    expect(at.ended.toSorted()).toEqual(['a started', 'own started', 'row started'])
  })

  test('of a refused build are released before the participant is asked again', async () => {
    const at = makeWorld(
      {
        a: (times) => ({
          guards: [guardOf('a')],
          plans: [planOf(`a${times}`) as Planned],
          refused: () => 'rebuild',
        }),
      },
      [refusing(1), APPLIED],
      { plans: [planOf('row') as never] },
    )
    await at.settle(done({ ...DECISION_INPUT, plans: [planOf('own')] }))
    expect(at.ended.slice(0, 2).toSorted()).toEqual(['a1 released', 'row released'])
    expect(at.ended.slice(2).toSorted()).toEqual(['a2 started', 'own started', 'row started'])
  })

  test('of a commit that throws are released, and the parts learn that there is no outcome', async () => {
    const outcomes: (Settlement | null)[] = []
    const at = makeWorld(
      {
        a: () => ({ plans: [planOf('a') as Planned], ended: (settlement) => void outcomes.push(settlement) }),
      },
      [new Error('a defect')],
    )
    await expect(at.settle(done({ ...DECISION_INPUT, plans: [planOf('own')] }))).rejects.toThrow('a defect')
    expect(at.ended.toSorted()).toEqual(['a released', 'own released'])
    expect(outcomes).toEqual([null])
  })

  test('each part learns its outcome once, those of a refused build included', async () => {
    const outcomes: string[] = []
    const at = makeWorld(
      {
        a: (times) => ({
          guards: [guardOf('a')],
          refused: () => 'rebuild',
          ended: (settlement) => void outcomes.push(`${times} ${settlement?.ok === true}`),
        }),
      },
      [refusing(1), APPLIED],
    )
    await at.settle(done(DECISION_INPUT))
    expect(outcomes).toEqual(['1 false', '2 true'])
  })
})

describe('the claim loop', () => {
  test.each([
    ['a job that is put back, when it is due', again(3_000, DECISION_INPUT), undefined, [3_000]],
    ['the end of a job without a lane, not at all', done(DECISION_INPUT), undefined, []],
    ['the end of a job in a lane, at once', done(DECISION_INPUT), 'o1', [0]],
  ])('is woken by %s', async (_name, decision, lane, woken) => {
    const at = makeWorld({}, [APPLIED])
    await at.settle(decision, lane)
    expect(at.woken).toEqual(woken)
  })

  test('is not woken by a commit that did not happen, or by the end of a job that is not leased', async () => {
    const refused = makeWorld({}, [refusing(0)])
    await refused.settle(again(3_000, DECISION_INPUT))
    const unheld = makeWorld({}, [APPLIED])
    await unheld.settleUnheld(done(DECISION_INPUT))
    expect([...refused.woken, ...unheld.woken]).toEqual([])
  })
})

test('a job that is not leased is guarded by the given hold, and its settling is not announced', async () => {
  const at = makeWorld(
    { a: (_times, _decision, { item }) => (item === null ? { guards: [guardOf('a')] } : null) },
    [APPLIED],
  )
  await at.settleUnheld(done(DECISION_INPUT))
  expect(at.commits.map(({ guards }) => guards)).toEqual([['work', 'a']])
  expect(at.asked).toEqual(['a'])
  await at.settle(done(DECISION_INPUT))
  expect(at.asked).toEqual(['a', 'a', 'onSettling'])
})
