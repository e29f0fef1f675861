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
  field,
  json,
  literal,
  oneOf,
  optional,
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
const assignments = (roots: readonly string[]) => z.record(target(), field(pick(roots), 'What is assigned.'))

// --- Places

const place = z.strictObject({
  description: optional(literal(), 'For people.', 'none'),
  type: optional(
    oneOf(...PLACE_TYPES),
    '`final` and `error` end an instance; `waiting` and `review` are for people to see.',
    '`normal`, or `final` with `final: true`',
  ),
  final: optional(z.boolean(), 'The same as `type: final`.', 'what `type` says'),
  timeout: optional(
    z.strictObject({
      after: field(duration(SECOND, 3_650 * DAY), 'How long.'),
      fire: field(name(), 'The transition that fires then.'),
    }),
    'For the whole stay of a token, retries of what it is used for included.',
    'it may stay for ever',
  ),
  onEnter: optional(
    makeActionOf(STEP_ROOTS),
    'Done for every token that comes in; it goes on only after that.',
    'nothing',
  ),
})

// --- Transitions

const onFailure = z.strictObject({
  undo: optional(
    oneOf('done-steps'),
    'Steps that are done are undone first, newest first.',
    'nothing is undone',
  ),
  through: optional(name(), 'The place of the token while steps are undone.', 'needed with `undo`'),
  to: field(name(), 'The place of the token after that.'),
})

const AFTER_ROOTS = [...FIRE_ROOTS, 'key', 'result']

const transition = z.strictObject({
  description: optional(literal(), 'For people.', 'none'),
  from: optional(names(), 'Takes one token of each of these places.', '`fromAny` is needed'),
  fromAny: optional(
    names(),
    'Takes one token of one of these, the first written that has one.',
    '`from` is needed',
  ),
  to: optional(names(), 'Gives one token to each of these places.', '`choose` is needed'),
  choose: optional(
    z
      .array(
        z.strictObject({
          when: optional(condition(AFTER_ROOTS), 'An expression or a filter; sees `result`.', 'always'),
          to: field(names(), 'The places of this branch.'),
        }),
      )
      .min(1)
      .max(100),
    'Where the token goes, where it depends: the first branch that holds.',
    '`to` is needed',
  ),
  on: optional(
    oneOf(...FIRE_MODES),
    '`auto`: as soon as it can, unless a `fire` names it. `manual`: by a person. `event` and `timer`: when a `fire` says so.',
    { default: 'auto' },
  ),
  when: optional(
    condition(FIRE_ROOTS),
    'Whether it may fire: an expression or a filter over the instance.',
    'always',
  ),
  do: optional(makeActionOf(STEP_ROOTS), 'The step.', 'it only moves tokens'),
  out: optional(
    assignments(AFTER_ROOTS),
    'What is kept of the `result`. Target and expression: `title` means `data.title`; also `metadata.x` and `correlation.x`.',
    'nothing',
  ),
  // Nothing that differs between environments.
  key: optional(
    pick(FIRE_ROOTS.filter((root) => root !== 'vars')),
    'Names the effect: one per key, over all instances and replays.',
    'one effect per firing',
  ),
  retry: optional(
    z.union([reference(), retryInline]),
    'The name of a profile, or a policy in place.',
    '`STEP`',
  ),
  maxWait: optional(duration(SECOND, 30 * DAY), 'How long a step may wait beside its retries.', '`24h`'),
  undo: optional(
    makeActionOf([...STEP_ROOTS, 'result']),
    'What takes the step back; sees its `result`.',
    'nothing has to be taken back',
  ),
  // The map first: its errors are reported, rather than that it is not `none`.
  onFailure: optional(
    z.union([onFailure, oneOf('none')]),
    'As of the workflow; `none`: a dead letter.',
    'the workflow’s',
  ),
  permission: optional(name(), 'What whoever fires it must be granted.', 'the role is enough'),
  input: optional(
    json(),
    'A JSON Schema of what whoever fires it gives; `input` in expressions.',
    'anything',
  ),
  notBy: optional(pick(INSTANCE_ROOTS), 'Whoever this names may not fire it.', 'anybody may'),
})

