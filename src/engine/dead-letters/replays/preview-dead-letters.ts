// Previews a replay, per dead letter. It calls nothing and writes nothing.

import type { StoredEvent } from '../../../core/events/event/index.ts'
import { parsePayload } from '../../../core/events/sensitive/index.ts'
import { type DeadLetter, REPLAYS_MAX } from '../../../core/failures/dead-letter/index.ts'
import type { DeadLetterId, TenantId } from '../../../core/foundation/ids/index.ts'
import { JsonError, parseJson } from '../../../core/foundation/json/index.ts'
import type { WorkRow } from '../../../core/queue/work/index.ts'
import type { TenantReads } from '../../../ports/store.ts'
import { credentialOf } from '../../connections/index.ts'
import { subscriptionOf } from '../../definitions/index.ts'
import { matchEvent, receiverOf } from '../../planning/index.ts'
import type { ReplayOptions } from '../dead-letter-actions.ts'
import { countDeadLetters, readDeadLetters } from './dead-letter-pages.ts'
import {
  addUp,
  type Judged,
  judgedToFail,
  judgeFurther,
  judgeRun,
  type PreviewDeps,
  type Sums,
} from './judge-replay.ts'
import type { ReplayFilter } from './replay-record.ts'

/**
 * skip: the effect exists. differ: as call, but not what was attempted before. wait: another job holds the
 * key, or the outcome of an earlier call is unknown. fail: refused, or dead again at once.
 */
export interface PreviewedDeadLetter extends Omit<Judged, 'call'> {
  readonly id: DeadLetterId
}

/** The sums cover `items`. */
export interface Preview extends Sums {
  /** The first of them. */
  readonly items: readonly PreviewedDeadLetter[]
  /** How many dead letters the filter selects in all. */
  readonly matched: number
  /** There are more dead letters than `items`. */
  readonly isCapped: boolean
}

const ITEMS_MAX = 200
const AT_ONCE = 10

export async function previewReplay(
  deps: PreviewDeps,
  tenant: TenantId,
  filter: ReplayFilter,
  options: ReplayOptions,
): Promise<Preview> {
  const reads = deps.store.forTenant(tenant)
  const deadLetters = await firstDeadLetters(reads, filter)
  const { count, isCapped } = await countDeadLetters(reads, filter)
  const seen: (Judged & { readonly id: DeadLetterId })[] = []
  for (let start = 0; start < deadLetters.length; start += AT_ONCE) {
    const some = deadLetters.slice(start, start + AT_ONCE)
    const looked = some.map(async (deadLetter) => ({
      id: typeof deadLetter === 'string' ? deadLetter : deadLetter.id,
      ...(await look(deps, tenant, deadLetter, options)),
    }))
    seen.push(...(await Promise.all(looked)))
  }
  return {
    items: seen.map(({ call: _call, ...item }) => item),
    ...addUp(seen),
    matched: count,
    isCapped: isCapped || count > seen.length,
  }
}

async function firstDeadLetters(
  reads: TenantReads,
  filter: ReplayFilter,
): Promise<readonly (DeadLetter | DeadLetterId)[]> {
  if (filter.ids !== undefined) {
    const ids = filter.ids.slice(0, ITEMS_MAX)
    return Promise.all(ids.map(async (id) => (await reads.deadLetter(id)) ?? id))
  }
  const deadLetters: DeadLetter[] = []
  let after: DeadLetterId | null = null
  do {
    const page = await readDeadLetters(reads, filter, after, ITEMS_MAX)
    deadLetters.push(...page.deadLetters)
    after = page.after
  } while (after !== null && deadLetters.length < ITEMS_MAX)
  return deadLetters.slice(0, ITEMS_MAX)
}

async function look(
  deps: PreviewDeps,
  tenant: TenantId,
  deadLetter: DeadLetter | DeadLetterId,
  { force, again = false }: ReplayOptions,
): Promise<Judged> {
  if (typeof deadLetter === 'string') return judgedToFail('there is no such dead letter')
  if (deadLetter.state !== 'open' && deadLetter.state !== 'ready_to_replay')
    return judgedToFail(`it is ${deadLetter.state}`)
  if (deadLetter.replays >= REPLAYS_MAX && !force)
    return judgedToFail(`${deadLetter.replays} replays have failed; another one needs force`)
  const reads = deps.store.forTenant(tenant)
  const [event, work] = await Promise.all([reads.event(deadLetter.eventId), reads.work(deadLetter.workId)])
  if (event === null) return judgedToFail('its event is gone')
  if (deadLetter.consumer.startsWith('source:')) return lookAtIntake(deps, event)
  if (credentialOf(deadLetter.consumer) !== null)
    return { verdict: 'would-call', reason: 'the rotation is tried again', call: null }
  const subscription = subscriptionOf(deadLetter.consumer)
  if (subscription !== null) {
    const items = await reads.workOfEvent(event.id)
    const own = items.filter(({ consumer }) => consumer === deadLetter.consumer)
    return judgeFurther(deps, event, subscription, own, again)
  }
  if (!deadLetter.consumer.startsWith('route:')) return lookAtItem(deps, deadLetter, work)
  const route = deps.registry.route(tenant, deadLetter.consumer)
  if (route === null) return judgedToFail(`${deadLetter.consumer} is not defined any more`)
  return judgeRun(deps, route, event, { key: deadLetter.key, before: work === null ? [] : [work], again })
}

/** A dead letter of a workflow continues its instance: its effect depends on the step. */
async function lookAtItem(deps: PreviewDeps, deadLetter: DeadLetter, work: WorkRow | null): Promise<Judged> {
  if (work === null) return judgedToFail('its work item is gone')
  const { tenant, kind, instance: id } = work
  const instance = id === null ? null : await deps.store.forTenant(tenant).instance(id)
  if (kind !== 'trigger' && instance?.state !== 'active') return judgedToFail('its instance has ended')
  const entry = deadLetter.key === null ? null : await deps.store.forTenant(tenant).ledger(deadLetter.key)
  if (entry?.state === 'reserved' || entry?.state === 'unknown')
    return { verdict: 'would-wait', reason: `the outcome of ${entry.key} is ${entry.state}`, call: null }
  const where = id === null ? deadLetter.consumer : `${id} at ${deadLetter.step}`
  const isDone = entry?.state === 'done'
  const reason = `goes on with ${where}${isDone ? ', with the effect that is there already' : ''}`
  return { verdict: isDone ? 'would-skip' : 'would-call', reason, call: null }
}

/** A dead letter of intake: its event is matched, and its effect depends on the routes. */
function lookAtIntake(deps: PreviewDeps, event: StoredEvent): Judged {
  const name = receiverOf(event)
  const source = name === null ? null : deps.registry.source(event.tenant, name)
  if (source !== null && source.status !== 'active')
    return { verdict: 'would-wait', reason: `its source is ${source.status}`, call: null }
  try {
    const matching = matchEvent(deps, source, event, parsePayload(event.data), parseJson(event.headers))
    if (!matching.ok) return judgedToFail(matching.error)
    const { routes, dispatched } = matching
    const names = [
      ...routes.map(({ document }) => document.name),
      ...dispatched.map(({ subject }) => subject),
    ]
    const reason = names.length === 0 ? 'matches no consumer' : `is matched by ${names.join(', ')}`
    return { verdict: 'would-call', reason, call: null }
  } catch (error) {
    if (error instanceof JsonError) return judgedToFail(error.message)
    throw error
  }
}
