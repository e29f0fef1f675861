// The other direction of expand-steps.ts and of `delay` and `forEach`: the short form of a document that is exactly what one stands
// for, for `millrace fmt`. Works on values; what it returns expands to the same document.

import type { JsonValue } from '../core/foundation/json/index.ts'
import { stringifyJson } from '../core/foundation/json/index.ts'
import { expandSteps, stepKey, usualKey } from './expand-steps.ts'
import { STEP_PLACES } from './kinds/route-steps.ts'
import type { ReadDocument } from './read.ts'
import { EVENT_LANE, expandShortForms, shortKeyOf } from './short-forms.ts'
import { type Fields, fieldsOf, isMap } from './written.ts'

/** null: it is no shorter. */
export function condense(value: Fields): Fields | null {
  const short =
    value.kind === 'Route'
      ? forEachOf(value)
      : value.kind === 'Workflow'
        ? (routeOf(value) ?? delayedOf(value))
        : null
  return short !== null && isSame(expand(short), expand(value)) ? short : null
}

/** The long form of the value. */
export function expand(value: Fields): Fields {
  const read: ReadDocument = { file: '', text: '', value, isWhole: true, locate: () => null }
  return expandSteps(expandShortForms(read)).value
}

// --- `forEach`

function forEachOf({ each, concurrency, ...rest }: Fields): Fields | null {
  const { limit = null, by, ...others } = fieldsOf(concurrency)
  if (!isMap(each) || by !== EVENT_LANE || Object.keys(others).length > 0) return null
  return { ...rest, forEach: { ...fieldsOf(each), parallel: limit } }
}

// --- `delay`

/** null: no time-out of a place fires a transition from it alone. */
function delayedOf(workflow: Fields): Fields | null {
  const places: Record<string, JsonValue> = { ...fieldsOf(workflow.places) }
  const transitions: Record<string, JsonValue> = { ...fieldsOf(workflow.transitions) }
  let isShorter = false
  for (const [name, place] of Object.entries(places)) {
    const { timeout, ...rest } = fieldsOf(place)
    const { after = null, fire } = fieldsOf(timeout)
    const { on, ...transition } = fieldsOf(transitions[String(fire)])
    if (typeof fire !== 'string' || on !== 'timer' || transition.from !== name) continue
    isShorter = true
    places[name] = rest
    transitions[fire] = { ...transition, delay: after }
  }
  return isShorter ? { ...workflow, places, transitions } : null
}

// --- `steps`

function routeOf(workflow: Fields): Fields | null {
  const {
    kind: _kind,
    name,
    description,
    apiVersion,
    status,
    deadLetter,
    ...net
  } = delayedOf(workflow) ?? workflow
  const { triggers, start, transitions, version: _version, places: _places, onFailure: _failure } = net
  const [trigger, ...others] = Array.isArray(triggers) ? triggers.map(fieldsOf) : []
  if (trigger === undefined || others.length > 0 || typeof trigger.correlate !== 'string') return null
  const key = trigger.correlate
  const chain = chainOf(String(start), fieldsOf(transitions))
  if (chain === null) return null
  const retries = new Set(chain.map(({ retry }) => stringifyJson(retry ?? 'STEP')))
  const [retry] = retries.size === 1 ? chain.map((one) => one.retry ?? 'STEP') : ['STANDARD']
  return {
    kind: 'Route',
    ...some({ name, apiVersion, description, status }),
    ...some({ on: trigger.on, where: trigger.where }),
    ...(key === usualKey(String(name)) ? {} : { key: shortKeyOf(key) ?? key }),
    ...(retry === 'STANDARD' ? {} : some({ retry })),
    steps: chain.map((step) => stepOf(step, key, retry ?? 'STANDARD')),
    ...some({ deadLetter }),
  }
}

/** The transitions one after another, each with its name; null: they are no chain. */
function chainOf(start: string, transitions: Fields): readonly Fields[] | null {
  const chain: Fields[] = []
  for (let name = start; name !== STEP_PLACES.end; name = String(fieldsOf(transitions[name]).to)) {
    if (!isMap(transitions[name]) || chain.length > Object.keys(transitions).length) return null
    chain.push({ name, ...fieldsOf(transitions[name]) })
  }
  return chain.length > 0 && chain.length === Object.keys(transitions).length ? chain : null
}

function stepOf(
  {
    name = null,
    description,
    delay,
    from: _from,
    to: _to,
    key: written,
    do: action,
    out,
    undo,
    retry,
    ...rest
  }: Fields,
  key: string,
  usual: JsonValue,
): Fields {
  const isOwnKey = written !== stepKey(String(name), key)
  const isAgents = fieldsOf(action).agent !== undefined
  const own = retry ?? (isAgents ? undefined : 'STEP')
  return {
    ...some({ name, description, delay, do: action, out, undo }),
    ...(isOwnKey
      ? some({ key: typeof written === 'string' ? (shortKeyOf(written) ?? written) : written })
      : {}),
    ...(own === undefined || stringifyJson(own) === stringifyJson(usual) ? {} : { retry: own }),
    ...rest,
  }
}

function some(fields: { readonly [name: string]: JsonValue | undefined }): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  )
}

/** Whatever the order of fields; what is left out means a default is written out. */
function isSame(a: Fields, b: Fields): boolean {
  return stringifyJson(sorted(withDefaults(a))) === stringifyJson(sorted(withDefaults(b)))
}

function withDefaults(value: Fields): Fields {
  if (value.kind !== 'Workflow') return value
  const transitions = Object.entries(fieldsOf(value.transitions)).map(([name, one]) => {
    const { do: action, retry } = fieldsOf(one)
    const isUsual = isMap(action) && fieldsOf(action).agent === undefined && retry === undefined
    return [name, isUsual ? { ...fieldsOf(one), retry: 'STEP' } : one] as const
  })
  const { version: _version, ...rest } = value.version === '1.0.0' ? value : { version: null, ...value }
  const places = Object.entries(fieldsOf(value.places)).map(([name, place]) => {
    const { final, ...other } = fieldsOf(place)
    return [name, final === true ? { ...other, type: 'final' } : place] as const
  })
  return {
    ...rest,
    ...(value.version === '1.0.0' || value.version === undefined ? {} : { version: value.version }),
    // Their order is that in which transitions are tried.
    transitions: { ...Object.fromEntries(transitions), order: transitions.map(([name]) => name) },
    places: { ...Object.fromEntries(places), order: places.map(([name]) => name) },
  }
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isMap(value)) return value
  const entries = Object.entries(fieldsOf(value)).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, one]) => [name, sorted(one)]))
}
