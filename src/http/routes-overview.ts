// GET /v1/overview and /v1/stats: how much there is to do, and how it went over the last while.

import type { FastifyInstance } from 'fastify'
import type { TenantId } from '../core/foundation/ids/index.ts'
import type { StoreOverview } from '../ports/store.ts'
import type { HttpApi } from './api.ts'
import { fields } from './schemas.ts'
import { answer, boolean, instant, integer, listOf, nullable, shape, string } from './schemas-answers.ts'
import { iso, isoOrNull, splitConsumer } from './shapes.ts'

/** Many look at once, and often: the store counts at most this often per tenant. */
const SAMPLE_MS_MIN = 2_000
const TENANTS_MAX = 1_000
const MINUTES_MAX = 1_440
/** Answers of /stats that are kept: at most one per tenant and step. */
const STATS_CACHED_MAX = 100
/** Up to here the step is small. */
const FINE_MINUTES_MAX = 15

const number = { type: 'number' } as const
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
const each = (schema: typeof integer | typeof boolean) =>
  shape(Object.fromEntries(counts.map((name) => [name, schema])))

const overviewShape = shape({
  now: instant,
  counts: { ...each(integer), description: 'Each is counted up to a cap.' },
  isCapped: { ...each(boolean), description: 'There are at least as many as the count says.' },
  oldestReadyAt: { ...nullable(instant), description: 'Since when the oldest ready work is due.' },
  definitions: shape({ sources: integer, routes: integer, workflows: integer, paused: integer }),
  subscriptions: {
    ...shape({ active: integer, failing: integer, paused: integer, disabled: integer }),
    description: 'Endpoints that get our events, by status.',
  },
  rates: {
    ...shape({ acceptedPerMinute: number, donePerMinute: number, failedPerMinute: number }),
    description: 'What this node did in the last minute.',
  },
})

const statsShape = shape({
  stepMs: integer,
  from: { ...instant, description: 'When the first bucket begins; the last one is still filling.' },
  accepted: listOf(integer),
  done: listOf(integer),
  retried: listOf(integer),
  dead: listOf(integer),
  latencyP50Ms: {
    ...listOf(nullable(number)),
    description: 'From received to done; off by a fifth at most.',
  },
  latencyP95Ms: listOf(nullable(number)),
  queueAgeMs: {
    ...listOf(nullable(integer)),
    description: 'How long the oldest ready work has been due; null where nobody looked.',
  },
  consumers: listOf(
    shape({ consumer: string, perMinute: number, done: integer, retried: integer, dead: integer }),
  ),
  sources: listOf(shape({ source: string, perMinute: number, accepted: integer })),
})

const statsQuery = fields({
  minutes: { type: 'integer', minimum: 1, maximum: MINUTES_MAX, default: 15 },
})

export function addOverviewRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads' | 'meter' | 'definitions' | 'subscriptions' | 'now'>,
): void {
  const sample = makeSampler(api)
  const stats = makeStatsText(api)

  app.get(
    '/overview',
    {
      schema: {
        operationId: 'getOverview',
        tags: ['overview'],
        summary: 'How much there is to do, and what this node did in the last minute',
        response: { 200: answer('The overview', overviewShape) },
      },
    },
    async (request) => {
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
        isCapped: Object.fromEntries(
          counts.map((name) => [name, overview.counts[name] >= overview.cappedAt]),
        ),
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
    },
  )

  app.get<{ Querystring: { minutes: number } }>(
    '/stats',
    {
      schema: {
        operationId: 'getStats',
        tags: ['overview'],
        summary:
          'What this node did over the last minutes: by 2 seconds up to 15 minutes, by the minute beyond',
        querystring: statsQuery,
        response: { 200: answer('The figures', statsShape) },
      },
    },
    async (request, reply) => {
      const { tenant } = request.caller
      await sample(tenant)
      reply.type('application/json')
      return stats(tenant, request.query.minutes)
    },
  )
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

/** The store's counts, at most so old; each look is kept as the age of the queue. */
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
      // Whoever asked hears it; the next one asks anew.
      () => samples.delete(tenant),
    )
    return overview
  }
}
