// The workflows of the simulated shop, and what the checks know of them. Some are written here, one is drawn by the seed.
//
// `chain` is a saga under a lock, with a way back, a time-out and an event that stop it. `desk` has a fork, a join, a manual step, a
// bounded cycle and two places among those that run. `combo` waits for a `child`. `net` is drawn: a small net that ends.

import type {
  HttpActionDocument,
  MigrationDocument,
  PlaceDocument,
  TransitionDocument,
  WorkflowDocument,
} from '../src/core/definitions/documents/index.ts'
import { hashDocument } from '../src/core/definitions/documents/index.ts'
import { SECOND } from '../src/core/foundation/time/index.ts'
import { type Sketch, sketchWorkflow } from '../src/core/workflows/machine/nets.fixture.ts'
import type { Rng } from './random.ts'
import { CASE_DELAYS_MS, CASE_OPERATIONS } from './workflow-vendor.ts'

export interface Cases {
  /** Deployed, by the number of the bundle. */
  documents(bundle: 0 | 1): readonly WorkflowDocument[]
  /** Of every version that can be deployed. */
  byHash(hash: string): WorkflowDocument | undefined
  /** `workflow:chain/0` of every trigger that wants the subject. */
  wanting(subject: string): readonly string[]
}

/** What the messages of a run with workflows are about. */
export const CASE_KINDS: Readonly<Record<string, number>> = {
  ordered: 40,
  stopped: 15,
  asked: 25,
  combined: 15,
  netted: 30,
  nudged: 25,
  created: 4,
  paid: 4,
}

/** Kinds that only workflows want. */
export function isCaseKind(kind: string): boolean {
  return Object.hasOwn(CASE_KINDS, kind) && kind !== 'created' && kind !== 'paid'
}

type Step = Partial<Omit<TransitionDocument, 'name'>>

function call(operation: string): HttpActionDocument {
  const promised = CASE_OPERATIONS[operation]
  if (promised === undefined) throw new Error(`assertion failed: the vendor has no operation ${operation}`)
  const { isIdempotent, keyTtlMs, probeAfterMs, timeoutMs } = promised
  const url = `https://vendor.test/${operation}/{{ key }}`
  const headers = { 'x-route': operation, 'x-event': '{{ event.id }}' }
  return {
    type: 'http',
    method: isIdempotent ? 'PUT' : 'POST',
    url,
    headers,
    body: { order: '{{ data.order }}' },
    idempotent: isIdempotent,
    keyTtlMs,
    probe:
      probeAfterMs === null
        ? null
        : { method: 'GET', url, headers, found: 'result.status == 200', afterMs: probeAfterMs },
    timeoutMs,
    classify: {},
  }
}

const retry = { profile: null, attempts: CASE_DELAYS_MS.length + 1, delaysMs: CASE_DELAYS_MS }

function draw({ transitions, ...sketch }: Sketch): WorkflowDocument {
  const tried = Object.entries(transitions).map(([name, one]) => [name, { retry, ...one }])
  return sketchWorkflow({ ...sketch, transitions: Object.fromEntries(tried) })
}

const keyed = { correlate: { order: 'payload.order' } } as const
const map = { 'data.order': 'payload.order', 'data.n': 'payload.amount' } as const

const step = (operation: string, from: string, to: string, more: Step = {}): Step => ({
  from: [from],
  to: [to],
  do: call(operation),
  undo: call(`un${operation}`),
  out: { [`data.${operation}`]: 'result.body.id' },
  ...more,
})

const CHAIN = draw({
  name: 'chain',
  places: {
    begun: {},
    one: { timeout: { afterMs: 9 * SECOND, fire: 'expire' } },
    two: {},
    three: {},
    ready: { type: 'final' },
    rolling_back: {},
    stopped: { type: 'final' },
    broken: { type: 'error' },
  },
  transitions: {
    first: step('chainone', 'begun', 'one'),
    second: step('chaintwo', 'one', 'two'),
    third: step('chainthree', 'two', 'three'),
    fourth: step('chainfour', 'three', 'ready'),
    expire: { from: ['one'], to: ['broken'], on: 'timer' },
    stop: { from: [], fromAny: ['begun', 'one', 'two', 'three'], to: ['stopped'], on: 'event' },
  },
  triggers: [
    { id: '0', on: ['order.ordered'], ...keyed, unique: 'live', map },
    {
      id: '1',
      on: ['order.stopped'],
      action: 'update',
      ...keyed,
      map: { 'data.why': 'payload.vat' },
      fire: 'stop',
      bufferMs: 12 * SECOND,
    },
  ],
  lock: { by: 'data.n % 3', ttlMs: 40 * SECOND, whenHeld: 'wait' },
  onFailure: { undo: 'done-steps', through: 'rolling_back', to: 'broken' },
})

