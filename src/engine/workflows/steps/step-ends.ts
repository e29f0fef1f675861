// The end of a step's job is the end of its firing. This participant of the settler adds what it means for the instance to the commit
// that ends the job, whether a call, an operator or a late acknowledgement ends it.
//
// Invariants: FI1 the commit is guarded by the instance's revision; on a refused one the instance is loaded and asked again. FI6 a
// result that cannot be mapped makes the job dead, and its ledger entry stays done. FI7 a failure that the workflow handles has no
// dead letter. FI8 whatever ends an interrupted firing reaches the instance, and its success is undone.

import { isLockKey } from '../../../core/effects/action/index.ts'
import { acknowledgedResult, keyOfGeneration } from '../../../core/effects/ledger/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import { type JsonValue, parseJson } from '../../../core/foundation/json/index.ts'
import type { Route } from '../../../core/routing/index.ts'
import type { Firing } from '../../../core/workflows/instance/index.ts'
import { type InstanceInput, type Refused, stepInstance } from '../../../core/workflows/machine/index.ts'
import type { EngineBase } from '../../commit/index.ts'
import { openResult } from '../../secrets/index.ts'
import { type Decision, type Held, type Participant, storableError } from '../../settlement/index.ts'
import {
  type InstancePlan,
  type Instances,
  type Loaded,
  type Origin,
  originOfEvent,
  orRefused,
} from '../instances/index.ts'
import { canBeUndone, firingOf, stepText } from './firing-of-job.ts'

interface Deps extends Pick<EngineBase, 'store' | 'commits' | 'encryption' | 'log'> {
  readonly instances: Instances
}

interface PlannedEnd {
  readonly decision: Decision
  /** null: the instance is not affected. */
  readonly plan: InstancePlan | null
}

/** Each is another step of the same instance, and as many may run at once. */
const LOOKS_MAX = 1_000

