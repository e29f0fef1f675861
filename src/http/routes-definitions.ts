// The deployed definitions and their versions: GET /v1/definitions …; POST check, plan, apply, rollback; pause, resume and
// disable of one.

import type { FastifyInstance } from 'fastify'
import {
  ACTION_TYPES,
  type Authored,
  CONTROL_VERBS,
  DEFINITION_KINDS,
  type DefinitionDocument,
  definitionId,
} from '../core/definitions/documents/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../core/foundation/json/index.ts'
import { findLiterals, hideLiterals, mayHoldLiteral } from '../core/secrets/index.ts'
import {
  diffLines,
  hasErrors,
  renderYaml,
  SENT_BYTES_MAX,
  SENT_FILES_MAX,
  touchedVars,
} from '../definitions/index.ts'
import type {
  DefinitionItem,
  NewDefinition,
  PlannedChange,
  VersionWarning,
} from '../engine/definitions/index.ts'
import type { HttpApi } from './api.ts'
import { BODY_BYTES_MAX } from './body-limits.ts'
import { environmentOf } from './check-context.ts'
import { refuseErrors } from './definition-files.ts'
import { operations, serveOn } from './operations.ts'
import { readFilter } from './queries.ts'
import type { Kit } from './schema-kit.ts'
import type { Serving } from './serving.ts'
import { iso, isoOrNull } from './shapes.ts'
import { hideTokens, seesTokens } from './shapes-webhooks.ts'

interface PlanRequest {
  readonly definitions: readonly NewDefinition[]
  readonly refilled: readonly NewDefinition[]
  readonly prune: boolean
}

export const finding = (s: Kit) =>
  s.object({
    severity: s.enum(['error', 'warning', 'info']),
    rule: s.string,
    message: s.string,
    file: s.string,
    line: s.integer,
    column: s.integer,
    suggestion: s.string.optional(),
    trace: s
      .list(
        s.object({
          fire: s.nullable(s.string).describe('A transition, or the place whose `onEnter` it is.'),
          way: s.enum(['start', 'done', 'failed', 'enterFailed', 'undone']),
          marking: s.record(s.integer),
          conditions: s.list(s.string).optional(),
        }),
      )
      .optional(),
    repeatsAfter: s.integer
      .describe('What follows this step of the trace happens again and again.')
      .optional(),
  })

const definitionRow = (s: Kit) =>
  s.object({
    kind: s.enum(DEFINITION_KINDS),
    name: s.string,
    description: s.nullable(s.string),
    status: s
      .nullable(s.enum(['active', 'paused', 'disabled']))
      .describe('In force; null for what has none.'),
    declaredStatus: s.nullable(s.enum(['active', 'paused', 'disabled'])).describe('What the document says.'),
    control: s
      .nullable(s.object({ by: s.string, at: s.instant, reason: s.nullable(s.string) }))
      .describe('Who said otherwise than the document.'),
    hash: s.string,
    managedBy: s.enum(['folder', 'api', 'demo']),
    version: s.integer.describe('The version of the definitions that brought it.'),
    updatedAt: s.instant,
    on: s.list(s.string).describe('Of routes.').optional(),
    subject: s.string.describe('Of sources.').optional(),
    action: s.enum(ACTION_TYPES).describe('Of routes.').optional(),
    nextFireAt: s.nullable(s.instant).describe('Of schedules; null while it does not fire.').optional(),
    lastFiredAt: s
      .nullable(s.instant)
      .describe('Of schedules: the newest slot that became an event.')
      .optional(),
    consumer: s
      .object({
        state: s.enum(['consuming', 'waiting', 'stopped']).describe('Waiting: it is tried again by itself.'),
        why: s.nullable(s.string),
      })
      .describe('Of sources that take from NATS, as the node that answers sees it.')
      .optional(),
  })

export const definitionChange = (s: Kit) =>
  s.object({
    kind: s.enum(DEFINITION_KINDS),
    name: s.string,
    change: s.enum(['create', 'update', 'remove', 'unchanged']),
  })

const definitionFile = (s: Kit) =>
  s.fields({
    path: s.text.describe('Its name, for the findings.'),
    text: s.string.max(SENT_BYTES_MAX).describe('YAML, or JSON when the path ends so.'),
  })

const definitionName = (s: Kit) => s.fields({ kind: s.enum(DEFINITION_KINDS), name: s.textOf(128) })

const deployed = (s: Kit) =>
  s.object({
    version: s.integer,
    hash: s.string,
    changes: s.list(definitionChange(s)),
    findings: s.list(finding(s)),
  })

