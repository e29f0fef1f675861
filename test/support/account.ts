// The account after a run: what was acknowledged against what the node reports and what the vendor did.

import { writeSync } from 'node:fs'
import type { Load } from './load.ts'
import type { NodeProcess } from './node-process.ts'
import { eventually } from './node-process.ts'
import type { Vendor } from './vendor.ts'

/** One event, four consumers, each with another way to settle an unknown outcome. */
const CONSUMERS = ['keyed', 'probed', 'plain', 'chain'] as const
type Consumer = (typeof CONSUMERS)[number]

/** `timeout` bounds how long a probe has to wait: nothing may be on its way any more. */
export function makeFlows(vendorUrl: string, timeout = '2s'): string {
  const route = (name: string, extra: string) => `
kind: Route
name: ${name}
on: [github.events.issues.opened]
key: "'${name}:' + header.x-github-delivery"
retry: { attempts: 9, delays: [50ms, 50ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms] }
circuit: { openFor: 1s }
do:
  timeout: ${timeout}
  http:
    url: "${vendorUrl}/${name}"
    body: { ref: "{{ key }}" }
    ${extra}`
  return [
    `
kind: Source
name: github
verify: { scheme: github, secret: { env: GITHUB_WEBHOOK_SECRET } }
subjects: github`,
    route('keyed', 'keyTtl: 1h'),
    route(
      'probed',
      `probe: { url: "${vendorUrl}/probed?ref={{ key }}", found: result.body.items.size() > 0, after: 0s }`,
    ),
    route('plain', ''),
    `
kind: Route
name: chain
on: [github.events.issues.opened]
do: { emit: mill.step.one, data: { from: "{{ event.id }}" } }`,
    `
kind: Route
name: link
on: [mill.step.one]
do: { emit: mill.step.two, data: { from: "{{ event.id }}" } }`,
  ].join('\n---')
}

interface ShownEvent {
  readonly id: string
  readonly dedupKey: string
  readonly causationId: string | null
  readonly consumers: readonly { readonly name: string; readonly workId: string; readonly state: string }[]
}

interface ShownPage<Item> {
  readonly items: readonly Item[]
  readonly nextCursor: string | null
}

interface ConsumerAccount {
  readonly acknowledged: number
  readonly done: number
  readonly parked: number
  readonly otherwise: number
  readonly effects: number
  readonly lost: number
  readonly repeated: number
  /** Calls beyond one per key, made harmless by the vendor's key or a probe. */
  readonly callsAgain: number
}

export interface Account {
  readonly byConsumer: Readonly<Record<Consumer, ConsumerAccount>>
  readonly parked: readonly { readonly workId: string; readonly key: string }[]
  /** Acknowledged, but not stored under its id or not as it was sent. */
  readonly missing: readonly string[]
  /** Events of the source in the store, and how many different deliveries these are. */
  readonly stored: number
  readonly deliveries: number
}

const AT_ONCE = 16

const OPEN = ['ready', 'waiting', 'leased']

interface OpenJob {
  readonly id: string
  readonly consumer: string
  readonly state: string
  readonly key?: string
  readonly attempts: number
  readonly waits: number
  readonly dueAt: string
  readonly class?: string
  readonly lastError?: string
}

/** Settles when no job is due, waiting or leased, nor can become so by itself; `isKept` names those that may stay open. */
export async function settled(
  node: NodeProcess,
  isKept: (job: { readonly consumer: string }) => boolean = () => false,
): Promise<void> {
  let open: readonly OpenJob[] = []
  const isFinal = async () => {
    const jobs = await list<OpenJob>(node, '/v1/work?limit=500')
    open = jobs.filter((job) => OPEN.includes(job.state) && !isKept(job))
    return open.length === 0
  }
  // A job may move from one list into another between two reads. Jobs are created by jobs that are not final yet, so
  // two reads of all of them that find only final ones cannot have missed one.
  const isSettled = async () => {
    for (const state of OPEN) {
      const { items } = await node.get<ShownPage<OpenJob>>(`/v1/work?state=${state}&limit=20`)
      if (!items.every(isKept)) return false
    }
    return (await isFinal()) && (await isFinal())
  }
  await eventually('every job is settled', isSettled, async () => {
    await isFinal()
    return open.slice(0, 20).map(pickShown)
  })
}

/** What says why a job is still open. */
function pickShown({ id, consumer, state, key, attempts, waits, dueAt, class: of, lastError }: OpenJob) {
  return { id, consumer, state, key, attempts, waits, dueAt, class: of, lastError }
}

