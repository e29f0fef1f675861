// Planted bugs of connections, their credentials and runs; what a planted bug is for is said in bugs.ts.

import type { HttpClient } from '../src/ports/http-client.ts'
import type { Commit, Store, TenantReads, Write } from '../src/ports/store.ts'
import type { Bug } from './bug.ts'
import type { ConnectionPlan, Profile } from './faults.ts'

/** Little but calls on connections, and little else that goes wrong. */
const calling =
  (plan: Partial<ConnectionPlan> = {}) =>
  (profile: Profile): Profile => ({
    ...profile,
    messages: 14,
    faultsMs: 60_000,
    vendor: { ok: 1 },
    code: { ok: 1 },
    probe: { ok: 1 },
    keepMs: 0,
    nodes: 1,
    isRemote: false,
    redefineEveryMs: 0,
    controlEveryMs: 0,
    operatorEveryMs: 0,
    slowStore: 0,
    unavailable: 0,
    indeterminate: 0,
    commitFault: 0,
    pauseEveryMs: 0,
    crashEveryMs: 0,
    crashAtStore: 0,
    crashAtSend: 0,
    concurrency: 8,
    connections: {
      outageEveryMs: 0,
      expireEveryMs: 8_000,
      operatorEveryMs: 2_000,
      canRetire: false,
      ...plan,
    },
  })

const committing =
  (change: (commit: Commit) => Commit) =>
  (store: Store): Store => ({ ...store, commit: (commit) => store.commit(change(commit)) })

const changing = (change: (write: Write) => Write) =>
  committing((commit) => ({ ...commit, writes: commit.writes.map(change) }))

/** Without the guards that `isLeft` names; a commit that another guard refuses gets the index in its own list. */
const unguarded =
  (isLeft: (commit: Commit, guard: Commit['guards'][number]) => boolean) =>
  (store: Store): Store => ({
    ...store,
    async commit(commit) {
      const kept = commit.guards.flatMap((guard, index) => (isLeft(commit, guard) ? [] : [index]))
      const result = await store.commit({ ...commit, guards: kept.map((index) => commit.guards[index]!) })
      return result.ok ? result : { ...result, guard: kept[result.guard]! }
    },
  })

const isOfCredential = (guard: Commit['guards'][number]) => guard.g === 'version' && guard.of === 'credential'
const begins = ({ writes }: Commit) =>
  writes.some(
    (write) => write.w === 'event.append' && write.event.subject === 'integration.credential.rotating',
  )

/** The commit takes the lock of a refresh. */
const locks = ({ writes }: Commit) =>
  writes.some((write) => write.w === 'record.put' && write.body.includes('"refresh":{'))

const looking =
  (change: (outcome: Awaited<ReturnType<HttpClient['send']>>) => typeof outcome) =>
  (http: HttpClient): HttpClient => ({
    async send(request) {
      const outcome = await http.send(request)
      return /\.test\/me$/.test(request.url) ? change(outcome) : outcome
    },
    vet: (url) => http.vet(url),
  })

/** What a node reads of connections when it starts, or follows the others. */
const readingConnections =
  (change: (body: string) => string) =>
  (store: Store): Store => ({
    ...store,
    forTenant(tenant) {
      const reads = store.forTenant(tenant)
      const records: TenantReads['records'] = async (request) => {
        const page = await reads.records(request)
        if (request.kind !== 'connection') return page
        return { ...page, items: page.items.map((item) => ({ ...item, body: change(item.body) })) }
      }
      return new Proxy(reads, {
        get: (target, name) => (name === 'records' ? records : target[name as keyof TenantReads]),
      })
    },
  })

const on = { hasConnections: true } as const

