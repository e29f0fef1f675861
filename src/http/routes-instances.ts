// One instance: GET /v1/instances/{id}[?at=], …/history, …/why, …/work; POST …/fire, move, edit, retry, cancel and migrate.

import type { FastifyInstance, FastifyReply } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import type { InstanceId } from '../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../core/foundation/json/index.ts'
import { parseInstant } from '../core/foundation/time/index.ts'
import type { Marking } from '../core/workflows/instance/index.ts'
import { ATTENTIONS, HISTORY_TYPES, INSTANCE_STATES } from '../core/workflows/instance/index.ts'
import type { Until } from '../core/workflows/machine/index.ts'
import type { Caller } from '../engine/access/index.ts'
import { net, workShape } from './answer-shapes.ts'
import type { HttpApi } from './api.ts'
import { operations, serveOn, shape } from './operations.ts'
import { mustSayWhy } from './required-reason.ts'
import type { Kit } from './schema-kit.ts'
import type { Serving } from './serving.ts'
import { showWork } from './shapes.ts'
import { showEntry, showInstanceDetail, showPast } from './shapes-workflows.ts'

const HISTORY_SHOWN = 200
const CHILDREN_SHOWN = 100
type Tokens = string | readonly string[] | Marking

const dataChange = (s: Kit) =>
  s.object({
    path: s.string.describe('`data.x.y`, `metadata.x` or `correlation.name`.'),
    before: s.any.describe('Left out: it was not there.').optional(),
    after: s.any.describe('Left out: it is not there any more.').optional(),
    hidden: s.boolean
      .describe('The workflow keeps no values in its history: only that it changed is known.')
      .optional(),
  })

export const migration = (s: Kit) =>
  s.object({
    id: s.string,
    from: s.string,
    to: s.string,
    ok: s.boolean.describe('It can be done; of a run: it was done.'),
    message: s.string,
    before: s.record(s.integer).describe('Place → tokens; places without any are left out.'),
    after: s.record(s.integer).describe('Place → tokens; places without any are left out.'),
    changes: s.list(dataChange(s)),
    successor: s
      .nullable(s.string)
      .describe('The new instance that took over; null: this one goes on, or was only looked at.'),
  })

const instanceHistoryShape = shape('InstanceHistory', 'One change of an instance.', (s) =>
  s.object({
    sequence: s.integer.describe('The number of the step: what `?at=` takes.'),
    at: s.instant,
    type: s.enum(HISTORY_TYPES),
    name: s.string.describe('Transition or place.').optional(),
    part: s
      .enum(['enter', 'undo'])
      .describe('What a place does on entry, or an undo; left out: of a transition.')
      .optional(),
    firing: s.integer.optional(),
    took: s.list(s.string).describe('Places that lost a token.').optional(),
    put: s.list(s.string).describe('Places that got a token.').optional(),
    changes: s.list(dataChange(s)).optional(),
    state: s.enum(INSTANCE_STATES).optional(),
    version: s.string.optional(),
    actor: s.string.optional(),
    comment: s.string.describe('The comment or the reason of the user who did it.').optional(),
    input: s.any.optional(),
    result: s.any.optional(),
    error: s.string.optional(),
    eventId: s.string.optional(),
    workId: s.string.optional(),
    child: s.string.optional(),
    successor: s.string.describe('The instance that took over by a migration.').optional(),
    predecessor: s.string.describe('The instance that it took over from by a migration.').optional(),
  }),
)

export const instanceShape = shape('Instance', 'One running case of a workflow.', (s) =>
  s.object({
    id: s.string,
    workflow: s.string,
    version: s.string.describe('As its definition calls itself.'),
    definition: s.string.describe('Hash of the definition that it is on.'),
    state: s.enum(INSTANCE_STATES),
    attention: s.nullable(s.enum(ATTENTIONS)).describe('Why it needs attention; null: it does not.'),
    marking: s.record(s.integer).describe('Place → tokens; places without any are left out.'),
    eventId: s.string.describe('The event that began it.'),
    correlationId: s.string,
    parent: s.nullable(s.string).describe('The instance that started it.'),
    createdAt: s.instant,
    updatedAt: s.instant,
    endedAt: s.nullable(s.instant),
  }),
)