export const definitionsOperations = operations('definitions', (s) => ({
  listDefinitions: {
    at: 'GET /v1/definitions',
    summary: 'The definitions in force',
    query: s.filters({
      kind: s.enum(DEFINITION_KINDS),
    }),
    answer: s.pageOf(definitionRow(s), 'All of them'),
  },
  listDefinitionVersions: {
    at: 'GET /v1/definitions/versions',
    summary: 'The versions of the definitions, newest first',
    query: s.page({}),
    answer: s.pageOf(
      s.object({
        version: s.integer,
        hash: s.string,
        appliedAt: s.instant,
        by: s.string,
        reason: s.nullable(s.string),
        changes: s.integer.describe('How many definitions differ from the version before.'),
      }),
    ),
  },
  getDefinition: {
    at: 'GET /v1/definitions/:kind/:name',
    summary: 'A definition as it is in force, as it was written, and its history',
    params: definitionName(s),
    answer: s.answer(
      'The definition',
      s.extend(definitionRow, {
        document: s.any.describe('The normal form: defaults filled in, units resolved.'),
        yaml: s.string.describe('As it was written.'),
        path: s.nullable(s.string).describe('The file it was written in.'),
        history: s.list(s.object({ hash: s.string, appliedAt: s.instant, by: s.string, version: s.integer })),
      }),
    ),
  },
  checkDefinitions: {
    at: 'POST /v1/definitions/check',
    config: { role: 'operator', readsOnly: true },
    summary: 'Check definitions without applying them',
    body: s.fields({ files: s.list(definitionFile(s)).max(SENT_FILES_MAX) }),
    answer: s.answer(
      'Every finding',
      s.object({
        ok: s.boolean,
        findings: s.list(finding(s)),
        proofs: s.list(
          s.object({
            workflow: s.string,
            file: s.string,
            verdict: s.enum(['proved', 'sound-ignoring-conditions', 'not-proved', 'unsound']),
            says: s.string,
            markings: s.integer,
          }),
        ),
      }),
    ),
  },
  planDefinitions: {
    at: 'POST /v1/definitions/plan',
    config: { role: 'operator', readsOnly: true },
    summary: 'What applying would change, with the lines',
    body: s.fields({
      files: s.list(definitionFile(s)).max(SENT_FILES_MAX),
      prune: s.boolean
        .default(false)
        .describe(
          'Also remove what was applied by the API, or is gone from the folder, and is not in the files.',
        ),
      functions: s
        .list(
          s.fields({
            name: s.textOf(128),
            hash: s.textOf(128),
            timeoutMs: s.integer.min(1).optional(),
            emits: s.list(s.string.max(255)).max(1_000).optional(),
          }),
        )
        .max(1_000)
        .describe(
          'Functions of the same folder, which the node may not have yet: what a plan takes for granted.',
        )
        .optional(),
    }),
    answer: s.answer(
      'The plan; `base` is the version it was made on',
      s.object({
        ok: s.boolean,
        findings: s.list(finding(s)),
        base: s.integer,
        managedBy: s
          .enum(['api', 'folder'])
          .describe(
            'As what it was planned: `folder` where the folder of the node defines something of it, which that node applies by itself.',
          ),
        changes: s.list(
          s.object({
            kind: s.enum(DEFINITION_KINDS),
            name: s.string,
            change: s.enum(['create', 'update', 'remove', 'unchanged']),
            diff: s.list(s.object({ op: s.enum([' ', '+', '-']), text: s.string })).optional(),
          }),
        ),
        touched: s
          .list(
            s.object({
              var: s.string,
              readers: s.list(s.object({ kind: s.enum(DEFINITION_KINDS), name: s.string })),
            }),
          )
          .describe('Values of `vars` that change on this node, and the definitions that depend on them.'),
      }),
    ),
  },
  applyDefinitions: {
    at: 'POST /v1/definitions/apply',
    config: { role: 'admin' },
    summary: 'Put definitions in force, all of them or none',
    body: s.fields({
      files: s.list(definitionFile(s)).max(SENT_FILES_MAX),
      prune: s.boolean
        .default(false)
        .describe(
          'Also remove what was applied by the API, or is gone from the folder, and is not in the files.',
        ),
      base: s.integer.min(0).describe('The version that the plan was made on.').optional(),
      reason: s.reason.optional(),
    }),
    answer: s.answer('What is in force now', deployed(s)),
  },
  rollbackDefinitions: {
    at: 'POST /v1/definitions/rollback',
    config: { role: 'admin' },
    summary: 'Put the definitions of an earlier version in force again, as a new version',
    body: s.fields({ to: s.integer.min(1), reason: s.reason.optional() }),
    answer: s.answer('What is in force now', deployed(s)),
  },
  pauseDefinition: {
    at: 'POST /v1/definitions/:kind/:name/pause',
    config: { role: 'operator' },
    summary: 'Keep a route’s work until it is resumed',
    params: definitionName(s),
    body: s.filters({ reason: s.reason }),
    answer: s.answer('The definition', definitionRow(s)),
  },
  resumeDefinition: {
    at: 'POST /v1/definitions/:kind/:name/resume',
    config: { role: 'operator' },
    summary: 'Let a route or source go on',
    params: definitionName(s),
    body: s.filters({ reason: s.reason }),
    answer: s.answer('The definition', definitionRow(s)),
  },
  disableDefinition: {
    at: 'POST /v1/definitions/:kind/:name/disable',
    config: { role: 'operator' },
    summary: 'Skip what arrives for a route, or refuse what comes to a source',
    params: definitionName(s),
    body: s.filters({ reason: s.reason }),
    answer: s.answer('The definition', definitionRow(s)),
  },
}))

