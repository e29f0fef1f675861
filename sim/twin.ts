// A second tenant that is the shop's twin: it has a source, routes, orders, keys and message ids of the same names, and a vendor of its
// own. Whatever forgets the tenant in a look-up finds the other one's row, and does too little or too much for this one.
//
// Its rows are checked here and nowhere else. Its source remembers messages for a few seconds only, and its senders repeat them in the
// very millisecond in which that ends.

import type {
  DefinitionDocument,
  RouteDocument,
  SourceDocument,
} from '../src/core/definitions/documents/index.ts'
import type { TenantId, WorkId } from '../src/core/foundation/ids/index.ts'
import { MINUTE, SECOND } from '../src/core/foundation/time/index.ts'
import type { Pruned } from '../src/core/store/retention/index.ts'
import type { HttpClient, HttpOutcome, HttpRequest } from '../src/ports/http-client.ts'
import type { Commit } from '../src/ports/store.ts'
import type { Outcome } from './data.ts'
import { type Life, short } from './node.ts'
import type { Outside } from './node-access.ts'
import type { Rng } from './random.ts'
import type { Acknowledgement } from './run-observations.ts'
import { ROUTES, SOURCES } from './scenario.ts'
import type { Message } from './senders-and-operator.ts'
import { TWIN } from './twin-tenant.ts'

export interface TwinWorld {
  readonly others: readonly { readonly tenant: TenantId; readonly documents: readonly DefinitionDocument[] }[]
  client(life: Life, others: HttpClient): HttpClient
  withTwins(messages: readonly Message[]): readonly Message[]
  /** When an operation of the store takes effect that would at `at`: some wait for the edge of a window. */
  align(at: number): number
  /** When the message is to be sent again; null: it is not. */
  repeatAt(message: Message): number | null
  applied(life: Life, commits: readonly Commit[], outcomes: readonly Outcome[]): void
  /** Performs it, and remembers which events it took. */
  pruning(prune: () => Pruned): Pruned
  isSettled(): boolean
  end(): void
}

const NOTHING: TwinWorld = {
  others: [],
  client: (_life, others) => others,
  withTwins: (messages) => messages,
  align: (at) => at,
  repeatAt: () => null,
  applied() {},
  pruning: (prune) => prune(),
  isSettled: () => true,
  end() {},
}

const WINDOW_MS = 3 * SECOND
const TIMEOUT_MS = 2 * SECOND
const MESSAGES_MAX = 6
/** How far from the edge an operation is moved onto it. */
const NEAR_MS = 60
const ORIGIN = 'https://twin.test'

const shop: SourceDocument = {
  ...(SOURCES.find(({ name }) => name === 'shop') as SourceDocument),
  dedup: { by: null, windowMs: WINDOW_MS },
}

/** The routes of the shop, but for whom they call. */
const routes: readonly RouteDocument[] = ROUTES.flatMap(({ document }) => {
  if (document.name !== 'charge' && document.name !== 'steps') return []
  if (document.do.type !== 'http' || document.do.probe === null) return []
  const url = `${ORIGIN}/${document.name}/{{ key }}`
  return [
    {
      ...document,
      maxWaitMs: 3 * MINUTE,
      do: {
        ...document.do,
        url,
        timeoutMs: TIMEOUT_MS,
        probe: { ...document.do.probe, url, afterMs: 3 * SECOND },
      },
    },
  ]
})

const DOCUMENTS: readonly DefinitionDocument[] = [shop, ...routes]

const OVER: ReadonlySet<string> = new Set(['done', 'dead', 'skipped', 'cancelled', 'parked'])

