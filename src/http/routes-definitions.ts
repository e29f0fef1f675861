// The deployed definitions and their versions: GET /v1/definitions …; POST check, plan, apply, rollback; pause, resume and
// disable of one.

import type { FastifyInstance } from 'fastify'
import {
  type Authored,
  CONTROL_VERBS,
  type ControlVerb,
  DEFINITION_KINDS,
  type DefinitionDocument,
  type DefinitionKind,
} from '../core/definitions/documents/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../core/foundation/json/index.ts'
import { findLiterals, hideLiterals, mayHoldLiteral } from '../core/secrets/index.ts'
import {
  type DefinitionFile,
  diffLines,
  hasErrors,
  renderYaml,
  SENT_BYTES_MAX,
  SENT_FILES_MAX,
} from '../definitions/index.ts'
import type {
  DefinitionItem,
  NewDefinition,
  PlannedChange,
  VersionWarning,
} from '../engine/definitions/index.ts'
import type { HttpApi } from './api.ts'
import { BODY_BYTES_MAX } from './body-limits.ts'
import { type CompileFiles, type PlannedFunction, refuseErrors } from './definition-files.ts'
import { fields, oneOf, type PageQuery, page, reason, splitQuery } from './schemas.ts'
import {
  answer,
  anything,
  boolean,
  instant,
  integer,
  listOf,
  nullable,
  pageOf,
  shape,
  string,
} from './schemas-answers.ts'
import { iso, isoOrNull } from './shapes.ts'
import { hideTokens, seesTokens } from './shapes-webhooks.ts'

const ACTION_TYPES = [
  'http',
  'function',
  'emit',
  'upsert',
  'start',
  'schedule',
  'unschedule',
  'agent',
  'operation',
]
const kind = oneOf(DEFINITION_KINDS)
const files = {
  type: 'array',
  maxItems: SENT_FILES_MAX,
  items: fields(
    {
      path: { type: 'string', minLength: 1, maxLength: 512, description: 'Its name, for the findings.' },
      text: {
        type: 'string',
        maxLength: SENT_BYTES_MAX,
        description: 'YAML, or JSON when the path ends so.',
      },
    },
    ['path', 'text'],
  ),
} as const
const functions = {
  type: 'array',
  maxItems: 1_000,
  description:
    'Functions of the same folder, which the node may not have yet: what a plan takes for granted.',
  items: fields(
    {
      name: { type: 'string', minLength: 1, maxLength: 128 },
      hash: { type: 'string', minLength: 1, maxLength: 128 },
      timeoutMs: { type: 'integer', minimum: 1 },
      emits: { type: 'array', maxItems: 1_000, items: { type: 'string', maxLength: 255 } },
    },
    ['name', 'hash'],
  ),
} as const
const prune = {
  type: 'boolean',
  default: false,
  description:
    'Also remove what was applied by the API, or is gone from the folder, and is not in the files.',
} as const
const definitionParams = fields({ kind, name: { type: 'string', minLength: 1, maxLength: 128 } }, [
  'kind',
  'name',
])

const traceStep = shape(
  {
    fire: { ...nullable(string), description: 'A transition, or the place whose `onEnter` it is.' },
    way: oneOf(['start', 'done', 'failed', 'enterFailed', 'undone']),
    marking: { type: 'object', additionalProperties: integer },
    conditions: listOf(string),
  },
  ['conditions'],
)
const finding = shape(
  {
    severity: oneOf(['error', 'warning', 'info']),
    rule: string,
    message: string,
    file: string,
    line: integer,
    column: integer,
    suggestion: string,
    trace: listOf(traceStep),
    repeatsAfter: { ...integer, description: 'What follows this step of the trace happens again and again.' },
  },
  ['suggestion', 'trace', 'repeatsAfter'],
)
export const findings = listOf(finding)
const proofs = listOf(
  shape({
    workflow: string,
    file: string,
    verdict: oneOf(['proved', 'sound-ignoring-conditions', 'not-proved', 'unsound']),
    says: string,
    markings: integer,
  }),
)
const changeShape = {
  kind,
  name: string,
  change: oneOf(['create', 'update', 'remove', 'unchanged']),
} as const
const applied = shape({ version: integer, hash: string, changes: listOf(shape(changeShape)), findings })
const status = nullable(oneOf(['active', 'paused', 'disabled']))
const itemShape = {
  kind,
  name: string,
  description: nullable(string),
  status: { ...status, description: 'In force; null for what has none.' },
  declaredStatus: { ...status, description: 'What the document says.' },
  control: {
    ...nullable(shape({ by: string, at: instant, reason: nullable(string) })),
    description: 'Who said otherwise than the document.',
  },
  hash: string,
  managedBy: oneOf(['folder', 'api', 'demo']),
  version: { ...integer, description: 'The version of the definitions that brought it.' },
  updatedAt: instant,
  on: { ...listOf(string), description: 'Of routes.' },
  subject: { ...string, description: 'Of sources.' },
  action: { ...oneOf(ACTION_TYPES), description: 'Of routes.' },
  nextFireAt: { ...nullable(instant), description: 'Of schedules; null while it does not fire.' },
  lastFiredAt: { ...nullable(instant), description: 'Of schedules: the newest slot that became an event.' },
  consumer: {
    ...shape({
      state: {
        ...oneOf(['consuming', 'waiting', 'stopped']),
        description: 'Waiting: it is tried again by itself.',
      },
      why: nullable(string),
    }),
    description: 'Of sources that take from NATS, as the node that answers sees it.',
  },
} as const
const itemOptional = ['on', 'subject', 'action', 'nextFireAt', 'lastFiredAt', 'consumer']
const item = shape(itemShape, itemOptional)

