// Checks the triggers of a workflow: what belongs to which kind, and how an event finds its instance.

import type { RetryCause } from '../../core/definitions/documents/index.ts'
import { matchesPattern, parseSubject } from '../../core/events/subject/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { checkCron } from '../actions/index.ts'
import type { Surroundings } from '../document-context.ts'
import type { FieldPath, Remark } from '../finding.ts'
import { checkProfileName } from '../profiles.ts'
import { checkRetry } from '../retries.ts'
import { listed } from '../suggest.ts'
import { type Fields, fieldsOf, isMap } from '../written.ts'
import { checkNames } from './workflow-names.ts'
import { checkInput, checkPermission } from './workflow-operators.ts'
import { checkKeysGiven } from './workflow-reads.ts'

const SORTS = ['on', 'schedule', 'manual']

export function checkTriggers(workflow: Fields, around: Surroundings): readonly Remark[] {
  if (!Array.isArray(workflow.triggers)) return []
  return workflow.triggers.flatMap((one: JsonValue, index: number) =>
    isMap(one) ? checkTrigger(fieldsOf(one), ['triggers', index], workflow, around) : [],
  )
}

function checkTrigger(
  trigger: Fields,
  at: FieldPath,
  workflow: Fields,
  around: Surroundings,
): readonly Remark[] {
  const sorts = SORTS.filter((sort) => Object.hasOwn(trigger, sort))
  if (sorts.length > 1) {
    const message = `a trigger is of one sort: keep one of ${listed(sorts)}, and write another for the rest`
    return [{ rule: 'oneOf', message, path: [...at, String(sorts[1])], onKey: true }]
  }
  if (sorts.length === 0) {
    return [{ rule: 'oneOf', message: `say what begins it: one of ${listed(SORTS)}`, path: at }]
  }
  const sort = String(sorts[0])
  const { permission, input } = fieldsOf(trigger.manual)
  return [
    ...checkCompany(trigger, sort, at),
    ...checkCorrelation(trigger, at),
    ...checkKeysGiven(trigger, at, workflow),
    ...checkNames(trigger.fire, [...at, 'fire'], 'transition', workflow),
    ...checkProfileName(trigger.rateLimit, 'rate', [...at, 'rateLimit'], around.profiles),
    ...checkRetry(trigger.retry, around, [...at, 'retry']),
    ...checkRetryOn(trigger.retry, around, [...at, 'retry']),
    ...checkDeadLetter(trigger, at),
    ...checkCron(fieldsOf(trigger.schedule), [...at, 'schedule']),
    ...checkPermission(permission, [...at, 'manual', 'permission'], workflow),
    ...checkInput(input, [...at, 'manual', 'input']),
  ]
}

/** Fields that make no sense with the kind and the action. */
function checkCompany(trigger: Fields, sort: string, at: FieldPath): readonly Remark[] {
  const { action = 'create' } = trigger
  const wrong: Record<string, string | false> = {
    where: sort !== 'on' && '`where` chooses among events: it belongs to `on`',
    rateLimit: sort !== 'on' && '`rateLimit` is about events: it belongs to `on`',
    retry: sort !== 'on' && '`retry` is about events: it belongs to `on`',
    maxProcessingTime: sort !== 'on' && '`maxProcessingTime` is about events: it belongs to `on`',
    deadLetter: sort !== 'on' && '`deadLetter` is about events: it belongs to `on`',
    onLimit: trigger.rateLimit === undefined && '`onLimit` is about the limit: write `rateLimit`, too',
    circuit: sort !== 'on' && '`circuit` is about events: it belongs to `on`',
    fire: action === 'create' && '`fire` is what an update does: write `action: update` or `createOrUpdate`',
    buffer:
      action !== 'update' && '`buffer` is how long an update waits for its instance: write `action: update`',
    unique: action === 'update' && '`unique` is about new instances, and this makes none',
    action:
      sort !== 'on' &&
      action !== 'create' &&
      `${sort === 'manual' ? 'a start by hand' : 'a schedule'} begins new instances: leave \`action\` out`,
  }
  return Object.entries(wrong).flatMap(([field, message]): readonly Remark[] =>
    message !== false && Object.hasOwn(trigger, field)
      ? [{ rule: 'trigger', message, path: [...at, field], onKey: true }]
      : [],
  )
}

/** The class of every refusal of an instance. */
const REFUSAL: RetryCause = 'transient'

function checkRetryOn(
  retry: JsonValue | undefined,
  { profiles }: Surroundings,
  at: FieldPath,
): readonly Remark[] {
  const isNamed = typeof retry === 'string'
  const retryOn = isNamed ? profiles.find(({ name }) => name === retry)?.retryOn : fieldsOf(retry).retryOn
  if (!Array.isArray(retryOn) || retryOn.length === 0 || retryOn.includes(REFUSAL)) return []
  const what = isNamed ? `the \`retryOn\` of \`${retry}\`` : '`retryOn`'
  const message = `a trigger retries what its instance refuses, which is always \`${REFUSAL}\`: with ${what} it would never retry; add \`${REFUSAL}\`, or leave \`retryOn\` out`
  return [{ rule: 'trigger', message, path: isNamed ? at : [...at, 'retryOn'] }]
}

/** Its dead letters would come back to it. */
function checkDeadLetter({ on, deadLetter }: Fields, at: FieldPath): readonly Remark[] {
  const { subject } = fieldsOf(deadLetter)
  if (typeof subject !== 'string' || !parseSubject(subject).ok) return []
  const back = [on].flat().find((one) => typeof one === 'string' && matchesPattern(one, subject))
  if (back === undefined) return []
  const message = `the trigger itself wants \`${subject}\` by \`on: ${String(back)}\`: what failed would come back to it`
  return [{ rule: 'trigger', message, path: [...at, 'deadLetter', 'subject'] }]
}

function checkCorrelation(trigger: Fields, at: FieldPath): readonly Remark[] {
  const { action = 'create', correlate, unique } = trigger
  if (!Object.hasOwn(trigger, 'on') && action !== 'create') return []
  const isKeyed =
    correlate !== undefined && !(isMap(correlate) && Object.keys(fieldsOf(correlate)).length === 0)
  if (isKeyed) return []
  if (action === 'update' || action === 'createOrUpdate') {
    const message = 'say by what an event finds its instance'
    const suggestion = 'correlate: payload.id'
    return [{ rule: 'trigger', message, path: [...at, 'correlate'], suggestion }]
  }
  if (unique === undefined) return []
  const message = '`unique` needs a key to be unique by: write `correlate`'
  return [{ rule: 'trigger', message, path: [...at, 'unique'], onKey: true }]
}
