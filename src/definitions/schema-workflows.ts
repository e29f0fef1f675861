// A workflow as written: places, transitions and triggers, each by its name. resolve-workflows.ts makes its normal
// form.

import * as z from 'zod'
import { FIRE_MODES, PLACE_TYPES } from '../core/definitions/documents/index.ts'
import { DAY, SECOND } from '../core/foundation/time/index.ts'
import { EVENT_ROOTS, FIRE_ROOTS, INSTANCE_ROOTS, MAP_ROOTS, STEP_ROOTS } from './expression-names.ts'
import {
  condition,
  documentName,
  duration,
  json,
  literal,
  oneOf,
  path,
  pattern,
  pick,
  readable,
  reference,
  target,
} from './fields.ts'
import { makeActionOf } from './schema-actions.ts'
import { ratePolicy, retryInline } from './schema-buffers.ts'

const name = () => literal({ minLength: 1 })
const names = () => z.union([name(), z.array(name()).min(1).max(100)])
const assignments = (roots: readonly string[]) => z.record(target(), pick(roots))

// --- Places

const place = z.strictObject({
  description: literal().optional(),
  type: oneOf(...PLACE_TYPES).optional(),
  final: z.boolean().optional(),
  timeout: z.strictObject({ after: duration(SECOND, 3_650 * DAY), fire: name() }).optional(),
  onEnter: makeActionOf(STEP_ROOTS).optional(),
})

// --- Transitions

const onFailure = z.strictObject({
  undo: oneOf('done-steps').optional(),
  through: name().optional(),
  to: name(),
})

const AFTER_ROOTS = [...FIRE_ROOTS, 'key', 'result']

const transition = z.strictObject({
  description: literal().optional(),
  from: names().optional(),
  fromAny: names().optional(),
  to: names().optional(),
  choose: z
    .array(z.strictObject({ when: condition(AFTER_ROOTS).optional(), to: names() }))
    .min(1)
    .max(100)
    .optional(),
  on: oneOf(...FIRE_MODES).optional(),
  when: condition(FIRE_ROOTS).optional(),
  do: makeActionOf(STEP_ROOTS).optional(),
  out: assignments(AFTER_ROOTS).optional(),
  // Nothing that differs between environments.
  key: pick(FIRE_ROOTS.filter((root) => root !== 'vars')).optional(),
  retry: z.union([reference(), retryInline]).optional(),
  maxWait: duration(SECOND, 30 * DAY).optional(),
  undo: makeActionOf([...STEP_ROOTS, 'result']).optional(),
  // The map first: its errors are reported, rather than that it is not `none`.
  onFailure: z.union([onFailure, oneOf('none')]).optional(),
  permission: name().optional(),
  input: json().optional(),
  notBy: pick(INSTANCE_ROOTS).optional(),
})

// --- Triggers

const trigger = z
  .strictObject({
    on: z.union([pattern(), z.array(pattern()).min(1).max(100)]).optional(),
    schedule: z
      .strictObject({
        cron: literal({ minLength: 1 }),
        zone: literal({ minLength: 1 }).optional(),
        missed: oneOf('once', 'skip', 'all').optional(),
        maxInstances: z.number().int().min(1).max(1_000_000).optional(),
      })
      .optional(),
    manual: z.strictObject({ permission: name().optional(), input: json().optional() }).optional(),
    action: oneOf('create', 'update', 'createOrUpdate').optional(),
    where: condition(EVENT_ROOTS).optional(),
    correlate: z.union([pick(EVENT_ROOTS), z.record(documentName(), pick(EVENT_ROOTS))]).optional(),
    unique: z.union([oneOf('live', 'ever'), z.literal(true)]).optional(),
    map: assignments(MAP_ROOTS).optional(),
    fire: name().optional(),
    buffer: duration(0, 30 * DAY).optional(),
    rateLimit: z.union([reference(), ratePolicy]).optional(),
  })
  .meta({ oneOf: [{ required: ['on'] }, { required: ['schedule'] }, { required: ['manual'] }] })

// --- Versions and security

const DATA_ROOTS = ['data', 'metadata'] as const

const migration = z.strictObject({
  from: name(),
  to: name(),
  strategy: oneOf('inPlace').optional(),
  places: z.record(name(), name()).optional(),
  data: z
    .array(
      z.union([
        z.strictObject({ rename: target(), to: target() }),
        z.strictObject({ delete: target() }),
        z.strictObject({ default: target(), value: json() }),
        z.strictObject({ set: target(), value: pick(DATA_ROOTS) }),
      ]),
    )
    .max(1_000)
    .optional(),
})

const security = z.strictObject({
  permissions: z.array(permissionName()).max(1_000).optional(),
  required: z.array(permissionName()).min(1).max(100).optional(),
  classification: oneOf('public', 'internal', 'confidential', 'restricted').optional(),
  encrypt: z.array(path()).max(100).optional(),
  audit: oneOf('full', 'changes').optional(),
})

function permissionName() {
  return literal({ minLength: 1 })
}

export const workflowFields = {
  version: literal({ minLength: 1 }).optional(),
  status: oneOf('active', 'paused', 'disabled').optional(),
  start: name(),
  data: json().optional(),
  lock: z
    .strictObject({
      by: pick(INSTANCE_ROOTS),
      ttl: duration(SECOND, 365 * DAY).optional(),
      whenHeld: oneOf('wait', 'skip').optional(),
      name: documentName().optional(),
    })
    .optional(),
  maxConcurrent: z.number().int().min(1).max(1_000_000).optional(),
  onFailure: onFailure.optional(),
  deadLetter: z
    .strictObject({
      severity: oneOf('low', 'medium', 'high', 'critical').optional(),
      runbook: readable().optional(),
    })
    .optional(),
  triggers: z.array(trigger).min(1).max(100),
  places: z.record(documentName(), place),
  transitions: z.record(documentName(), transition),
  compatibility: z
    .strictObject({
      supported: z.array(name()).max(1_000).optional(),
      deprecationWarnings: z.boolean().optional(),
      strict: z.boolean().optional(),
    })
    .optional(),
  migrations: z.array(migration).max(100).optional(),
  security: security.optional(),
}

export type PlaceInput = z.infer<typeof place>
export type TransitionInput = z.infer<typeof transition>
export type TriggerInput = z.infer<typeof trigger>
export type MigrationInput = z.infer<typeof migration>
export type OnFailureInput = z.infer<typeof onFailure>
