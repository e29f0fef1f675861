import { describe, expect, test } from 'vitest'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { type CommitResult, StoreError } from '../../ports/store.ts'
import type { Planned } from './event-plan.ts'
import { makeUnitOfWork, orConflict, orFail, retrying } from './unit-of-work.ts'

const APPLIED: Extract<CommitResult, { ok: true }> = { ok: true, at: 5, leased: [] }
const REFUSED: CommitResult = { ok: false, at: 5, guard: 0, found: null }
const PLAN: Planned = { plans: [] }
const UNIT = { guards: [], writes: [], plans: [PLAN] }

function makeWorld(commit: () => Promise<CommitResult>) {
  const ended: { readonly isStored: boolean; readonly result: CommitResult | null }[] = []
  const unitOfWork = makeUnitOfWork({
    commits: { once: commit, firmly: commit },
    leasedOnInsert: {
      end: (_plans, isStored, result) => void ended.push({ isStored, result }),
    },
  })
  return { unitOfWork, ended }
}

const unavailable = () => new StoreError('unavailable', 'away', { applied: 'indeterminate' })

describe('plans end exactly once, before the caller goes on,', () => {
  test.each(['once', 'firmly'] as const)('where %s is applied', async (how) => {
    const { unitOfWork, ended } = makeWorld(async () => APPLIED)
    expect(await unitOfWork[how](DEFAULT_TENANT, UNIT)).toBe(APPLIED)
    expect(ended).toEqual([{ isStored: true, result: APPLIED }])
  })

  test.each(['once', 'firmly'] as const)('where %s is refused', async (how) => {
    const { unitOfWork, ended } = makeWorld(async () => REFUSED)
    expect(await unitOfWork[how](DEFAULT_TENANT, UNIT)).toBe(REFUSED)
    expect(ended).toEqual([{ isStored: false, result: REFUSED }])
  })

  test.each(['once', 'firmly'] as const)('where %s fails', async (how) => {
    const { unitOfWork, ended } = makeWorld(async () => {
      throw unavailable()
    })
    await expect(unitOfWork[how](DEFAULT_TENANT, UNIT)).rejects.toThrow(StoreError)
    expect(ended).toEqual([{ isStored: false, result: null }])
  })

  test('where the commit fails before there is a promise of it', () => {
    const { unitOfWork, ended } = makeWorld(() => {
      throw unavailable()
    })
    expect(() => unitOfWork.once(DEFAULT_TENANT, UNIT)).toThrow(StoreError)
    expect(ended).toEqual([{ isStored: false, result: null }])
  })

  test('where the settler commits', async () => {
    const { unitOfWork, ended } = makeWorld(async () => APPLIED)
    await unitOfWork.settling([PLAN], async () => ({ ok: true, result: APPLIED }))
    await unitOfWork.settling([PLAN], async () => ({ ok: false }))
    const failed = unitOfWork.settling([PLAN], async () => {
      throw unavailable()
    })
    await expect(failed).rejects.toThrow(StoreError)
    expect(ended).toEqual([
      { isStored: true, result: APPLIED },
      { isStored: false, result: null },
      { isStored: false, result: null },
    ])
  })
})

describe('retrying', () => {
  test('builds again until no other change comes first', async () => {
    const races: number[] = []
    const build = async (retry: () => Promise<string>, race: number): Promise<string> => {
      races.push(race)
      return race < 2 ? retry() : 'done'
    }
    expect(await retrying(5, build, orConflict('it changes'))).toBe('done')
    expect(races).toEqual([0, 1, 2])
  })

  test.each([
    ['a conflict', orConflict('it changes'), { code: 'conflict', message: 'it changes' }],
    ['a defect', orFail('it changes'), { message: 'it changes' }],
  ] as const)('gives up after its limit: %s', async (_name, exhausted, error) => {
    let built = 0
    const build = async (retry: () => Promise<string>): Promise<string> => {
      built += 1
      return retry()
    }
    await expect(retrying(3, build, exhausted)).rejects.toMatchObject(error)
    expect(built).toBe(3)
  })

  test('returns what the caller does instead', async () => {
    const build = (retry: () => Promise<string>): Promise<string> => retry()
    expect(await retrying(3, build, async () => 'waits')).toBe('waits')
  })
})
