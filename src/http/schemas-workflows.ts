// What answers about workflows, instances and orphans contain; shapes-workflows.ts makes them.

import { FIRE_MODES, PLACE_TYPES } from '../core/definitions/documents/index.ts'
import { ATTENTIONS, HISTORY_TYPES, INSTANCE_STATES } from '../core/workflows/instance/index.ts'
import { ORPHAN_REASONS, ORPHAN_STATES } from '../core/workflows/orphan/index.ts'
import {
  anything,
  boolean,
  instant,
  integer,
  listOf,
  nullable,
  ref,
  type Schema,
  shape,
  string,
} from './schema-parts.ts'
import { oneOf } from './schemas.ts'

const marking = {
  type: 'object',
  additionalProperties: integer,
  description: 'Place → tokens; places without any are left out.',
} as const
const attention = {
  ...nullable(oneOf(ATTENTIONS)),
  description: 'Why a person should look at it; null: nobody has to.',
} as const
const places = listOf(string)

const instance = {
  id: string,
  workflow: string,
  version: { ...string, description: 'As its definition calls itself.' },
  definition: { ...string, description: 'Hash of the definition that it is on.' },
  state: oneOf(INSTANCE_STATES),
  attention,
  marking,
  eventId: { ...string, description: 'The event that began it.' },
  correlationId: string,
  parent: { ...nullable(string), description: 'The instance that started it.' },
  createdAt: instant,
  updatedAt: instant,
  endedAt: nullable(instant),
} as const

const change = shape(
  {
    path: { ...string, description: '`data.x.y`, `metadata.x` or `correlation.name`.' },
    before: { ...anything, description: 'Left out: it was not there.' },
    after: { ...anything, description: 'Left out: it is not there any more.' },
    hidden: {
      ...boolean,
      description: 'The workflow keeps no values in its history: only that it changed is known.',
    },
  },
  ['before', 'after', 'hidden'],
)

const firing = shape(
  {
    number: { ...integer, description: 'Counts within the instance.' },
    type: oneOf(['fire', 'enter', 'undo']),
    name: { ...string, description: 'Of the transition; of the place for `enter`.' },
    held: { ...places, description: 'One token of each is held by it.' },
    state: oneOf(['running', 'failed', 'parked', 'interrupted', 'waiting']),
    beganAt: instant,
    of: { ...integer, description: 'Of `undo`: the firing that it takes back.' },
    actor: { ...string, description: 'Who fired it.' },
    input: anything,
    child: { ...string, description: 'The instance that it started.' },
    inDoubt: { ...boolean, description: 'It was interrupted, and nobody knows whether it took effect.' },
  },
  ['of', 'actor', 'input', 'child', 'inDoubt'],
)

const step = shape({
  number: integer,
  type: oneOf(['fire', 'enter']),
  name: string,
  key: nullable(string),
  endedAt: instant,
  result: { ...anything, description: 'null also where it was too long to keep.' },
  undone: boolean,
})

const history = shape(
  {
    sequence: { ...integer, description: 'The number of the step: what `?at=` takes.' },
    at: instant,
    type: oneOf(HISTORY_TYPES),
    name: { ...string, description: 'Transition or place.' },
    part: {
      ...oneOf(['enter', 'undo']),
      description: 'What a place does on entry, or an undo; left out: of a transition.',
    },
    firing: integer,
    took: { ...places, description: 'Places that lost a token.' },
    put: { ...places, description: 'Places that got a token.' },
    changes: listOf(change),
    state: oneOf(INSTANCE_STATES),
    version: string,
    actor: string,
    comment: { ...string, description: 'The comment or the reason of whoever did it.' },
    input: anything,
    result: anything,
    error: string,
    eventId: string,
    workId: string,
    child: string,
  },
  [
    'name',
    'part',
    'firing',
    'took',
    'put',
    'changes',
    'state',
    'version',
    'actor',
    'comment',
    'input',
    'result',
    'error',
    'eventId',
    'workId',
    'child',
  ],
)

const version = shape({ definition: string, version: string, count: integer })
const workflow = {
  name: string,
  version: string,
  definition: { ...string, description: 'Hash of the definition in force.' },
  status: oneOf(['active', 'paused', 'disabled']),
  description: nullable(string),
  counts: {
    ...shape({ active: integer, attention: integer }),
    description: 'Active instances, and those of them that a person should look at; each stops at 10,000.',
  },
  versions: { ...listOf(version), description: 'How many are active on each version.' },
} as const