// --- Triggers

const trigger = z
  .strictObject({
    on: optional(
      z.union([pattern(), z.array(pattern()).min(1).max(100)]),
      'Subjects that it wants; `*` is one token, `>` at the end one or more.',
      'a trigger of another sort',
    ),
    schedule: optional(
      z.strictObject({
        cron: field(literal({ minLength: 1 }), 'When: five fields, or six with seconds first.'),
        zone: optional(literal({ minLength: 1 }), 'Whose clock, as in `Europe/Berlin`.', { default: 'UTC' }),
        missed: optional(oneOf('once', 'skip', 'all'), 'What becomes of the instants at which no node ran.', {
          default: 'once',
        }),
        maxInstances: optional(
          z.number().int().min(1).max(1_000_000),
          'No new one while so many are active.',
          'no bound',
        ),
      }),
      'A new instance by the clock.',
      'a trigger of another sort',
    ),
    manual: optional(
      z.strictObject({
        permission: optional(name(), 'What whoever starts it must be granted.', 'the role is enough'),
        input: optional(json(), 'A JSON Schema of what is given.', 'anything'),
      }),
      'By a person, a program, or `start` of a route or another workflow.',
      'a trigger of another sort',
    ),
    action: optional(
      oneOf('create', 'update', 'createOrUpdate'),
      'Whether an event makes an instance, changes one, or whichever is needed.',
      { default: 'create' },
    ),
    where: optional(
      condition(EVENT_ROOTS),
      'Which of these events: an expression or a filter.',
      'all of them',
    ),
    correlate: optional(
      z.union([
        pick(EVENT_ROOTS),
        z.record(documentName(), field(pick(EVENT_ROOTS), 'The value of one key.')),
      ]),
      'By what an event finds its instance: keys by name, or one expression, whose name is `default`.',
      'no key',
    ),
    unique: optional(
      z.union([oneOf('live', 'ever'), z.literal(true)]),
      'No second instance with the same key: while one lives (`live`, `true`), or `ever`.',
      'several may have the same',
    ),
    map: optional(
      assignments(MAP_ROOTS),
      'Target and expression: `title` means `data.title`; also `metadata.x` and `correlation.x`.',
      'nothing is taken over',
    ),
    fire: optional(name(), 'The transition that an update fires, if it can.', 'none'),
    buffer: optional(
      duration(0, 30 * DAY),
      'How long an update waits for its instance, before it is an orphan.',
      '`1h`',
    ),
    rateLimit: optional(
      z.union([reference(), ratePolicy('')]),
      'How many events are taken: a policy in place, or the name of a profile. Others wait.',
      'as many as come',
    ),
  })
  .meta({ oneOf: [{ required: ['on'] }, { required: ['schedule'] }, { required: ['manual'] }] })

// --- Versions and security

const DATA_ROOTS = ['data', 'metadata'] as const

const migration = z.strictObject({
  from: field(name(), 'The older version.'),
  to: field(name(), 'The newer version.'),
  strategy: optional(oneOf('inPlace'), 'The instance goes on under the new version.', '`inPlace`'),
  places: optional(
    z.record(name(), field(name(), 'The new place.')),
    'Old place and new place.',
    'places keep their names',
  ),
  data: optional(
    z
      .array(
        z.union([
          z.strictObject({
            rename: field(target(), 'A path that gets another name.'),
            to: field(target(), 'The other name.'),
          }),
          z.strictObject({ delete: field(target(), 'A path that goes.') }),
          z.strictObject({
            default: field(target(), 'A path that gets a value where it has none.'),
            value: field(
              json(),
              'Of `default` any value; of `set` an expression over the data as it was.',
              'needed with `set`; nothing with `default`',
            ),
          }),
          z.strictObject({
            set: field(target(), 'A path that gets a computed value.'),
            value: field(
              pick(DATA_ROOTS),
              'Of `default` any value; of `set` an expression over the data as it was.',
              'needed with `set`; nothing with `default`',
            ),
          }),
        ]),
      )
      .max(1_000),
    'What becomes of the data, in order: `rename`, `delete`, `default` or `set`.',
    'it stays as it is',
  ),
})

