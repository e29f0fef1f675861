// GET, POST and DELETE /v1/secrets; POST /v1/secrets/{name}/promote and /v1/secrets/rewrap. Values go in and never come out.

import type { FastifyInstance } from 'fastify'
import { parseDuration } from '../core/expression/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import { DAY } from '../core/foundation/time/index.ts'
import { OWN_SECRETS, SECRET_NAME } from '../core/secrets/index.ts'
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
const OVERLAP_MS_MAX = 7 * DAY

const overlap = {
  type: 'string',
  maxLength: 32,
  description:
    'How long the former value stays valid beside the new one, from `0s` to `7d`. Left out: not at all, nor do those before it.',
} as const

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
  fingerprint: {
    ...nullable(string),
    description:
      'Of the value in use: tells values apart and says nothing of them. null: there is none, or it does not open.',
  },
  hasPending: boolean,
  pendingFingerprint: { ...nullable(string), description: 'Of the pending value.' },
  oldUntil: {
    type: 'array',
    items: instant,
    description: 'Until when each former value is valid beside the one in use, the latest one first.',
  },
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
    summary:
      'Set a secret: in use at once, or pending until it is promoted, or verified by the rotation of a credential',
    body: fields(
      {
        name: secretName,
        value: { type: 'string', minLength: 1, maxLength: VALUE_LENGTH_MAX },
        pending: { type: 'boolean', default: false },
        overlap,
      },
      ['name', 'value'],
    ),
    response: { 201: answer('Set', versionShape) },
  }
  app.post<{ Body: { name: string; value: string; pending: boolean; overlap?: string } }>(
    '/secrets',
    { bodyLimit: BODY_BYTES_MAX.secret, config: { role: 'admin', answerIsSecret: true }, schema: set },
    async (request, reply) => {
      const { tenant, actor } = request.caller
      const { name, value, pending } = request.body
      refuseOwn(name)
      if (pending && request.body.overlap !== undefined) {
        throw refusedOverlap('a pending value replaces none yet: give the overlap when it is promoted')
      }
      const overlapMs = readOverlap(request.body.overlap)
      const { version } = await api.secrets.set(tenant, name, value, {
        isPending: pending,
        by: actor,
        overlapMs,
      })
      if (pending) await api.secrets.onPending?.(tenant, name, actor)
      reply.code(201)
      return { name, version }
    },
  )

  const promote = {
    operationId: 'promoteSecret',
    tags: ['secrets'],
    summary: 'Put a secret’s pending value in use',
    params: nameParams,
    body: fields({ overlap }),
    response: { 200: answer('In use', versionShape) },
  }
  app.post<{ Params: { name: string }; Body: { overlap?: string } }>(
    '/secrets/:name/promote',
    { config: { role: 'admin' }, schema: promote },
    async (request) => {
      const { tenant, actor } = request.caller
      const { name } = request.params
      refuseOwn(name)
      const overlapMs = readOverlap(request.body.overlap)
      const { version } = await api.secrets.promote(tenant, name, actor, overlapMs)
      return { name, version }
    },
  )

  const rewrap = {
    operationId: 'rewrapSecrets',
    tags: ['secrets'],
    summary: 'Seal the tenant’s secrets with the current master key; values stay as they are',
    response: {
      200: answer(
        'Sealed',
        shape({
          rewrapped: { ...integer, description: 'How many another master key had sealed.' },
          unreadable: {
            type: 'array',
            items: string,
            description: 'Names of those that no master key of this node opens; they are left as they are.',
          },
        }),
      ),
    },
  }
  app.post('/secrets/rewrap', { config: { role: 'admin' }, schema: rewrap }, async (request) => {
    const { rewrapped, unreadable } = await api.secrets.rewrap([request.caller.tenant])
    return { rewrapped, unreadable: unreadable.map(({ name }) => name) }
  })

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

function readOverlap(text: string | undefined): number {
  if (text === undefined) return 0
  const overlapMs = parseDuration(text)
  if (overlapMs === null || overlapMs > OVERLAP_MS_MAX) {
    throw refusedOverlap('write a duration from 0s to 7d, such as 24h')
  }
  return overlapMs
}

/** Removing one is allowed: its token is requested again. */
function refuseOwn(name: string): void {
  if (!name.startsWith(OWN_SECRETS)) return
  const message = `what begins with \`${OWN_SECRETS}\` keeps tokens of credentials: give the secret another name`
  throw new AppError('invalid_request', `name: ${message}`, {
    details: { fields: [{ path: '/name', message }] },
  })
}

function refusedOverlap(message: string): AppError {
  return new AppError('invalid_request', `body/overlap: ${message}`, {
    details: { fields: [{ path: '/overlap', message }] },
  })
}

function showSecret({ oldUntil, updatedAt, ...row }: SecretRow) {
  return { ...row, oldUntil: oldUntil.map((at) => iso(at)), updatedAt: iso(updatedAt) }
}
