// The subscriptions of the simulated shop, and what the checks know of them: those of the definitions, those that people make by the
// API, and those of a second tenant, who has one of the same name. `wants` says in plain code what patterns and condition mean.

import type {
  DefinitionDocument,
  Signing,
  SubscriptionDocument,
} from '../src/core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../src/core/foundation/ids/index.ts'
import { HOUR, MINUTE, SECOND } from '../src/core/foundation/time/index.ts'
import type { Rng } from './random.ts'
import { SOURCES } from './scenario.ts'

/** Somebody else, who must see nothing of the shop. */
export const OTHER_TENANT = 'acme' as TenantId
export const TENANTS: readonly TenantId[] = [DEFAULT_TENANT, OTHER_TENANT]
/** Names that people give to what they make by the API; of each tenant. */
export const API_NAMES: readonly string[] = ['api1', 'api2', 'api3', 'api4']
/** So long may one fail before it disables itself: a run has time for it. */
const DISABLE_AFTER_MS = 40 * SECOND
const DELAYS_MS: readonly number[] = [1 * SECOND, 2 * SECOND, 4 * SECOND]
export const HOOK_ATTEMPTS = DELAYS_MS.length + 1
const HOOK_TIMEOUT_MS = 3 * SECOND

/** What the messages of a run with subscriptions are about: few routes beside them. */
export const HOOK_KINDS: Readonly<Record<string, number>> = {
  created: 10,
  paid: 10,
  unheard: 60,
  moved: 8,
  refunded: 5,
}

function hook(tenant: TenantId, name: string, how: Partial<SubscriptionDocument>): SubscriptionDocument {
  return {
    kind: 'Subscription',
    name,
    description: null,
    url: `https://hooks.test/${tenant}/${name}/first`,
    on: ['order.*'],
    where: null,
    status: 'active',
    secret: null,
    signing: 'standard',
    headers: {},
    retry: { profile: null, attempts: HOOK_ATTEMPTS, delaysMs: DELAYS_MS },
    timeoutMs: HOOK_TIMEOUT_MS,
    maxWaitMs: 1 * HOUR,
    disableAfterMs: DISABLE_AFTER_MS,
    deadLetter: { severity: 'medium', runbook: null },
    metadata: {},
    ...how,
  }
}

const crm = (tenant: TenantId) => hook(tenant, 'crm', {})
const books = hook(DEFAULT_TENANT, 'books', {
  on: ['order.unheard', 'order.paid'],
  order: { by: 'payload.order' },
})
/** Hears all that the system tells of itself, of its own deliveries too. */
const ops = hook(DEFAULT_TENANT, 'ops', { on: ['integration.>', 'webhook.>'], timeoutMs: 2 * SECOND })

/** Beside the routes, by the number of their bundle: in the second one is gone and another has moved. */
export function hooksBeside(bundle: 0 | 1): readonly SubscriptionDocument[] {
  return bundle === 0 ? IN_FIRST : IN_SECOND
}

const own = crm(DEFAULT_TENANT)
const moved = { ...own, url: `https://hooks.test/${DEFAULT_TENANT}/crm/second` }
const IN_FIRST = [own, books, ops]
const IN_SECOND = [moved, ops]

/** All that the second tenant has. */
export const OTHER_DOCUMENTS: readonly DefinitionDocument[] = [
  ...SOURCES.filter(({ name }) => name === 'shop'),
  crm(OTHER_TENANT),
]

const SIGNINGS: readonly Signing[] = ['standard', 'standard', 'ed25519', 'github']

/** What somebody makes by the API, or patches one to. */
export function drawHook(rng: Rng, tenant: TenantId, name: string): SubscriptionDocument {
  const isRicher = rng.chance(400)
  const host = rng.chance(80) ? 'blocked.test' : 'hooks.test'
  return hook(tenant, name, {
    url: `https://${host}/${tenant}/${name}/${rng.pick(['first', 'second'])}`,
    on: rng.pick([['order.*'], ['order.unheard', 'order.created'], ['>'], ['webhook.>', 'order.paid']]),
    where: isRicher ? `payload.amount > ${MIDDLE}` : null,
    signing: rng.pick(SIGNINGS),
    disableAfterMs: rng.pick([null, DISABLE_AFTER_MS]),
    maxWaitMs: rng.pick([1 * HOUR, 2 * MINUTE]),
    ...(rng.chance(200) && { concurrency: { limit: rng.between(1, 3) } }),
    ...(rng.chance(200) && { order: { by: 'event.subject', onBlocked: 'skip' as const } }),
    ...(rng.chance(150) && { transform: { at: '{{ event.id }}', all: '{{ payload }}' } }),
    ...(rng.chance(150) && { rateLimit: { profile: null, perMinute: 120, burst: 4 } }),
  })
}

const MIDDLE = 50

/** By its patterns and its condition. */
export function hookWants(
  { on, where }: Pick<SubscriptionDocument, 'on' | 'where'>,
  subject: string,
  data: string,
): boolean {
  if (!on.some((pattern) => fits(pattern, subject))) return false
  if (where === null) return true
  const payload = JSON.parse(data) as { amount?: number } | null
  return (payload?.amount ?? 0) > MIDDLE
}

function fits(pattern: string, subject: string): boolean {
  if (pattern === '>') return true
  if (pattern.endsWith('.>')) return subject.startsWith(pattern.slice(0, -1))
  if (pattern.endsWith('.*'))
    return subject.startsWith(pattern.slice(0, -1)) && !subject.slice(pattern.length - 1).includes('.')
  return pattern === subject
}
