// Deployed workflows, their instances, and starting one: GET /v1/workflows …; GET and POST …/{name}/instances; POST …/migrate.

import type { FastifyInstance } from 'fastify'
import { type JsonValue, stringifyJson } from '../core/foundation/json/index.ts'
import { hideLiterals } from '../core/secrets/index.ts'
import { ATTENTIONS, INSTANCE_STATES } from '../core/workflows/instance/index.ts'
import { net } from './answer-shapes.ts'
import type { HttpApi } from './api.ts'
import { operations, serveOn, shape } from './operations.ts'
import { readFilter } from './queries.ts'
import { mustSayWhy } from './required-reason.ts'
import { instanceShape, migration } from './routes-instances.ts'
import type { Serving } from './serving.ts'
import { seesTokens } from './shapes-webhooks.ts'
import { showInstance, showWorkflow, showWorkflowDetail } from './shapes-workflows.ts'

const workflowShape = shape('Workflow', 'A workflow in force, and how many instances it has.', (s) =>
  s.object({
    name: s.string,
    version: s.string,
    definition: s.string.describe('Hash of the definition in force.'),
    status: s.enum(['active', 'paused', 'disabled']),
    description: s.nullable(s.string),
    counts: s
      .object({ active: s.integer, attention: s.integer })
      .describe('Active instances, and those of them that a person should look at; each stops at 10,000.'),
    versions: s
      .list(s.object({ definition: s.string, version: s.string, count: s.integer }))
      .describe('How many are active on each version.'),
  }),
)

const workflowDetailShape = shape('WorkflowDetail', 'A workflow with its net and its triggers.', (s) =>
  s.extend(workflowShape.declare, {
    document: s.any.describe('The normal form of its definition.'),
    net: net(s).describe('To be drawn.'),
    triggers: s.list(
      s.object({
        id: s.string,
        on: s.list(s.string),
        schedule: s.nullable(s.string),
        manual: s.boolean,
        permission: s.nullable(s.string),
        action: s.enum(['create', 'update', 'createOrUpdate']),
        fire: s.nullable(s.string),
        input: s.any.describe('JSON Schema of a manual start; null: anything.'),
      }),
    ),
  }),
)

export const workflowsOperations = operations('workflows', (s) => ({
  listWorkflows: {
    at: 'GET /v1/workflows',
    summary: 'The workflows in force that the caller may see',
    answer: s.pageOf(s.ref(workflowShape), 'All of them'),
  },
  getWorkflow: {
    at: 'GET /v1/workflows/:name',
    summary: 'A workflow with its net, its triggers, and where the tokens of its instances are',
    params: s.fields({ name: s.textOf(128) }),
    answer: s.answer('The workflow', s.ref(workflowDetailShape)),
  },
  listInstances: {
    at: 'GET /v1/workflows/:name/instances',
    summary: 'Instances of a workflow, newest first',
    params: s.fields({ name: s.textOf(128) }),
    query: s.page({
      state: s.enum(INSTANCE_STATES),
      place: s.text.describe('Active, with a token there.'),
      attention: s
        .enum([...ATTENTIONS, 'any'])
        .describe('Active, and a person should look at them, for this reason or any.'),
      definition: s.text.describe('Active, and on the definition of this hash.'),
    }),
    answer: s.pageOf(s.ref(instanceShape)),
  },
  startInstance: {
    at: 'POST /v1/workflows/:name/instances',
    config: { role: 'operator' },
    summary: 'Begin an instance by hand, through one of the workflow’s manual triggers',
    params: s.fields({ name: s.textOf(128) }),
    body: s.filters({
      input: s.any.describe('What the trigger maps: any JSON value that fits its schema.'),
      metadata: s.anyObject.describe('Beside the data, such as who asked for it.'),
      trigger: s.text.describe('Which of its manual triggers, by its id; left out: the first.'),
    }),
    answers: {
      201: s.answer('It is there', s.object({ instanceId: s.string, eventId: s.string })),
    },
  },
  migrateInstances: {
    at: 'POST /v1/workflows/:name/migrate',
    config: { role: 'admin' },
    summary: 'Bring active instances of older versions to the one in force, a page at a time',
    description:
      'Each instance is a commit of its own. Give `nextCursor` back until it is null; with `dryRun` nothing is changed.',
    params: s.fields({ name: s.textOf(128) }),
    body: s.filters({
      from: s.text.describe('Only those on this version; left out: on any other than the one in force.'),
      dryRun: s.boolean.default(false).describe('Only say what would change.'),
      reason: s.why,
      cursor: s.textOf(2_048),
      limit: s.integer.min(1).max(500).default(100),
    }),
    answer: s.answer(
      'What was done, or would be, with the instances of this page',
      s.object({
        items: s.list(migration(s)),
        migrated: s.integer.describe('Of this page.'),
        refused: s.integer.describe('Of this page: they stay on their version.'),
        left: s.integer.describe('How many are still on the versions asked for.'),
        nextCursor: s.nullable(s.string),
      }),
    ),
  },
}))

export function addWorkflowRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads' | 'workflows' | 'about'>,
  { limits }: Pick<Serving, 'limits'>,
): void {
  const on = serveOn(app, workflowsOperations)
  on('listWorkflows', async ({ caller }) => {
    const reads = api.reads(caller.tenant)
    const items = await Promise.all(
      api.workflows
        .list(caller)
        .map(async (one) => showWorkflow(one, await reads.instanceCounts(one.document.name))),
    )
    return { items, nextCursor: null }
  })

  on('getWorkflow', async ({ caller, params }, reply) => {
    const workflow = api.workflows.one(caller, params.name)
    const counts = await api.reads(caller.tenant).instanceCounts(params.name)
    const detail = showWorkflowDetail(workflow, counts) as unknown as JsonValue
    const shown = seesTokens(caller) ? detail : hideLiterals(detail)
    return reply.type('application/json').send(stringifyJson(shown))
  })

  on('listInstances', async ({ caller, params, query }) => {
    const asked = { ...readFilter(query), workflow: params.name }
    const { items, nextCursor } = await api.workflows.reading.list(caller, asked)
    // An empty result may mean an unknown name, or one that the caller may not see.
    if (items.length === 0) api.workflows.one(caller, params.name)
    return { items: items.map(showInstance), nextCursor }
  })

  on(
    'startInstance',
    async ({ caller, params, body }, reply) => {
      const { input = {}, ...rest } = body
      const started = await api.workflows.start(caller, params.name, { input, ...rest })
      reply.code(201)
      return { instanceId: started.instanceId, eventId: started.eventId }
    },
    { bodyLimit: limits.eventBodyLimit },
  )
  on('migrateInstances', async ({ caller, params, body }, reply) => {
    const { from = null, dryRun, reason: why = null, cursor = null, limit } = body
    if (!dryRun) mustSayWhy(api.about, why, 'a migration')
    const asked = { from, dryRun, reason: why, cursor, limit }
    const answered = await api.workflows.migrations.many(caller, params.name, asked)
    return reply.type('application/json').send(stringifyJson(answered as unknown as JsonValue))
  })
}
