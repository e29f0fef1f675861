// GET, POST and DELETE /v1/secrets; POST /v1/secrets/{name}/promote and /v1/secrets/rewrap. Values go in and never come out.

import type { FastifyInstance } from 'fastify'
import { parseDuration } from '../core/expression/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import { DAY } from '../core/foundation/time/index.ts'
import { OWN_SECRETS, SECRET_NAME } from '../core/secrets/index.ts'
import type { SecretRow } from '../ports/vault.ts'
import type { HttpApi } from './api.ts'
import { BODY_BYTES_MAX } from './body-limits.ts'
import { operations, serveOn } from './operations.ts'
import { readFilter, showPage } from './queries.ts'
import type { Kit } from './schema-kit.ts'
import { iso } from './shapes.ts'

const OVERLAP_MS_MAX = 7 * DAY

const secretName = (s: Kit) =>
  s.string
    .meta({ pattern: SECRET_NAME })
    .describe(
      'Letters, digits, dots, hyphens and underscores, at most 128; the first is a letter or a digit.',
    )

export const secretsOperations = operations('secrets', (s) => ({
  listSecrets: {
    at: 'GET /v1/secrets',
    config: { role: 'admin' },
    summary: 'Names and versions of the tenant’s secrets; never their values',
    query: s.page({}),
    answer: s.pageOf(
      s.object({
        name: s.string,
        version: s.nullable(s.integer).describe('Of the value in use; null: there is only a pending one.'),
        fingerprint: s
          .nullable(s.string)
          .describe(
            'Of the value in use: tells values apart and says nothing of them. null: there is none, or it does not open.',
          ),
        hasPending: s.boolean,
        pendingFingerprint: s.nullable(s.string).describe('Of the pending value.'),
        oldUntil: s
          .list(s.instant)
          .describe('Until when each former value is valid beside the one in use, the latest one first.'),
        updatedAt: s.instant,
        updatedBy: s.string,
      }),
    ),
  },
  setSecret: {
    at: 'POST /v1/secrets',
    config: { role: 'admin', answerIsSecret: true },
    summary:
      'Set a secret: in use at once, or pending until it is promoted, or verified by the rotation of a credential',
    body: s.fields({
      name: secretName(s),
      value: s.textOf(65_536),
      pending: s.boolean.default(false),
      overlap: s.string
        .max(32)
        .describe(
          'How long the former value stays valid beside the new one, from `0s` to `7d`. Left out: not at all, nor do those before it.',
        )
        .optional(),
    }),
    answers: {
      201: s.answer('Set', s.object({ name: s.string, version: s.integer })),
    },
  },
  promoteSecret: {
    at: 'POST /v1/secrets/:name/promote',
    config: { role: 'admin' },
    summary: 'Put a secret’s pending value in use',
    params: s.fields({ name: secretName(s) }),
    body: s.filters({
      overlap: s.string
        .max(32)
        .describe(
          'How long the former value stays valid beside the new one, from `0s` to `7d`. Left out: not at all, nor do those before it.',
        ),
    }),
    answer: s.answer('In use', s.object({ name: s.string, version: s.integer })),
  },
  rewrapSecrets: {
    at: 'POST /v1/secrets/rewrap',
    config: { role: 'admin' },
    summary: 'Seal the tenant’s secrets with the current master key; values stay as they are',
    answer: s.answer(
      'Sealed',
      s.object({
        rewrapped: s.integer.describe('How many another master key had sealed.'),
        unreadable: s
          .list(s.string)
          .describe('Names of those that no master key of this node opens; they are left as they are.'),
      }),
    ),
  },
  removeSecret: {
    at: 'DELETE /v1/secrets/:name',
    config: { role: 'admin' },
    summary: 'Remove a secret with all its values',
    params: s.fields({ name: secretName(s) }),
    answers: {
      204: s.empty('It is gone'),
    },
  },
}))

export function addSecretRoutes(app: FastifyInstance, api: Pick<HttpApi, 'secrets'>): void {
  const on = serveOn(app, secretsOperations)
  on('listSecrets', async (request) => {
    return showPage(await api.secrets.list(request.caller.tenant, readFilter(request.query)), showSecret)
  })
  on(
    'setSecret',
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
    { bodyLimit: BODY_BYTES_MAX.secret },
  )
  on('promoteSecret', async (request) => {
    const { tenant, actor } = request.caller
    const { name } = request.params
    refuseOwn(name)
    const overlapMs = readOverlap(request.body.overlap)
    const { version } = await api.secrets.promote(tenant, name, actor, overlapMs)
    return { name, version }
  })
  on('rewrapSecrets', async (request) => {
    const { rewrapped, unreadable } = await api.secrets.rewrap([request.caller.tenant])
    return { rewrapped, unreadable: unreadable.map(({ name }) => name) }
  })
  on('removeSecret', async (request, reply) => {
    const { tenant, actor } = request.caller
    await api.secrets.remove(tenant, request.params.name, actor)
    return reply.code(204).send()
  })
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
