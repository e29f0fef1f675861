// Planted bugs of subscriptions and their deliveries; what a planted bug is for is said in bugs.ts.

import type { EventId, WorkId } from '../src/core/foundation/ids/index.ts'
import type { HttpClient, HttpRequest } from '../src/ports/http-client.ts'
import type { Commit, Store, TenantReads, Write } from '../src/ports/store.ts'
import { StoreError } from '../src/ports/store.ts'
import type { Bug } from './bug.ts'
import type { Profile } from './faults.ts'

type Added = Extract<Write, { w: 'work.add' }>

const isHook = ({ url }: HttpRequest): boolean => url.startsWith('https://hooks.test/')

/** Little but deliveries, and little else that goes wrong. */
const delivering = (profile: Profile): Profile => ({
  ...profile,
  messages: 14,
  faultsMs: 45_000,
  vendor: { ok: 1 },
  code: { ok: 1 },
  keepMs: 0,
  nodes: 1,
  isRemote: false,
  redefineEveryMs: 0,
  controlEveryMs: 0,
  operatorEveryMs: 0,
  slowStore: 0,
  concurrency: 8,
})

const calm = (profile: Profile): Profile => ({
  ...delivering(profile),
  unavailable: 0,
  indeterminate: 0,
  commitFault: 0,
  pauseEveryMs: 0,
})

const committing =
  (change: (commit: Commit) => Commit) =>
  (store: Store): Store => ({ ...store, commit: (commit) => store.commit(change(commit)) })

const reading =
  (change: (reads: TenantReads) => Partial<TenantReads>) =>
  (store: Store): Store => ({
    ...store,
    forTenant(tenant) {
      const reads = store.forTenant(tenant)
      const changed = change(reads)
      return new Proxy(reads, {
        get: (target, name) => changed[name as keyof TenantReads] ?? target[name as keyof TenantReads],
      })
    },
  })

const sending =
  (send: (request: HttpRequest, http: HttpClient) => ReturnType<HttpClient['send']>) =>
  (http: HttpClient): HttpClient => ({
    send: (request) => (isHook(request) ? send(request, http) : http.send(request)),
    vet: (url) => http.vet(url),
  })

const isDelivery = (write: Write): write is Added => write.w === 'work.add' && write.work.kind === 'delivery'

const hook = { hasHooks: true } as const

const noteTwice = (write: Write): readonly Write[] =>
  write.w === 'fact.add'
    ? [write, { w: 'fact.add', fact: { ...write.fact, id: `${write.fact.id}x` as EventId } }]
    : [write]

