// GET /v1/code/refused, /v1/code/refused/{id}; POST /v1/code/refused/{id}/sign: stored code that must not run, and signing it.

import type { FastifyInstance } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import type { HttpApi } from './api.ts'
import { idParams, neededReasonBody } from './schemas.ts'
import { answer, integer, listOf, shape, string } from './schemas-answers.ts'

const bundle = {
  codeHash: { ...string, description: 'The SHA-256 of its text.' },
  file: { ...string, description: 'The file of the folder that it was made of.' },
  bytes: integer,
  why: { ...string, description: 'Why it must not run, and what to do.' },
  usedBy: {
    ...listOf(string),
    description:
      'Definitions that pin it, in any stored version, as `default/Route/book`. Empty: no job needs it.',
  },
}

export function addRefusedCodeRoutes(app: FastifyInstance, api: Pick<HttpApi, 'refusedCode'>): void {
  const list = {
    operationId: 'listRefusedCode',
    tags: ['node'],
    summary: 'Stored code that this node refuses to run',
    response: { 200: answer('All of it', shape({ items: listOf(shape(bundle)) })) },
  }
  app.get('/code/refused', { config: { role: 'node' }, schema: list }, async () => ({
    items: await api.refusedCode.list(),
  }))

  const one = {
    operationId: 'getRefusedCode',
    tags: ['node'],
    summary: 'One refused bundle with its text',
    params: idParams,
    response: { 200: answer('The bundle', shape({ ...bundle, text: string })) },
  }
  app.get<{ Params: { id: string } }>(
    '/code/refused/:id',
    { config: { role: 'node' }, schema: one },
    async (request) => {
      const found = await api.refusedCode.one(request.params.id)
      if (found === null) throw new AppError('not_found', 'no refused code has this hash')
      return found
    },
  )

  const sign = {
    operationId: 'signRefusedCode',
    tags: ['node'],
    summary: 'Sign a refused bundle, so that its jobs go on',
    description:
      'Read its text first: it runs with all rights of the process. Only code without a signature, or signed with a master key that the node was not given, can be signed. Code with a forged signature or a changed text cannot: deploy its file again. Signing what is signed changes nothing.',
    params: idParams,
    body: neededReasonBody,
    response: { 200: answer('It is signed', shape({ codeHash: string })) },
  }
  app.post<{ Params: { id: string }; Body: { reason: string } }>(
    '/code/refused/:id/sign',
    { config: { role: 'node', isIdempotent: true }, schema: sign },
    async (request) => {
      const { id } = request.params
      await api.refusedCode.sign(id, { actor: request.caller.actor, reason: request.body.reason })
      return { codeHash: id }
    },
  )
}
