// Planted bugs of the store's own guards and filters: a fence, an epoch, a place in a lane or a tenant that is not looked at, and a window
// that is a millisecond too long or too short. Nothing is arranged for them: the mixed draw must meet them.

import { putWork } from '../src/adapters/store-memory/state.ts'
import type { Commit, Guard } from '../src/ports/store.ts'
import type { Bug } from './bug.ts'
import type { Data, Outcome } from './data.ts'

type State = NonNullable<Data['state']>

/** One commit after the other, each as `commitOne` says. */
const committing =
  (commitOne: (data: Data, state: State, now: number, commit: Commit) => Outcome) =>
  (data: Data): Data => {
    const { state } = data
    if (state === null) return data
    return { ...data, commit: (now, commits) => commits.map((one) => commitOne(data, state, now, one)) }
  }

const first = (outcomes: readonly Outcome[]): Outcome => outcomes[0] as Outcome

/** Guards that `holds` answers for hold whatever the rows say; the others keep their numbers. */
const holding = (holds: (state: State, guard: Guard) => boolean) =>
  committing((data, state, now, commit) => {
    const kept = commit.guards.flatMap((guard, index) => (holds(state, guard) ? [] : [index]))
    const guards = kept.map((index) => commit.guards[index] as Guard)
    const outcome = first(data.commit(now, [{ ...commit, guards }]))
    return outcome.ok === false ? { ...outcome, guard: kept[outcome.guard] as number } : outcome
  })

/** The tenant is left out of a look-up: what another one has stands in the way. */
const meeting = (find: (state: State, now: number, commit: Commit, guard: Guard) => Outcome | null) =>
  committing((data, state, now, commit) => {
    for (const [index, guard] of commit.guards.entries()) {
      const met = find(state, now, commit, guard)
      if (met?.ok === false) return { ...met, guard: index }
    }
    return first(data.commit(now, [commit]))
  })

/** Every append remembers its message for so much longer. */
const windowsBy = (ms: number) =>
  committing((data, _state, now, commit) =>
    first(
      data.commit(now, [
        {
          ...commit,
          writes: commit.writes.map((write) =>
            write.w === 'event.append' ? { ...write, dedupForMs: write.dedupForMs + ms } : write,
          ),
        },
      ]),
    ),
  )

const MIXED = { isMixed: true, stores: ['memory'] } as const

export const GUARD_BUGS: readonly Bug[] = [
  {
    ...MIXED,
    name: 'fence-not-looked-at',
    seed: 167,
    about: 'a lease counts although its owner is fenced',
    breaks: ['N5', 'N3'],
    data: holding((state, guard) => {
      if (guard.g !== 'lease') return false
      const row = state.work.get(guard.work)
      const isSame = row?.state === 'leased' && row.owner === guard.owner && row.epoch === guard.epoch
      return isSame && state.incarnations.get(guard.owner)?.fenced === true
    }),
  },
  {
    ...MIXED,
    name: 'owner-and-epoch-not-looked-at',
    about: 'a lease counts as long as anybody has one of the item',
    breaks: ['N5', 'N3'],
    seed: 47,
    data: holding((state, guard) => {
      if (guard.g !== 'lease') return false
      const row = state.work.get(guard.work)
      return row?.state === 'leased' && row.epoch !== guard.epoch
    }),
  },
  {
    ...MIXED,
    name: 'place-not-looked-at',
    seed: 2,
    about: 'an item that comes into a lane gets a place, whoever has it',
    breaks: ['N7'],
    data: committing((data, state, now, commit) => {
      const outcome = first(data.commit(now, [commit]))
      for (const write of commit.writes) {
        const row = write.w === 'work.add' ? state.work.get(write.work.id) : undefined
        if (row?.lane != null && row.state === 'waiting')
          putWork(state, row.id, { ...row, state: 'ready', hasPlace: true })
      }
      return outcome
    }),
  },
  {
    ...MIXED,
    name: 'dedup-of-any-tenant',
    seed: 2,
    about: 'a message is taken for a repetition of what another tenant received',
    breaks: ['N1', 'N10'],
    data: meeting((state, now, { tenant }, guard) => {
      if (guard.g !== 'dedup') return null
      for (const event of state.events.values()) {
        if (event.tenant === tenant || event.source !== guard.source || event.dedupKey !== guard.key) continue
        if (event.receivedAt + 10 * 60_000 > now)
          return { ok: false, at: now, guard: 0, found: { f: 'event', id: event.id } }
      }
      return null
    }),
  },
  {
    ...MIXED,
    name: 'ledger-of-any-tenant',
    seed: 17,
    about: 'an effect is taken for done because another tenant did one of the same key',
    breaks: ['N1', 'N2', 'N3', 'N5', 'N10', 'N12'],
    data: meeting((state, now, { tenant }, guard) => {
      if (guard.g !== 'unreserved') return null
      for (const entry of state.ledger.values()) {
        if (entry.tenant !== tenant && entry.key === guard.key && entry.state === 'done')
          return { ok: false, at: now, guard: 0, found: { f: 'ledger', entry } }
      }
      return null
    }),
  },
  {
    ...MIXED,
    name: 'rows-of-any-tenant',
    about: 'a row is found by its id, whoever it belongs to',
    breaks: ['N10'],
    data: (data) => ({
      ...data,
      reads: (tenant) => ({
        ...data.reads(tenant),
        work: async (id) => data.state?.work.get(id) ?? null,
      }),
    }),
  },
  {
    ...MIXED,
    name: 'lists-of-any-tenant',
    about: 'a list shows rows of everybody',
    breaks: ['N10'],
    data: (data) => ({
      ...data,
      reads: (tenant) => ({
        ...data.reads(tenant),
        deadLetters: async () => ({ items: [...(data.state?.deadLetters.values() ?? [])], nextCursor: null }),
      }),
    }),
  },
  {
    ...MIXED,
    name: 'window-too-short',
    seed: 3,
    about: 'a message is new again a millisecond before its window ends',
    breaks: ['N1'],
    data: windowsBy(-1),
  },
  {
    ...MIXED,
    name: 'window-too-long',
    seed: 2,
    about: 'a message is taken for a repetition a millisecond after its window ended',
    breaks: ['N1'],
    data: windowsBy(1),
  },
]
