// GET /v1/me; POST and DELETE /v1/session; POST /v1/session/links: who the caller is, and how the console gets to be one.

import type { FastifyInstance } from 'fastify'
import { ROLES } from '../core/access/callers/index.ts'
import { ROLES as NODE_ROLES } from '../core/queue/node-role/index.ts'
import type { Caller } from '../engine/access/index.ts'
import type { HttpApi } from './api.ts'
import { addressGroup, assertOwnOrigin, baseUrl, sessionCookie } from './auth.ts'
import { operations, serveOn } from './operations.ts'
import { iso } from './shapes.ts'

export const accessOperations = operations('access', (s) => ({
  getMe: {
    at: 'GET /v1/me',
    config: { role: 'viewer' },
    summary: 'Who the caller is, and where',
    answer: s.answer(
      'The caller',
      s.object({
        tenant: s.string,
        role: s.enum(ROLES),
        permissions: s.list(s.string),
        actor: s.string,
        isNodeAdmin: s.boolean,
        environment: s.string,
        version: s.string,
        node: s.string,
        nodeRoles: s.list(s.enum(NODE_ROLES)),
      }),
    ),
  },
  signIn: {
    at: 'POST /v1/session',
    config: { role: 'open' },
    summary: 'Begin a session of the console, by key or by one-time link; the cookie comes with the answer',
    body: s
      .filters({ key: s.textOf(4_096), link: s.textOf(4_096) })
      .meta({ minProperties: 1, maxProperties: 1 }),
    answers: {
      201: s.answer(
        'Signed in',
        s.object({
          tenant: s.string,
          role: s.enum(ROLES),
          permissions: s.list(s.string),
          actor: s.string,
          expiresAt: s.instant,
        }),
      ),
    },
  },
  signOut: {
    at: 'DELETE /v1/session',
    config: { role: 'viewer' },
    summary: 'End the session',
    answers: {
      204: s.empty('It is over'),
    },
  },
  makeSignInLink: {
    at: 'POST /v1/session/links',
    config: { role: 'admin', answerIsSecret: true },
    summary: 'Make a link that signs a browser in as the caller, once, within the hour',
    body: s.fields({}),
    answers: {
      201: s.answer('The link', s.object({ url: s.string, expiresAt: s.instant })),
    },
  },
}))

export function addAccessRoutes(app: FastifyInstance, api: Pick<HttpApi, 'access' | 'about'>): void {
  const on = serveOn(app, accessOperations)
  on('getMe', async (request) => {
    const { environment, version, node, roles } = api.about
    return {
      ...showCaller(request.caller),
      isNodeAdmin: request.caller.isNodeAdmin,
      environment,
      version,
      node,
      nodeRoles: roles,
    }
  })
  on('signIn', async (request, reply) => {
    assertOwnOrigin(request)
    const { key, link } = request.body
    const shown = key === undefined ? { link: link as string } : { key }
    const { caller, token, expiresAt, lifeMs } = await api.access.signIn(shown, addressGroup(request.ip))
    reply.code(201).header('set-cookie', sessionCookie(request, token, lifeMs))
    return { ...showCaller(caller), expiresAt: iso(expiresAt) }
  })
  on('signOut', async (request, reply) => {
    await api.access.signOut(request.caller)
    return reply
      .code(204)
      .header('set-cookie', sessionCookie(request, '', 0))
      .send()
  })
  on('makeSignInLink', async (request, reply) => {
    const { token, expiresAt } = await api.access.makeLink(request.caller)
    reply.code(201)
    return { url: signInUrl(baseUrl(request), token), expiresAt: iso(expiresAt) }
  })
}

/** The token follows the `#`: browsers do not send that part to servers. */
export function signInUrl(base: string, token: string): string {
  return `${base}/sign-in#link=${token}`
}

function showCaller({ tenant, role, permissions, actor }: Caller) {
  return { tenant, role, permissions, actor }
}