const instanceDetailShape = shape(
  'InstanceDetail',
  'An instance with its data, what is under way and what was done.',
  (s) =>
    s.extend(instanceShape.declare, {
      data: s.any,
      metadata: s.any,
      correlations: s.list(s.object({ name: s.string, value: s.string })),
      firings: s
        .list(
          s.object({
            number: s.integer.describe('Counts within the instance.'),
            type: s.enum(['fire', 'enter', 'undo']),
            name: s.string.describe('Of the transition; of the place for `enter`.'),
            held: s.list(s.string).describe('One token of each is held by it.'),
            state: s.enum(['running', 'failed', 'parked', 'interrupted', 'waiting']),
            beganAt: s.instant,
            of: s.integer.describe('Of `undo`: the firing that it takes back.').optional(),
            actor: s.string.describe('Who fired it.').optional(),
            input: s.any.optional(),
            child: s.string.describe('The instance that it started.').optional(),
            inDoubt: s.boolean.describe('It was interrupted, and its outcome is unknown.').optional(),
          }),
        )
        .describe('What has begun and not ended.'),
      steps: s
        .list(
          s.object({
            number: s.integer,
            type: s.enum(['fire', 'enter']),
            name: s.string,
            key: s.nullable(s.string),
            endedAt: s.instant,
            result: s.any.describe('null also where it was too long to keep.'),
            undone: s.boolean,
          }),
        )
        .describe('What ended well, oldest first.'),
      failure: s.nullable(
        s.object({ name: s.string, class: s.string, reason: s.string, error: s.string, at: s.instant }),
      ),
      rollBack: s
        .nullable(s.object({ through: s.nullable(s.string), to: s.string, left: s.list(s.integer) }))
        .describe('While what is done is taken back: the firings that are left.'),
      waitsFor: s
        .nullable(s.enum(['lock', 'slot']))
        .describe('It may not move yet: another instance has its lock, or too many run.'),
      children: s.list(s.string).describe('Instances that it started; the latest hundred.'),
      history: s.list(s.ref(instanceHistoryShape)).describe('The latest 200, oldest first.'),
      encrypted: s
        .list(s.string)
        .describe('Paths that are encrypted at rest; viewers see `[hidden]` there and in results.'),
      net: net(s).describe('Of the version that it is on, to be drawn.'),
      at: s
        .object({
          sequence: s.integer,
          time: s.instant,
          isWhole: s.boolean.describe('false: the history keeps no values, and data is not whole.'),
        })
        .describe('Only with `?at=`: the last step that is part of it.')
        .optional(),
    }),
)

const instanceChangeShape = shape('InstanceChange', '', (s) => dataChange(s))

