// A workflow: places, transitions and triggers, each by its name. In the normal form, maps become lists in
// the order written, a bare target is under `data`, names become lists.

import * as z from 'zod'
import {
  FIRE_MODES,
  MIGRATION_STRATEGIES,
  type MigrationDocument,
  type OnFailureDocument,
  PLACE_TYPES,
  type PlaceDocument,
  type TransitionDocument,
  type TriggerDocument,
  type WorkflowDocument,
} from '../../core/definitions/documents/index.ts'
import { assert } from '../../core/foundation/errors/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../core/foundation/time/index.ts'
import { RETRY_PROFILES } from '../../core/queue/retry/index.ts'
import { makeActionOf, resolveAction } from '../actions/index.ts'
import {
  AFTER_ROOTS,
  EVENT_ROOTS,
  FIRE_ROOTS,
  INSTANCE_ROOTS,
  MAP_ROOTS,
  STEP_ROOTS,
} from '../expression-names.ts'
import {
  condition,
  documentName,
  duration,
  field,
  json,
  jsonSchema,
  literal,
  named,
  oneOf,
  optional,
  path,
  pick,
  reference,
  subjectName,
  target,
} from '../fields.ts'
import { checkSensitiveWorkflow } from '../sensitive.ts'
import { milliseconds } from '../written.ts'
import { type KindDeclaration, type Known, lazily } from './kind.ts'
import {
  circuitPolicy,
  deadLetter,
  envelope,
  MAX_WAIT_MS,
  patterns,
  ratePolicy,
  resolveCircuit,
  resolveCircuitInline,
  resolveDeadLetter,
  resolveRate,
  resolveRetry,
  retryInline,
  retryOfAgent,
  status,
} from './parts.ts'
import { checkWorkflow } from './workflow-checks.ts'
import { targetPath, USUAL_VERSION } from './workflow-names.ts'
import { assignments, STAY_MS_MAX } from './workflow-parts.ts'

const name = () => literal({ minLength: 1 })
const names = () => z.union([name(), z.array(name()).min(1).max(100)])

// --- Places

