// Checks an action, wherever it stands: that it does one thing, with the fields that belong to it, and that what it
// names exists. Reads it as written, valid or not.

import { matchesPattern, parsePattern, parseSubject } from '../core/events/subject/index.ts'
import { parseDuration } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { closest } from '../core/foundation/text/index.ts'
import { compileCron } from '../core/ingest/schedule/index.ts'
import { checkAuth, checkProbeHost } from './auth.ts'
import type { Surroundings } from './document-context.ts'
import type { FieldPath, Remark } from './finding.ts'
import { ACTION_FIELDS, ACTION_NAMES, isIdempotentMethod } from './kinds/action.ts'
import { checkBaseConnection, checkHttpConnection, checkOperationAction } from './operations.ts'
import { listed } from './suggest.ts'
import { type Fields, fieldsOf, isMap } from './written.ts'

const ACTIONS = [
  'http',
  'upsert',
  'operation',
  'function',
  'emit',
  'start',
  'schedule',
  'unschedule',
  'agent',
]

export function checkRouteAction(route: Fields, around: Surroundings): readonly Remark[] {
  const { wait, emit } = fieldsOf(route.do)
  const remarks = checkAction(route.do, ['do'], 'a route', around)
  if (wait === true) {
    const message = 'nobody waits in a route: `wait` belongs to a step of a workflow. Leave it out'
    return [...remarks, { rule: 'together', message, path: ['do', 'wait'], onKey: true }]
  }
  return [...remarks, ...checkLoop(route.on, emit)]
}

export function checkAction(
  written: JsonValue | undefined,
  at: FieldPath,
  owner: string,
  around: Surroundings,
): readonly Remark[] {
  if (!isMap(written)) return []
  const action = fieldsOf(written)
  const names = Object.keys(action)
  const chosen = names.filter((name) => ACTIONS.includes(name))
  // A misspelt one is reported as an unknown field.
  const isMisspelt = names.some((name) => closest(name, ACTIONS) !== undefined)
  if (chosen.length > 1) {
    const message = `${owner} does one thing: keep one of ${listed(chosen)}`
    return [{ rule: 'oneOf', message, path: [...at, String(chosen[1])], onKey: true }]
  }
  if (chosen.length === 0) {
    if (isMisspelt) return []
    return [{ rule: 'oneOf', message: `say what to do: one of ${listed(ACTIONS)}`, path: at, onKey: true }]
  }
  return [
    ...checkCompany(String(chosen[0]), names, at),
    ...checkFunction(action.function, at, around),
    ...checkNamed(action.start, 'start', at, around.workflows),
    ...checkNamed(action.agent, 'agent', at, around.agents),
    ...checkCron(fieldsOf(action.schedule), [...at, 'schedule']),
    ...checkOperationAction(action, at, around),
    ...(isMap(action.http) ? checkHttpConnection(fieldsOf(action.http), [...at, 'http'], around) : []),
    ...(isMap(action.upsert) ? checkBaseConnection(fieldsOf(action.upsert), [...at, 'upsert'], around) : []),
    ...(isMap(action.http) ? checkHttpAuth(fieldsOf(action.http), [...at, 'http'], around) : []),
    ...(isMap(action.upsert) ? checkAuth(fieldsOf(action.upsert), around, [...at, 'upsert'], UNTIL) : []),
    ...checkTimeouts(action, at),
    ...checkOutcome(action.http, at),
  ]
}

const UNTIL = 'every call of it fails'

function checkHttpAuth(http: Fields, at: FieldPath, around: Surroundings): readonly Remark[] {
  const { connection, probe } = http
  const asked = fieldsOf(probe)
  const whole = connection === undefined ? asked : { ...asked, connection }
  return [
    ...checkAuth(http, around, at, UNTIL),
    ...checkAuth(whole, around, [...at, 'probe'], UNTIL),
    ...checkProbeHost(http, at),
  ]
}

/** Which actions a field belongs to. */
const BELONGS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  ['with', 'data', 'wait', 'timeout', 'classify', 'connection'].map((field) => [
    field,
    ACTION_NAMES.filter((name) => {
      const { needed, optional } = ACTION_FIELDS[name]
      return [...needed, ...optional].some((one) => one === field)
    }),
  ]),
)

