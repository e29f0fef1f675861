// `steps` of a route: rewritten to the workflow that it stands for, with positions preserved, so that both have one meaning and
// one hash (docs/adr/0059-steps-are-a-workflow.md).

import { isSameFormula } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { ACTION_NAMES, companionsOf } from './actions/index.ts'
import type { FieldPath } from './finding.ts'
import { moved, type Rewriting, rewritten } from './import-origins.ts'
import { checkShape } from './issues.ts'
import { checkSteps, STEP_PLACES } from './kinds/route-steps.ts'
import type { ReadDocument } from './read.ts'
import { expandDelays, formulaOf, shortKeyOf } from './short-forms.ts'
import { type Fields, fieldsOf } from './written.ts'

/** The same document if it has no steps, or mistakes that the checks of a route report. */
export function expandSteps(document: ReadDocument): ReadDocument {
  const { value } = document
  if (value.kind !== 'Route' || value.steps === undefined) return document
  if (checkShape('Route', value).length > 0 || checkSteps(value).length > 0) return document
  const work: Rewriting = { origins: [], notes: [] }
  const workflow = expandDelays(workflowOf(value, work), work)
  const expanded = rewritten(document, workflow, work).document
  if (value.key !== undefined) return expanded
  // Its author wrote none, and can change nothing about it.
  const isOwnKey = ([first, , third]: FieldPath) =>
    (first === 'transitions' && third === 'key') || (first === 'triggers' && third === 'correlate')
  const locate: ReadDocument['locate'] = (remark) =>
    isOwnKey(remark.path) && stepOf(value, remark.path[1]).key === undefined ? null : expanded.locate(remark)
  return { ...expanded, locate }
}

function workflowOf(route: Fields, work: Rewriting): Fields {
  const { on, where, key: written, retry, maxWait, circuit, delay, steps: _steps, ...rest } = route
  const steps = stepsOf(route)
  const names = steps.map(({ name }) => String(name))
  const { end, through, failed } = STEP_PLACES
  const isUndone = steps.some(({ undo }) => undo !== undefined)
  const key = typeof written === 'string' ? written : usualKey(String(route.name))
  moved(work, ['triggers'], ['on'])
  moved(work, ['triggers', 0], ['on'])
  moved(work, ['triggers', 0, 'on'], ['on'])
  moved(work, ['triggers', 0, 'where'], ['where'])
  moved(work, ['triggers', 0, 'correlate'], ['key'])
  moved(work, ['start'], ['steps', 0, 'name'])
  for (const field of ['places', 'transitions', 'onFailure']) moved(work, [field], ['steps'])
  for (const [index, name] of names.entries()) {
    moved(work, ['places', name], ['steps', index])
    moved(work, ['transitions', name], ['steps', index])
  }
  const usual = { retry: retry ?? 'STANDARD', maxWait, circuit }
  return {
    ...rest,
    kind: 'Workflow',
    start: names[0] ?? end,
    triggers: [{ on: on ?? null, ...(where === undefined ? {} : { where }), correlate: key, unique: 'live' }],
    places: {
      ...Object.fromEntries(names.map((name) => [name, {}])),
      [end]: { final: true },
      ...(isUndone ? { [through]: {}, [failed]: { type: 'error' } } : {}),
    },
    transitions: Object.fromEntries(
      steps.map((step, index) => {
        const first = index === 0 && delay !== undefined ? { delay } : {}
        if (index === 0 && delay !== undefined)
          moved(work, ['transitions', names[0] ?? '', 'delay'], ['delay'])
        const to = names[index + 1] ?? end
        return [names[index], { ...transitionOf(step, { key, usual, work }), ...first, to }] as const
      }),
    ),
    ...(isUndone ? { onFailure: { undo: 'done-steps', through, to: failed } } : {}),
  }
}

/** As of a route without a key. */
export function usualKey(name: string): string {
  return `'${name}:' + event.id`
}

interface Around {
  readonly key: string
  /** What steps have that say nothing else. */
  readonly usual: { readonly [name: string]: JsonValue | undefined }
  readonly work: Rewriting
}

function transitionOf(step: Fields, { key, usual, work }: Around): Fields {
  const { name, do: action, undo, key: own, ...rest } = step
  const at: FieldPath = ['transitions', String(name)]
  const result: Record<string, JsonValue> = { from: String(name), ...rest, do: withInput(action) }
  if (undo !== undefined) result.undo = withInput(undo)
  for (const [field, value] of Object.entries(usual)) {
    // An agent has a retry of its own.
    const isAgents = field === 'retry' && usual.retry === 'STANDARD' && fieldsOf(action).agent !== undefined
    if (value === undefined || result[field] !== undefined || isAgents) continue
    result[field] = value
    moved(work, [...at, field], [field])
  }
  if (own !== undefined) return { ...result, key: own }
  const formula = stepKey(String(name), key)
  moved(work, [...at, 'key'], ['key'], undefined, Math.max(0, formula.lastIndexOf(tailOf(key))))
  return { ...result, key: formula }
}

/** The key of the route after the name of the step: one effect for each step, however often the event comes. */
export function stepKey(name: string, key: string): string {
  const short = shortKeyOf(key)
  const sum = short === null ? null : formulaOf(`${name}:${short}`, [], { origins: [], notes: [] })
  if (sum !== null) return sum
  const plain = `'${name}:' + ${key}`
  const whole = `'${name}:' + (${key})`
  return isSameFormula(plain, whole) ? plain : whole
}

/** The part of a key that no merged text changes. */
function tailOf(key: string): string {
  return shortKeyOf(key) === null ? key : key.slice(1)
}

/** As under `do` of a route: what is not written is the payload. */
function withInput(action: JsonValue | undefined): JsonValue {
  const fields = fieldsOf(action)
  const [name] = ACTION_NAMES.filter((one) => fields[one] !== undefined)
  if (name === undefined) return action ?? null
  const field = companionsOf(name).find((one) => one === 'with' || one === 'data')
  return field === undefined || fields[field] !== undefined ? fields : { ...fields, [field]: '{{ payload }}' }
}

function stepsOf({ steps }: Fields): readonly Fields[] {
  return Array.isArray(steps) ? steps.map(fieldsOf) : []
}

function stepOf(route: Fields, name: string | number | undefined): Fields {
  return stepsOf(route).find((one) => one.name === name) ?? {}
}
