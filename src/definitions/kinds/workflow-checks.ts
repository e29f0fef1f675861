// Checks a workflow beyond its single fields: places, transitions and steps that are named and do not exist, tokens
// that nothing takes or gives, compensation and failure. Reads it as written, valid or not
// (docs/spec/workflow-language.md).

import { readFormula } from '../../core/expression/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { closest } from '../../core/foundation/text/index.ts'
import { checkAction } from '../actions/index.ts'
import { checkJsonSchema } from '../catalog.ts'
import type { Surroundings } from '../document-context.ts'
import type { FieldPath, Remark } from '../finding.ts'
import { checkKey } from '../keys.ts'
import { checkRetry } from '../retries.ts'
import { faultOfDelay } from '../short-forms.ts'
import { type Fields, fieldsOf, isMap } from '../written.ts'
import { checkNames } from './workflow-names.ts'
import { checkHands, checkMigrations, checkSecurity } from './workflow-operators.ts'
import { checkData } from './workflow-reads.ts'
import { checkTriggers } from './workflow-triggers.ts'

const PARTS_MAX = 1_000

export function checkWorkflow(workflow: Fields, around: Surroundings): readonly Remark[] {
  const places = fieldsOf(workflow.places)
  const transitions = fieldsOf(workflow.transitions)
  return [
    ...tooMany(places, 'places'),
    ...tooMany(transitions, 'transitions'),
    ...checkStart(workflow, places),
    ...Object.entries(places).flatMap(([name, place]) => checkPlace(name, fieldsOf(place), workflow, around)),
    ...Object.entries(transitions).flatMap(([name, one]) =>
      checkTransition(name, fieldsOf(one), workflow, around),
    ),
    ...checkOnFailure(workflow.onFailure, ['onFailure'], workflow),
    ...checkTriggers(workflow, around),
    ...checkSecurity(workflow),
    ...checkMigrations(workflow, around),
    ...checkJsonSchema(workflow.data, ['data']),
    ...checkReads(fieldsOf(workflow.lock).by, ['lock', 'by'], workflow, 'pick'),
  ]
}

function tooMany(parts: Fields, field: string): readonly Remark[] {
  if (Object.keys(parts).length <= PARTS_MAX) return []
  const message = `a workflow has at most ${PARTS_MAX} ${field}: make several, and start one from another`
  return [{ rule: 'bounds', message, path: [field], onKey: true }]
}

// --- Names of its parts

function checkStart({ start, ...workflow }: Fields, places: Fields): readonly Remark[] {
  const unknown = checkNames(start, ['start'], 'place', workflow)
  if (unknown.length > 0 || typeof start !== 'string' || !isFinal(places[start])) return unknown
  const message = `\`${start}\` is final: an instance would end as it begins`
  return [{ rule: 'tokens', message, path: ['start'] }]
}

function isFinal(place: JsonValue | undefined): boolean {
  const { type, final } = fieldsOf(place)
  return type === 'final' || (final === true && type === undefined)
}