export const instancesOperations = operations('instances', (s) => ({
  getInstance: {
    at: 'GET /v1/instances/:id',
    summary: 'An instance as it is, or as it was at a moment or step',
    params: s.byId<InstanceId>(),
    query: s.filters({
      at: s
        .textOf(40)
        .describe('An instant (`2026-11-16T09:30:00Z`), or the number of a step of its history.'),
    }),
    answer: s.answer('The instance', s.ref(instanceDetailShape)),
  },
  listInstanceHistory: {
    at: 'GET /v1/instances/:id/history',
    summary: 'Everything that happened to an instance, oldest first',
    params: s.byId<InstanceId>(),
    query: s.filters({
      after: s.integer.min(0).default(0).describe('Only what comes behind this step.'),
      limit: s.integer.min(1).max(500).default(100),
    }),
    answer: s.answer(
      'A page',
      s.object({
        items: s.list(s.ref(instanceHistoryShape)),
        nextAfter: s
          .nullable(s.integer)
          .describe('Give it back as `after` to get the next page; null at the end.'),
      }),
    ),
  },
  explainInstance: {
    at: 'GET /v1/instances/:id/why',
    summary: 'Why each transition can or cannot fire now, rule by rule, for the caller',
    params: s.byId<InstanceId>(),
    query: s.filters({ transition: s.textOf(128) }),
    answer: s.answer(
      'The transitions in the order written',
      s.object({
        transitions: s.list(
          s.object({
            name: s.string,
            canFire: s.boolean.describe('The caller could fire it by hand.'),
            rules: s.list(s.object({ rule: s.string, holds: s.boolean, message: s.string })),
          }),
        ),
      }),
    ),
  },
  listInstanceWork: {
    at: 'GET /v1/instances/:id/work',
    summary: 'The work items of an instance, by birth, a thousand at most',
    params: s.byId<InstanceId>(),
    answer: s.answer('All of them', s.object({ items: s.list(s.ref(workShape)), nextCursor: s.null })),
  },
  fireTransition: {
    at: 'POST /v1/instances/:id/fire',
    config: { role: 'operator' },
    summary: 'Fire a transition by hand',
    params: s.byId<InstanceId>(),
    body: s.fields({
      transition: s.textOf(128),
      input: s.any.describe('What the transition’s `input` asks for.').optional(),
      comment: s.reason.describe('Kept in the history.').optional(),
    }),
    answer: s.answer('The instance as it is now', s.ref(instanceDetailShape)),
  },
  moveTokens: {
    at: 'POST /v1/instances/:id/move',
    config: { role: 'operator' },
    summary: 'Move tokens from places to others, past every transition',
    params: s.byId<InstanceId>(),
    body: s.fields({
      from: s
        .union(
          s.textOf(128),
          s.list(s.textOf(128)).min(1).max(100),
          s.record(s.integer.min(1).max(100)).meta({ maxProperties: 100 }),
        )
        .describe('A place, a list of places, or how many tokens of each: `{"review": 2}`.'),
      to: s
        .union(
          s.textOf(128),
          s.list(s.textOf(128)).min(1).max(100),
          s.record(s.integer.min(1).max(100)).meta({ maxProperties: 100 }),
        )
        .describe('A place, a list of places, or how many tokens of each: `{"review": 2}`.'),
      reason: s.why.optional(),
    }),
    answer: s.answer('The instance as it is now', s.ref(instanceDetailShape)),
  },
  editInstance: {
    at: 'POST /v1/instances/:id/edit',
    config: { role: 'operator' },
    summary: 'Change data of an instance; with `dryRun`, only show the difference',
    params: s.byId<InstanceId>(),
    body: s.fields({
      changes: s
        .list(
          s.fields({
            path: s.text.describe('`data.customer.city`, `metadata.owner` or `correlation.order`.'),
            value: s.any.describe('Any JSON value; left out: the field goes.').optional(),
          }),
        )
        .min(1)
        .max(100),
      reason: s.why.optional(),
      dryRun: s.boolean.default(false).describe('Only say what would change.'),
    }),
    answer: s.answer(
      'What changed, or would',
      s.object({
        dryRun: s.boolean,
        changes: s.list(s.ref(instanceChangeShape)),
        fires: s.list(s.string).describe('Transitions that begin by it.'),
        instance: s.ref(instanceDetailShape).optional(),
      }),
    ),
  },
  retryInstance: {
    at: 'POST /v1/instances/:id/retry',
    config: { role: 'operator' },
    summary: 'Retry a failed step: its dead letter is replayed, or the step gets a new job',
    params: s.byId<InstanceId>(),
    body: s.filters({ firing: s.integer.min(1).describe('Which, where several failed.'), reason: s.why }),
    answers: {
      202: s.answer('It is under way again', s.object({ firing: s.integer, workId: s.string })),
    },
  },
  cancelInstance: {
    at: 'POST /v1/instances/:id/cancel',
    config: { role: 'operator' },
    summary: 'End an instance; nothing that was done is undone',
    params: s.byId<InstanceId>(),
    body: s.filters({ reason: s.why }),
    answer: s.answer('The instance as it is now', s.ref(instanceDetailShape)),
  },
  migrateInstance: {
    at: 'POST /v1/instances/:id/migrate',
    config: { role: 'operator' },
    summary: 'Bring an instance to the version of its workflow that is in force',
    params: s.byId<InstanceId>(),
    body: s.filters({
      dryRun: s.boolean.default(false).describe('Only say what would change.'),
      reason: s.why,
    }),
    answer: s.answer('What changed, or would', migration(s)),
  },
}))