export function addDefinitionRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'definitions' | 'secrets' | 'about' | 'varSettings'>,
  { compileFiles }: Pick<Serving, 'compileFiles'>,
): void {
  const on = serveOn(app, definitionsOperations)
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

  on('listDefinitions', async (request) => {
    const { tenant } = request.caller
    const all = await api.definitions.list(tenant)
    const wanted = request.query.kind
    const asked = all.filter((one) => wanted === undefined || one.kind === wanted)
    return { items: await Promise.all(asked.map((one) => show(tenant, one))), nextCursor: null }
  })

  on('listDefinitionVersions', async (request) => {
    const { tenant } = request.caller
    const { items, nextCursor } = await api.definitions.versions(tenant, readFilter(request.query))
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
  })

  on('getDefinition', async (request, reply) => {
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
  })

  on(
    'checkDefinitions',
    async (request) => {
      const compiled = await compileFiles(request.caller.tenant, request.body.files)
      const { findings, proofs } = compiled
      return { ok: !hasErrors(findings), findings, proofs }
    },
    { bodyLimit: BODY_BYTES_MAX.files },
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
  const touchedBy = async (tenant: TenantId, changes: readonly PlannedChange[]) => {
    const before = (await api.definitions.list(tenant)).map(({ document }) => document)
    const changed = new Map(changes.map((one) => [definitionId(one), one]))
    const after = [
      ...before.filter((one) => (changed.get(definitionId(one))?.change ?? 'unchanged') === 'unchanged'),
      ...changes.flatMap((one) => one.after?.document ?? []),
    ]
    const varSettings = tenant === DEFAULT_TENANT ? api.varSettings : undefined
    const settings = varSettings === undefined ? {} : { varSettings }
    const environment = environmentOf(api.about.environment)
    return touchedVars(before, after, { environment, ...settings }).map(({ name, readers }) => ({
      var: name,
      readers: readers.map(({ kind, name: of }) => ({ kind, name: of })),
    }))
  }
  on(
    'planDefinitions',
    async (request) => {
      const { tenant } = request.caller
      const compiled = await compileFiles(tenant, request.body.files, request.body.functions)
      const ok = !hasErrors(compiled.findings)
      const planned = await planFor(tenant, {
        definitions: ok ? compiled.definitions : [],
        refilled: ok ? compiled.refilled : [],
        prune: ok && request.body.prune,
      })
      return {
        ok,
        findings: [...compiled.findings, ...planned.warnings.map(showVersionWarning(compiled.definitions))],
        base: planned.base,
        managedBy: planned.managedBy,
        changes: planned.changes.map(showChange),
        touched: await touchedBy(tenant, planned.changes),
      }
    },
    { bodyLimit: BODY_BYTES_MAX.files },
  )
  on(
    'applyDefinitions',
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
        refilled: compiled.refilled,
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
    { bodyLimit: BODY_BYTES_MAX.files },
  )

  on('rollbackDefinitions', async (request) => {
    const { tenant, actor } = request.caller
    const { to, reason: why = null } = request.body
    const asked = { to, by: actor, reason: why }
    const { putBack: _, untilFolder, warnings, ...result } = await api.definitions.rollback(tenant, asked)
    return {
      ...result,
      findings: [...untilFolder.map(showUntilFolder), ...warnings.map(showVersionWarning([]))],
    }
  })

  for (const verb of CONTROL_VERBS) {
    on(`${verb}Definition` as const, async (request) => {
      const { tenant, actor } = request.caller
      const { kind: asked, name } = request.params
      const said = { by: actor, reason: request.body.reason ?? null }
      return show(tenant, await api.definitions.control(tenant, asked, name, verb, said))
    })
  }
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
