// Planted bugs about workflows: mistakes in the machine, in its commits, in keys, timers and locks. Each is
// put into the commits of a correct engine, so that the rows, and all that follows from them, are those of an engine that has it.

import { DAY } from '../src/core/foundation/time/index.ts'
import type { Instance } from '../src/core/workflows/instance/index.ts'
import { decodeHistory, decodeInstance, encodeInstance } from '../src/core/workflows/machine/index.ts'
import type { Commit, Store, TenantReads, Write } from '../src/ports/store.ts'
import type { Bug } from './bug.ts'
import type { Profile } from './faults.ts'

type InstancePut = Extract<Write, { w: 'instance.put' }>
type Change = (instance: Instance, entries: readonly ReturnType<typeof decodeHistory>[]) => Instance | null

const changing =
  (change: (commit: Commit) => Commit) =>
  (store: Store): Store => ({ ...store, commit: (commit) => store.commit(change(commit)) })

const withoutGuards = (of: 'instance' | 'correlation') =>
  changing((commit) => ({
    ...commit,
    guards: commit.guards.filter((guard) => guard.g !== 'version' || guard.of !== of),
  }))

const entriesOf = ({ writes }: Commit, { row }: InstancePut) =>
  writes
    .flatMap((write) => (write.w === 'history.append' ? write.rows : []))
    .filter((one) => one.instance === row.id)
    .map(decodeHistory)

/** The row of an instance is another one; null: it is as it should be. */
const rewriting = (change: Change) =>
  changing((commit) => ({
    ...commit,
    writes: commit.writes.map((write) => {
      if (write.w !== 'instance.put') return write
      const changed = change(decodeInstance(write.row), entriesOf(commit, write))
      return changed === null ? write : { ...write, row: encodeInstance(changed) }
    }),
  }))

/** Nothing but one kind of case, and few faults of the vendor. */
const only =
  (kinds: Readonly<Record<string, number>>, vendor: Profile['vendor'] = { ok: 80, slow: 20 }) =>
  (profile: Profile): Profile => ({ ...profile, kinds, vendor, messages: 16, faultsMs: 40_000, keepMs: 0 })

const chains = only({ ordered: 1 })
const failing = only({ ordered: 1 }, { ok: 70, rejected: 30 })
const stopped = only({ ordered: 30, stopped: 60 }, { slow: 100 })

const replacementIn = ({ writes }: Commit) => {
  const entries = writes
    .flatMap((write) => (write.w === 'history.append' ? write.rows : []))
    .map(decodeHistory)
  return { successor: entries.find(({ successor }) => successor !== undefined)?.successor }
}

/** A job waits for the circuit of its step or trigger. */
const isHeld = (write: Write): write is Extract<Write, { w: 'work.again' }> =>
  write.w === 'work.again' && write.note.lastError?.includes(' paused itself, because ') === true

const usingAttempts = changing((commit) => ({
  ...commit,
  writes: commit.writes.map((write) =>
    isHeld(write)
      ? { ...write, counters: { ...write.counters, attempts: write.counters.attempts + 1 } }
      : write,
  ),
}))

