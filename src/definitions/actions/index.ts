// The actions of routes and workflows, as written and in their normal form. A new action is a file beside this one and its line
// in ACTIONS; the compiler asks for the rest. The schema is built for the names in scope there (expression-names.ts).

import * as z from 'zod'
import type { ActionDocument } from '../../core/definitions/documents/index.ts'
import { assert } from '../../core/foundation/errors/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { closest } from '../../core/foundation/text/index.ts'
import { SECOND } from '../../core/foundation/time/index.ts'
import type { Surroundings } from '../document-context.ts'
import { actionRoots, type RouteScope } from '../expression-names.ts'
import { named } from '../fields.ts'
import type { FieldPath, Remark } from '../finding.ts'
import { listed } from '../suggest.ts'
import { type Fields, fieldsOf, isMap, milliseconds } from '../written.ts'
import {
  type ActionDeclaration,
  type ActionOwner,
  type CompanionName,
  companions,
  type KnownFunctions,
} from './action-kind.ts'
import { agent } from './agent.ts'
import { emit } from './emit.ts'
import { functionAction } from './function.ts'
import { http } from './http.ts'
import { operation } from './operation.ts'
import { schedule, unschedule } from './schedule.ts'
import { start } from './start.ts'
import { upsert } from './upsert.ts'

export { isIdempotentMethod, type KnownFunctions, PROBE_AFTER_MS } from './action-kind.ts'
export { checkBaseConnection } from './connections.ts'
export { checkCron } from './schedule.ts'

const ACTIONS = {
  http,
  upsert,
  function: functionAction,
  emit,
  start,
  schedule,
  unschedule,
  agent,
  operation,
} as const satisfies { readonly [Type in ActionDocument['type']]: unknown }

export type ActionName = keyof typeof ACTIONS
export const ACTION_NAMES = Object.keys(ACTIONS) as readonly ActionName[]

export function actionDeclaration(name: ActionName): ActionDeclaration<ActionDocument> {
  return ACTIONS[name] as unknown as ActionDeclaration<ActionDocument>
}

/** The fields beside its own. */
export function companionsOf(name: ActionName): readonly CompanionName[] {
  const { needed = [], optional = [] } = actionDeclaration(name)
  return [...needed, ...optional]
}

/** As written, valid or not: the actions that it names. */
function chosenOf(action: JsonValue | undefined): readonly ActionName[] {
  return Object.keys(fieldsOf(action)).filter((name): name is ActionName => Object.hasOwn(ACTIONS, name))
}

// --- The schema

type OwnFields = { [Name in ActionName]: ReturnType<(typeof ACTIONS)[Name]['field']> }

export function makeAction(scope: RouteScope) {
  return makeActionOf(actionRoots(scope))
}

export function makeActionOf(roots: readonly string[]) {
  const own = Object.fromEntries(
    ACTION_NAMES.map((name) => [name, actionDeclaration(name).field(roots)]),
  ) as unknown as OwnFields
  const action = z.strictObject({ ...own, ...companions(roots) }).meta({
    oneOf: ACTION_NAMES.map((name) => ({ required: [name, ...(actionDeclaration(name).needed ?? [])] })),
  })
  return named('ActionDefinition', action)
}

type ActionInput = z.infer<ReturnType<typeof makeActionOf>>

// --- The normal form

const TIMEOUT_MS = 10 * SECOND
const USUAL_INPUT = { route: '{{ payload }}', batch: '{{ batch }}', step: '{{ data }}' } as const

/** Of an action that has no errors. null: it names an agent or a provider that is not valid. */
export function resolveAction(
  input: ActionInput,
  owner: ActionOwner,
  known: KnownFunctions,
): ActionDocument | null {
  const [name] = chosenOf(input as Fields)
  const written = name === undefined ? undefined : input[name]
  assert(name !== undefined && written !== undefined, 'an action does one thing')
  const timeoutMs = milliseconds(input.timeout, TIMEOUT_MS)
  const context = { owner, known, usual: USUAL_INPUT[owner], timeoutMs }
  return actionDeclaration(name).resolve(written, input, context)
}

// --- Checks

export function checkRouteAction(
  route: { readonly [key: string]: JsonValue },
  around: Surroundings,
): readonly Remark[] {
  const remarks = checkAction(route.do, ['do'], 'a route', around)
  if (fieldsOf(route.do).wait === true) {
    const message = 'nobody waits in a route: `wait` belongs to a step of a workflow. Leave it out'
    return [...remarks, { rule: 'together', message, path: ['do', 'wait'], onKey: true }]
  }
  return [
    ...remarks,
    ...chosenOf(route.do).flatMap((name) => actionDeclaration(name).checkRoute?.(route) ?? []),
  ]
}

/** That it does one thing, with the fields that belong to it, and that what it names exists. */
export function checkAction(
  written: JsonValue | undefined,
  at: FieldPath,
  owner: string,
  around: Surroundings,
): readonly Remark[] {
  if (!isMap(written)) return []
  const action = fieldsOf(written)
  const names = Object.keys(action)
  const [chosen, other] = chosenOf(action)
  if (other !== undefined) {
    const message = `${owner} does one thing: keep one of ${listed(chosenOf(action))}`
    return [{ rule: 'oneOf', message, path: [...at, other], onKey: true }]
  }
  if (chosen === undefined) {
    // A misspelt one is reported as an unknown field.
    if (names.some((name) => closest(name, ACTION_NAMES) !== undefined)) return []
    const message = `say what to do: one of ${listed(ACTION_NAMES)}`
    return [{ rule: 'oneOf', message, path: at, onKey: true }]
  }
  return [
    ...checkCompany(chosen, names, at),
    ...(actionDeclaration(chosen).check?.(action, at, around) ?? []),
  ]
}

const COMPANIONS = new Set<string>(ACTION_NAMES.flatMap(companionsOf))

function ownersOf(field: string): readonly ActionName[] {
  return ACTION_NAMES.filter((name) => companionsOf(name).some((one) => one === field))
}

function checkCompany(chosen: ActionName, names: readonly string[], at: FieldPath): readonly Remark[] {
  return names.flatMap((name) => {
    if (!COMPANIONS.has(name)) return []
    const owners = ownersOf(name)
    if (owners.includes(chosen)) return []
    const message = `\`${name}\` belongs to ${listed(owners)}, not to \`${chosen}\``
    if (name === 'connection' && (chosen === 'http' || chosen === 'upsert')) {
      const inside = `\`connection\` stands in \`${chosen}\`, not beside it`
      return [{ rule: 'together', message: inside, path: [...at, name], onKey: true }] as const
    }
    const instead = { with: 'data', data: 'with' }[name]
    const suggestion =
      instead !== undefined && ownersOf(instead).includes(chosen) ? { suggestion: instead } : {}
    return [{ rule: 'together', message, path: [...at, name], onKey: true, ...suggestion }] as const
  })
}

/** Why the route's action cannot be done for a batch. */
export function checkBatched(action: JsonValue | undefined): readonly Remark[] {
  return chosenOf(action).flatMap((name): readonly Remark[] => {
    const message = actionDeclaration(name).whyNoBatch
    return message === undefined ? [] : [{ rule: 'batch', message, path: ['batch'], onKey: true }]
  })
}

/** Whether it reads more of the event than its own texts say. */
export function readsWholeEvent(action: JsonValue | undefined): boolean {
  return chosenOf(action).some((name) => actionDeclaration(name).readsEvent === true)
}