const DESK = draw({
  name: 'desk',
  places: {
    open: {},
    left: {},
    right: { type: 'waiting', timeout: { afterMs: 18 * SECOND, fire: 'remind' } },
    checked: { onEnter: call('deskmark') },
    approved: {},
    both: {},
    done: { type: 'final' },
  },
  transitions: {
    fork: { from: ['open'], to: ['left', 'right'] },
    check: { from: ['left'], to: ['checked'], do: call('deskcheck'), onFailure: 'none' },
    approve: { from: ['right'], to: ['approved'], on: 'manual' },
    remind: { from: ['right'], to: ['approved'], on: 'timer' },
    join: { from: ['checked', 'approved'], to: ['both'] },
    again: {
      from: ['both'],
      to: [],
      choose: [
        { when: 'data.n > 50', to: ['open'] },
        { when: null, to: ['done'] },
      ],
      out: { 'data.n': 'data.n - 40' },
    },
  },
  triggers: [
    {
      id: '0',
      on: ['order.asked'],
      action: 'createOrUpdate',
      ...keyed,
      unique: 'live',
      map,
      bufferMs: 10 * SECOND,
    },
  ],
  maxConcurrent: 2,
})

const ORDER = { order: '{{ data.order }}', amount: 1, vat: null }

const COMBO = draw({
  name: 'combo',
  places: { begun: {}, waited: {}, done: { type: 'final' }, sorry: { type: 'error' } },
  transitions: {
    launch: {
      from: ['begun'],
      to: ['waited'],
      do: {
        type: 'start',
        workflow: 'child',
        with: ORDER,
        wait: true,
      },
      onFailure: { to: 'sorry' },
    },
    tell: { from: ['waited'], to: ['done'], do: { type: 'emit', subject: 'order.told', data: ORDER } },
  },
  triggers: [{ id: '0', on: ['order.combined'], map }],
})

const CHILD = draw({
  name: 'child',
  places: { begun: {}, done: { type: 'final' }, bad: { type: 'error' } },
  transitions: {
    work: { from: ['begun'], to: ['done'], do: call('childwork'), onFailure: { to: 'bad' } },
  },
  triggers: [{ id: '0', manual: {}, map }],
})