const net = {
  ...shape({
    start: string,
    places: listOf(
      shape({
        name: string,
        type: oneOf(PLACE_TYPES),
        description: nullable(string),
        tokens: {
          ...integer,
          description:
            'Of a workflow: of all active instances, on whichever version; of an instance: its own.',
        },
        timeout: nullable(shape({ afterMs: integer, fire: string })),
        onEnter: { ...nullable(string), description: 'The action for every token that comes in.' },
      }),
    ),
    transitions: listOf(
      shape({
        name: string,
        description: nullable(string),
        from: places,
        fromAny: places,
        to: { ...places, description: 'All places that it may put a token in.' },
        on: oneOf(FIRE_MODES),
        isAutomatic: { ...boolean, description: 'It fires by itself as soon as it can.' },
        when: { ...nullable(string), description: 'Its condition, as written.' },
        action: { ...nullable(string), description: 'What it does: null where it only moves tokens.' },
        undo: boolean,
        permission: nullable(string),
        input: { ...anything, description: 'JSON Schema of what whoever fires it gives; null: anything.' },
      }),
    ),
    arcs: listOf(
      shape(
        {
          place: string,
          transition: {
            ...nullable(string),
            description: 'null: of a roll-back that is over, from `place` to `to`.',
          },
          type: {
            ...oneOf(['in', 'any', 'out', 'choose', 'failure', 'undone']),
            description: '`in` and `any` lead to the transition, the others from it.',
          },
          when: { ...string, description: 'Of a branch of `choose`.' },
          to: string,
        },
        ['when', 'to'],
      ),
    ),
  }),
  description: 'To be drawn.',
} as const

export const migrationResult = shape({
  id: string,
  from: string,
  to: string,
  ok: { ...boolean, description: 'It can be done; of a run: it was done.' },
  message: string,
  before: marking,
  after: marking,
  changes: listOf(change),
})

/** By name, beside those of schemas-answers.ts. */
export const WORKFLOW_SHAPES: Readonly<Record<string, Schema>> = {
  Workflow: { ...shape(workflow), description: 'A workflow in force, and how many instances it has.' },
  WorkflowDetail: {
    ...shape({
      ...workflow,
      document: { ...anything, description: 'The normal form of its definition.' },
      net,
      triggers: listOf(
        shape({
          id: string,
          on: listOf(string),
          schedule: nullable(string),
          manual: boolean,
          permission: nullable(string),
          action: oneOf(['create', 'update', 'createOrUpdate']),
          fire: nullable(string),
          input: { ...anything, description: 'JSON Schema of a manual start; null: anything.' },
        }),
      ),
    }),
    description: 'A workflow with its net and its triggers.',
  },
  Instance: { ...shape(instance), description: 'One running case of a workflow.' },
  InstanceDetail: {
    ...shape(
      {
        ...instance,
        data: anything,
        metadata: anything,
        correlations: listOf(shape({ name: string, value: string })),
        firings: { ...listOf(firing), description: 'What has begun and not ended.' },
        steps: { ...listOf(step), description: 'What ended well, oldest first.' },
        failure: nullable(shape({ name: string, class: string, reason: string, error: string, at: instant })),
        rollBack: {
          ...nullable(shape({ through: nullable(string), to: string, left: listOf(integer) })),
          description: 'While what is done is taken back: the firings that are left.',
        },
        waitsFor: {
          ...nullable(oneOf(['lock', 'slot'])),
          description: 'It may not move yet: somebody else has its lock, or too many run.',
        },
        children: { ...listOf(string), description: 'Instances that it started; the latest hundred.' },
        history: { ...listOf(ref('InstanceHistory')), description: 'The latest 200, oldest first.' },
        encrypted: {
          ...listOf(string),
          description: 'Paths that are encrypted at rest; viewers see `[hidden]` there and in results.',
        },
        net: { ...net, description: 'Of the version that it is on, to be drawn.' },
        at: {
          ...shape({
            sequence: integer,
            time: instant,
            isWhole: {
              ...boolean,
              description: 'false: the history keeps no values, and data is not whole.',
            },
          }),
          description: 'Only with `?at=`: the last step that is part of it.',
        },
      },
      ['at'],
    ),
    description: 'An instance with its data, what is under way and what was done.',
  },
  InstanceHistory: { ...history, description: 'One change of an instance.' },
  InstanceChange: change,
  Orphan: {
    ...shape({
      id: string,
      state: oneOf(ORPHAN_STATES),
      reason: { ...oneOf(ORPHAN_REASONS), description: 'It found no instance, or several.' },
      workflow: string,
      trigger: { ...string, description: 'The trigger that wanted it, by its place in the definition.' },
      eventId: string,
      workId: string,
      keys: { ...string, description: '`name=value` of the keys by which it looked.' },
      expiresAt: { ...nullable(instant), description: 'Of one that waits: until when.' },
      instance: { ...nullable(string), description: 'Where it went.' },
      by: nullable(string),
      note: nullable(string),
      createdAt: instant,
      updatedAt: instant,
    }),
    description:
      'An event that a workflow wants for one of its instances, and that found none, or more than one.',
  },
}
