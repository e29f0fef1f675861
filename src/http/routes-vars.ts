// GET and PUT /v1/vars, and one value: what differs between environments, where each value comes from, and what reads it.

import type { FastifyInstance } from 'fastify'
import {
  DEFINITION_KINDS,
  type DefinitionDocument,
  ENVIRONMENTS,
  type EnvironmentName,
  OWN_VARS,
  type VarsDocument,
} from '../core/definitions/documents/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../core/foundation/json/index.ts'
import { editVars, emptyVars, renderYaml, type VarEdit, varsReadBy } from '../definitions/index.ts'
import type { DefinitionItem } from '../engine/definitions/index.ts'
import type { HttpApi } from './api.ts'
import { environmentOf } from './check-context.ts'
import { refuseErrors } from './definition-files.ts'
import { operations, serveOn } from './operations.ts'
import { definitionChange, finding } from './routes-definitions.ts'
import type { Kit } from './schema-kit.ts'
import type { Serving } from './serving.ts'

/** Where a new name goes if the request does not say. */
const USUAL_DOCUMENT = 'vars'

const reader = (s: Kit) => s.object({ kind: s.enum(DEFINITION_KINDS), name: s.string })

const varRow = (s: Kit) =>
  s.object({
    name: s.string,
    value: s.any.describe('What holds on the node that answers.'),
    from: s
      .enum(['default', 'environment', 'setting'])
      .describe('Where that comes from: `values`, `environments`, or a setting of the node.'),
    setting: s.nullable(s.string).describe('The setting of the node that gives the value.'),
    default: s.any.describe('Where an environment has no value of its own; null: there is none.'),
    environments: s.record(s.any).describe('By environment, what differs there.'),
    definition: s.string.describe('The document that defines it.'),
    managedBy: s.enum(['folder', 'api', 'demo']),
    readers: s.list(reader(s)).describe('Deployed definitions that depend on it.'),
    differsOn: s
      .list(s.string)
      .describe('Nodes of the same database whose settings give another value. They should agree.'),
  })

const varName = (s: Kit) => s.fields({ name: s.textOf(100) })

const common = (s: Kit) => ({
  environment: s
    .enum(ENVIRONMENTS)
    .describe('Where the value holds. Left out: wherever an environment has no value of its own.')
    .optional(),
  definition: s
    .textOf(100)
    .describe('The document that gets a name which is not defined yet; `vars` if it is left out.')
    .optional(),
  reason: s.reason.optional(),
})

const deployed = (s: Kit) =>
  s.object({
    version: s.integer,
    hash: s.string,
    changes: s.list(definitionChange(s)),
    findings: s.list(finding(s)),
  })

export const varsOperations = operations('vars', (s) => ({
  listVars: {
    at: 'GET /v1/vars',
    summary: 'The values that differ by environment, where each comes from, and what reads it',
    answer: s.pageOf(varRow(s), 'All of them'),
  },
  getVar: {
    at: 'GET /v1/vars/:name',
    summary: 'One value that differs by environment',
    params: varName(s),
    answer: s.answer('The value', varRow(s)),
  },
  setVars: {
    at: 'PUT /v1/vars',
    config: { role: 'admin' },
    summary: 'Set several values at once, as a new version of the definitions',
    body: s.fields({ values: s.record(s.any).describe('By name; null takes a value away.'), ...common(s) }),
    answer: s.answer('What is in force now', deployed(s)),
  },
  setVar: {
    at: 'PUT /v1/vars/:name',
    config: { role: 'admin' },
    summary: 'Set one value, as a new version of the definitions',
    params: varName(s),
    body: s.fields({ value: s.any.describe('null takes the value away.'), ...common(s) }),
    answer: s.answer('What is in force now', deployed(s)),
  },
}))

interface Asked {
  readonly environment?: EnvironmentName | undefined
  readonly definition?: string | undefined
  readonly reason?: string | undefined
}

/** How often a change is tried again when another one was deployed first. */
const SET_ROUNDS = 5