const security = z.strictObject({
  permissions: optional(
    z.array(permissionName()).max(1_000),
    'What keys may be granted for it; every `permission` of it is one of them.',
    'none',
  ),
  required: optional(
    z.array(permissionName()).min(1).max(100),
    'What is needed to see or touch its instances at all.',
    'nothing',
  ),
  classification: optional(
    oneOf('public', 'internal', 'confidential', 'restricted'),
    'How secret it is, for people.',
    'not said',
  ),
  encrypt: optional(
    z.array(path()).max(100),
    'Paths in `data` and `metadata` that are sealed at rest and hidden from viewers.',
    'none',
  ),
  audit: optional(
    oneOf('full', 'changes'),
    '`full`: history keeps values that changed. `changes`: only their paths.',
    '`full`',
  ),
})

function permissionName() {
  return literal({ minLength: 1 })
}

export const workflowFields = {
  version: optional(
    literal({ minLength: 1 }),
    'For people and for migrations; an instance stays on the version that it began with.',
    { default: '1.0.0' },
  ),
  status: optional(
    oneOf('active', 'paused', 'disabled'),
    '`paused`: events and steps wait. `disabled`: its triggers want nothing.',
    { default: 'active' },
  ),
  start: field(name(), 'The place in which the token of a new instance is.'),
  data: optional(json(), 'A JSON Schema of an instance’s data.', 'anything'),
  lock: optional(
    z.strictObject({
      by: field(pick(INSTANCE_ROOTS), 'The value, as a business object’s number.'),
      ttl: optional(
        duration(SECOND, 365 * DAY),
        'How long it may be held before somebody is told; it is never taken away.',
        { default: '30m' },
      ),
      whenHeld: optional(oneOf('wait', 'skip'), 'What a new instance does meanwhile.', { default: 'wait' }),
      name: optional(documentName(), 'Workflows with the same name share their locks.', 'the workflow’s own'),
    }),
    'One instance at a time for each value: others wait, or are skipped.',
    'as many as there are',
  ),
  maxConcurrent: optional(
    z.number().int().min(1).max(1_000_000),
    'How many instances run at once; the others wait.',
    'as many as there are',
  ),
  onFailure: optional(
    onFailure,
    'What becomes of an instance whose step failed for good; a transition may say otherwise.',
    'a dead letter, from which it goes on when that is replayed',
  ),
  deadLetter: optional(
    z.strictObject({
      severity: optional(oneOf('low', 'medium', 'high', 'critical'), 'How bad it is.', { default: 'medium' }),
      runbook: optional(readable(), 'Where it is written what to do.', 'none'),
    }),
    'What its dead letters say.',
    'as below',
  ),
  triggers: field(
    z.array(trigger).min(1).max(100),
    'What begins and changes instances, each `on`, `schedule` or `manual`.',
  ),
  places: field(z.record(documentName(), field(place, 'One place.')), 'Where tokens are, by name.'),
  transitions: field(
    z.record(documentName(), field(transition, 'One transition.')),
    'What moves tokens, by name, in the order in which they are tried.',
  ),
  compatibility: optional(
    z.strictObject({
      supported: optional(
        z.array(name()).max(1_000),
        'Versions whose instances may go on.',
        'none but this one',
      ),
      deprecationWarnings: optional(z.boolean(), 'Whether instances of other versions are told of.', {
        default: true,
      }),
      strict: optional(z.boolean(), 'An apply is refused while instances of other versions are active.', {
        default: false,
      }),
    }),
    'Which older versions are still good.',
    'all of them',
  ),
  migrations: optional(
    z.array(migration).max(100),
    'How instances of an older version go over to this one.',
    'they stay on theirs',
  ),
  security: optional(security, 'Who may do what, and what is hidden.', 'roles are enough'),
}

export type PlaceInput = z.infer<typeof place>
export type TransitionInput = z.infer<typeof transition>
export type TriggerInput = z.infer<typeof trigger>
export type MigrationInput = z.infer<typeof migration>
export type OnFailureInput = z.infer<typeof onFailure>