function checkCompany(chosen: string, names: readonly string[], at: FieldPath): readonly Remark[] {
  return names.flatMap((name) => {
    const owners = BELONGS[name]
    if (owners === undefined || owners.includes(chosen)) return []
    const message = `\`${name}\` belongs to ${listed(owners)}, not to \`${chosen}\``
    if (name === 'connection' && (chosen === 'http' || chosen === 'upsert')) {
      const inside = `\`connection\` stands in \`${chosen}\`, not beside it`
      return [{ rule: 'together', message: inside, path: [...at, name], onKey: true }] as const
    }
    const instead = { with: 'data', data: 'with' }[name]
    const suggestion =
      instead !== undefined && BELONGS[instead]?.includes(chosen) ? { suggestion: instead } : {}
    return [{ rule: 'together', message, path: [...at, name], onKey: true, ...suggestion }] as const
  })
}

function checkFunction(name: JsonValue | undefined, at: FieldPath, around: Surroundings): readonly Remark[] {
  if (typeof name !== 'string' || name.includes('{{') || around.functions(name) !== null) return []
  const message = `there is no function \`${name}\`: export it from a file of the folder, or correct the name`
  return [{ rule: 'function', message, path: [...at, 'function'] }]
}

/** A workflow or an agent of the files, or a deployed one. */
function checkNamed(
  name: JsonValue | undefined,
  field: 'start' | 'agent',
  at: FieldPath,
  known: readonly string[],
): readonly Remark[] {
  if (typeof name !== 'string' || name === '' || name.includes('{{') || known.includes(name)) return []
  const what = field === 'start' ? 'workflow' : 'agent'
  const but =
    known.length === 0
      ? `define it with \`kind: ${field === 'start' ? 'Workflow' : 'Agent'}\``
      : `but ${listed(known)}`
  const near = closest(name, known)
  return [
    {
      rule: field === 'start' ? 'unknownWorkflow' : 'unknownAgent',
      message: `there is no ${what} \`${name}\`, ${but}`,
      path: [...at, field],
      ...(near === undefined ? {} : { suggestedText: near }),
    },
  ]
}

/** For anything with `cron` and `zone`. */
export function checkCron({ cron, zone = 'UTC' }: Fields, at: FieldPath): readonly Remark[] {
  if (typeof cron !== 'string' || typeof zone !== 'string' || cron === '' || zone === '') return []
  // Another finding reports a template here.
  if (cron.includes('{{') || zone.includes('{{')) return []
  const compiled = compileCron(cron, zone)
  if (compiled.ok) return []
  const { field, message } = compiled.problem
  return [{ rule: 'value', message, path: [...at, field] }]
}

/** `timeout` may be inside `http` or beside it. */
function checkTimeouts(action: Fields, at: FieldPath): readonly Remark[] {
  const { timeout } = fieldsOf(action.http)
  if (typeof timeout !== 'string' || typeof action.timeout !== 'string') return []
  const isSame = timeout === action.timeout || parseDuration(timeout) === parseDuration(action.timeout)
  if (isSame) return []
  const message = `\`timeout\` is \`${action.timeout}\` beside \`http\` and \`${timeout}\` inside: keep one`
  return [{ rule: 'together', message, path: [...at, 'http', 'timeout'], onKey: true }]
}

function checkOutcome(http: JsonValue | undefined, at: FieldPath): readonly Remark[] {
  if (!isMap(http)) return []
  const { method = 'POST', idempotent, keyTtl, probe } = fieldsOf(http)
  if (typeof method !== 'string' || isIdempotentMethod(method.toUpperCase())) return []
  if ((idempotent ?? false) !== false || keyTtl !== undefined || probe !== undefined) return []
  return [
    {
      rule: 'unknownOutcome',
      severity: 'warning',
      message:
        'an unknown outcome will park for a person: a time-out may hide that the call succeeded. ' +
        'Write `probe` to look, `keyTtl` if the vendor keeps `Idempotency-Key`, or `idempotent: true`',
      path: [...at, 'http'],
      onKey: true,
    },
  ]
}

function checkLoop(on: JsonValue | undefined, emit: JsonValue | undefined): readonly Remark[] {
  if (typeof emit !== 'string' || !parseSubject(emit).ok || emit.includes('{{')) return []
  const patterns: readonly JsonValue[] = Array.isArray(on) ? on : on === undefined ? [] : [on]
  const own = patterns.find(
    (one) => typeof one === 'string' && parsePattern(one).ok && matchesPattern(one, emit),
  )
  if (own === undefined) return []
  const message = `the route would start itself again: \`${own}\` matches what it emits`
  return [{ rule: 'loop', severity: 'warning', message, path: ['do', 'emit'] }]
}