const place = () =>
  named(
    'PlaceFields',
    z.strictObject({
      description: optional(literal(), 'For people.', 'none'),
      type: optional(
        oneOf(...PLACE_TYPES),
        '`final` and `error` end an instance; `waiting` and `review` are for people to see.',
        '`normal`, or `final` with `final: true`',
      ),
      final: optional(z.boolean(), 'The same as `type: final`.', 'what `type` says'),
      timeout: optional(
        z.strictObject({
          after: field(duration(SECOND, STAY_MS_MAX), 'How long.'),
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
    }),
  )

// --- Transitions

const onFailure = () =>
  named(
    'OnFailureFields',
    z.strictObject({
      undo: optional(
        oneOf('done-steps'),
        'Steps that are done are undone first, newest first.',
        'nothing is undone',
      ),
      through: optional(name(), 'The place of the token while steps are undone.', 'needed with `undo`'),
      to: field(name(), 'The place of the token after that.'),
    }),
  )

const transition = () =>
  named(
    'TransitionFields',
    z.strictObject({
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
      delay: optional(
        duration(SECOND, STAY_MS_MAX),
        'Short for a `timeout` of the place in `from` that fires it, and `on: timer`: it fires so long after the token came.',
        'none',
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
        z.union([reference(), retryInline()]),
        'The name of a profile, or a policy in place.',
        '`STEP`',
      ),
      maxWait: optional(duration(SECOND, 30 * DAY), 'How long a step may wait beside its retries.', '`24h`'),
      // The map first: its errors are reported, rather than that it is not `off`.
      circuit: optional(
        z.union([circuitPolicy(), oneOf('off')]),
        'When the step pauses itself, for all instances, because its calls fail; `off`: never.',
        'as of a route',
      ),
      undo: optional(
        makeActionOf([...STEP_ROOTS, 'result']),
        'What takes the step back; sees its `result`.',
        'nothing has to be taken back',
      ),
      // The map first: its errors are reported, rather than that it is not `none`.
      onFailure: optional(
        z.union([onFailure(), oneOf('none')]),
        'As of the workflow; `none`: a dead letter.',
        'the workflow’s',
      ),
      permission: optional(name(), 'What whoever fires it must be granted.', 'the role is enough'),
      input: optional(
        jsonSchema(),
        'A JSON Schema of what whoever fires it gives; `input` in expressions.',
        'anything',
      ),
      notBy: optional(pick(INSTANCE_ROOTS), 'Whoever this names may not fire it.', 'anybody may'),
    }),
  )

// --- Triggers

const trigger = () =>
  named(
    'TriggerFields',
    z
      .strictObject({
        on: optional(
          patterns(),
          'Subjects that it wants; `*` is one token, `>` at the end one or more.',
          'a trigger of another sort',
        ),
        schedule: optional(
          z.strictObject({
            cron: field(literal({ minLength: 1 }), 'When: five fields, or six with seconds first.'),
            zone: optional(literal({ minLength: 1 }), 'Whose clock, as in `Europe/Berlin`.', {
              default: 'UTC',
            }),
            missed: optional(
              oneOf('once', 'skip', 'all'),
              'What becomes of the instants at which no node ran.',
              {
                default: 'once',
              },
            ),
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
            input: optional(jsonSchema(), 'A JSON Schema of what is given.', 'anything'),
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
          'How many events are taken: a policy in place, or the name of a profile. Others do what `onLimit` says.',
          'as many as come',
        ),
        onLimit: optional(
          oneOf('wait', 'reject'),
          'What an event over `rateLimit` does: it waits for its turn, or is a dead letter, which can be replayed.',
          '`wait`',
        ),
        retry: optional(
          z.union([reference(), retryInline()]),
          'How often an event is tried that its instance refuses or that cannot be mapped: a profile, or a policy in place.',
          'such an event is a dead letter at once',
        ),
        maxProcessingTime: optional(
          duration(SECOND, 30 * DAY),
          'How long an event may take from its first try on, the wait for its instance excepted; then it is a dead letter.',
          'no limit',
        ),
        deadLetter: optional(
          z.strictObject({
            subject: field(subjectName(), 'Of an event with the payload and why it failed.'),
          }),
          'An event about each of its dead letters.',
          'none',
        ),
        circuit: optional(
          circuitPolicy(),
          'When the trigger pauses itself because its events fail. Later events wait, and one is tried.',
          'never',
        ),
      })
      .meta({ oneOf: [{ required: ['on'] }, { required: ['schedule'] }, { required: ['manual'] }] }),
  )

// --- Versions and security

const DATA_ROOTS = ['data', 'metadata'] as const

const migration = () =>
  named(
    'MigrationFields',
    z.strictObject({
      from: field(name(), 'The older version.'),
      to: field(name(), 'The newer version.'),
      strategy: optional(
        oneOf(...MIGRATION_STRATEGIES),
        '`inPlace`: the instance goes on under the new version. `manual`: so it does, one by one, when a user asks for it with a reason; migrating all passes it over. `newInstance`: it ends, and a new instance takes over its keys, data and tokens.',
        '`inPlace`',
      ),
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
              z.strictObject({
                transform: field(reference(), 'A function that returns the new data.'),
                timeout: optional(duration(1, HOUR), 'How long the function may take.', 'as of the function'),
              }),
            ]),
          )
          .max(1_000),
        'What becomes of the data, in order: `rename`, `delete`, `default`, `set` or `transform`.',
        'it stays as it is',
      ),
    }),
  )

const security = () =>
  z.strictObject({
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
      '`confidential` and `restricted`: every value is encrypted at rest. Viewers do not see the values of confidential instances, and only admins see those of restricted ones.',
      'not said',
    ),
    encrypt: optional(
      z.union([z.array(path()).max(100), oneOf('all')]),
      'Paths in `data` and `metadata` that are encrypted at rest and hidden from viewers; `all`: every value of both.',
      'none; all where `classification` is `confidential` or `restricted`',
    ),
    audit: optional(
      oneOf('full', 'detailed', 'basic', 'none', 'changes'),
      '`full`: history stores the values that changed. `detailed` (or `changes`): only their paths. `basic`: only steps and tokens. `none`: only the beginning, the end and what users did.',
      '`full`',
    ),
  })