const PLANTED: readonly Bug[] = [
  {
    name: 'instance-without-its-guard',
    about: 'an instance is written without looking whether somebody else changed it',
    breaks: ['N8'],
    profile: (profile) => ({ ...only({ asked: 50, netted: 50, nudged: 50 })(profile), concurrency: 64 }),
    store: withoutGuards('instance'),
  },
  {
    name: 'input-not-consumed',
    about: 'a firing that ends leaves one of its tokens where it was',
    breaks: ['N8'],
    profile: chains,
    store: rewriting((instance, entries) => {
      const [place] = entries.find(({ type }) => type === 'ended')?.took ?? []
      if (place === undefined) return null
      return { ...instance, marking: { ...instance.marking, [place]: (instance.marking[place] ?? 0) + 1 } }
    }),
  },
  {
    name: 'output-twice',
    about: 'a firing that ends puts a token twice, and says so',
    breaks: ['N8'],
    profile: chains,
    store: changing((commit) => ({
      ...commit,
      writes: commit.writes.map((write) => {
        if (write.w !== 'history.append') return write
        const twice = (body: string) => body.replace(/"put":\["([^"]+)"\]/, '"put":["$1","$1"]')
        const rows = write.rows.map((row) => (row.type === 'ended' ? { ...row, body: twice(row.body) } : row))
        return { ...write, rows }
      }),
    })),
  },
  {
    name: 'begin-does-not-hold',
    about: 'a firing that begins does not hold its tokens',
    breaks: ['N8'],
    profile: chains,
    store: rewriting((instance, entries) =>
      entries.some(({ type }) => type === 'began')
        ? { ...instance, firings: instance.firings.map((firing) => ({ ...firing, held: [] })) }
        : null,
    ),
  },
  {
    name: 'late-success-forgotten',
    about: 'what an interrupted step did after all is not undone',
    breaks: ['N8'],
    profile: stopped,
    store: (store) =>
      rewriting((instance, entries) =>
        entries.some(({ type }) => type === 'late')
          ? { ...instance, firings: instance.firings.filter(({ type }) => type !== 'undo') }
          : null,
      )(
        changing((commit) => {
          const rows = commit.writes.flatMap((write) => (write.w === 'history.append' ? write.rows : []))
          if (!rows.some(({ type }) => type === 'late')) return commit
          const isUndo = (write: Write) =>
            write.w === 'work.add' && write.work.step?.startsWith('undo/') === true
          return { ...commit, writes: commit.writes.filter((write) => !isUndo(write)) }
        })(store),
      ),
  },
  {
    name: 'undone-oldest-first',
    seed: 8,
    about: 'a roll-back undoes what was done first before what was done last',
    breaks: ['N8'],
    profile: (profile) => ({ ...failing(profile), messages: 40, crashEveryMs: 0 }),
    store: rewriting((instance, entries) => {
      const { rollBack } = instance
      if (rollBack === null || !entries.some(({ type }) => type === 'rolling_back')) return null
      // The first of them is under way already.
      const [first, ...left] = rollBack.left
      if (first === undefined || left.length < 2) return null
      return { ...instance, rollBack: { ...rollBack, left: [first, ...left.reverse()] } }
    }),
  },
  {
    name: 'undone-though-not-done',
    seed: 6,
    about: 'a roll-back also undoes the step that failed',
    breaks: ['N8'],
    profile: failing,
    store: rewriting((instance, entries) => {
      const failed = entries.find(({ type }) => type === 'failed')
      const { rollBack, done } = instance
      if (rollBack === null || failed?.firing === undefined || failed.name === undefined) return null
      if (rollBack.left.length === 0) return null
      const { firing: number, name } = failed
      const step = { number, type: 'fire', name, key: null, endedAt: 0, result: null, undone: false } as const
      return {
        ...instance,
        done: [...done, step],
        rollBack: { ...rollBack, left: [...rollBack.left, number] },
      }
    }),
  },
  {
    name: 'created-without-its-guard',
    about: 'an instance begins without looking whether one with its key has begun',
    breaks: ['N8'],
    // Many at once, over a store that takes its time: two look at the key before either has it.
    profile: (profile) => ({
      ...chains(profile),
      nodes: 2,
      isRemote: true,
      messages: 30,
      faultsMs: 5_000,
      maxStoreMs: 300,
      concurrency: 64,
    }),
    store: withoutGuards('correlation'),
  },
  {
    name: 'early-update-lost',
    about: 'an update that comes before its instance is written down, and nobody will look at it',
    breaks: ['N2'],
    profile: only({ ordered: 20, stopped: 80 }),
    store: changing((commit) => {
      const isEarly = commit.writes.some(
        (write) => write.w === 'work.settle' && write.note.lastError === 'BUFFERED',
      )
      return isEarly ? { ...commit, writes: commit.writes.filter(({ w }) => w !== 'work.add') } : commit
    }),
  },
  {
    name: 'timer-outlives-its-token',
    about: 'the time of a stay runs on after its token has left',
    breaks: ['N8'],
    profile: chains,
    store: (store) => {
      const stays = new Map<string, Instance['stays']>()
      return rewriting((instance) => {
        const left = (stays.get(instance.id) ?? []).filter(
          (stay) => !instance.stays.some(({ number }) => number === stay.number),
        )
        stays.set(instance.id, instance.stays)
        return left.length === 0 || instance.state !== 'active'
          ? null
          : { ...instance, stays: [...left, ...instance.stays] }
      })(
        changing((commit) => ({
          ...commit,
          writes: commit.writes.filter(
            (write) => write.w !== 'work.settle' || write.note.lastError !== 'not needed any more',
          ),
        }))(store),
      )
    },
  },
  {
    name: 'lock-left-before-the-end',
    about: 'the lock of an instance is free as soon as it was admitted',
    breaks: ['N8'],
    profile: only({ netted: 10, ordered: 90 }, { slow: 100 }),
    store: changing((commit) => ({
      ...commit,
      writes: commit.writes.map((write) => {
        if (write.w !== 'work.settle' || write.place !== 'keep') return write
        const { place: _, ...rest } = write
        return rest
      }),
    })),
  },
  {
    name: 'held-trigger-uses-an-attempt',
    about: 'an event that waits for the circuit of its trigger uses up an attempt',
    breaks: ['PA25'],
    profile: (profile) => ({ ...only({ ordered: 1 })(profile), messages: 24, hasTriggerCircuits: true }),
    store: usingAttempts,
  },
  {
    name: 'held-trigger-is-dropped',
    about: 'an event that waits for the circuit of its trigger is given up',
    breaks: ['N2', 'N12'],
    profile: (profile) => ({ ...only({ ordered: 1 })(profile), messages: 24, hasTriggerCircuits: true }),
    store: changing((commit) => ({
      ...commit,
      writes: commit.writes.map((write) => (isHeld(write) ? { ...write, delayMs: 30 * DAY } : write)),
    })),
  },
  {
    name: 'replaced-by-nothing',
    about: 'a migration ends an instance, and the new one is not in its commit',
    breaks: ['N8'],
    profile: (profile) => ({
      ...only({ asked: 1 })(profile),
      hasMigrations: true,
      redefineEveryMs: 8_000,
      operatorEveryMs: 500,
    }),
    store: changing((commit) => {
      const { successor } = replacementIn(commit)
      const writes = commit.writes.filter(
        (write) =>
          !(write.w === 'instance.put' && write.row.id === successor) &&
          !(write.w === 'history.append' && write.rows.some(({ instance }) => instance === successor)),
      )
      return successor === undefined ? commit : { ...commit, writes }
    }),
  },
  {
    name: 'held-step-uses-an-attempt',
    about: 'a step that waits for its circuit uses up an attempt',
    breaks: ['PA25'],
    profile: only({ ordered: 1 }, { ok: 20, refused: 80 }),
    store: usingAttempts,
  },
  {
    name: 'circuit-of-a-step-is-forgotten',
    about: 'a node that starts does not read that the circuit of a step is open',
    breaks: ['PA25'],
    profile: (profile) => ({
      ...only({ ordered: 1 }, { ok: 10, refused: 90 })(profile),
      messages: 24,
      nodes: 1,
      crashEveryMs: 5_000,
    }),
    store: (store) => ({
      ...store,
      forTenant(tenant) {
        const reads = store.forTenant(tenant)
        const records: TenantReads['records'] = async (request) => {
          const page = await reads.records(request)
          const isKept = ({ key }: { readonly key: string }) => !key.startsWith('workflow:')
          return request.kind === 'circuit' ? { ...page, items: page.items.filter(isKept) } : page
        }
        return new Proxy(reads, {
          get: (target, name) => (name === 'records' ? records : target[name as keyof TenantReads]),
        })
      },
    }),
  },
  {
    name: 'result-not-kept',
    about: 'a step is done, and its instance does not hear of it',
    breaks: ['N8'],
    profile: chains,
    store: changing((commit) => {
      const isEnd = commit.writes.some(
        (write) => write.w === 'history.append' && write.rows.some(({ type }) => type === 'ended'),
      )
      if (!isEnd) return commit
      return {
        ...commit,
        writes: commit.writes.filter(
          ({ w }) => w !== 'instance.put' && w !== 'history.append' && w !== 'work.add',
        ),
      }
    }),
  },
  {
    name: 'rejected-and-not-told',
    about: 'an event over the limit of its trigger is a dead letter, and the event about it is not stored',
    breaks: ['N2'],
    profile: (profile) => ({ ...only({ asked: 1 })(profile), hasLimits: true }),
    store: changing((commit) => ({
      ...commit,
      writes: commit.writes.filter(
        (write) => write.w !== 'event.append' || write.event.subject !== 'order.refused',
      ),
    })),
  },
  {
    name: 'rejected-and-dropped',
    about: 'an event over the limit of its trigger is passed over, without a dead letter',
    breaks: ['FL3', 'N2'],
    profile: (profile) => ({ ...only({ asked: 1 })(profile), hasLimits: true }),
    store: changing((commit) => ({
      ...commit,
      writes: commit.writes.flatMap((write) => {
        if (write.w === 'deadLetter.put' && write.row.reason === 'over_rate_limit') return []
        if (write.w !== 'work.settle' || write.note.class !== 'rate_limited') return [write]
        return [{ ...write, to: 'skipped', note: { ...write.note, lastError: 'RATE_LIMITED' } }]
      }),
    })),
  },
]

export const CASE_BUGS: readonly Bug[] = PLANTED.map((bug) => ({ ...bug, hasCases: true }))
