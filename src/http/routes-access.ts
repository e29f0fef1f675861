// GET /v1/me; POST and DELETE /v1/session; POST /v1/session/links: who the caller is, and how the console gets to be one.

import type { FastifyInstance } from 'fastify'
import { ROLES } from '../core/access/callers/index.ts'
import { ROLES as NODE_ROLES } from '../core/queue/node-role/index.ts'
import type { Caller } from '../engine/access/index.ts'
import type { HttpApi } from './api.ts'
import { addressGroup, assertOwnOrigin, baseUrl, sessionCookie } from './auth.ts'
import { fields, oneOf } from './schemas.ts'
import { answer, boolean, empty, instant, listOf, shape, string } from './schemas-answers.ts'
import { iso } from './shapes.ts'

const shownToken = { type: 'string', minLength: 1, maxLength: 4_096 } as const
const callerShape = {
  tenant: string,
  role: oneOf(ROLES),
  permissions: listOf(string),
  actor: string,
} as const

export function addAccessRoutes(app: FastifyInstance, api: Pick<HttpApi, 'access' | 'about'>): void {
  const me = {
    operationId: 'getMe',
    tags: ['access'],
    summary: 'Who the caller is, and where',
    response: {
      200: answer(
        'The caller',
        shape({
          ...callerShape,
          isNodeAdmin: boolean,
          environment: string,
          version: string,
          node: string,
          nodeRoles: listOf(oneOf(NODE_ROLES)),
        }),
      ),
    },
  }
  app.get('/me', { config: { role: 'viewer' }, schema: me }, async (request) => {
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

  const signIn = {
    operationId: 'signIn',
    tags: ['access'],
    summary: 'Begin a session of the console, by key or by one-time link; the cookie comes with the answer',
    body: {
      ...fields({ key: shownToken, link: shownToken }),
      minProperties: 1,
      maxProperties: 1,
    },
    response: { 201: answer('Signed in', shape({ ...callerShape, expiresAt: instant })) },
  }
  app.post<{ Body: { key?: string; link?: string } }>(
    '/session',
    { config: { role: 'open' }, schema: signIn },
    async (request, reply) => {
      assertOwnOrigin(request)
      const { key, link } = request.body
      const shown = key === undefined ? { link: link as string } : { key }
      const { caller, token, expiresAt, lifeMs } = await api.access.signIn(shown, addressGroup(request.ip))
      reply.code(201).header('set-cookie', sessionCookie(request, token, lifeMs))
      return { ...showCaller(caller), expiresAt: iso(expiresAt) }
    },
  )

  const signOut = {
    operationId: 'signOut',
    tags: ['access'],
    summary: 'End the session',
    response: { 204: empty('It is over') },
  }
  app.delete('/session', { config: { role: 'viewer' }, schema: signOut }, async (request, reply) => {
    await api.access.signOut(request.caller)
    return reply
      .code(204)
      .header('set-cookie', sessionCookie(request, '', 0))
      .send()
  })

  const link = {
    operationId: 'makeSignInLink',
    tags: ['access'],
    summary: 'Make a link that signs a browser in as the caller, once, within the hour',
    body: fields({}),
    response: { 201: answer('The link', shape({ url: string, expiresAt: instant })) },
  }
  app.post(
    '/session/links',
    { config: { role: 'admin', answerIsSecret: true }, schema: link },
    async (request, reply) => {
      const { token, expiresAt } = await api.access.makeLink(request.caller)
      reply.code(201)
      return { url: signInUrl(baseUrl(request), token), expiresAt: iso(expiresAt) }
    },
  )
}

/** The token follows the `#`: browsers do not send that part to servers. */
export function signInUrl(base: string, token: string): string {
  return `${base}/sign-in#link=${token}`
}

function showCaller({ tenant, role, permissions, actor }: Caller) {
  return { tenant, role, permissions, actor }
}
