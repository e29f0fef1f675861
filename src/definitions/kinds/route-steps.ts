// `steps` of a route: its fields, and what it excludes. What it stands for is in ../expand-steps.ts.

import * as z from 'zod'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { DAY, SECOND } from '../../core/foundation/time/index.ts'
import { makeActionOf } from '../actions/index.ts'
import { AFTER_ROOTS, FIRE_ROOTS, STEP_ROOTS } from '../expression-names.ts'
import { documentName, duration, field, literal, named, oneOf, optional, pick, reference } from '../fields.ts'
import type { Remark } from '../finding.ts'
import { listed } from '../suggest.ts'
import { type Fields, fieldsOf, isMap } from '../written.ts'
import { circuitPolicy, retryInline } from './parts.ts'
import { assignments, STAY_MS_MAX } from './workflow-parts.ts'

const STEPS_MAX = 100

const step = () =>
  named(
    'StepFields',
    z.strictObject({
      name: field(
        documentName(),
        'Unique among the steps: its result is `steps.<name>.result` in later ones.',
      ),
      description: optional(literal(), 'For people.', 'none'),
      delay: optional(
        duration(SECOND, STAY_MS_MAX),
        'How long it waits after the step before it, or after the event.',
        'none',
      ),
      do: field(makeActionOf(STEP_ROOTS), 'One action, as of a route.'),
      out: optional(
        assignments(AFTER_ROOTS),
        'What is kept of the `result`. Target and expression: `title` means `data.title`, which later steps read.',
        'nothing',
      ),
      undo: optional(
        makeActionOf([...STEP_ROOTS, 'result']),
        'What takes the step back if a later one fails for good; sees its `result`.',
        'nothing has to be taken back',
      ),
      // Nothing that differs between environments.
      key: optional(
        pick(FIRE_ROOTS.filter((root) => root !== 'vars')),
        'Names the effect of this step.',
        'the name of the step and the key of the route',
      ),
      retry: optional(
        z.union([reference(), retryInline()]),
        'The name of a profile, or a policy in place.',
        'that of the route',
      ),
      maxWait: optional(
        duration(SECOND, 30 * DAY),
        'How long the step may wait beside its retries.',
        'that of the route',
      ),
      // The map first: its errors are reported, rather than that it is not `off`.
      circuit: optional(
        z.union([circuitPolicy(), oneOf('off')]),
        'When the step pauses itself because its calls fail; `off`: never.',
        'that of the route',
      ),
    }),
  )

export const steps = () =>
  optional(
    z.array(step()).min(1).max(STEPS_MAX),
    'Actions one after another, instead of `do`: short for a workflow of this name.',
    'one action',
  )

/** The places of the workflow that are not steps. */
export const STEP_PLACES = { end: 'done', through: 'rolling_back', failed: 'failed' } as const

const BESIDE_STEPS = [
  'kind',
  'apiVersion',
  'name',
  'description',
  'on',
  'where',
  'status',
  'key',
  'retry',
  'maxWait',
  'deadLetter',
  'circuit',
  'delay',
  'steps',
]

/** As written, valid or not. */
export function checkSteps(route: Fields): readonly Remark[] {
  const { steps: written } = route
  if (written === undefined) {
    if (route.do !== undefined) return []
    const message = 'say what to do: `do` with one action, or `steps` with several, one after another'
    return [{ rule: 'missing', message, path: ['do'] }]
  }
  return [...checkCompany(route), ...checkNames(written), ...checkDelays(route, written)]
}

function checkCompany(route: Fields): readonly Remark[] {
  return Object.keys(route).flatMap((name): readonly Remark[] => {
    if (BESIDE_STEPS.includes(name)) return []
    const message =
      name === 'do'
        ? '`do` and `steps` exclude each other: keep one'
        : `\`${name}\` belongs to a route with \`do\`: with \`steps\` a route is a workflow. Leave it out, or start the workflow from a route that has it, by \`do: { start: … }\``
    return [{ rule: name === 'do' ? 'oneOf' : 'together', message, path: [name], onKey: true }]
  })
}

function checkNames(written: JsonValue): readonly Remark[] {
  const names = namesOf(written)
  return names.flatMap((name, index): readonly Remark[] => {
    const path = ['steps', index, 'name']
    if (typeof name !== 'string') return []
    if ((Object.values(STEP_PLACES) as readonly string[]).includes(name)) {
      const message = `\`${name}\` is a place of every such workflow (${listed(Object.values(STEP_PLACES))}): name the step otherwise`
      return [{ rule: 'steps', message, path }]
    }
    if (names.indexOf(name) === index) return []
    return [{ rule: 'steps', message: `there is a step \`${name}\` already: rename one`, path }]
  })
}

function checkDelays(route: Fields, written: JsonValue): readonly Remark[] {
  const [first] = Array.isArray(written) ? written : []
  if (route.delay === undefined || fieldsOf(first).delay === undefined) return []
  const message = 'the `delay` of the route is that of its first step: keep one'
  return [{ rule: 'together', message, path: ['steps', 0, 'delay'], onKey: true }]
}

function namesOf(written: JsonValue): readonly (JsonValue | undefined)[] {
  return Array.isArray(written) ? written.map((one) => (isMap(one) ? fieldsOf(one).name : undefined)) : []
}