function permissionName() {
  return literal({ minLength: 1 })
}

const schema = lazily(() =>
  z
    .strictObject({
      ...envelope('Workflow'),
      version: optional(
        literal({ minLength: 1 }),
        'For people and for migrations; an instance stays on the version that it began with.',
        { default: '1.0.0' },
      ),
      status: status('`paused`: events and steps wait. `disabled`: its triggers want nothing.'),
      start: field(name(), 'The place in which the token of a new instance is.'),
      data: optional(jsonSchema(), 'A JSON Schema of an instance’s data.', 'anything'),
      lock: optional(
        z.strictObject({
          by: field(pick(INSTANCE_ROOTS), 'The value, as a business object’s number.'),
          ttl: optional(
            duration(SECOND, 365 * DAY),
            'How long it may be held before somebody is told; it is never taken away.',
            { default: '30m' },
          ),
          whenHeld: optional(oneOf('wait', 'skip'), 'What a new instance does meanwhile.', {
            default: 'wait',
          }),
          name: optional(
            documentName(),
            'Workflows with the same name share their locks.',
            'the workflow’s own',
          ),
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
        onFailure(),
        'What becomes of an instance whose step failed for good; a transition may say otherwise.',
        'a dead letter, from which it goes on when that is replayed',
      ),
      deadLetter: deadLetter(),
      triggers: field(
        z.array(trigger()).min(1).max(100),
        'What begins and changes instances, each `on`, `schedule` or `manual`.',
      ),
      places: field(z.record(documentName(), field(place(), 'One place.')), 'Where tokens are, by name.'),
      transitions: field(
        z.record(documentName(), field(transition(), 'One transition.')),
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
        z.array(migration()).max(100),
        'How instances of an older version go over to this one.',
        'they stay on theirs',
      ),
      security: optional(security(), 'Who may do what, and what is hidden.', 'roles are enough'),
    })
    .meta({ title: 'Workflow' }),
)

type WorkflowInput = z.infer<ReturnType<typeof schema>>
type PlaceInput = z.infer<ReturnType<typeof place>>
type TransitionInput = z.infer<ReturnType<typeof transition>>
type TriggerInput = z.infer<ReturnType<typeof trigger>>
type MigrationInput = z.infer<ReturnType<typeof migration>>
type SecurityInput = z.infer<ReturnType<typeof security>>
type OnFailureInput = z.infer<ReturnType<typeof onFailure>>

export const workflowKind: KindDeclaration<WorkflowDocument, ReturnType<typeof schema>> = {
  schema,
  resolve: resolveWorkflow,
  check: (value, around) => [
    ...checkWorkflow(value, around),
    ...checkSensitiveWorkflow(value, around.sensitive),
  ],
  summary: 'A net of places and transitions, and the triggers that start and change its instances.',
  template: `kind: Workflow
name: NAME
start: received
triggers:
  - { on: NAME.events.created, correlate: { id: payload.id }, unique: live, map: { id: payload.id } }
places:
  received: {}
  done: { final: true }
transitions:
  finish: { from: received, to: done, do: { emit: NAME.events.done } }
`,
}

// --- The normal form

/** How long an update waits for its instance, if its trigger does not say. */
const BUFFER_MS = HOUR
const LOCK_TTL_MS = 30 * MINUTE
/** All values of an instance. */
const WHOLE = ['data', 'metadata']
/** The name of a bare string under `correlate`. */
const USUAL_KEY = 'default'

/** null: it names a profile, an agent or a provider that is not valid. */
function resolveWorkflow(input: WorkflowInput, known: Known): WorkflowDocument | null {
  const places = Object.entries(input.places).map(([name, place]) => resolvePlace(name, place, known))
  const transitions = Object.entries(input.transitions).map(([name, one]) =>
    resolveTransition(name, one, known),
  )
  const triggers = input.triggers.map((trigger, index) => resolveTrigger(String(index), trigger, known))
  if (!areAll(places) || !areAll(transitions) || !areAll(triggers)) return null
  return {
    kind: 'Workflow',
    name: input.name,
    description: input.description ?? null,
    version: input.version ?? USUAL_VERSION,
    status: input.status ?? 'active',
    start: input.start,
    places,
    transitions,
    triggers,
    deadLetter: resolveDeadLetter(input.deadLetter),
    ...resolveRest(input, known),
  }
}

function areAll<T>(list: readonly (T | null)[]): list is readonly T[] {
  return !list.includes(null)
}

function resolveRest(input: WorkflowInput, known: Known): Partial<WorkflowDocument> {
  const { lock, compatibility, security, migrations = [] } = input
  return {
    ...(input.data === undefined ? {} : { data: input.data as JsonValue }),
    ...(lock === undefined
      ? {}
      : {
          lock: {
            by: lock.by,
            ttlMs: milliseconds(lock.ttl, LOCK_TTL_MS),
            whenHeld: lock.whenHeld ?? 'wait',
            // Written or not, its own name is the same document.
            ...(lock.name === undefined || lock.name === input.name ? {} : { name: lock.name }),
          },
        }),
    ...(input.maxConcurrent === undefined ? {} : { maxConcurrent: input.maxConcurrent }),
    ...(input.onFailure === undefined ? {} : { onFailure: resolveOnFailure(input.onFailure) }),
    ...(compatibility === undefined
      ? {}
      : {
          compatibility: {
            supported: compatibility.supported ?? [],
            deprecationWarnings: compatibility.deprecationWarnings ?? true,
            strict: compatibility.strict ?? false,
          },
        }),
    ...(migrations.length === 0 ? {} : { migrations: migrations.map((one) => resolveMigration(one, known)) }),
    ...(security === undefined
      ? {}
      : {
          security: {
            permissions: security.permissions ?? [],
            ...(security.required === undefined ? {} : { required: security.required }),
            ...(security.classification === undefined ? {} : { classification: security.classification }),
            ...(security.classification === undefined && security.encrypt !== 'all'
              ? {}
              : { enforced: true }),
            encrypt: encryptedPaths(security),
            audit: security.audit === 'detailed' ? 'changes' : (security.audit ?? 'full'),
          },
        }),
  }
}

/** What a classification encrypts is written out. */
function encryptedPaths({ encrypt = [], classification }: SecurityInput): readonly string[] {
  if (encrypt === 'all' || classification === 'confidential' || classification === 'restricted')
    return [...WHOLE]
  return encrypt.map(targetPath)
}

function resolvePlace(name: string, input: PlaceInput, known: Known): PlaceDocument | null {
  const { description, timeout } = input
  const onEnter = input.onEnter === undefined ? undefined : resolveAction(input.onEnter, 'step', known)
  if (onEnter === null) return null
  return {
    name,
    type: input.type ?? (input.final === true ? 'final' : 'normal'),
    ...(description === undefined ? {} : { description }),
    ...(timeout === undefined
      ? {}
      : { timeout: { afterMs: milliseconds(timeout.after, 0), fire: timeout.fire } }),
    ...(onEnter === undefined ? {} : { onEnter }),
  }
}

function resolveTransition(name: string, input: TransitionInput, known: Known): TransitionDocument | null {
  const action = input.do === undefined ? undefined : resolveAction(input.do, 'step', known)
  const said = input.retry === undefined ? RETRY_PROFILES.STEP : resolveRetry(input.retry, known)
  const retry = retryOfAgent(input, action) ?? said
  const undo = input.undo === undefined ? undefined : resolveAction(input.undo, 'step', known)
  if (retry === null || action === null || undo === null) return null
  const { description, choose, onFailure, permission, notBy } = input
  const fromAny = namesOf(input.fromAny)
  return {
    name,
    ...(description === undefined ? {} : { description }),
    from: namesOf(input.from),
    ...(fromAny.length === 0 ? {} : { fromAny }),
    to: namesOf(input.to),
    ...(choose === undefined
      ? {}
      : {
          choose: choose.map((branch) => ({
            when: (branch.when ?? null) as JsonValue,
            to: namesOf(branch.to),
          })),
        }),
    on: input.on ?? 'auto',
    when: (input.when ?? null) as JsonValue,
    ...(action === undefined ? {} : { do: action }),
    out: resolveTargets(input.out),
    key: input.key ?? null,
    retry,
    maxWaitMs: milliseconds(input.maxWait, MAX_WAIT_MS),
    ...resolveCircuit(input.circuit),
    ...(undo === undefined ? {} : { undo }),
    ...(onFailure === undefined
      ? {}
      : { onFailure: onFailure === 'none' ? 'none' : resolveOnFailure(onFailure) }),
    ...(permission === undefined ? {} : { permission }),
    ...(input.input === undefined ? {} : { input: input.input as JsonValue }),
    ...(notBy === undefined ? {} : { notBy }),
  }
}

function resolveOnFailure({ undo, through, to }: OnFailureInput): OnFailureDocument {
  return { ...(undo === undefined ? {} : { undo }), ...(through === undefined ? {} : { through }), to }
}

function resolveTrigger(id: string, input: TriggerInput, known: Known): TriggerDocument | null {
  const rateLimit = resolveRate(input.rateLimit, known.profiles)
  const retry = input.retry === undefined ? undefined : resolveRetry(input.retry, known)
  if (rateLimit === null || retry === null) return null
  const { schedule, manual, unique, fire, maxProcessingTime, deadLetter } = input
  return {
    id,
    ...(input.on === undefined ? {} : { on: namesOf(input.on) }),
    ...(schedule === undefined
      ? {}
      : {
          schedule: {
            cron: schedule.cron,
            zone: schedule.zone ?? 'UTC',
            missed: schedule.missed ?? 'once',
            ...(schedule.maxInstances === undefined ? {} : { maxInstances: schedule.maxInstances }),
          },
        }),
    ...(manual === undefined
      ? {}
      : {
          manual: {
            ...(manual.permission === undefined ? {} : { permission: manual.permission }),
            ...(manual.input === undefined ? {} : { input: manual.input as JsonValue }),
          },
        }),
    action: input.action ?? 'create',
    where: (input.where ?? null) as JsonValue,
    correlate:
      typeof input.correlate === 'string' ? { [USUAL_KEY]: input.correlate } : (input.correlate ?? {}),
    ...(unique === undefined ? {} : { unique: unique === true ? 'live' : unique }),
    map: resolveTargets(input.map),
    ...(fire === undefined ? {} : { fire }),
    bufferMs: milliseconds(input.buffer, BUFFER_MS),
    ...(rateLimit === undefined ? {} : { rateLimit }),
    ...(input.onLimit === 'reject' ? { onLimit: 'reject' } : {}),
    ...(retry === undefined ? {} : { retry }),
    ...(maxProcessingTime === undefined ? {} : { maxProcessingMs: milliseconds(maxProcessingTime, 0) }),
    ...(deadLetter === undefined ? {} : { deadLetter }),
    ...(input.circuit === undefined ? {} : { circuit: resolveCircuitInline(input.circuit) }),
  }
}

const TRANSFORM_MS = 15 * SECOND

function resolveMigration(
  { from, to, strategy = 'inPlace', places = {}, data = [] }: MigrationInput,
  known: Known,
): MigrationDocument {
  return {
    from,
    to,
    strategy,
    places,
    data: data.map((rule) => {
      if ('rename' in rule) return { rename: targetPath(rule.rename), to: targetPath(rule.to) }
      if ('delete' in rule) return { delete: targetPath(rule.delete) }
      if ('default' in rule) return { default: targetPath(rule.default), value: rule.value as JsonValue }
      if ('transform' in rule) {
        const codeHash = known.functions(rule.transform)
        assert(codeHash !== null, 'the function was looked up before')
        const usualMs = known.timeouts(rule.transform) ?? TRANSFORM_MS
        return { transform: rule.transform, codeHash, timeoutMs: milliseconds(rule.timeout, usualMs) }
      }
      return { set: targetPath(rule.set), value: rule.value }
    }),
  }
}

function resolveTargets(
  input: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(input ?? {}).map(([path, value]) => [targetPath(path), value]))
}

function namesOf(input: string | readonly string[] | undefined): readonly string[] {
  return input === undefined ? [] : typeof input === 'string' ? [input] : input
}
