// Keys of a tenant, and the tenants of the node: GET, POST and DELETE /v1/keys; GET and POST /v1/tenants.

import type { FastifyInstance } from 'fastify'
import {
  PERMISSION_NAME,
  PERMISSIONS_MAX,
  ROLES,
  type Role,
  TENANT_NAME,
} from '../core/access/callers/index.ts'
import { parseDuration } from '../core/expression/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { DAY, MINUTE } from '../core/foundation/time/index.ts'
import type { Caller, KeyRow, TenantRow } from '../engine/access/index.ts'
import type { HttpApi } from './api.ts'
import { fields, idParams, line, oneOf, type PageQuery, page, plainText, splitQuery } from './schemas.ts'
import {
  answer,
  boolean,
  empty,
  instant,
  listOf,
  nullable,
  pageOf,
  shape,
  string,
} from './schemas-answers.ts'
import { iso, isoOrNull } from './shapes.ts'

const role = oneOf(ROLES)
const name = line(100)
const tenantName = {
  type: 'string',
  pattern: TENANT_NAME,
  description: 'Small letters, digits and hyphens, at most 63, no hyphen first.',
} as const

const keyShape = {
  id: string,
  name: string,
  role,
  permissions: { ...listOf(string), description: 'What it may do in workflows, beside its role.' },
  createdAt: instant,
  createdBy: string,
  expiresAt: { ...nullable(instant), description: 'null: never.' },
  lastUsedAt: { ...nullable(instant), description: 'To the minute; null: not yet.' },
  isExpired: boolean,
} as const
const tenantShape = shape({
  name: string,
  description: nullable(string),
  createdAt: instant,
  createdBy: string,
})

export function addKeyRoutes(app: FastifyInstance, api: Pick<HttpApi, 'access'>): void {
  const list = {
    operationId: 'listKeys',
    tags: ['access'],
    summary: 'The tenant’s keys, oldest first; never their texts',
    querystring: fields(page),
    response: { 200: answer('A page', pageOf(shape(keyShape))) },
  }
  app.get<{ Querystring: PageQuery }>(
    '/keys',
    { config: { role: 'admin' }, schema: list },
    async (request) => {
      const { items, nextCursor } = await api.access.keys.list(
        request.caller.tenant,
        splitQuery(request.query),
      )
      return { items: items.map(showKey), nextCursor }
    },
  )

  const make = {
    operationId: 'createKey',
    tags: ['access'],
    summary: 'Make a key; its text is in this answer and nowhere else',
    body: fields(
      {
        name,
        role,
        permissions: {
          type: 'array',
          items: {
            type: 'string',
            pattern: PERMISSION_NAME,
            description: 'Letters, digits and `_ . : -`, at most 100, such as `triage.approve`.',
          },
          maxItems: PERMISSIONS_MAX,
          description: 'What it may do in workflows, beside its role; an admin may do all of it.',
        },
        expiresIn: {
          type: 'string',
          maxLength: 20,
          description: 'A duration such as `30d`; left out: never.',
        },
        tenant: { ...tenantName, description: 'Another tenant; for the node’s own admin.' },
      },
      ['name', 'role'],
    ),
    response: { 201: answer('The key', shape({ ...keyShape, tenant: string, key: string })) },
  }
  interface NewKeyBody {
    readonly name: string
    readonly role: Role
    readonly permissions?: readonly string[]
    readonly expiresIn?: string
    readonly tenant?: string
  }
  app.post<{ Body: NewKeyBody }>(
    '/keys',
    { config: { role: 'admin', answerIsSecret: true }, schema: make },
    async (request, reply) => {
      const { caller, body } = request
      const tenant = await tenantOf(caller, body.tenant)
      const expiresInMs = body.expiresIn === undefined ? null : parseLife(body.expiresIn)
      const { key, ...row } = await api.access.keys.make(
        tenant,
        { name: body.name.trim(), role: body.role, permissions: body.permissions ?? [], expiresInMs },
        caller.actor,
      )
      reply.code(201)
      return { ...showKey(row), tenant, key }
    },
  )

  const tenantOf = async (caller: Caller, asked: string | undefined): Promise<TenantId> => {
    if (asked === undefined || asked === caller.tenant) return caller.tenant
    if (!caller.isNodeAdmin)
      throw new AppError('not_allowed', 'only the node’s own admin makes keys of other tenants', {
        details: { needed: 'node', role: caller.role },
      })
    if (!(await api.access.tenants.has(asked)))
      throw refusedField('/tenant', `there is no tenant ‘${asked}’; make it first, with POST /v1/tenants`)
    return asked as TenantId
  }

  const revoke = {
    operationId: 'revokeKey',
    tags: ['access'],
    summary: 'End a key and the sessions that stand on it',
    params: idParams,
    response: { 204: empty('It is over') },
  }
  app.delete<{ Params: { id: string } }>(
    '/keys/:id',
    { config: { role: 'admin' }, schema: revoke },
    async (request, reply) => {
      await api.access.keys.revoke(request.caller.tenant, request.params.id, request.caller.actor)
      return reply.code(204).send()
    },
  )
}

export function addTenantRoutes(app: FastifyInstance, api: Pick<HttpApi, 'access'>): void {
  const list = {
    operationId: 'listTenants',
    tags: ['access'],
    summary: 'The tenants of the node, by name',
    querystring: fields(page),
    response: { 200: answer('A page', pageOf(tenantShape)) },
  }
  app.get<{ Querystring: PageQuery }>(
    '/tenants',
    { config: { role: 'node' }, schema: list },
    async (request) => {
      const { items, nextCursor } = await api.access.tenants.list(splitQuery(request.query))
      return { items: items.map(showTenant), nextCursor }
    },
  )

  const make = {
    operationId: 'createTenant',
    tags: ['access'],
    summary: 'Make a tenant; it can have keys, secrets and definitions at once',
    body: fields({ name: tenantName, description: { type: 'string', maxLength: 1_000, ...plainText } }, [
      'name',
    ]),
    response: { 201: answer('The tenant', tenantShape) },
  }
  app.post<{ Body: { name: string; description?: string } }>(
    '/tenants',
    { config: { role: 'node' }, schema: make },
    async (request, reply) => {
      const { name: asked, description = null } = request.body
      const row = await api.access.tenants.make(asked, description, request.caller.actor)
      reply.code(201)
      return showTenant(row)
    },
  )
}

const LIFE_MS_MIN = MINUTE
const LIFE_MS_MAX = 3_650 * DAY

function parseLife(text: string): number {
  const lifeMs = parseDuration(text)
  if (lifeMs === null || lifeMs < LIFE_MS_MIN || lifeMs > LIFE_MS_MAX)
    throw refusedField('/expiresIn', 'write a duration from 1m to 3650d, such as 30d')
  return lifeMs
}

function refusedField(path: string, message: string): AppError {
  return new AppError('invalid_request', `body${path}: ${message}`, {
    details: { fields: [{ path, message }] },
  })
}

function showKey(key: KeyRow) {
  const { id, role, permissions, createdBy, isExpired } = key
  return {
    id,
    name: key.name,
    role,
    permissions,
    createdAt: iso(key.createdAt),
    createdBy,
    expiresAt: isoOrNull(key.expiresAt),
    lastUsedAt: isoOrNull(key.lastUsedAt),
    isExpired,
  }
}

function showTenant({ name, description, createdAt, createdBy }: TenantRow) {
  return { name, description, createdAt: iso(createdAt), createdBy }
}
