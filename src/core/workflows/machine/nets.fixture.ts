// Workflows for tests: in a compact notation, or random. `randomNet` takes its choices as an argument, so that properties
// shrink it and the simulator repeats it.

import type {
  ActionDocument,
  PlaceDocument,
  TransitionDocument,
  TriggerDocument,
  WorkflowDocument,
} from '../../definitions/documents/index.ts'
import { DAY } from '../../foundation/time/index.ts'
import { RETRY_PROFILES } from '../../queue/retry/index.ts'

export const EMIT: ActionDocument = { type: 'emit', subject: 'test.done', data: null }

type Draw<Document extends { readonly name: string }> = Partial<Omit<Document, 'name'>>

export interface Sketch extends Omit<Partial<WorkflowDocument>, 'places' | 'transitions' | 'triggers'> {
  readonly places: Readonly<Record<string, Draw<PlaceDocument>>>
  readonly transitions: Readonly<Record<string, Draw<TransitionDocument>>>
  readonly triggers?: readonly Partial<TriggerDocument>[]
}

/** The first place is the start, unless it says otherwise. */
export function sketchWorkflow({ places, transitions, triggers = [], ...rest }: Sketch): WorkflowDocument {
  return {
    kind: 'Workflow',
    name: 'case',
    description: null,
    version: '1.0.0',
    status: 'active',
    start: Object.keys(places)[0] ?? 'start',
    places: Object.entries(places).map(([name, place]) => ({ name, type: 'normal', ...place })),
    transitions: Object.entries(transitions).map(([name, transition]) => ({
      name,
      from: [],
      to: [],
      on: 'auto',
      when: null,
      out: {},
      key: null,
      retry: RETRY_PROFILES.STEP,
      maxWaitMs: DAY,
      ...transition,
    })),
    triggers: triggers.map((trigger, index) => ({
      id: String(index),
      action: 'create',
      where: null,
      correlate: {},
      map: {},
      bufferMs: 0,
      ...trigger,
    })),
    deadLetter: { severity: 'high', runbook: null },
    ...rest,
  }
}

/**
 * A net with forks, joins, `fromAny`, cycles, actions, undo, time-outs, failures and users in it. `pick(bound)` gives an
 * integer from 0 to bound − 1. Automatic steps without an action lead forward, and only single tokens go back, so that few nets
 * loop and few grow.
 */
export function randomNet(pick: (bound: number) => number, name = 'net'): WorkflowDocument {
  const inner = Array.from({ length: 3 + pick(3) }, (_, index) => `p${index}`)
  const ends = ['done', 'done', 'broken']
  const some = (names: readonly string[], max: number): readonly string[] => {
    const count = 1 + pick(max)
    return [...new Set(Array.from({ length: count }, () => names[pick(names.length)] as string))]
  }
  const behind = (from: readonly string[]) => {
    const last = Math.max(...from.map((place) => inner.indexOf(place)))
    const rest = inner.slice(last + 1)
    return rest.length === 0 ? ends : [...rest, ...rest, ...ends]
  }
  const transitions: Record<string, Draw<TransitionDocument>> = {}
  if (pick(2) === 0) {
    transitions.fork = { from: ['p0'], to: ['p1', 'p2'], ...(pick(2) === 0 ? { do: EMIT, undo: EMIT } : {}) }
    transitions.join = {
      from: ['p1', 'p2'],
      to: some(behind(['p2']), 1),
      on: pick(2) === 0 ? 'auto' : 'manual',
    }
  }
  const count = 2 + pick(4)
  for (let index = 0; index < count; index += 1) {
    const isAny = pick(5) === 0
    const hasAction = pick(4) !== 0
    const on = (['auto', 'auto', 'manual', 'event'] as const)[pick(4)] ?? 'auto'
    const inputs = index === 0 ? ['p0'] : some(inner, isAny ? 3 : 2)
    const isBack = (hasAction || on !== 'auto') && pick(6) === 0
    const to = isBack ? some(inner, 1) : some(behind(inputs), 2)
    transitions[`t${index}`] = {
      from: isAny ? [] : inputs,
      ...(isAny ? { fromAny: inputs } : {}),
      ...(pick(5) === 0
        ? {
            choose: [
              { when: `data.n % 2 == ${pick(2)}`, to },
              { when: null, to: some(behind(inputs), 2) },
            ],
            to: [],
          }
        : { to }),
      on,
      when: pick(5) === 0 ? `data.n < ${1 + pick(6)}` : null,
      out: pick(2) === 0 ? { 'data.n': 'data.n + 1' } : {},
      ...(hasAction ? { do: EMIT } : {}),
      ...(pick(3) !== 0 ? { undo: EMIT } : {}),
      ...(pick(6) === 0 ? { onFailure: pick(2) === 0 ? ('none' as const) : { to: 'broken' } } : {}),
    }
  }
  // So that most have a way out.
  transitions.leave = { fromAny: inner, to: ['done'], on: 'event' }
  transitions.expire = { fromAny: inner, to: ['broken'], on: 'timer' }
  const places: Record<string, Draw<PlaceDocument>> = {}
  for (const place of inner) {
    places[place] = {
      ...(pick(3) === 0 ? { timeout: { afterMs: 1_000, fire: pick(3) === 0 ? 't0' : 'expire' } } : {}),
      ...(pick(4) === 0 ? { onEnter: EMIT } : {}),
    }
  }
  const rollsBack = pick(4) !== 0
  return sketchWorkflow({
    name,
    places: {
      ...places,
      done: { type: 'final' },
      broken: { type: 'error' },
      ...(rollsBack ? { rolling_back: {} } : {}),
    },
    transitions,
    triggers: [{ action: 'update', map: { 'data.n': 'payload.n' } }],
    ...(rollsBack
      ? { onFailure: { undo: 'done-steps' as const, through: 'rolling_back', to: 'broken' } }
      : {}),
    ...(pick(4) === 0 ? { lock: { by: 'data.n', ttlMs: 1_000, whenHeld: 'wait' as const } } : {}),
    ...(pick(4) === 0 ? { maxConcurrent: 2 } : {}),
  })
}