interface PlanRequest {
  readonly definitions: readonly NewDefinition[]
  readonly prune: boolean
}

export function addDefinitionRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'definitions' | 'secrets'>,
  compileFiles: CompileFiles,
): void {
  const tags = ['definitions']
  const show = async (tenant: TenantId, one: DefinitionItem) => {
    const { document } = one
    const busConsumer =
      document.kind === 'Source' && document.nats !== undefined
        ? api.definitions.consumes(tenant, one.name)
        : null
    if (busConsumer !== null) {
      const why = busConsumer.is === 'consuming' ? null : busConsumer.why
      return { ...showItem(one), consumer: { state: busConsumer.is, why } }
    }
    const isScheduled = document.kind === 'Source' && document.schedule !== undefined
    const times = isScheduled ? await api.definitions.fires(tenant, one.name) : null
    if (times === null) return showItem(one)
    const [nextFireAt, lastFiredAt] = [isoOrNull(times.nextFireAt), isoOrNull(times.lastFiredAt)]
    return { ...showItem(one), nextFireAt, lastFiredAt }
  }

  app.get<{ Querystring: { kind?: DefinitionKind } }>(
    '/definitions',
    {
      schema: {
        operationId: 'listDefinitions',
        tags,
        summary: 'The definitions in force',
        querystring: fields({ kind }),
        response: { 200: answer('All of them', pageOf(item)) },
      },
    },
    async (request) => {
      const { tenant } = request.caller
      const all = await api.definitions.list(tenant)
      const wanted = request.query.kind
      const asked = all.filter((one) => wanted === undefined || one.kind === wanted)
      return { items: await Promise.all(asked.map((one) => show(tenant, one))), nextCursor: null }
    },
  )

  app.get<{ Querystring: PageQuery }>(
    '/definitions/versions',
    {
      schema: {
        operationId: 'listDefinitionVersions',
        tags,
        summary: 'The versions of the definitions, newest first',
        querystring: fields(page),
        response: {
          200: answer(
            'A page',
            pageOf(
              shape({
                version: integer,
                hash: string,
                appliedAt: instant,
                by: string,
                reason: nullable(string),
                changes: { ...integer, description: 'How many definitions differ from the version before.' },
              }),
            ),
          ),
        },
      },
    },
    async (request) => {
      const { tenant } = request.caller
      const { items, nextCursor } = await api.definitions.versions(tenant, splitQuery(request.query))
      return {
        items: items.map(({ version, hash, appliedAt, by, reason: why, changes }) => ({
          version,
          hash,
          appliedAt: iso(appliedAt),
          by,
          reason: why,
          changes,
        })),
        nextCursor,
      }
    },
  )

  app.get<{ Params: { kind: DefinitionKind; name: string } }>(
    '/definitions/:kind/:name',
    {
      schema: {
        operationId: 'getDefinition',
        tags,
        summary: 'A definition as it is in force, as it was written, and its history',
        params: definitionParams,
        response: {
          200: answer(
            'The definition',
            shape(
              {
                ...itemShape,
                document: {
                  ...anything,
                  description: 'The normal form: defaults filled in, units resolved.',
                },
                yaml: { ...string, description: 'As it was written.' },
                path: { ...nullable(string), description: 'The file it was written in.' },
                history: listOf(shape({ hash: string, appliedAt: instant, by: string, version: integer })),
              },
              itemOptional,
            ),
          ),
        },
      },
    },
    async (request, reply) => {
      const { kind: asked, name } = request.params
      const { item: found, authored, history } = await api.definitions.one(request.caller.tenant, asked, name)
      // The text as written contains the hidden values: a caller who may not see them gets the normal form.
      const isHidden = !seesTokens(request.caller) && holdsTokens(found.document, authored)
      const document = isHidden ? hideDefinition(found.document) : found.document
      const shown = {
        ...(await show(request.caller.tenant, found)),
        document,
        yaml: textOf({ document, authored: isHidden ? null : authored }),
        path: authored?.path ?? null,
        history: history.map(({ hash, appliedAt, by, version }) => ({
          hash,
          appliedAt: iso(appliedAt),
          by,
          version,
        })),
      }
      return reply.type('application/json').send(stringifyJson(shown as never))
    },
  )

  app.post<{ Body: { files: readonly DefinitionFile[] } }>(
    '/definitions/check',
    {
      // A viewer sees what is deployed; checking a sent document costs the node CPU time.
      config: { role: 'operator', readsOnly: true },
      bodyLimit: BODY_BYTES_MAX.files,
      schema: {
        operationId: 'checkDefinitions',
        tags,
        summary: 'Check definitions without applying them',
        body: fields({ files }, ['files']),
        response: { 200: answer('Every finding', shape({ ok: boolean, findings, proofs })) },
      },
    },
    async (request) => {
      const compiled = await compileFiles(request.caller.tenant, request.body.files)
      const { findings, proofs } = compiled
      return { ok: !hasErrors(findings), findings, proofs }
    },
  )

  /** What the node's own folder defines is planned as that folder would: a plan changes nothing, so it is never refused. */
  const planFor = async (tenant: TenantId, request: PlanRequest) => {
    try {
      return { managedBy: 'api', ...(await api.definitions.plan(tenant, { ...request, managedBy: 'api' })) }
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'managed_by_folder') throw error
      const planned = await api.definitions.plan(tenant, { ...request, managedBy: 'folder' })
      return { managedBy: 'folder', ...planned }
    }
  }

  type PlanBody = {
    files: readonly DefinitionFile[]
    prune: boolean
    functions?: readonly PlannedFunction[]
  }
  app.post<{ Body: PlanBody }>(
    '/definitions/plan',
    {
      // A viewer sees what is deployed; checking a sent document costs the node CPU time.
      config: { role: 'operator', readsOnly: true },
      bodyLimit: BODY_BYTES_MAX.files,
      schema: {
        operationId: 'planDefinitions',
        tags,
        summary: 'What applying would change, with the lines',
        body: fields({ files, prune, functions }, ['files']),
        response: {
          200: answer(
            'The plan; `base` is the version it was made on',
            shape({
              ok: boolean,
              findings,
              base: integer,
              managedBy: {
                ...oneOf(['api', 'folder']),
                description:
                  'As what it was planned: `folder` where the folder of the node defines something of it, which that node applies by itself.',
              },
              changes: listOf(
                shape({ ...changeShape, diff: listOf(shape({ op: oneOf([' ', '+', '-']), text: string })) }, [
                  'diff',
                ]),
              ),
            }),
          ),
        },
      },
    },
    async (request) => {
      const { tenant } = request.caller
      const compiled = await compileFiles(tenant, request.body.files, request.body.functions)
      const ok = !hasErrors(compiled.findings)
      const planned = await planFor(tenant, {
        definitions: ok ? compiled.definitions : [],
        prune: ok && request.body.prune,
      })
      return {
        ok,
        findings: [...compiled.findings, ...planned.warnings.map(showVersionWarning(compiled.definitions))],
        base: planned.base,
        managedBy: planned.managedBy,
        changes: planned.changes.map(showChange),
      }
    },
  )

  type ApplyBody = { files: readonly DefinitionFile[]; prune: boolean; base?: number; reason?: string }
  app.post<{ Body: ApplyBody }>(
    '/definitions/apply',
    {
      config: { role: 'admin' },
      bodyLimit: BODY_BYTES_MAX.files,
      schema: {
        operationId: 'applyDefinitions',
        tags,
        summary: 'Put definitions in force, all of them or none',
        body: fields(
          {
            files,
            prune,
            base: { type: 'integer', minimum: 0, description: 'The version that the plan was made on.' },
            reason,
          },
          ['files'],
        ),
        response: { 200: answer('What is in force now', applied) },
      },
    },
    async (request) => {
      const { tenant, actor } = request.caller
      const { prune: isPruning, base, reason: why = null } = request.body
      const compiled = await compileFiles(tenant, request.body.files)
      refuseErrors(compiled.findings)
      const {
        putBack: _,
        warnings,
        ...result
      } = await api.definitions.apply(tenant, {
        definitions: compiled.definitions,
        managedBy: 'api',
        prune: isPruning,
        by: actor,
        reason: why,
        ...(base === undefined ? {} : { base }),
      })
      return {
        ...result,
        findings: [...compiled.findings, ...warnings.map(showVersionWarning(compiled.definitions))],
      }
    },
  )

  app.post<{ Body: { to: number; reason?: string } }>(
    '/definitions/rollback',
    {
      config: { role: 'admin' },
      schema: {
        operationId: 'rollbackDefinitions',
        tags,
        summary: 'Put the definitions of an earlier version in force again, as a new version',
        body: fields({ to: { type: 'integer', minimum: 1 }, reason }, ['to']),
        response: { 200: answer('What is in force now', applied) },
      },
    },
    async (request) => {
      const { tenant, actor } = request.caller
      const { to, reason: why = null } = request.body
      const asked = { to, by: actor, reason: why }
      const { putBack: _, untilFolder, warnings, ...result } = await api.definitions.rollback(tenant, asked)
      return {
        ...result,
        findings: [...untilFolder.map(showUntilFolder), ...warnings.map(showVersionWarning([]))],
      }
    },
  )

  for (const verb of CONTROL_VERBS) {
    app.post<{ Params: { kind: DefinitionKind; name: string }; Body: { reason?: string } }>(
      `/definitions/:kind/:name/${verb}`,
      {
        config: { role: 'operator' },
        schema: {
          operationId: `${verb}Definition`,
          tags,
          summary: CONTROL_SUMMARIES[verb],
          params: definitionParams,
          body: fields({ reason }),
          response: { 200: answer('The definition', item) },
        },
      },
      async (request) => {
        const { tenant, actor } = request.caller
        const { kind: asked, name } = request.params
        const said = { by: actor, reason: request.body.reason ?? null }
        return show(tenant, await api.definitions.control(tenant, asked, name, verb, said))
      },
    )
  }
}