export function addInstanceRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads' | 'workflows' | 'about'>,
  { limits }: Pick<Serving, 'limits'>,
): void {
  const on = serveOn(app, instancesOperations)
  const sendJson = (reply: FastifyReply, value: unknown) =>
    reply.type('application/json').send(stringifyJson(value as JsonValue))

  const showNow = async (caller: Caller, id: InstanceId) => {
    const { reading } = api.workflows
    const found = await reading.one(caller, id)
    const after = Math.max(0, found.instance.next.history - 1 - HISTORY_SHOWN)
    const [history, children] = await Promise.all([
      reading.history(caller, id, { after, limit: HISTORY_SHOWN }),
      reading.list(caller, { parent: id, cursor: null, limit: CHILDREN_SHOWN }),
    ])
    return showInstanceDetail(found, { history, children: children.items.map((row) => row.id) })
  }

  on('getInstance', async ({ caller, params, query }, reply) => {
    if (query.at === undefined) return sendJson(reply, await showNow(caller, params.id))
    const past = await api.workflows.reading.at(caller, params.id, readMoment(query.at))
    return sendJson(reply, showPast(past, HISTORY_SHOWN))
  })

  on('listInstanceHistory', async ({ caller, params, query }, reply) => {
    const entries = await api.workflows.reading.history(caller, params.id, query)
    const nextAfter = entries.length < query.limit ? null : (entries.at(-1)?.sequence ?? null)
    return sendJson(reply, { items: entries.map(showEntry), nextAfter })
  })

  on('explainInstance', async ({ caller, params, query }) => ({
    transitions: await api.workflows.instanceActions.why(caller, params.id, query.transition ?? null),
  }))

  on('listInstanceWork', async ({ caller, params }) => {
    await api.workflows.reading.one(caller, params.id)
    const items = await api.reads(caller.tenant).workOfInstance(params.id, { all: true })
    return { items: items.map(showWork), nextCursor: null }
  })

  on(
    'fireTransition',
    async ({ caller, params, body }, reply) => {
      const { transition, input = null, comment = null } = body
      await api.workflows.instanceActions.fire(caller, params.id, { transition, input, comment })
      return sendJson(reply, await showNow(caller, params.id))
    },
    { bodyLimit: limits.eventBodyLimit },
  )

  on('moveTokens', async ({ caller, params, body }, reply) => {
    const { reason: said = null } = body
    mustSayWhy(api.about, said, 'moving tokens')
    const asked = { from: readTokens(body.from), to: readTokens(body.to), reason: said }
    await api.workflows.instanceActions.move(caller, params.id, asked)
    return sendJson(reply, await showNow(caller, params.id))
  })
  on(
    'editInstance',
    async ({ caller, params, body }, reply) => {
      const { changes, dryRun, reason: said = null } = body
      const { instanceActions } = api.workflows
      if (!dryRun) mustSayWhy(api.about, said, 'editing data')
      const preview = await instanceActions.previewEdit(caller, params.id, { changes, reason: said })
      const shown = { dryRun, changes: preview.changes, fires: preview.fires }
      if (dryRun) return sendJson(reply, shown)
      await instanceActions.edit(caller, params.id, { changes, reason: said })
      return sendJson(reply, { ...shown, instance: await showNow(caller, params.id) })
    },
    { bodyLimit: limits.eventBodyLimit },
  )

  on('retryInstance', async ({ caller, params, body }, reply) => {
    const { firing = null, reason: said = null } = body
    mustSayWhy(api.about, said, 'trying a step again')
    reply.code(202)
    return api.workflows.instanceActions.retry(caller, params.id, { firing, reason: said })
  })

  on('cancelInstance', async ({ caller, params, body }, reply) => {
    const { reason: said = null } = body
    mustSayWhy(api.about, said, 'cancelling an instance')
    await api.workflows.instanceActions.cancel(caller, params.id, { reason: said })
    return sendJson(reply, await showNow(caller, params.id))
  })

  on('migrateInstance', async ({ caller, params, body }, reply) => {
    const { dryRun, reason: said = null } = body
    if (!dryRun) mustSayWhy(api.about, said, 'a migration')
    return sendJson(reply, await api.workflows.migrations.one(caller, params.id, { dryRun, reason: said }))
  })
}

/** A whole number is a step, anything else an instant with its zone. */
function readMoment(text: string): Until {
  if (/^\d{1,12}$/.test(text)) return { sequence: Number(text) }
  const at = parseInstant(text)
  if (at !== null) return { at }
  const message = 'write an instant with its zone, such as 2026-11-16T09:30:00Z, or the number of a step'
  throw new AppError('invalid_request', `query /at: ${message}`, {
    details: { fields: [{ path: '/at', message }] },
  })
}

function readTokens(given: Tokens): Marking {
  if (typeof given === 'string') return { [given]: 1 }
  if (!Array.isArray(given)) return given as Marking
  const counts = new Map<string, number>()
  for (const place of given as readonly string[]) counts.set(place, (counts.get(place) ?? 0) + 1)
  return Object.fromEntries(counts)
}
