// GET, POST and DELETE /v1/secrets; POST /v1/secrets/{name}/promote. Values go in and never come out.

import type { FastifyInstance } from 'fastify'
import { SECRET_NAME } from '../core/secret/index.ts'
import type { SecretRow } from '../ports/vault.ts'
import type { HttpApi } from './api.ts'
import { BODY_BYTES_MAX } from './body-limits.ts'
import { fields, type PageQuery, page, splitQuery } from './schemas.ts'
import {
  answer,
  boolean,
  empty,
  instant,
  integer,
  nullable,
  pageOf,
  shape,
  string,
} from './schemas-answers.ts'
import { iso } from './shapes.ts'

const VALUE_LENGTH_MAX = 65_536

const secretName = {
  type: 'string',
  pattern: SECRET_NAME,
  description:
    'Letters, digits, dots, hyphens and underscores, at most 128; the first is a letter or a digit.',
} as const
const nameParams = fields({ name: secretName }, ['name'])

const rowShape = shape({
  name: string,
  version: { ...nullable(integer), description: 'Of the value in use; null: there is only a pending one.' },
  hasPending: boolean,
  updatedAt: instant,
  updatedBy: string,
})
const versionShape = shape({ name: string, version: integer })

export function addSecretRoutes(app: FastifyInstance, api: Pick<HttpApi, 'secrets'>): void {
  const list = {
    operationId: 'listSecrets',
    tags: ['secrets'],
    summary: 'Names and versions of the tenant’s secrets; never their values',
    querystring: fields(page),
    response: { 200: answer('A page', pageOf(rowShape)) },
  }
  app.get<{ Querystring: PageQuery }>(
    '/secrets',
    { config: { role: 'admin' }, schema: list },
    async (request) => {
      const { items, nextCursor } = await api.secrets.list(request.caller.tenant, splitQuery(request.query))
      return { items: items.map(showSecret), nextCursor }
    },
  )

  const set = {
    operationId: 'setSecret',
    tags: ['secrets'],
    summary: 'Set a secret: in use at once, or pending until it is promoted',
    body: fields(
      {
        name: secretName,
        value: { type: 'string', minLength: 1, maxLength: VALUE_LENGTH_MAX },
        pending: { type: 'boolean', default: false },
      },
      ['name', 'value'],
    ),
    response: { 201: answer('Set', versionShape) },
  }
  app.post<{ Body: { name: string; value: string; pending: boolean } }>(
    '/secrets',
    { bodyLimit: BODY_BYTES_MAX.secret, config: { role: 'admin', answerIsSecret: true }, schema: set },
    async (request, reply) => {
      const { tenant, actor } = request.caller
      const { name, value, pending } = request.body
      const { version } = await api.secrets.set(tenant, name, value, { isPending: pending, by: actor })
      reply.code(201)
      return { name, version }
    },
  )

  const promote = {
    operationId: 'promoteSecret',
    tags: ['secrets'],
    summary: 'Put a secret’s pending value in use',
    params: nameParams,
    response: { 200: answer('In use', versionShape) },
  }
  app.post<{ Params: { name: string } }>(
    '/secrets/:name/promote',
    { config: { role: 'admin' }, schema: promote },
    async (request) => {
      const { tenant, actor } = request.caller
      const { name } = request.params
      const { version } = await api.secrets.promote(tenant, name, actor)
      return { name, version }
    },
  )

  const remove = {
    operationId: 'removeSecret',
    tags: ['secrets'],
    summary: 'Remove a secret with all its values',
    params: nameParams,
    response: { 204: empty('It is gone') },
  }
  app.delete<{ Params: { name: string } }>(
    '/secrets/:name',
    { config: { role: 'admin' }, schema: remove },
    async (request, reply) => {
      const { tenant, actor } = request.caller
      await api.secrets.remove(tenant, request.params.name, actor)
      return reply.code(204).send()
    },
  )
}

function showSecret({ name, version, hasPending, updatedAt, updatedBy }: SecretRow) {
  return { name, version, hasPending, updatedAt: iso(updatedAt), updatedBy }
}