/** `steps.x` of a transition that does not exist, or `data.x` that nothing sets: it would be null for ever. */
function checkReads(
  value: JsonValue | undefined,
  at: FieldPath,
  workflow: Fields,
  as: 'pick' | 'send' | 'condition',
): readonly Remark[] {
  // A place with `onEnter` is a step too.
  const entered = Object.entries(fieldsOf(workflow.places)).filter(([, one]) => isMap(fieldsOf(one).onEnter))
  const known = [...Object.keys(fieldsOf(workflow.transitions)), ...entered.map(([name]) => name)]
  return [...texts(value, at, as)].flatMap(([path, text]) => {
    const isTemplate = as === 'send'
    const slips = checkData(text, path, isTemplate ? 'template' : 'expression', workflow)
    if (!text.includes('steps')) return slips
    const formula = readFormula(text, isTemplate ? 'template' : 'expression')
    const unknown = (formula?.reads ?? []).flatMap(({ path: read, offset }): readonly Remark[] => {
      const name = /^steps(?:\.|\[')([\w-]+)/.exec(read)?.[1]
      if (name === undefined || known.includes(name)) return []
      const near = closest(name, known)
      const message = `there is no transition \`${name}\`: \`steps\` holds what transitions gave`
      return [
        {
          rule: 'unknownStep',
          message,
          path,
          ...(isTemplate ? {} : { offset }),
          ...(near === undefined ? {} : { suggestedText: text.replace(name, near) }),
        },
      ]
    })
    return [...slips, ...unknown]
  })
}

function* texts(
  value: JsonValue | undefined,
  at: FieldPath,
  as: 'pick' | 'send' | 'condition',
): Generator<readonly [FieldPath, string]> {
  if (typeof value === 'string') {
    // In a filter only `path` is looked up.
    if (as !== 'condition' || at.at(-1) === 'path' || !isFilterField(at)) yield [at, value]
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* texts(item, [...at, index], as)
  } else {
    for (const [key, item] of Object.entries(fieldsOf(value))) yield* texts(item, [...at, key], as)
  }
}

const FILTER_FIELDS =
  /^(?:equals|notEquals|in|notIn|contains|notContains|startsWith|greaterThan|lessThan|at\w+)$/

function isFilterField(at: FieldPath): boolean {
  return at.slice(-2).some((step) => FILTER_FIELDS.test(String(step)))
}

// --- Places and transitions

function checkPlace(name: string, place: Fields, workflow: Fields, around: Surroundings): readonly Remark[] {
  const at: FieldPath = ['places', name]
  const { type, final } = place
  const remarks: Remark[] = []
  if (final !== undefined && type !== undefined && (type === 'final') !== final) {
    const message = `\`final\` and \`type: ${String(type)}\` say different things: keep one`
    remarks.push({ rule: 'together', message, path: [...at, 'final'], onKey: true })
  }
  if (isFinal(place) && place.timeout !== undefined) {
    const message = 'nothing leaves a final place: a time-out here could never fire'
    remarks.push({ rule: 'tokens', message, path: [...at, 'timeout'], onKey: true })
  }
  return [
    ...remarks,
    ...checkNames(fieldsOf(place.timeout).fire, [...at, 'timeout', 'fire'], 'transition', workflow),
    ...checkStep(place.onEnter, [...at, 'onEnter'], workflow, around),
  ]
}

/** An action of a workflow. */
function checkStep(
  action: JsonValue | undefined,
  at: FieldPath,
  workflow: Fields,
  around: Surroundings,
): readonly Remark[] {
  return [...checkAction(action, at, 'a step', around), ...checkReads(action, at, workflow, 'send')]
}

const OF_ACTIONS = ['key', 'retry', 'maxWait', 'undo', 'onFailure']

function checkTransition(
  name: string,
  transition: Fields,
  workflow: Fields,
  around: Surroundings,
): readonly Remark[] {
  const at: FieldPath = ['transitions', name]
  const has = (field: string) => Object.hasOwn(transition, field)
  const branches = Array.isArray(transition.choose) ? transition.choose.map(fieldsOf) : []
  const lonely = has('do') ? [] : OF_ACTIONS.filter(has)
  return [
    ...checkDelay(name, transition, workflow),
    ...checkTokens(transition, at, workflow),
    ...['from', 'fromAny', 'to'].flatMap((field) =>
      checkNames(transition[field], [...at, field], 'place', workflow),
    ),
    ...branches.flatMap((branch, index) => [
      ...checkNames(branch.to, [...at, 'choose', index, 'to'], 'place', workflow),
      ...checkReads(branch.when, [...at, 'choose', index, 'when'], workflow, 'condition'),
    ]),
    ...checkBranches(branches, at),
    ...lonely.map(
      (field): Remark => ({
        rule: field === 'undo' || field === 'onFailure' ? 'rollBack' : 'together',
        message: `\`${field}\` belongs to what is done, and this transition only moves tokens: write \`do\`, or leave it out`,
        path: [...at, field],
        onKey: true,
      }),
    ),
    ...checkStep(transition.do, [...at, 'do'], workflow, around),
    ...checkStep(transition.undo, [...at, 'undo'], workflow, around),
    ...checkRetry(transition.retry, around, [...at, 'retry']),
    ...checkOnFailure(transition.onFailure, [...at, 'onFailure'], workflow),
    ...checkTransitionKey(transition, at),
    ...checkHands(transition, at, workflow),
    ...checkReads(transition.when, [...at, 'when'], workflow, 'condition'),
    ...checkReads(transition.out, [...at, 'out'], workflow, 'pick'),
    ...checkReads(transition.key, [...at, 'key'], workflow, 'pick'),
    ...checkReads(transition.notBy, [...at, 'notBy'], workflow, 'pick'),
  ]
}

/** One that is possible was rewritten before. */
function checkDelay(name: string, transition: Fields, workflow: Fields): readonly Remark[] {
  if (typeof transition.delay !== 'string') return []
  const message = faultOfDelay(name, transition, workflow)
  return message === null
    ? []
    : [{ rule: 'delay', message, path: ['transitions', name, 'delay'], onKey: true }]
}

function checkTokens(transition: Fields, at: FieldPath, workflow: Fields): readonly Remark[] {
  const has = (field: string) => Object.hasOwn(transition, field)
  const remarks: Remark[] = []
  if (!has('from') && !has('fromAny')) {
    const message = 'say where it takes its tokens: `from` (one of each), or `fromAny` (one of one of them)'
    remarks.push({ rule: 'tokens', message, path: [...at, 'from'] })
  }
  if (has('to') && has('choose')) {
    const message = '`to` and `choose` exclude each other: keep one'
    remarks.push({ rule: 'oneOf', message, path: [...at, 'choose'], onKey: true })
  } else if (!has('to') && !has('choose')) {
    const message = 'say where the token goes: `to`, or `choose` where it depends'
    remarks.push({ rule: 'tokens', message, path: [...at, 'to'] })
  }
  const places = fieldsOf(workflow.places)
  for (const field of ['from', 'fromAny']) {
    const names = [transition[field]].flat()
    for (const [index, name] of names.entries()) {
      const path = Array.isArray(transition[field]) ? [...at, field, index] : [...at, field]
      if (typeof name !== 'string') continue
      if (isFinal(places[name])) {
        const message = `\`${name}\` is final: nothing leaves it`
        remarks.push({ rule: 'tokens', message, path })
      } else if (names.indexOf(name) < index) {
        remarks.push({ rule: 'tokens', message: `\`${name}\` is there already: one token of each`, path })
      }
    }
  }
  return remarks
}

function checkBranches(branches: readonly Fields[], at: FieldPath): readonly Remark[] {
  const always = branches.findIndex(({ when }) => when === undefined)
  if (always < 0 || always === branches.length - 1) return []
  const message = 'this branch holds always: those behind it are never looked at. Put it last'
  return [{ rule: 'branch', message, path: [...at, 'choose', always], onKey: true }]
}

function checkOnFailure(value: JsonValue | undefined, at: FieldPath, workflow: Fields): readonly Remark[] {
  const { undo, through, to } = fieldsOf(value)
  const remarks: Remark[] = []
  if (through !== undefined && undo === undefined) {
    const message =
      '`through` is where the token is while steps are undone: write `undo: done-steps`, or leave it out'
    remarks.push({ rule: 'rollBack', message, path: [...at, 'through'], onKey: true })
  }
  if (undo !== undefined && through === undefined) {
    const message = 'say in which place the token is while steps are undone, so that everybody sees it'
    const suggestion = 'through: rolling_back'
    remarks.push({ rule: 'rollBack', message, path: [...at, 'undo'], onKey: true, suggestion })
  }
  if (typeof through === 'string' && isFinal(fieldsOf(workflow.places)[through])) {
    const message = `\`${through}\` is final: it would be over before anything is undone`
    remarks.push({ rule: 'rollBack', message, path: [...at, 'through'] })
  }
  return [
    ...remarks,
    ...checkNames(through, [...at, 'through'], 'place', workflow),
    ...checkNames(to, [...at, 'to'], 'place', workflow),
  ]
}

/** As for a route; a step's object is in `data` for as long as the instance lives. */
function checkTransitionKey(transition: Fields, at: FieldPath): readonly Remark[] {
  const { key, do: action = null } = transition
  if (key === undefined && action === null) return []
  return checkKey({ ...(key === undefined ? {} : { key }), do: action }, 'step').map((remark) => ({
    ...remark,
    path: [...at, ...remark.path],
  }))
}