async function list<Item>(node: NodeProcess, path: string): Promise<readonly Item[]> {
  const all: Item[] = []
  let cursor = ''
  for (;;) {
    const page = await node.get<ShownPage<Item>>(path + cursor)
    all.push(...page.items)
    if (page.nextCursor === null) return all
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`
  }
}

export function listEvents(node: NodeProcess, filter: string): Promise<readonly ShownEvent[]> {
  return list(node, `/v1/events?limit=500&${filter}`)
}

export async function takeAccount(
  node: NodeProcess,
  vendor: Vendor,
  acknowledged: ReadonlyMap<string, string>,
): Promise<Account> {
  const missing: string[] = []
  const parked: { workId: string; key: string }[] = []
  const states = new Map<string, string>()
  await inParallel([...acknowledged], async ([delivery, eventId]) => {
    const event = await node.get<ShownEvent>(`/v1/events/${eventId}`).catch(() => null)
    const names = event?.consumers.map(({ name }) => name).sort()
    if (event?.dedupKey !== delivery || names?.join() !== [...CONSUMERS].sort().join()) missing.push(delivery)
    for (const { name, workId, state } of event?.consumers ?? []) {
      states.set(`${name}:${delivery}`, state)
      if (state === 'parked') parked.push({ workId, key: `${name}:${delivery}` })
    }
  })
  const stored = await listEvents(node, 'source=github')
  const emitted = await countChain(node, new Set(acknowledged.values()))
  const account = (consumer: Consumer): ConsumerAccount => {
    const keys = [...acknowledged.keys()].map((delivery) => `${consumer}:${delivery}`)
    const log = vendor.records(consumer)
    const effectsOf = (key: string) =>
      consumer === 'chain' ? emitted(key, acknowledged) : (log.get(key)?.effects ?? 0)
    const inState = (state: string) => keys.filter((key) => states.get(key) === state).length
    const done = inState('done')
    return {
      acknowledged: keys.length,
      done,
      parked: inState('parked'),
      otherwise: keys.length - done - inState('parked'),
      effects: keys.reduce((sum, key) => sum + effectsOf(key), 0),
      // A parked job is not lost: it waits for a decision, and is visible.
      lost: keys.filter((key) => effectsOf(key) === 0 && states.get(key) !== 'parked').length,
      repeated: keys.filter((key) => effectsOf(key) > 1).length,
      callsAgain: keys.reduce((sum, key) => sum + Math.max(0, (log.get(key)?.requests ?? 0) - 1), 0),
    }
  }
  return {
    byConsumer: {
      keyed: account('keyed'),
      probed: account('probed'),
      plain: account('plain'),
      chain: account('chain'),
    },
    parked,
    missing,
    stored: stored.length,
    deliveries: new Set(stored.map(({ dedupKey }) => dedupKey)).size,
  }
}

/** How often both links of the chain followed from an event; links without a known cause are an error. */
async function countChain(node: NodeProcess, known: ReadonlySet<string>) {
  const [ones, twos] = [
    await listEvents(node, 'subject=mill.step.one'),
    await listEvents(node, 'subject=mill.step.two'),
  ]
  const followers = (events: readonly ShownEvent[]) => {
    const counts = new Map<string, ShownEvent[]>()
    for (const event of events) {
      const cause = event.causationId ?? ''
      counts.set(cause, [...(counts.get(cause) ?? []), event])
    }
    return counts
  }
  const first = followers(ones)
  const second = followers(twos)
  const stray = [...first.keys()].filter((cause) => !known.has(cause))
  if (stray.length > 0) throw new Error(`emitted without an acknowledged cause: ${stray.join(', ')}`)
  return (key: string, acknowledged: ReadonlyMap<string, string>): number => {
    const eventId = acknowledged.get(key.slice('chain:'.length)) ?? ''
    const links = first.get(eventId) ?? []
    const ends = links.flatMap(({ id }) => second.get(id) ?? [])
    // One of each is one effect; a second one of either is a repeat; a missing end is none.
    return links.length === 0 || ends.length === 0 ? 0 : Math.max(links.length, ends.length)
  }
}

async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const rest = [...items]
  const worker = async () => {
    for (let item = rest.pop(); item !== undefined; item = rest.pop()) await work(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

/**
 * Resolves each parked job by the vendor's log, as a user would. Returns what is wrong afterwards: keys of acknowledged
 * events whose effect did not happen exactly once, and jobs that are still parked.
 */
export async function resolveParked(
  node: NodeProcess,
  vendor: Vendor,
  acknowledged: ReadonlyMap<string, string>,
  { parked }: Account,
): Promise<{ readonly notOnce: readonly string[]; readonly parked: readonly unknown[] }> {
  const log = vendor.records('plain')
  for (const { workId, key } of parked) {
    const as = (log.get(key)?.effects ?? 0) > 0 ? 'done' : 'released'
    await node.post(`/v1/work/${workId}/resolve`, { as, reason: 'looked it up in the vendor’s log' })
  }
  await settled(node)
  const keys = [...acknowledged.keys()].map((delivery) => `plain:${delivery}`)
  return {
    notOnce: keys.filter((key) => log.get(key)?.effects !== 1),
    parked: (await node.get<ShownPage<unknown>>('/v1/work?state=parked&limit=1')).items,
  }
}

const COLUMNS = [
  'acknowledged',
  'done',
  'parked',
  'otherwise',
  'effects',
  'lost',
  'repeated',
  'callsAgain',
] as const

/** For readers of the output of a run that passed: vitest hides `console` there. */
export function report(text: string): void {
  writeSync(process.stdout.fd, `${text}\n`)
}

export function formatAccount(title: string, load: Omit<Load, 'node'>, account: Account): string {
  const line = (cells: readonly (string | number)[]) =>
    cells.map((cell, index) => (index === 0 ? String(cell).padEnd(8) : String(cell).padStart(12))).join(' ')
  return [
    `${title} (${Math.round(load.eventsPerSecond)} events/s with the stops in it)`,
    line(['', ...COLUMNS]),
    ...CONSUMERS.map((name) => line([name, ...COLUMNS.map((column) => account.byConsumer[name][column])])),
    `events in the store ${account.stored}, different deliveries ${account.deliveries}, missing ${account.missing.length}; ` +
      `${load.failedTries} tries of the senders failed, ${load.duplicates} were answered as duplicates`,
  ].join('\n')
}
