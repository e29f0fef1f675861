// GET /v1/overview and /v1/stats: how much there is to do, and how it went over the last while.

import type { FastifyInstance } from 'fastify'
import type { TenantId } from '../core/foundation/ids/index.ts'
import type { StoreOverview } from '../ports/store.ts'
import type { HttpApi } from './api.ts'
import { operations, serveOn } from './operations.ts'
import { iso, isoOrNull, splitConsumer } from './shapes.ts'

/** Many look at once, and often: the store counts at most this often per tenant. */
const SAMPLE_MS_MIN = 2_000
const TENANTS_MAX = 1_000
/** Cached responses of /stats: at most one per tenant and step. */
const STATS_CACHED_MAX = 100
/** Up to here the step is small. */
const FINE_MINUTES_MAX = 15
const counts = [
  'ready',
  'leased',
  'parked',
  'openDeadLetters',
  'openFailures',
  'raisedEscalations',
  'activeInstances',
  'instancesWithAttention',
  'openOrphans',
  'unmatched',
] as const

export const overviewOperations = operations('overview', (s) => ({
  getOverview: {
    at: 'GET /v1/overview',
    summary: 'How much there is to do, and what this node did in the last minute',
    answer: s.answer(
      'The overview',
      s.object({
        now: s.instant,
        counts: s
          .object({
            ready: s.integer,
            leased: s.integer,
            parked: s.integer,
            openDeadLetters: s.integer,
            openFailures: s.integer,
            raisedEscalations: s.integer,
            activeInstances: s.integer,
            instancesWithAttention: s.integer,
            openOrphans: s.integer,
            unmatched: s.integer,
          })
          .describe('Each is counted up to a cap.'),
        isCapped: s
          .object({
            ready: s.boolean,
            leased: s.boolean,
            parked: s.boolean,
            openDeadLetters: s.boolean,
            openFailures: s.boolean,
            raisedEscalations: s.boolean,
            activeInstances: s.boolean,
            instancesWithAttention: s.boolean,
            openOrphans: s.boolean,
            unmatched: s.boolean,
          })
          .describe('There are at least as many as the count says.'),
        oldestReadyAt: s.nullable(s.instant).describe('Since when the oldest ready work is due.'),
        definitions: s.object({
          sources: s.integer,
          routes: s.integer,
          workflows: s.integer,
          paused: s.integer,
        }),
        subscriptions: s
          .object({ active: s.integer, failing: s.integer, paused: s.integer, disabled: s.integer })
          .describe('Endpoints that get our events, by status.'),
        rates: s
          .object({ acceptedPerMinute: s.number, donePerMinute: s.number, failedPerMinute: s.number })
          .describe('What this node did in the last minute.'),
      }),
    ),
  },
  getStats: {
    at: 'GET /v1/stats',
    summary: 'What this node did over the last minutes: by 2 seconds up to 15 minutes, by the minute beyond',
    query: s.filters({ minutes: s.integer.min(1).max(1_440).default(15) }),
    answer: s.answer(
      'The figures',
      s.object({
        stepMs: s.integer,
        from: s.instant.describe('When the first bucket begins; the last one is still filling.'),
        accepted: s.list(s.integer),
        done: s.list(s.integer),
        retried: s.list(s.integer),
        dead: s.list(s.integer),
        latencyP50Ms: s.list(s.nullable(s.number)).describe('From received to done; off by a fifth at most.'),
        latencyP95Ms: s.list(s.nullable(s.number)),
        queueAgeMs: s
          .list(s.nullable(s.integer))
          .describe('How long the oldest ready job has been due; null if it was not measured.'),
        consumers: s.list(
          s.object({
            consumer: s.string,
            perMinute: s.number,
            done: s.integer,
            retried: s.integer,
            dead: s.integer,
          }),
        ),
        sources: s.list(s.object({ source: s.string, perMinute: s.number, accepted: s.integer })),
      }),
    ),
  },
}))

export function addOverviewRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads' | 'meter' | 'definitions' | 'subscriptions' | 'now'>,
): void {
  const on = serveOn(app, overviewOperations)
  const sample = makeSampler(api)
  const stats = makeStatsText(api)

  on('getOverview', async (request) => {
    const { tenant } = request.caller
    const [overview, items, subscriptions] = await Promise.all([
      sample(tenant),
      api.definitions.list(tenant),
      api.subscriptions.counts(tenant),
    ])
    const ofKind = (kind: string) => items.filter((item) => item.kind === kind).length
    return {
      now: iso(api.now()),
      counts: overview.counts,
      isCapped: Object.fromEntries(counts.map((name) => [name, overview.counts[name] >= overview.cappedAt])),
      oldestReadyAt: isoOrNull(overview.oldestReadyAt),
      definitions: {
        sources: ofKind('Source'),
        routes: ofKind('Route'),
        workflows: ofKind('Workflow'),
        paused: items.filter(({ status }) => status === 'paused').length,
      },
      subscriptions,
      rates: api.meter.rates(tenant),
    }
  })

  on('getStats', async (request, reply) => {
    const { tenant } = request.caller
    await sample(tenant)
    reply.type('application/json')
    return stats(tenant, request.query.minutes)
  })
}

/** The figures as they are sent, at most so old: screens that look together share one. */
function makeStatsText(api: Pick<HttpApi, 'meter' | 'now'>) {
  const kept = new Map<string, { readonly at: number; readonly minutes: number; readonly text: string }>()
  return (tenant: TenantId, minutes: number): string => {
    const now = api.now()
    const name = `${minutes <= FINE_MINUTES_MAX ? 'fine' : 'coarse'} ${tenant}`
    const known = kept.get(name)
    if (known?.minutes === minutes && Math.abs(now - known.at) < SAMPLE_MS_MIN) return known.text
    const stats = api.meter.stats(tenant, minutes)
    const text = JSON.stringify({
      ...stats,
      from: iso(stats.from),
      consumers: stats.consumers.map((row) => ({ ...row, consumer: splitConsumer(row.consumer).name })),
    })
    if (kept.size >= STATS_CACHED_MAX) kept.clear()
    kept.set(name, { at: now, minutes, text })
    return text
  }
}

/** The store's counts, at most so old; each read is recorded as the age of the queue. */
function makeSampler(api: Pick<HttpApi, 'reads' | 'meter' | 'now'>) {
  const samples = new Map<TenantId, { readonly at: number; readonly overview: Promise<StoreOverview> }>()
  return (tenant: TenantId): Promise<StoreOverview> => {
    const now = api.now()
    const known = samples.get(tenant)
    if (known !== undefined && Math.abs(now - known.at) < SAMPLE_MS_MIN) return known.overview
    const overview = api.reads(tenant).overview()
    if (samples.size >= TENANTS_MAX) samples.clear()
    samples.set(tenant, { at: now, overview })
    overview.then(
      ({ oldestReadyAt }) => api.meter.queueAge(tenant, oldestReadyAt === null ? 0 : now - oldestReadyAt),
      // The caller gets the error; the next request asks again.
      () => samples.delete(tenant),
    )
    return overview
  }
}
