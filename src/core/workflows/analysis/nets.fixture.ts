// Small workflows for tests and the benchmark, in a compact notation.

import type {
  ActionDocument,
  PlaceDocument,
  TransitionDocument,
  TriggerDocument,
  WorkflowDocument,
} from '../../definitions/documents/index.ts'

type Sketch = Partial<Omit<TransitionDocument, 'from' | 'fromAny' | 'to' | 'choose'>> & {
  readonly from?: string
  readonly fromAny?: string
  readonly to?: string
  readonly choose?: readonly (readonly [when: string | null, to: string])[]
}

export const CALL: ActionDocument = {
  type: 'http',
  method: 'POST',
  url: 'https://vendor.example/',
  headers: {},
  body: null,
  idempotent: false,
  keyTtlMs: null,
  probe: null,
  timeoutMs: 1_000,
  classify: {},
}

const names = (text: string | undefined) => (text === undefined || text === '' ? [] : text.split(' '))

/** Places are names in a text; `place!` is final, `place?` an error place. Transitions are evaluated in their order. */
export function sketch(
  places: string,
  transitions: Readonly<Record<string, Sketch>>,
  rest: Partial<Omit<WorkflowDocument, 'places' | 'transitions' | 'triggers'>> & {
    readonly more?: Readonly<Record<string, Partial<PlaceDocument>>>
    readonly triggers?: readonly Partial<TriggerDocument>[]
  } = {},
): WorkflowDocument {
  const { more = {}, triggers = [], ...fields } = rest
  const all = names(places).map((text): PlaceDocument => {
    const name = text.replace(/[!?]$/, '')
    const type = text.endsWith('!') ? 'final' : text.endsWith('?') ? 'error' : 'normal'
    return { name, type, ...more[name] }
  })
  return {
    kind: 'Workflow',
    name: 'w',
    description: null,
    version: '1.0.0',
    status: 'active',
    start: all[0]?.name ?? '',
    deadLetter: { severity: 'error', runbook: null },
    ...fields,
    places: all,
    transitions: Object.entries(transitions).map(([name, { from, fromAny, to, choose, ...given }]) => ({
      name,
      on: 'auto',
      when: null,
      out: {},
      key: null,
      retry: { profile: 'STEP', attempts: 3, delaysMs: [1_000, 2_000] },
      maxWaitMs: 86_400_000,
      ...given,
      from: names(from),
      ...(fromAny === undefined ? {} : { fromAny: names(fromAny) }),
      to: names(to),
      ...(choose === undefined
        ? {}
        : { choose: choose.map(([when, targets]) => ({ when, to: names(targets) })) }),
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
  }
}

/** `branches` side by side, each of `length` steps: (length + 1) ^ branches markings, and three around them. */
export function parallel(branches: number, length: number): WorkflowDocument {
  const each = Array.from({ length: branches }, (_, branch) => branch)
  const steps = Array.from({ length }, (_, step) => step)
  const transitions: Record<string, Sketch> = {
    fork: { from: 'start', to: each.map((branch) => `b${branch}_0`).join(' '), do: CALL },
  }
  for (const branch of each) {
    for (const step of steps) {
      transitions[`t${branch}_${step}`] = {
        from: `b${branch}_${step}`,
        to: `b${branch}_${step + 1}`,
        do: CALL,
      }
    }
  }
  transitions.join = { from: each.map((branch) => `b${branch}_${length}`).join(' '), to: 'end' }
  const places = each.flatMap((branch) => [...steps, length].map((step) => `b${branch}_${step}`))
  return sketch(['start', ...places, 'end!'].join(' '), transitions)
}