export function endSteps(deps: Deps): Participant {
  const { store, commits, log } = deps

  const find = async ({ work }: Held): Promise<Loaded | null> => {
    const { tenant, instance } = work
    if (instance === null) return null
    try {
      return await commits.retryUntilAvailable(() => deps.instances.recall(tenant, instance))
    } catch (error) {
      // Its definition is gone: the job ends as it may, and the instance does not change.
      if (error instanceof AppError) return null
      throw error
    }
  }

  const planEnd = async (
    held: Held,
    route: Route | null,
    decision: Decision,
    origin: Origin,
  ): Promise<PlannedEnd> => {
    const loaded = decision.to === 'merged' ? null : await find(held)
    const firing = loaded === null ? null : firingOf(loaded.instance, held.work.step)
    if (loaded === null || firing === null) return { decision, plan: null }
    const about: About = { held, route, loaded, firing, origin }
    switch (decision.to) {
      case 'done':
      case 'skipped':
        return ended(about, decision)
      case 'dead':
        return failed(about, decision)
      case 'parked': {
        const error = storableError(held.event, decision.note.lastError ?? 'its outcome is unknown')
        return step(about, decision, { type: 'parked', firing: firing.number, error, work: held.work.id })
      }
      case 'again': {
        if (firing.state === 'interrupted' && !(await isOutcomeUnknown(held, decision)))
          return calledOff(about, asCancelled(decision, 'another transition took its token'))
        // An operator's decision about a parked job.
        if (firing.state === 'parked')
          return step(about, decision, { type: 'resumed', firing: firing.number })
        return { decision, plan: null }
      }
      default:
        return calledOff(about, decision)
    }
  }

  const calledOff = (about: About, decision: Decision): Promise<PlannedEnd> =>
    step(about, decision, {
      type: 'calledOff',
      firing: about.firing.number,
      work: about.held.work.id,
    })

  const ended = async (about: About, decision: Decision): Promise<PlannedEnd> => {
    const { held, firing } = about
    const known = decision.note.key ?? held.work.key
    const isOthers = decision.to === 'skipped' && (await isOfOthers(about, known))
    const key = known === null ? null : await keyMade(about, known)
    const result = decision.waitsFor === undefined ? await resultOf(about, decision) : null
    const input: InstanceInput =
      decision.waitsFor === undefined
        ? {
            type: 'ended',
            firing: firing.number,
            result,
            key,
            work: held.work.id,
            ...(isOthers ? { others: true } : {}),
          }
        : { type: 'started', firing: firing.number, child: decision.waitsFor, key }
    const moved = await move(about, input)
    if (!('refused' in moved)) return { decision, plan: moved }
    if (isGone(moved.refused)) return { decision, plan: null }
    // Its effect stays done; operators fix the mapping, or it is undone.
    const did = isOthers ? undefined : { key, result }
    return failed(about, asDead(decision, moved.refused.message), did)
  }

  /** With its generation, which distinguishes it from effects that were undone before. */
  const keyMade = async ({ held, route, loaded, firing }: About, key: string): Promise<string> => {
    if (route === null || route.document.key === null || !canBeUndone(loaded.workflow, firing)) return key
    const entry = await commits.retryUntilAvailable(() => store.forTenant(held.work.tenant).ledger(key))
    return keyOfGeneration(key, Math.max(held.work.generation, entry?.generation ?? 1))
  }

  /** Whether the effect in the ledger under its key belongs to another instance. */
  const isOfOthers = async ({ held, loaded, firing }: About, key: string | null): Promise<boolean> => {
    const { tenant, instance } = held.work
    if (key === null || !canBeUndone(loaded.workflow, firing)) return false
    const reads = store.forTenant(tenant)
    const entry = await commits.retryUntilAvailable(() => reads.ledger(key))
    if (entry === null) return false
    const by = await commits.retryUntilAvailable(() => reads.work(entry.work))
    return by?.instance !== instance
  }

  const failed = async (
    about: About,
    decision: Extract<Decision, { to: 'dead' }>,
    did?: Firing['did'],
  ): Promise<PlannedEnd> => {
    const { held, firing, loaded } = about
    const moved = await move(about, {
      type: 'failed',
      firing: firing.number,
      class: decision.class,
      reason: decision.reason,
      error: storableError(held.event, decision.error),
      work: held.work.id,
      ...(did === undefined ? {} : { did }),
    })
    const named = { ...decision, step: stepText(loaded.instance, firing) }
    if ('refused' in moved) {
      if (!isGone(moved.refused)) logRefused(about, moved.refused)
      return { decision: named, plan: null }
    }
    const isLeft = moved.instance.firings.some(({ number }) => number === firing.number)
    return { decision: isLeft ? named : asCancelled(decision, decision.error), plan: moved }
  }

  /** For inputs that the instance cannot refuse because of its data. */
  const step = async (about: About, decision: Decision, input: InstanceInput): Promise<PlannedEnd> => {
    const moved = await move(about, input)
    if (!('refused' in moved)) return { decision, plan: moved }
    if (!isGone(moved.refused)) logRefused(about, moved.refused)
    return { decision, plan: null }
  }

  const move = async (
    { held, loaded, origin }: About,
    input: InstanceInput,
  ): Promise<InstancePlan | { readonly refused: Refused }> => {
    const { workflow, instance } = loaded
    const instances = deps.instances
    const stepped = stepInstance(workflow, instance, input, instances.envOf(origin))
    if (!stepped.ok) return stepped
    const { tenant, id } = held.work
    return orRefused(() => instances.plan(tenant, origin, workflow, instance, stepped, { own: id }))
  }

  const logRefused = ({ held, loaded }: About, { code, message }: Refused) =>
    log.error('instance.refused', {
      tenant: held.work.tenant,
      instance: loaded.instance.id,
      work: held.work.id,
      code,
      message,
    })

  /** The action's result: of this decision, or as the ledger stored it. null: it was not stored. */
  const resultOf = async ({ held, route }: About, decision: Decision): Promise<JsonValue> => {
    if (decision.said !== undefined) return saidOf(route, decision.said)
    const { tenant } = held.work
    const key = decision.note.key ?? held.work.key
    if (key === null) return null
    for (const write of decision.writes) {
      const isEnd = write.w === 'ledger.done' || (write.w === 'ledger.settle' && write.to === 'done')
      if (!isEnd || write.result === null) continue
      if ((write.w === 'ledger.done' ? write.entry.key : write.key) === key)
        return opened(tenant, key, write.result)
    }
    const entry = await commits.retryUntilAvailable(() => store.forTenant(tenant).ledger(key))
    const text = entry === null ? null : (acknowledgedResult(entry) ?? entry.result)
    return text === null ? null : opened(tenant, key, text)
  }

  const opened = (tenant: Held['work']['tenant'], key: string, result: string): JsonValue => {
    const text = openResult(deps.encryption, { tenant, key, result })
    return text.ok && text.text !== null ? parseJson(text.text) : null
  }

  const isOutcomeUnknown = async ({ work }: Held, { writes }: Decision): Promise<boolean> => {
    const settled = writes.flatMap((write) => (write.w === 'ledger.settle' ? [write] : []))
    if (settled.some(({ to }) => to === 'unknown')) return true
    const open = await commits.retryUntilAvailable(() => store.forTenant(work.tenant).ledgerOfWork(work.id))
    return open.some(({ key }) => !isLockKey(key) && !settled.some((one) => one.key === key))
  }

  return async (decision, { held, route, item }) => {
    const { tenant, instance } = held.work
    const forget = () => instance !== null && deps.instances.forget(tenant, instance)
    const origin: Origin =
      item === null
        ? originOfEvent(held.event)
        : { event: item.event, stored: item.event, payload: item.payload, header: item.header }
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      const { decision: ended, plan } = await planEnd(held, route, decision, origin)
      if (plan !== null) {
        const { guards, writes } = plan
        const refused = () => {
          forget()
          return 'rebuild' as const
        }
        return { decision: ended, guards, writes, plans: [plan], refused }
      }
      // If nothing of the instance is written, no guard finds out that the cache is outdated: read the instance.
      if (!forget()) return { decision: ended }
    }
    throw new Error('assertion failed: the instance of a step changes without end')
  }
}

interface About {
  readonly held: Held
  readonly route: Route | null
  readonly loaded: Loaded
  readonly firing: Firing
  readonly origin: Origin
}

/** The instance changed so that the job no longer belongs to it. */
function isGone({ code }: Refused): boolean {
  return code === 'gone' || code === 'not_active'
}

/** For an external response, the part that the ledger stores. */
function saidOf(route: Route | null, said: unknown): JsonValue {
  const type = route?.action.type
  if (type !== 'http' && type !== 'upsert') return said as JsonValue
  const { status, body } = said as { readonly status: number; readonly body: JsonValue }
  return { status, body }
}

function asCancelled(decision: Decision, lastError: string): Decision {
  const { counters, note, guards, writes, attempt } = decision
  return { to: 'cancelled', counters, note: { ...note, lastError }, guards, writes, attempt }
}

function asDead(decision: Decision, error: string): Extract<Decision, { to: 'dead' }> {
  const { counters, note, guards, writes, attempt } = decision
  return {
    to: 'dead',
    class: 'validation',
    reason: 'rejected',
    error,
    counters,
    note: { ...note, class: 'validation', lastError: error },
    guards,
    writes,
    attempt,
  }
}