export const HOOK_BUGS: readonly Bug[] = [
  {
    ...hook,
    name: 'end-of-a-delivery-not-noted',
    about: 'the end of a delivery is committed without its fact',
    breaks: ['FA1'],
    profile: delivering,
    store: committing((commit) => ({
      ...commit,
      writes: commit.writes.filter(({ w }) => w !== 'fact.add'),
    })),
  },
  {
    ...hook,
    name: 'end-of-a-delivery-noted-twice',
    about: 'a fact is written by the end of a delivery and by its job',
    breaks: ['FA1'],
    profile: delivering,
    store: committing((commit) => ({ ...commit, writes: commit.writes.flatMap(noteTwice) })),
  },
  {
    ...hook,
    name: 'delivered-before-the-answer',
    seed: 1,
    about: 'a delivery is settled as delivered when it has left, not when it was taken',
    breaks: ['N4'],
    profile: delivering,
    http: sending(async (request, http) => {
      http.send(request).catch(() => {})
      return { kind: 'response', status: 200, headers: {}, body: '', durationMs: 1 }
    }),
  },
  {
    ...hook,
    name: 'stale-delivery-settled',
    seed: 1,
    about: 'the end of a delivery does not say which lease it rests on',
    breaks: ['N5', 'N3', 'N6', 'N2'],
    profile: (profile) => ({
      ...profile,
      nodes: 2,
      isRemote: true,
      messages: 18,
      leaseMs: 10_000,
      pauseEveryMs: 8_000,
    }),
    store: (store) => ({
      ...store,
      async commit(commit) {
        const kept = commit.guards.flatMap(({ g }, index) => (g === 'lease' ? [] : [index]))
        const result = await store.commit({ ...commit, guards: kept.map((index) => commit.guards[index]!) })
        return result.ok ? result : { ...result, guard: kept[result.guard]! }
      },
    }),
  },
  {
    ...hook,
    name: 'delivery-beside-its-event',
    seed: 1,
    about: 'deliveries are planned in a commit of their own behind that of the event',
    breaks: ['N2', 'N5'],
    profile: delivering,
    store: (store) => ({
      ...store,
      async commit(commit) {
        const later = commit.writes.filter(isDelivery)
        if (later.length === 0 || !commit.writes.some(({ w }) => w === 'event.append'))
          return store.commit(commit)
        const ids = new Set<WorkId>(later.map(({ work }) => work.id))
        const isLater = (write: Write) =>
          (write.w === 'work.add' && ids.has(write.work.id)) ||
          (write.w === 'work.settle' && ids.has(write.work))
        const first = await store.commit({ ...commit, writes: commit.writes.filter((one) => !isLater(one)) })
        if (!first.ok) return first
        return store.commit({ ...commit, guards: [], writes: commit.writes.filter(isLater) })
      },
    }),
  },
  {
    ...hook,
    name: 'retry-under-a-new-id',
    seed: 1,
    about: 'each attempt has an id of its own, so that receivers take all of them',
    breaks: ['N3'],
    profile: calm,
    http: sending((request, http) => {
      const id = `${request.headers['webhook-id']}-${request.headers['webhook-timestamp']}`
      return http.send({ ...request, headers: { ...request.headers, 'webhook-id': id } })
    }),
  },
  {
    ...hook,
    name: 'body-made-anew',
    seed: 1,
    about: 'the body says when it was sent, so that an attempt has another one than that before it',
    breaks: ['N3', 'SU15'],
    profile: calm,
    http: sending((request, http) => {
      const body = request.body?.replace(
        /"timestamp":"[^"]*"/,
        `"timestamp":"${request.headers['webhook-timestamp']}"`,
      )
      return http.send({ ...request, body: body ?? null })
    }),
  },
  {
    ...hook,
    name: 'disabled-is-forgotten',
    seed: 2,
    about: 'a node that starts does not read that a subscription is disabled or paused',
    breaks: ['DY14', 'N2'],
    profile: (profile) => ({ ...delivering(profile), crashEveryMs: 6_000, crashAtStore: 0 }),
    store: reading((reads) => ({
      async records(request) {
        const page = await reads.records(request)
        if (request.kind !== 'subscription') return page
        const items = page.items.map((item) => ({
          ...item,
          body: item.body.replace(/"status":"(?:disabled|paused)","because"/, '"status":null,"because"'),
        }))
        return { ...page, items }
      },
    })),
  },
  {
    ...hook,
    name: 'recovery-adds-what-is-under-way',
    seed: 1,
    about: 'a recovery takes what is on its way, or was taken, for what is missing',
    breaks: ['RV2'],
    profile: delivering,
    store: reading((reads) => ({
      workOfEvents: async (ids) => (await reads.workOfEvents(ids)).filter(({ kind }) => kind !== 'delivery'),
    })),
  },
  {
    ...hook,
    name: 'window-leaks',
    seed: 1,
    about: 'a call that ends gives its place in the window of its endpoint not back',
    breaks: ['N12'],
    profile: calm,
    store(store) {
      const taken = new Map<string, number>()
      const nameOf = ({ tenant, consumer }: { tenant: string; consumer: string }) => `${tenant} ${consumer}`
      return {
        ...store,
        async claim(request) {
          const slots = request.slots.filter(
            (slot) => !slot.consumer.startsWith('subscription:') || (taken.get(nameOf(slot)) ?? 0) < 4,
          )
          const result = await store.claim({ ...request, slots })
          for (const { work } of result.items) taken.set(nameOf(work), (taken.get(nameOf(work)) ?? 0) + 1)
          return result
        },
      }
    },
  },
  {
    ...hook,
    name: 'told-of-itself',
    seed: 1,
    about: 'what the system tells of a subscription is for that subscription too',
    breaks: ['DY6'],
    profile: calm,
    store: committing((commit) => {
      const more: Write[] = []
      for (const write of commit.writes) {
        if (write.w !== 'event.append' || write.event.source !== 'millrace') continue
        const { consumer } = JSON.parse(write.event.data) as { consumer?: string }
        const like = commit.writes.filter(isDelivery).find(({ work }) => work.eventId === write.event.id)
        if (like === undefined || !consumer?.startsWith('subscription:')) continue
        const id = like.work.id.replace(/.{4}$/, 'ffff') as WorkId
        more.push({ ...like, lease: null, work: { ...like.work, id, consumer } })
      }
      const events = new Set(more.flatMap((write) => (write.w === 'work.add' ? [write.work.eventId] : [])))
      const counted = commit.writes.map((write) =>
        write.w === 'event.append' && events.has(write.event.id)
          ? { ...write, event: { ...write.event, matched: write.event.matched + 1 } }
          : write,
      )
      return { ...commit, writes: [...counted, ...more] }
    }),
  },
  {
    ...hook,
    name: 'old-secret-dropped',
    seed: 1,
    about: 'a rotation ends the former secret at once, whatever overlap was asked for',
    breaks: ['SU15'],
    profile: (profile) => ({ ...calm(profile), crashEveryMs: 0, messages: 40 }),
    vault: (vault) => ({
      ...vault,
      resolve: async (tenant, refs) => (await vault.resolve(tenant, refs)).slice(0, refs.length),
    }),
  },
  {
    ...hook,
    name: 'any-refusal-is-for-good',
    seed: 3,
    about: 'what an endpoint cannot take now is taken for its word that it wants nothing more',
    breaks: ['SB16'],
    profile: calm,
    http: sending(async (request, http) => {
      const outcome = await http.send(request)
      return outcome.kind === 'response' && outcome.status >= 500 ? { ...outcome, status: 410 } : outcome
    }),
  },
  {
    ...hook,
    name: 'delivery-without-a-lane',
    seed: 1,
    about: 'deliveries of a subscription that takes turns are put into no lane',
    breaks: ['N7'],
    profile: calm,
    store: committing((commit) => ({
      ...commit,
      writes: commit.writes.map((write) => {
        if (!isDelivery(write)) return write
        const { lane: _, ...work } = write.work
        return { ...write, work }
      }),
    })),
  },
  {
    ...hook,
    name: 'tenants-share-a-name',
    seed: 1,
    about: 'an endpoint is looked up by the name of its subscription alone',
    breaks: ['N10'],
    profile: calm,
    http: sending((request, http) =>
      http.send({ ...request, url: request.url.replace('/acme/', '/default/') }),
    ),
  },
  {
    ...hook,
    name: 'secret-in-an-error',
    seed: 1,
    about: 'the vault names the value that it could not keep',
    breaks: ['N11'],
    profile: calm,
    vault: (vault) => ({
      ...vault,
      set: async (_tenant, name, value) => {
        throw new StoreError('unavailable', `${name} could not be set to ${value}`, { applied: 'no' })
      },
    }),
  },
  {
    ...hook,
    name: 'attempts-without-end',
    seed: 12,
    about: 'a delivery that fails is tried again however often it did, for nobody counts',
    breaks: ['N6'],
    profile: (profile) => ({ ...calm(profile), crashEveryMs: 0 }),
    http: sending(async (request, http) => {
      const outcome = await http.send(request)
      return outcome.kind === 'response' ? { ...outcome, status: 500 } : outcome
    }),
    store: committing((commit) => ({
      ...commit,
      writes: commit.writes.map((write) =>
        write.w === 'work.again'
          ? { ...write, counters: { ...write.counters, attempts: Math.max(0, write.counters.attempts - 1) } }
          : write,
      ),
    })),
  },
]