const CONTROL_SUMMARIES: Readonly<Record<ControlVerb, string>> = {
  pause: 'Keep a route’s work until it is resumed',
  resume: 'Let a route or source go on',
  disable: 'Skip what arrives for a route, or refuse what comes to a source',
}

function showItem(one: DefinitionItem) {
  const { document, control } = one
  return {
    kind: one.kind,
    name: one.name,
    description: document.description,
    status: one.status,
    declaredStatus: one.declaredStatus,
    control: control === null ? null : { by: control.by, at: iso(control.at), reason: control.reason },
    hash: one.hash,
    managedBy: one.managedBy,
    version: one.version,
    updatedAt: iso(one.at),
    ...(document.kind === 'Route' ? { on: document.on, action: document.do.type } : {}),
    ...(document.kind === 'Source' ? { subject: document.subject } : {}),
    ...(document.kind === 'Subscription' ? { on: document.on } : {}),
  }
}

/** What a rollback cannot change for good. */
function showUntilFolder({ id, path }: { readonly id: string; readonly path: string | null }) {
  const when = 'at its next start, or save in DEV'
  const message = `${id} is in the folder of a node, which puts its own back ${when}: change the file too`
  return { severity: 'warning', rule: 'DV28', message, file: path ?? '', line: 1, column: 1 }
}

