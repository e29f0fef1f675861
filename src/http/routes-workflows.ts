// Deployed workflows, their instances, and starting one: GET /v1/workflows …; GET and POST …/{name}/instances; POST …/migrate.

import type { FastifyInstance } from 'fastify'
import { type JsonValue, stringifyJson } from '../core/foundation/json/index.ts'
import { hideLiterals } from '../core/secrets/index.ts'
import {
  ATTENTIONS,
  type Attention,
  type Data,
  INSTANCE_STATES,
  type InstanceState,
} from '../core/workflows/instance/index.ts'
import type { HttpApi } from './api.ts'
import { mustSayWhy } from './required-reason.ts'
import { fields, oneOf, type PageQuery, page, reason, splitQuery, text } from './schemas.ts'
import { answer, integer, listOf, nullable, pageOf, ref, shape, string } from './schemas-answers.ts'
import { migrationResult } from './schemas-workflows.ts'
import { seesTokens } from './shapes-webhooks.ts'
import { showInstance, showWorkflow, showWorkflowDetail } from './shapes-workflows.ts'

const tags = ['workflows']
const nameParams = fields({ name: { type: 'string', minLength: 1, maxLength: 128 } }, ['name'])
const MIGRATED_DEFAULT = 100

const instanceFilters = {
  state: oneOf(INSTANCE_STATES),
  place: { ...text, description: 'Active, with a token there.' },
  attention: {
    ...oneOf([...ATTENTIONS, 'any']),
    description: 'Active, and a person should look at them, for this reason or any.',
  },
  definition: { ...text, description: 'Active, and on the definition of this hash.' },
} as const

interface InstancesQuery extends PageQuery {
  readonly state?: InstanceState
  readonly place?: string
  readonly attention?: Attention | 'any'
  readonly definition?: string
}

export function addWorkflowRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'reads' | 'workflows' | 'about'>,
  limits: { readonly eventBodyLimit: number },
): void {
  app.get(
    '/workflows',
    {
      schema: {
        operationId: 'listWorkflows',
        tags,
        summary: 'The workflows in force that the caller may see',
        response: { 200: answer('All of them', pageOf(ref('Workflow'))) },
      },
    },
    async ({ caller }) => {
      const reads = api.reads(caller.tenant)
      const items = await Promise.all(
        api.workflows
          .list(caller)
          .map(async (one) => showWorkflow(one, await reads.instanceCounts(one.document.name))),
      )
      return { items, nextCursor: null }
    },
  )

  app.get<{ Params: { name: string } }>(
    '/workflows/:name',
    {
      schema: {
        operationId: 'getWorkflow',
        tags,
        summary: 'A workflow with its net, its triggers, and where the tokens of its instances are',
        params: nameParams,
        response: { 200: answer('The workflow', ref('WorkflowDetail')) },
      },
    },
    async ({ caller, params }, reply) => {
      const workflow = api.workflows.one(caller, params.name)
      const counts = await api.reads(caller.tenant).instanceCounts(params.name)
      const detail = showWorkflowDetail(workflow, counts) as unknown as JsonValue
      const shown = seesTokens(caller) ? detail : hideLiterals(detail)
      return reply.type('application/json').send(stringifyJson(shown))
    },
  )

  app.get<{ Params: { name: string }; Querystring: InstancesQuery }>(
    '/workflows/:name/instances',
    {
      schema: {
        operationId: 'listInstances',
        tags,
        summary: 'Instances of a workflow, newest first',
        params: nameParams,
        querystring: fields({ ...page, ...instanceFilters }),
        response: { 200: answer('A page', pageOf(ref('Instance'))) },
      },
    },
    async ({ caller, params, query }) => {
      const asked = { ...splitQuery(query), workflow: params.name }
      const { items, nextCursor } = await api.workflows.reading.list(caller, asked)
      // An empty result may mean an unknown name, or one that the caller may not see.
      if (items.length === 0) api.workflows.one(caller, params.name)
      return { items: items.map(showInstance), nextCursor }
    },
  )

  app.post<{
    Params: { name: string }
    Body: { input?: JsonValue; metadata?: Data; trigger?: string }
  }>(
    '/workflows/:name/instances',
    {
      // What is given becomes the payload of an event.
      bodyLimit: limits.eventBodyLimit,
      config: { role: 'operator' },
      schema: {
        operationId: 'startInstance',
        tags,
        summary: 'Begin an instance by hand, through one of the workflow’s manual triggers',
        params: nameParams,
        body: fields({
          input: { description: 'What the trigger maps: any JSON value that fits its schema.' },
          metadata: { type: 'object', description: 'Beside the data, such as who asked for it.' },
          trigger: { ...text, description: 'Which of its manual triggers, by its id; left out: the first.' },
        }),
        response: { 201: answer('It is there', shape({ instanceId: string, eventId: string })) },
      },
    },
    async ({ caller, params, body }, reply) => {
      const { input = {}, ...rest } = body
      const started = await api.workflows.start(caller, params.name, { input, ...rest })
      reply.code(201)
      return { instanceId: started.instanceId, eventId: started.eventId }
    },
  )

  interface MigrateBody {
    readonly from?: string
    readonly dryRun: boolean
    readonly reason?: string
    readonly cursor?: string
    readonly limit: number
  }
  app.post<{ Params: { name: string }; Body: MigrateBody }>(
    '/workflows/:name/migrate',
    {
      config: { role: 'admin' },
      schema: {
        operationId: 'migrateInstances',
        tags,
        summary: 'Bring active instances of older versions to the one in force, a page at a time',
        description:
          'Each instance is a commit of its own. Give `nextCursor` back until it is null; with `dryRun` nothing is changed.',
        params: nameParams,
        body: fields({
          from: {
            ...text,
            description: 'Only those on this version; left out: on any other than the one in force.',
          },
          dryRun: { type: 'boolean', default: false, description: 'Only say what would change.' },
          reason: { ...reason, description: 'Why; it is kept. Needed in the environment PROD.' },
          cursor: page.cursor,
          limit: { type: 'integer', minimum: 1, maximum: 500, default: MIGRATED_DEFAULT },
        }),
        response: {
          200: answer(
            'What was done, or would be, with the instances of this page',
            shape({
              items: listOf(migrationResult),
              migrated: { ...integer, description: 'Of this page.' },
              refused: { ...integer, description: 'Of this page: they stay on their version.' },
              left: { ...integer, description: 'How many are still on the versions asked for.' },
              nextCursor: nullable(string),
            }),
          ),
        },
      },
    },
    async ({ caller, params, body }, reply) => {
      const { from = null, dryRun, reason: why = null, cursor = null, limit } = body
      if (!dryRun) mustSayWhy(api.about, why, 'a migration')
      const asked = { from, dryRun, reason: why, cursor, limit }
      const answered = await api.workflows.migrations.many(caller, params.name, asked)
      return reply.type('application/json').send(stringifyJson(answered as unknown as JsonValue))
    },
  )
}