export function addVarRoutes(
  app: FastifyInstance,
  api: Pick<HttpApi, 'definitions' | 'about' | 'differingVars'>,
  { compileFiles }: Pick<Serving, 'compileFiles'>,
): void {
  const on = serveOn(app, varsOperations)

  const rows = async (tenant: TenantId) => {
    const items = await api.definitions.list(tenant)
    const { values, settings } = api.definitions.setVars(tenant)
    const readers = readersOf(items.map(({ document }) => document))
    const differing = (await api.differingVars?.(tenant)) ?? new Map<string, readonly string[]>()
    const own = environmentOf(api.about.environment)
    return varsOf(items).flatMap(({ item, document }) =>
      namesOf(document).map((name) => {
        const setting = settings.get(name) ?? null
        const isOwn = Object.hasOwn(document.environments[own] ?? {}, name)
        return {
          name,
          value: values[name] ?? null,
          from: setting !== null ? 'setting' : isOwn ? 'environment' : 'default',
          setting,
          default: document.values[name] ?? null,
          environments: Object.fromEntries(
            ENVIRONMENTS.flatMap((one) => {
              const there = document.environments[one]
              return there !== undefined && Object.hasOwn(there, name) ? [[one, there[name]]] : []
            }),
          ),
          definition: document.name,
          managedBy: item.managedBy,
          readers: readers.get(name) ?? [],
          differsOn: differing.get(name.toUpperCase()) ?? [],
        }
      }),
    )
  }
  const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1)

  on('listVars', async (request, reply) => {
    const items = (await rows(request.caller.tenant)).sort(byName)
    return reply.type('application/json').send(stringifyJson({ items, nextCursor: null } as never))
  })
  on('getVar', async (request, reply) => {
    const { name } = request.params
    const row = (await rows(request.caller.tenant)).find((one) => one.name === name)
    if (row === undefined) throw new AppError('not_found', `there is no \`vars.${name}\``)
    return reply.type('application/json').send(stringifyJson(row as never))
  })

  const set = async (
    { tenant, actor }: { readonly tenant: TenantId; readonly actor: string },
    values: Readonly<Record<string, JsonValue>>,
    {
      environment = null,
      definition = USUAL_DOCUMENT,
      reason = null,
    }: { readonly [Name in keyof Asked]: Asked[Name] | null },
  ) => {
    // A change between this and `apply` is refused there, since an edited document is deployed whole.
    const base = (await api.definitions.versions(tenant, { cursor: null, limit: 1 })).items[0]?.version ?? 0
    const items = await api.definitions.list(tenant)
    const documents = new Map<string, VarEdit[]>()
    for (const [name, value] of Object.entries(values)) {
      if ((OWN_VARS as readonly string[]).includes(name))
        throw refused(name, "the node's own: give it another name")
      const at =
        varsOf(items).find(({ document }) => namesOf(document).includes(name))?.document.name ??
        definition ??
        USUAL_DOCUMENT
      const edits = documents.get(at) ?? []
      documents.set(at, [...edits, { name, environment: environment ?? null, value }])
    }
    const files = await Promise.all(
      [...documents].map(async ([name, edits]) => {
        const path = `${name}.yaml`
        const known = varsOf(items).find(({ document }) => document.name === name)
        if (known === undefined) return { path, text: editVars(emptyVars(name), edits) }
        const { authored } = await api.definitions.one(tenant, 'Vars', name)
        return {
          path: authored?.path ?? path,
          text: editVars(authored?.text ?? renderYaml(known.document), edits),
        }
      }),
    )
    const compiled = await compileFiles(tenant, files)
    refuseErrors(compiled.findings)
    const {
      putBack: _,
      warnings: __,
      ...result
    } = await api.definitions.apply(tenant, {
      definitions: compiled.definitions,
      refilled: compiled.refilled,
      managedBy: 'api',
      prune: false,
      base,
      by: actor,
      reason: reason ?? null,
    })
    return { ...result, findings: compiled.findings }
  }

  const setUntilFirst = async (...given: Parameters<typeof set>) => {
    for (let round = 1; ; round += 1) {
      try {
        return await set(...given)
      } catch (error) {
        if (round === SET_ROUNDS || !(error instanceof AppError) || error.code !== 'conflict') throw error
      }
    }
  }

  on('setVars', (request) => setUntilFirst(request.caller, request.body.values, request.body))
  on('setVar', (request) =>
    setUntilFirst(request.caller, { [request.params.name]: request.body.value }, request.body),
  )
}

function refused(name: string, why: string): AppError {
  const message = `\`vars.${name}\` is ${why}`
  return new AppError('invalid_request', message, { details: { fields: [{ path: '/name', message }] } })
}

function varsOf(items: readonly DefinitionItem[]) {
  return items.flatMap((item) => (item.document.kind === 'Vars' ? [{ item, document: item.document }] : []))
}

function namesOf({ values, environments }: VarsDocument): readonly string[] {
  return [
    ...new Set([...Object.keys(values), ...Object.values(environments).flatMap((one) => Object.keys(one))]),
  ]
}

/** By name, the definitions that depend on it. */
function readersOf(documents: readonly DefinitionDocument[]) {
  const readers = new Map<string, { readonly kind: string; readonly name: string }[]>()
  for (const document of documents)
    for (const name of varsReadBy(document)) {
      const known = readers.get(name) ?? []
      readers.set(name, [...known, { kind: document.kind, name: document.name }])
    }
  return readers
}
