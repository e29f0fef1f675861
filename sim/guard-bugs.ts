// Planted bugs of the store's own guards and filters: a fence, an epoch, a version, a place in a lane or a tenant that is not looked at, and
// a window that is a millisecond too long or too short. Nothing is arranged for them: the mixed draw must meet them.

import { putWork } from '../src/adapters/store-memory/state.ts'
import type { Decisions } from '../src/engine/index.ts'
import type { Commit, Guard } from '../src/ports/store.ts'
import type { Bug } from './bug.ts'
import type { Data, Outcome } from './data.ts'
import { CLOCKWORK } from './scenario.ts'

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

/** Records of this kind are written whatever version they have. */
const withoutVersion = (kind: string) =>
  holding((_state, guard) => guard.g === 'version' && guard.of === kind)

/** A debounced lane is decided so much later. */
const debouncedBy =
  (ms: number) =>
  (decisions: Decisions): Decisions => ({
    ...decisions,
    decideDebounce: ({ policy, ...rest }) =>
      decisions.decideDebounce({ ...rest, policy: { ...policy, windowMs: policy.windowMs + ms } }),
  })

const MIXED = { isMixed: true, stores: ['memory'] } as const

export const GUARD_BUGS: readonly Bug[] = [
  {
    ...MIXED,
    name: 'fence-not-looked-at',
    seed: 19,
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
    seed: 8,
    about: 'a lease counts as long as anybody has one of the item',
    breaks: ['N5', 'N3'],
    data: holding((state, guard) => {
      if (guard.g !== 'lease') return false
      const row = state.work.get(guard.work)
      return row?.state === 'leased' && row.epoch !== guard.epoch
    }),
  },
  {
    ...MIXED,
    name: 'epoch-not-looked-at',
    seed: 8,
    about: 'a lease counts as long as the same owner has one of the item',
    breaks: ['N5', 'N3', 'N2', 'N6'],
    data: holding((state, guard) => {
      if (guard.g !== 'lease') return false
      const row = state.work.get(guard.work)
      const isOthers = row?.state !== 'leased' || row.owner !== guard.owner || row.epoch === guard.epoch
      return !isOthers && state.incarnations.get(guard.owner)?.fenced === false
    }),
  },
  {
    ...MIXED,
    name: 'schedule-version-not-looked-at',
    seed: 12,
    about: 'a node fires a slot whatever another one wrote of the schedule',
    breaks: ['SC7'],
    data: withoutVersion('schedule'),
  },
  {
    ...MIXED,
    name: 'slot-guards-not-looked-at',
    seed: 12,
    about: 'a slot fires whatever was written of it, and whether or not it has its event',
    breaks: ['SC7', 'N1'],
    data: holding(
      (_state, guard) =>
        (guard.g === 'version' && guard.of === 'schedule') ||
        (guard.g === 'dedup' && guard.source === CLOCKWORK.name),
    ),
  },
  {
    ...MIXED,
    name: 'permits-taken-twice',
    seed: 13,
    about: 'a node takes permits whatever another one took of the record',
    breaks: ['PA19'],
    data: withoutVersion('rate'),
  },
  {
    ...MIXED,
    name: 'drain-version-not-looked-at',
    seed: 13,
    about: 'a node begins a cycle of a drain whatever another one began',
    breaks: ['PA12'],
    data: withoutVersion('drain'),
  },
  {
    ...MIXED,
    name: 'hmac-key-of-each-node',
    seed: 63,
    about: 'a node that makes the key of hmac replaces that of another one',
    breaks: ['HK1', 'IN20'],
    data: withoutVersion('hmac'),
  },
  {
    ...MIXED,
    name: 'one-more-than-the-rate',
    seed: 22,
    about: 'a claim takes one more of a route than it has tokens',
    breaks: ['PA7', 'PA19'],
    store: (store) => ({
      ...store,
      claim: (request) =>
        store.claim({
          ...request,
          slots: request.slots.map((slot) =>
            slot.consumer === 'route:metered' ? { ...slot, max: slot.max + 1 } : slot,
          ),
        }),
    }),
  },
  {
    ...MIXED,
    name: 'debounce-too-short',
    seed: 6,
    about: 'a debounced lane is decided a millisecond before its window ends',
    breaks: ['DB1'],
    decisions: debouncedBy(-1),
  },
  {
    ...MIXED,
    name: 'debounce-too-long',
    seed: 6,
    about: 'a debounced lane is decided a millisecond after its window ended',
    breaks: ['DB2'],
    decisions: debouncedBy(1),
  },
  {
    ...MIXED,
    name: 'delay-ignored',
    seed: 6,
    about: 'a new job of a route with a delay is due at once',
    breaks: ['FO11'],
    data: committing((data, _state, now, commit) =>
      first(
        data.commit(now, [
          {
            ...commit,
            writes: commit.writes.map((write) =>
              write.w === 'work.add' && write.work.consumer === 'route:north'
                ? { ...write, delayMs: 0 }
                : write,
            ),
          },
        ]),
      ),
    ),
  },
  {
    ...MIXED,
    name: 'place-not-looked-at',
    seed: 4,
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
    seed: 3,
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
    seed: 5,
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
    seed: 17,
    about: 'a message is new again a millisecond before its window ends',
    breaks: ['N1'],
    data: windowsBy(-1),
  },
  {
    ...MIXED,
    name: 'window-too-long',
    seed: 3,
    about: 'a message is taken for a repetition a millisecond after its window ended',
    breaks: ['N1'],
    data: windowsBy(1),
  },
]
