// Migrates an instance to another version of its workflow: what that would change, and changing it.
//
// Invariants: WF10 a migration that does not cover every live token and firing is refused. A token in a final place stays
// final.

import type { MigrationDocument } from '../../definitions/documents/index.ts'
import { must } from '../../effects/action/index.ts'
import { compileExpression, ExpressionError, type Scope } from '../../expression/index.ts'
import { isNumeral, type JsonValue, placeText, stringifyJson } from '../../foundation/json/index.ts'
import { type Data, type DataChange, type Firing, type Instance, markingText } from '../instance/index.ts'
import { type Assigned, type Change, checkSchema, computeChanges, learnedEffects, shown } from './assign.ts'
import type { Draft } from './instance-draft.ts'
import { refuse } from './machine-refusal.ts'
import type { InstanceInput, MigrationPlan, TransformCall, Workflow } from './machine-types.ts'
import { parseTarget, readAt } from './nested-data.ts'
import { beginStay, dropStays } from './token-moves.ts'
import { instanceScope } from './workflow-scope.ts'

interface Planned {
  readonly isReplaced: boolean
  readonly placeOf: (place: string) => string
  readonly marking: Readonly<Record<string, number>>
  readonly assigned: Assigned
}

/** For a dry run: what would change, or why it is impossible. */
export function planMigration(
  from: Workflow,
  to: Workflow,
  instance: Instance,
  scope: Scope = {},
  transformed: readonly JsonValue[] = [],
): MigrationPlan {
  const none = { ok: false, marking: instance.marking, changes: [], isReplaced: false }
  try {
    const planned = plan(from, to, instance, scope, transformed)
    if (typeof planned === 'string') return { ...none, message: planned, needs: null }
    const { marking, assigned, isReplaced } = planned
    const { version } = to.document
    const message = isReplaced
      ? `a new instance of version ${version} takes over`
      : `goes on under version ${version}`
    return { ok: true, message, marking, changes: assigned.changes, isReplaced, needs: null }
  } catch (error) {
    if (error instanceof Needed)
      return { ...none, message: `the function ${error.call.name} has to be called`, needs: error.call }
    throw error
  }
}

/** The result of a function is not there yet. */
class Needed extends Error {
  override readonly name = 'Needed'
  readonly call: TransformCall

  constructor(call: TransformCall) {
    super(`the result of ${call.name} is needed`)
    this.call = call
  }
}

/** A text: why not. */
export function plan(
  from: Workflow,
  to: Workflow,
  instance: Instance,
  scope: Scope,
  transformed: readonly JsonValue[] = [],
): Planned | string {
  const [before, after] = [from.document.version, to.document.version]
  if (from.document.name !== to.document.name) return 'it is another workflow'
  if (instance.state !== 'active') return `the instance is ${instance.state}`
  if (from.hash === to.hash) return `the instance is on version ${after} already`
  if (instance.rollBack !== null) return 'the instance is rolling back'
  const rule = to.document.migrations?.find((one) => one.from === before && one.to === after)
  const isSupported = before === after || to.document.compatibility?.supported.includes(before) === true
  if (rule === undefined && !isSupported) return `there is no migration from ${before} to ${after}`
  const places = rule?.places ?? {}
  const placeOf = (place: string) => (Object.hasOwn(places, place) ? (places[place] as string) : place)
  const fault = findUncovered(from, to, instance, placeOf)
  if (fault !== null) return fault
  const isReplaced = rule?.strategy === 'newInstance'
  const obstacle = isReplaced ? findObstacle(from, instance) : null
  if (obstacle !== null) return obstacle
  try {
    const changes = changesOf({ from, to }, instance, scope, rule?.data ?? [], transformed)
    const assigned = computeChanges(instance, changes)
    checkSchema({ workflow: to }, assigned.data)
    return { isReplaced, placeOf, marking: movedMarking(instance, placeOf), assigned }
  } catch (error) {
    if (error instanceof ExpressionError) return error.message
    throw error
  }
}

/** What would be lost where a new instance takes over. */
function findObstacle(from: Workflow, { firings, done, parent }: Instance): string | null {
  const [open] = firings
  if (open !== undefined)
    return `${open.name} is under way, and a new instance cannot take it over: wait for its end, or cancel it`
  if (parent?.waits === true)
    return `the instance ${parent.instance} waits for this one: migrate it with \`strategy: inPlace\``
  const kept = done.find(
    ({ type, name, undone, others }) =>
      type === 'fire' && !undone && others === undefined && from.transitions.get(name)?.canUndo === true,
  )
  return kept === undefined
    ? null
    : `${kept.name} is done and can be undone, which a new instance could not: migrate it with \`strategy: inPlace\``
}

