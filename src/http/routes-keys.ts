// Keys of a tenant, and the tenants of the node: GET, POST and DELETE /v1/keys; GET and POST /v1/tenants.

import type { FastifyInstance } from 'fastify'
import { PERMISSION_NAME, PERMISSIONS_MAX, ROLES, TENANT_NAME } from '../core/access/callers/index.ts'
import { parseDuration } from '../core/expression/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { DAY, MINUTE } from '../core/foundation/time/index.ts'
import type { Caller, KeyRow, TenantRow } from '../engine/access/index.ts'
import type { HttpApi } from './api.ts'
import { operations, serveOn } from './operations.ts'
import { readFilter, showPage } from './queries.ts'
import type { Kit } from './schema-kit.ts'
import { iso, isoOrNull } from './shapes.ts'

const keyRow = (s: Kit) =>
  s.object({
    id: s.string,
    name: s.string,
    role: s.enum(ROLES),
    permissions: s.list(s.string).describe('What it may do in workflows, beside its role.'),
    createdAt: s.instant,
    createdBy: s.string,
    expiresAt: s.nullable(s.instant).describe('null: never.'),
    lastUsedAt: s.nullable(s.instant).describe('To the minute; null: not yet.'),
    isExpired: s.boolean,
  })

const tenantRow = (s: Kit) =>
  s.object({ name: s.string, description: s.nullable(s.string), createdAt: s.instant, createdBy: s.string })

export const keysOperations = operations('access', (s) => ({
  listKeys: {
    at: 'GET /v1/keys',
    config: { role: 'admin' },
    summary: 'The tenant’s keys, oldest first; never their texts',
    query: s.page({}),
    answer: s.pageOf(keyRow(s)),
  },
  createKey: {
    at: 'POST /v1/keys',
    config: { role: 'admin', answerIsSecret: true },
    summary: 'Make a key; its text is in this answer and nowhere else',
    body: s.fields({
      name: s.line(100),
      role: s.enum(ROLES),
      permissions: s
        .list(
          s.string
            .meta({ pattern: PERMISSION_NAME })
            .describe('Letters, digits and `_ . : -`, at most 100, such as `triage.approve`.'),
        )
        .max(PERMISSIONS_MAX)
        .describe('What it may do in workflows, beside its role; an admin may do all of it.')
        .optional(),
      expiresIn: s.string.max(20).describe('A duration such as `30d`; left out: never.').optional(),
      tenant: s.string
        .meta({ pattern: TENANT_NAME })
        .describe('Another tenant; for the node’s own admin.')
        .optional(),
    }),
    answers: {
      201: s.answer('The key', s.extend(keyRow, { tenant: s.string, key: s.string })),
    },
  },
  revokeKey: {
    at: 'DELETE /v1/keys/:id',
    config: { role: 'admin' },
    summary: 'End a key and the sessions that stand on it',
    params: s.byId(),
    answers: {
      204: s.empty('It is over'),
    },
  },
  listTenants: {
    at: 'GET /v1/tenants',
    config: { role: 'node' },
    summary: 'The tenants of the node, by name',
    query: s.page({}),
    answer: s.pageOf(tenantRow(s)),
  },
  createTenant: {
    at: 'POST /v1/tenants',
    config: { role: 'node' },
    summary: 'Make a tenant; it can have keys, secrets and definitions at once',
    body: s.fields({
      name: s.string
        .meta({ pattern: TENANT_NAME })
        .describe('Small letters, digits and hyphens, at most 63, no hyphen first.'),
      description: s.string.max(1_000).meta(s.plain).optional(),
    }),
    answers: {
      201: s.answer('The tenant', tenantRow(s)),
    },
  },
}))

export function addKeyRoutes(app: FastifyInstance, api: Pick<HttpApi, 'access'>): void {
  const on = serveOn(app, keysOperations)
  on('listKeys', async (request) => {
    return showPage(await api.access.keys.list(request.caller.tenant, readFilter(request.query)), showKey)
  })
  on('createKey', async (request, reply) => {
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
  })

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
  on('revokeKey', async (request, reply) => {
    await api.access.keys.revoke(request.caller.tenant, request.params.id, request.caller.actor)
    return reply.code(204).send()
  })

  on('listTenants', async (request) => {
    return showPage(await api.access.tenants.list(readFilter(request.query)), showTenant)
  })
  on('createTenant', async (request, reply) => {
    const { name: asked, description = null } = request.body
    const row = await api.access.tenants.make(asked, description, request.caller.actor)
    reply.code(201)
    return showTenant(row)
  })
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