export function makeTwinWorld(outside: Outside, rng: Rng): TwinWorld {
  if (outside.profile.hasTwin !== true) return NOTHING
  const { time, data, observations, faults, trace } = outside
  const effects = new Map<string, number>()
  const open = new Set<WorkId>()
  /** When a message that was seen may come again, by its id. */
  const windows = new Map<string, number>()
  const edges = new Set<number>()
  const draws = rng.fork('vendor')
  const edge = rng.fork('edge')

  const exchange = (life: Life, request: HttpRequest): Promise<HttpOutcome> =>
    new Promise((resolve) => {
      const event = request.headers['x-event'] ?? ''
      if (data.event(TWIN, event as never) === null && !observations.gone.events.has(event as never))
        observations.violate(
          'N10',
          `the vendor of the twin is called for ${short(event)}, an event of another tenant`,
        )
      const key = request.url.slice(ORIGIN.length)
      const isRefused = request.method !== 'GET' && faults.member(120)
      const isCrash = request.method !== 'GET' && faults.member(15)
      let isOver = false
      const give = (outcome: HttpOutcome) => {
        if (isOver) return
        isOver = true
        cancel()
        resolve(outcome)
      }
      const cancel = time.after(request.timeoutMs, () =>
        life.pass(() =>
          give({
            kind: 'failed',
            sent: 'maybe',
            code: 'timeout',
            message: 'timeout',
            durationMs: request.timeoutMs,
          }),
        ),
      )
      const there = draws.between(1, 40)
      time.after(there, () => {
        const isFound = effects.has(key)
        if (request.method !== 'GET' && !isRefused) take(key)
        const status = request.method === 'GET' ? (isFound ? 200 : 404) : isRefused ? 503 : 200
        trace('twin', () => `${request.method} ${key} answers ${status}`)
        if (isCrash) life.crash('between an effect and its answer')
        time.after(draws.between(1, 40), () =>
          life.pass(() => give({ kind: 'response', status, headers: {}, body: '{}', durationMs: there })),
        )
      })
    })

  const take = (key: string) => {
    const count = (effects.get(key) ?? 0) + 1
    effects.set(key, count)
    observations.counts.twinEffects += 1
    if (count > 1) observations.violate('N3', `${key} of the twin has its effect ${count} times`)
  }

  const checkAppended = (commit: Commit) => {
    for (const write of commit.writes) {
      if (write.w !== 'event.append' || write.event.source !== 'shop') continue
      const { id, dedupKey, subject } = write.event
      if (time.now() < (windows.get(dedupKey) ?? 0))
        observations.violate('N1', `a second event of ${dedupKey} of the twin within its window`)
      windows.set(dedupKey, time.now() + WINDOW_MS)
      edges.add(time.now() + WINDOW_MS)
      observations.counts.twins += 1
      const wanted = routes.filter(({ on }) => on.includes(subject)).map(({ name }) => `route:${name}`)
      const given = commit.writes.flatMap((other) =>
        other.w === 'work.add' && other.work.eventId === id ? [other.work.consumer] : [],
      )
      if (wanted.sort().join() !== given.sort().join())
        observations.violate('N2', `event ${short(id)} of the twin has work for ${given.join() || 'nobody'}`)
    }
  }

  const checkRefused = (commit: Commit, outcome: Outcome | undefined) => {
    if (outcome?.ok !== false) return
    const guard = commit.guards[outcome.guard]
    if (guard?.g !== 'dedup' || guard.source !== 'shop') return
    const until = windows.get(guard.key)
    if (until === undefined || until <= time.now())
      observations.violate('N1', `${guard.key} of the twin is taken for a repetition after its window`)
  }

  const seeWork = (commit: Commit) => {
    for (const write of commit.writes) {
      const id = write.w === 'work.add' ? write.work.id : 'work' in write ? (write.work as WorkId) : null
      if (id === null) continue
      const row = data.work(TWIN, id)
      if (row !== null && !OVER.has(row.state)) open.add(id)
      else open.delete(id)
      if (row?.state !== 'done' || write.w !== 'work.settle' || write.to !== 'done') continue
      const key = row.key ?? write.note.key
      const [, name = ''] = row.consumer.split(':')
      if (key !== null && !effects.has(`/${name}/${encodeURIComponent(key)}`))
        observations.violate('N10', `work ${short(id)} of the twin is done, and its vendor never saw ${key}`)
    }
  }

  return {
    others: [{ tenant: TWIN, documents: DOCUMENTS }],
    client: (life, others) => ({
      send: (request) => (request.url.startsWith(ORIGIN) ? exchange(life, request) : others.send(request)),
      vet: (url) => others.vet(url),
    }),
    withTwins(messages) {
      const drawn = rng.fork('messages')
      const twins = messages
        .filter(({ source, tenant }) => source === 'shop' && tenant === undefined)
        .slice(0, MESSAGES_MAX)
        .map((message) => ({ ...message, kind: drawn.pick(['paid', 'paid', 'moved']), tenant: TWIN }))
      return [...messages, ...twins]
    },
    align(at) {
      for (const one of edges) {
        if (one < time.now() - 1) edges.delete(one)
        else if (Math.abs(one - at) <= NEAR_MS && edge.chance(500))
          return Math.max(time.now(), one + edge.pick([-1, 0, 1]))
      }
      return at
    },
    repeatAt({ id, tenant }) {
      const until = tenant === TWIN ? windows.get(id) : undefined
      return until === undefined || until <= time.now() || edge.chance(300)
        ? null
        : until - edge.between(10, 40)
    },
    applied(_life, commits, outcomes) {
      for (const [index, commit] of commits.entries()) {
        if (commit.tenant !== TWIN) continue
        checkRefused(commit, outcomes[index])
        if (outcomes[index]?.ok !== true) continue
        checkAppended(commit)
        seeWork(commit)
      }
    },
    pruning(prune) {
      const before = data.prunable().events.filter(({ tenant }) => tenant === TWIN)
      try {
        return prune()
      } finally {
        for (const event of before)
          if (data.event(TWIN, event.id) === null) observations.gone.events.set(event.id, event)
      }
    },
    isSettled: () => open.size === 0,
    end() {
      const isThere = ({ eventId }: Acknowledgement) =>
        data.event(TWIN, eventId) !== null || observations.gone.events.has(eventId)
      for (const one of observations.acknowledgements)
        if (one.tenant === TWIN && !isThere(one))
          observations.violate('N1', `acknowledged event ${short(one.eventId)} of the twin is gone`)
      for (const row of data.dump().work)
        if (row.tenant === TWIN && !OVER.has(row.state))
          observations.violate('N12', `work ${short(row.id)} of the twin is ${row.state} at the end`)
    },
  }
}