/** Whether a user has to migrate each instance by itself. */
export function isManualMigration(from: string, { document }: Workflow): boolean {
  const rule = document.migrations?.find((one) => one.from === from && one.to === document.version)
  return rule?.strategy === 'manual'
}

type PlaceOf = (place: string) => string

function findUncovered(from: Workflow, to: Workflow, instance: Instance, placeOf: PlaceOf): string | null {
  const unmapped = Object.keys(instance.marking).filter((place) => !to.places.has(placeOf(place)))
  if (unmapped.length > 0) {
    const names = unmapped.sort().join(' and ')
    return `a token is in ${names}, which the new version does not have: map it (its tokens: ${markingText(instance.marking)})`
  }
  for (const place of Object.keys(instance.marking)) {
    const target = to.places.get(placeOf(place))
    if (target !== undefined && from.places.get(place)?.type === 'final' && target.type !== 'final') {
      return `a token is in the final place ${place}, and ${target.name} is not final`
    }
  }
  for (const firing of instance.firings) {
    const fault = findFiringFault(from, to, firing, placeOf)
    if (fault !== null) return fault
  }
  // Completed steps could never be undone, and a rollback would silently skip them.
  const lost = instance.done.find(
    ({ type, name, undone, others }) =>
      type === 'fire' &&
      !undone &&
      others === undefined &&
      from.transitions.get(name)?.canUndo === true &&
      !to.transitions.has(name),
  )
  return lost === undefined
    ? null
    : `${lost.name} is done and can be undone, and the new version does not have it`
}

function findFiringFault(from: Workflow, to: Workflow, firing: Firing, placeOf: PlaceOf): string | null {
  const { type, name } = firing
  if (type === 'enter') {
    const hasIt = to.places.get(placeOf(name))?.onEnter !== undefined && placeOf(name) === name
    return hasIt ? null : `what ${name} does on entry is under way, and the new version does not do it`
  }
  const [old, target] = [from.transitions.get(name), to.transitions.get(name)]
  if (old === undefined || target === undefined) {
    return `${name} is under way, and the new version does not have it`
  }
  if (type === 'undo') return target.canUndo ? null : `${name} is being undone, and the new version cannot`
  const mapped = (list: readonly string[]) => list.map(placeOf).sort().join()
  const plain = (list: readonly string[]) => [...list].sort().join()
  const isSame =
    mapped(old.document.from) === plain(target.document.from) &&
    mapped(old.document.fromAny ?? []) === plain(target.document.fromAny ?? [])
  return isSame ? null : `${name} is under way, and takes its tokens from elsewhere in the new version`
}

function movedMarking({ marking }: Instance, placeOf: PlaceOf): Readonly<Record<string, number>> {
  const moved = new Map<string, number>()
  for (const [place, tokens] of Object.entries(marking)) {
    moved.set(placeOf(place), (moved.get(placeOf(place)) ?? 0) + tokens)
  }
  return Object.fromEntries(moved)
}

/** In the order written; expressions see the data as it was. */
function changesOf(
  { from, to }: { readonly from: Workflow; readonly to: Workflow },
  instance: Instance,
  base: Scope,
  rules: MigrationDocument['data'],
  transformed: readonly JsonValue[],
): readonly Change[] {
  const scope = instanceScope(from, instance, base)
  const changes: Change[] = []
  let now = instance
  let calls = 0
  const add = (change: Change) => {
    changes.push(change)
    now = { ...now, ...computeChanges(now, [change]) }
  }
  const read = (path: string) => {
    const { root, steps } = parseTarget(path)
    return root === 'correlation' ? undefined : readAt(now[root], steps)
  }
  for (const rule of rules) {
    if ('rename' in rule) {
      const value = read(whole(rule.rename))
      if (value === undefined) continue
      add({ path: whole(rule.rename) })
      add({ path: whole(rule.to), value })
    } else if ('delete' in rule) add({ path: whole(rule.delete) })
    else if ('default' in rule) {
      if (read(whole(rule.default)) === undefined) add({ path: whole(rule.default), value: rule.value })
    } else if ('transform' in rule) {
      const { transform: name, codeHash, timeoutMs } = rule
      const { data, metadata, correlations } = now
      const keys = Object.fromEntries(correlations.map((key) => [key.name, key.value]))
      const input = {
        data,
        metadata,
        correlation: keys,
        from: from.document.version,
        to: to.document.version,
      }
      const result = transformed[calls]
      calls += 1
      if (result === undefined) throw new Needed({ name, codeHash, timeoutMs, input })
      for (const change of mappedData(name, data, result)) add(change)
    } else {
      const value = must(compileExpression(rule.value, to.keyed)).expression.read(scope)
      if (value !== undefined) add({ path: whole(rule.set), value })
    }
  }
  return changes
}