export const CONNECTION_BUGS: readonly Bug[] = [
  {
    ...on,
    name: 'verification-not-looked-at',
    seed: 1,
    about: 'a new secret is taken for good whatever the vendor says of it',
    breaks: ['CD1'],
    profile: calling({ expireEveryMs: 0 }),
    http: looking((outcome) => (outcome.kind === 'response' ? { ...outcome, status: 200 } : outcome)),
  },
  {
    ...on,
    name: 'promoted-when-made',
    seed: 1,
    about: 'a secret that was made at the vendor is in use before it was verified',
    breaks: ['CD1'],
    profile: calling({ expireEveryMs: 0 }),
    vault: (vault) => ({
      ...vault,
      set: (tenant, name, value, options) => vault.set(tenant, name, value, { ...options, isPending: false }),
    }),
  },
  {
    ...on,
    name: 'gate-is-forgotten',
    seed: 1,
    about: 'a node that starts does not read that a circuit is open or a connection retired',
    breaks: ['CX2', 'CX4', 'CX6'],
    profile: (profile) => ({
      ...calling({ outageEveryMs: 6_000, canRetire: true })(profile),
      crashEveryMs: 8_000,
    }),
    store: readingConnections((body) => {
      const state = JSON.parse(body) as Record<string, unknown>
      return JSON.stringify({
        ...state,
        retired: null,
        override: null,
        circuit: { state: 'closed', failures: 0, recent: [] },
      })
    }),
  },
  {
    ...on,
    name: 'unwell-goes-on',
    seed: 1,
    about: 'a connection whose probe failed takes calls as before',
    breaks: ['CX31'],
    profile: calling({ outageEveryMs: 6_000 }),
    decisions: (decisions) => ({
      ...decisions,
      stepConnection(before, event, terms) {
        const step = decisions.stepConnection(before, event, terms)
        if (event.type !== 'probed' || step.circuit !== 'opened') return step
        return { ...step, circuit: null, state: { ...step.state, circuit: before.circuit } }
      },
    }),
  },
  {
    ...on,
    name: 'recovery-resolves-nothing',
    seed: 1,
    about: 'a connection that recovers leaves its failure open',
    breaks: ['FL12'],
    profile: calling({ outageEveryMs: 6_000 }),
    store: committing((commit) => ({
      ...commit,
      writes: commit.writes.filter(
        (write) =>
          write.w !== 'failure.put' ||
          !write.row.consumer.startsWith('connection:') ||
          write.row.state !== 'resolved',
      ),
    })),
  },
  {
    ...on,
    name: 'refusal-uses-attempts',
    seed: 1,
    about: 'work whose credential was refused uses up an attempt while it waits for the next',
    breaks: ['DR6'],
    profile: calling(),
    store: changing((write) =>
      write.w === 'work.again' && write.note.lastError?.includes('was refused')
        ? { ...write, counters: { ...write.counters, attempts: write.counters.attempts + 1 } }
        : write,
    ),
  },
  {
    ...on,
    name: 'rotation-without-token',
    seed: 1,
    about: 'whoever is refused begins a rotation, whether or not one is under way',
    breaks: ['CD2', 'N1', 'ES4'],
    profile: calling({ expireEveryMs: 5_000 }),
    store: unguarded((commit, guard) => begins(commit) && (isOfCredential(guard) || guard.g === 'dedup')),
  },
  {
    ...on,
    name: 'run-not-settled',
    seed: 1,
    about: 'the end of an item says nothing of its run',
    breaks: ['DR11'],
    profile: calling({ expireEveryMs: 0 }),
    store: committing((commit) => ({
      ...commit,
      writes: commit.writes.filter((write) => write.w !== 'run.put' || write.row.state !== 'completed'),
    })),
  },
  {
    ...on,
    name: 'prior-revoked-at-once',
    seed: 1,
    about: 'the former secret is ended at the vendor while calls may still use it',
    breaks: ['CD17'],
    profile: calling({ expireEveryMs: 0, operatorEveryMs: 1_000 }),
    store: changing((write) =>
      write.w === 'work.add' && write.work.step === 'revoke' ? { ...write, delayMs: 0 } : write,
    ),
  },
  {
    ...on,
    name: 'refresh-by-everybody',
    seed: 1,
    about: 'whoever needs a token asks for one, whoever else is asking',
    breaks: ['CD4'],
    profile: (profile) => ({
      ...calling({ expireEveryMs: 0 })(profile),
      nodes: 2,
      isRemote: true,
      messages: 30,
    }),
    store: unguarded((commit, guard) => locks(commit) && isOfCredential(guard)),
  },
]