/** Of instances that stay on older versions of their workflows. */
function showVersionWarning(definitions: readonly NewDefinition[]) {
  return ({ rule, workflow, message }: VersionWarning) => {
    const own = definitions.find(({ document: { kind: of, name } }) => of === 'Workflow' && name === workflow)
    return { severity: 'warning', rule, message, file: own?.authored?.path ?? '', line: 1, column: 1 }
  }
}

/** Tokens of subscriptions, and credentials in clear text of any. */
function holdsTokens(document: DefinitionDocument, authored: Authored | null): boolean {
  if (document.kind === 'Subscription') return true
  const literals = findLiterals(document as unknown as JsonValue)
  return literals.length > 0 || (authored !== null && mayHoldLiteral(authored.text))
}

function hideDefinition(document: DefinitionDocument): DefinitionDocument {
  const hidden = document.kind === 'Subscription' ? hideTokens(document) : document
  return hideLiterals(hidden as unknown as JsonValue) as unknown as DefinitionDocument
}

function textOf({ document, authored }: NewDefinition): string {
  return authored?.text ?? renderYaml(document)
}

function showChange({ kind: of, name, change, before, after }: PlannedChange) {
  const texts = [before, after].map((one) => (one === null ? '' : textOf(one))) as [string, string]
  return { kind: of, name, change, ...(change === 'unchanged' ? {} : { diff: diffLines(...texts) }) }
}
