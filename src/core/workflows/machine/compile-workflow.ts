// A workflow, compiled: its texts become functions, once per definition. Its actions, undos and entry actions become routes, so
// that everything about effects applies to steps too.

import {
  type ActionDocument,
  hashDocument,
  type RetryPolicy,
  type TransitionDocument,
  type WorkflowDocument,
} from '../../definitions/documents/index.ts'
import { must } from '../../effects/action/index.ts'
import {
  compileCondition,
  compileExpression,
  ExpressionError,
  type Keyed,
  type Scope,
} from '../../expression/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import { DAY } from '../../foundation/time/index.ts'
import { RETRY_PROFILES } from '../../queue/retry/index.ts'
import { compileRoute, type Route } from '../../routing/index.ts'
import { compileAssignments, compileFault } from './compile-texts.ts'
import { compileTrigger } from './compile-trigger.ts'
import { keyText } from './key-text.ts'
import type { Transition, Workflow } from './machine-types.ts'
import { partName } from './workflow-names.ts'
import { stepKey } from './workflow-scope.ts'

/** Without a key, `hmac` in it cannot be evaluated. */
export function compileWorkflow(document: WorkflowDocument, keyed: Keyed = {}): Workflow {
  const hash = hashDocument(document)
  const consumer = `workflow:${document.name}`
  const fires = new Set(document.triggers.flatMap(({ fire }) => (fire === undefined ? [] : [fire])))
  const timed = new Set(
    document.places.flatMap(({ timeout }) => (timeout === undefined ? [] : [timeout.fire])),
  )
  const left = new Set(document.transitions.flatMap(({ from, fromAny = [] }) => [...from, ...fromAny]))
  const places = new Map(document.places.map((place) => [place.name, place]))
  const ends = new Set(
    document.places
      .filter(({ type, name }) => type === 'final' || (type === 'error' && !left.has(name)))
      .map(({ name }) => name),
  )
  const lock =
    document.lock === undefined ? null : must(compileExpression(document.lock.by, keyed)).expression
  return {
    document,
    hash,
    status: document.status,
    consumer,
    places,
    transitions: new Map(
      document.transitions.map((one) => [
        one.name,
        compileTransition(one, fires.has(one.name), timed.has(one.name), keyed),
      ]),
    ),
    triggers: document.triggers.map((trigger) => compileTrigger(document, hash, trigger, keyed)),
    keyed,
    parts: compileParts(document, hash, keyed),
    lockOf: (scope) => (lock === null ? null : keyText(lock.evaluate(scope), 'lock.by', 'the lock')),
    dataFault: compileFault(document.data, 'data'),
    isEnd: (place) => ends.has(place),
    hasUpdates: document.triggers.some(({ action }) => action !== 'create'),
  }
}

function compileTransition(
  document: TransitionDocument,
  isFired: boolean,
  isTimed: boolean,
  keyed: Keyed,
): Transition {
  const when = compileWhen(document.when, keyed)
  const notBy =
    document.notBy === undefined ? null : must(compileExpression(document.notBy, keyed)).expression
  const branches = document.choose?.map(({ when: text, to }) => ({ holds: compileWhen(text, keyed), to }))
  return {
    document,
    isAutomatic: document.on === 'auto' && !isFired && !isTimed,
    isAwaited: document.on === 'manual' || document.on === 'event' || isFired,
    hasAction: document.do !== undefined,
    canUndo: document.undo !== undefined,
    when,
    targets: (scope) =>
      branches === undefined ? document.to : (branches.find(({ holds }) => holds(scope))?.to ?? null),
    out: compileAssignments(document.out, keyed),
    notBy: (scope) => notBy?.evaluate(scope) ?? null,
    inputFault: compileFault(document.input, 'input'),
  }
}

const always = () => true

function compileWhen(condition: JsonValue, keyed: Keyed): (scope: Scope) => boolean {
  if (condition === null) return always
  const compiled = must(compileCondition(condition, keyed)).condition
  return (scope) => compiled.test(scope)
}

function compileParts(document: WorkflowDocument, hash: string, keyed: Keyed): ReadonlyMap<string, Route> {
  const parts = new Map<string, Route>()
  const add = (part: string, action: ActionDocument | undefined, how: Omit<StepPolicy, 'keyed'>) => {
    if (action !== undefined) parts.set(part, compileStep(document, hash, part, action, { ...how, keyed }))
  }
  for (const { name, do: action, undo, key, retry, maxWaitMs, circuit } of document.transitions) {
    add(partName('fire', name), action, { key, retry, maxWaitMs, circuit })
    add(partName('undo', name), undo, { key: null, retry, maxWaitMs, circuit })
  }
  for (const { name, onEnter } of document.places) {
    const own = onEnter?.type === 'agent' ? onEnter.agent.retry : undefined
    add(partName('enter', name), onEnter, { key: null, retry: own ?? RETRY_PROFILES.STEP, maxWaitMs: DAY })
  }
  return parts
}

interface StepPolicy {
  readonly key: string | null
  readonly retry: RetryPolicy
  readonly maxWaitMs: number
  readonly circuit?: TransitionDocument['circuit']
  readonly keyed: Keyed
}

function compileStep(
  document: WorkflowDocument,
  hash: string,
  part: string,
  action: ActionDocument,
  { key, retry, maxWaitMs, circuit, keyed }: StepPolicy,
): Route {
  const route = compileRoute(
    {
      kind: 'Route',
      name: `${document.name}/${part}`,
      description: document.description,
      on: [],
      where: null,
      status: document.status,
      key,
      uniqueness: 'operation',
      retry,
      maxWaitMs,
      deadLetter: document.deadLetter,
      // Of this step alone: the others of the workflow go on.
      ...(circuit !== undefined && { circuit }),
      do: action,
    },
    keyed,
  )
  return {
    ...route,
    hash,
    consumer: `workflow:${document.name}`,
    of: { kind: 'step', workflow: document.name, part },
    keyOf: key === null ? stepKey : (scope) => ownKey(route, scope),
  }
}

/** The name of an undo is derived from it: it must not look like one itself. */
function ownKey(route: Route, scope: Scope): string {
  const key = route.keyOf(scope)
  if (key.startsWith('undo:'))
    throw new ExpressionError('type', 'the key begins with `undo:`', 'key', 'string')
  return key
}