/** Tokens only go on, to places further down, but for one way back that the data closes: it ends, or waits for a user. */
function drawNet(rng: Rng): WorkflowDocument {
  const inner = Array.from({ length: rng.between(2, 4) }, (_, index) => `p${index}`)
  const later = (from: number) => [...inner.slice(from + 1), 'done', ...(rng.chance(200) ? ['broken'] : [])]
  const some = (names: readonly string[], max: number): readonly string[] => [
    ...new Set(Array.from({ length: rng.between(1, max) }, () => rng.pick(names))),
  ]
  const action = (): Step => {
    const operation = rng.pick(['neta', 'netb', 'netc'])
    return { do: call(operation), ...(rng.chance(600) && { undo: call(`un${operation}`) }) }
  }
  const transitions: Record<string, Step> = {}
  const add = (index: number, from: Step) => {
    const isChosen = rng.chance(250)
    const to = some(later(index), 2)
    transitions[`t${Object.keys(transitions).length}`] = {
      ...from,
      ...(isChosen
        ? {
            to: [],
            choose: [
              { when: 'data.n % 2 == 0', to },
              { when: null, to: some(later(index), 2) },
            ],
          }
        : { to }),
      on: rng.pick(['auto', 'auto', 'auto', 'manual', 'event']),
      when: rng.chance(150) ? 'data.n > 10' : null,
      out: rng.chance(500) ? { 'data.n': 'data.n + 1' } : {},
      ...(rng.chance(600) && action()),
      ...(rng.chance(200) && { onFailure: rng.chance(500) ? 'none' : { to: 'broken' } }),
    }
  }
  for (const [index, place] of inner.entries()) {
    add(index, { from: [place] })
    if (index > 0 && rng.chance(400)) add(index, { from: [rng.pick(inner.slice(0, index)), place] })
    if (index > 0 && rng.chance(250)) add(index, { from: [], fromAny: some(inner.slice(0, index + 1), 2) })
  }
  if (rng.chance(300))
    transitions.back = {
      from: [inner.at(-1) as string],
      to: [inner[0] as string],
      when: 'data.n < 40',
      out: { 'data.n': 'data.n + 20' },
    }
  transitions.leave = { from: [], fromAny: inner, to: ['done'], on: 'event' }
  transitions.expire = { from: [], fromAny: inner, to: ['done'], on: 'timer' }
  const places: Record<string, Partial<Omit<PlaceDocument, 'name'>>> = {}
  for (const place of inner)
    places[place] = {
      ...(rng.chance(350) && { timeout: { afterMs: rng.between(1, 15) * SECOND, fire: 'expire' } }),
      ...(rng.chance(200) && { onEnter: call('netc') }),
    }
  const rollsBack = rng.chance(500)
  return draw({
    name: 'net',
    places: { ...places, done: { type: 'final' }, broken: { type: 'error' }, back: {} },
    transitions,
    triggers: [
      { id: '0', on: ['order.netted'], ...keyed, ...(rng.chance(500) && { unique: 'live' }), map },
      {
        id: '1',
        on: ['order.nudged'],
        action: 'update',
        ...keyed,
        map: { 'data.n': 'payload.amount' },
        fire: rng.chance(500) ? 'leave' : rng.pick(Object.keys(transitions)),
        bufferMs: rng.pick([0, 8 * SECOND]),
      },
    ],
    ...(rollsBack && { onFailure: { undo: 'done-steps', through: 'back', to: 'broken' } }),
    ...(rng.chance(250) && {
      lock: { by: 'data.order', ttlMs: 30 * SECOND, whenHeld: rng.pick(['wait', 'skip'] as const) },
    }),
    ...(rng.chance(250) && { maxConcurrent: rng.between(1, 2) }),
  })
}

/** Takes few events, and tells of those that it rejects. */
const LIMITED: WorkflowDocument = {
  ...DESK,
  triggers: DESK.triggers.map((trigger) => ({
    ...trigger,
    rateLimit: { profile: null, perMinute: 12, burst: 1 },
    onLimit: 'reject',
    deadLetter: { subject: 'order.refused' },
  })),
}

/** Its first trigger cannot map odd amounts, and pauses itself after two of them. */
const PAUSING: WorkflowDocument = {
  ...CHAIN,
  triggers: CHAIN.triggers.map((trigger) =>
    trigger.id !== '0'
      ? trigger
      : {
          ...trigger,
          map: { ...trigger.map, 'data.odd': 'payload.amount % 2 == 0 ? 0 : payload.amount.size()' },
          circuit: { consecutive: 2, ratio: 1, of: 50, openMs: 6 * SECOND },
        },
  ),
}

/** A desk and a drawn net are replaced, the others go on. */
function migrationOf({ name }: WorkflowDocument): MigrationDocument {
  const strategy = name === 'desk' || name === 'net' ? 'newInstance' : 'inPlace'
  const data = [{ default: 'data.migrated', value: true }]
  return { from: '1.0.0', to: '2.0.0', strategy, places: {}, data }
}

export function drawCases(
  rng: Rng,
  has: { readonly hasLimits?: true; readonly hasTriggerCircuits?: true; readonly hasMigrations?: true },
): Cases {
  const first = [
    has.hasTriggerCircuits ? PAUSING : CHAIN,
    has.hasLimits ? LIMITED : DESK,
    COMBO,
    CHILD,
    drawNet(rng),
  ]
  const second = first.map((document) => ({
    ...document,
    description: 'the second',
    version: '2.0.0',
    ...(has.hasMigrations && { migrations: [migrationOf(document)] }),
  }))
  const hashes = new Map([...first, ...second].map((document) => [hashDocument(document), document]))
  return {
    documents: (bundle) => (bundle === 0 ? first : second),
    byHash: (hash) => hashes.get(hash),
    wanting: (subject) =>
      first.flatMap(({ name, triggers }) =>
        triggers.filter(({ on }) => on?.includes(subject)).map(({ id }) => `workflow:${name}/${id}`),
      ),
  }
}