/** Member by member: what a function left as it was is no change. Throws ExpressionError. */
function mappedData(name: string, before: Data, after: JsonValue): readonly Change[] {
  if (typeof after !== 'object' || after === null || Array.isArray(after) || isNumeral(after)) {
    throw new ExpressionError(
      'type',
      `the function ${name} returned no object: it returns the new data`,
      'data',
    )
  }
  const data = after as Data
  const gone = Object.keys(before).filter((key) => !Object.hasOwn(data, key))
  const isSame = (key: string, value: JsonValue) =>
    Object.hasOwn(before, key) && stringifyJson(before[key] as JsonValue) === stringifyJson(value)
  return [
    ...gone.map((key) => ({ path: placeText(['data', key]) })),
    ...Object.entries(data).flatMap(([key, value]) =>
      isSame(key, value) ? [] : [{ path: placeText(['data', key]), value }],
    ),
  ]
}

/** A bare target belongs to the data. */
function whole(path: string): string {
  return /^(?:data|metadata|correlation)\b/.test(path) ? path : `data.${path}`
}

export function migrateInstance(
  draft: Draft,
  { to, actor, reason, transformed }: Extract<InstanceInput, { readonly type: 'migrate' }>,
): void {
  const { now, workflow: from } = draft
  const planned = plan(from, to, now, draft.scope, transformed)
  if (typeof planned === 'string') refuse('cannot_migrate', planned)
  const { placeOf, marking, assigned } = planned
  const moved = Object.entries(now.marking).flatMap(([place, tokens]) =>
    placeOf(place) === place ? [] : Array<string>(tokens).fill(place),
  )
  draft.workflow = to
  now.marking = { ...marking }
  now.data = assigned.data
  now.metadata = assigned.metadata
  now.correlations = assigned.correlations
  now.definition = to.hash
  now.version = to.document.version
  now.firings = now.firings.map((firing) => ({ ...firing, held: firing.held.map(placeOf) }))
  const changes: readonly DataChange[] = assigned.changes
  draft.history.push({
    type: 'migrated',
    version: now.version,
    took: moved,
    put: moved.map(placeOf),
    ...(changes.length === 0 ? {} : { changes: shown(draft, changes) }),
    actor,
    comment: reason,
  })
  learnedEffects(draft, assigned)
  moveStays(draft, placeOf)
}

/** A stay continues where the new place has a time-out; a token that gets one starts it now. */
function moveStays(draft: Draft, placeOf: PlaceOf): void {
  const { now, workflow } = draft
  now.stays = now.stays.map((stay) => ({ ...stay, place: placeOf(stay.place) }))
  const over = now.stays.filter(({ place }) => workflow.places.get(place)?.timeout === undefined)
  const numbers = over.map(({ number }) => number)
  dropStays(draft, numbers)
  now.firings = now.firings.map((firing) => ({
    ...firing,
    stays: firing.stays.filter((number) => !numbers.includes(number)),
  }))
  // Where it may not move yet, its token enters only then.
  if (now.admission.waitsFor !== null) return
  const isIn = (place: string) => (number: number) =>
    now.stays.some((stay) => stay.number === number && stay.place === place)
  for (const [place, tokens] of Object.entries(now.marking)) {
    const timeout = workflow.places.get(place)?.timeout
    if (timeout === undefined) continue
    // A firing that holds a token also holds its stay, and ends it.
    now.firings = now.firings.map((firing) => {
      const lacking =
        firing.held.filter((one) => one === place).length - firing.stays.filter(isIn(place)).length
      const begun = Array.from({ length: lacking }, () => beginStay(draft, place, timeout.afterMs))
      return { ...firing, stays: [...firing.stays, ...begun] }
    })
    const there = now.stays.filter((stay) => stay.place === place).length
    for (let count = there; count < tokens; count += 1) beginStay(draft, place, timeout.afterMs)
  }
}
