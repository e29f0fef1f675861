// GET /v1/code/refused, /v1/code/refused/{id}; POST /v1/code/refused/{id}/sign: stored code that must not run, and signing it.

import type { FastifyInstance } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import type { HttpApi } from './api.ts'
import { operations, serveOn } from './operations.ts'
import type { Kit } from './schema-kit.ts'

const refusedRow = (s: Kit) =>
  s.object({
    codeHash: s.string.describe('The SHA-256 of its text.'),
    file: s.string.describe('The file of the folder that it was made of.'),
    bytes: s.integer,
    why: s.string.describe('Why it must not run, and what to do.'),
    usedBy: s
      .list(s.string)
      .describe(
        'Definitions that pin it, in any stored version, as `default/Route/book`. Empty: no job needs it.',
      ),
  })

export const refusedCodeOperations = operations('node', (s) => ({
  listRefusedCode: {
    at: 'GET /v1/code/refused',
    config: { role: 'node' },
    summary: 'Stored code that this node refuses to run',
    answer: s.answer(
      'All of it',
      s.object({
        items: s.list(refusedRow(s)),
      }),
    ),
  },
  getRefusedCode: {
    at: 'GET /v1/code/refused/:id',
    config: { role: 'node' },
    summary: 'One refused bundle with its text',
    params: s.byId(),
    answer: s.answer('The bundle', s.extend(refusedRow, { text: s.string })),
  },
  signRefusedCode: {
    at: 'POST /v1/code/refused/:id/sign',
    config: { role: 'node', isIdempotent: true },
    summary: 'Sign a refused bundle, so that its jobs go on',
    description:
      'Read its text first: it runs with all rights of the process. Only code without a signature, or signed with a master key that the node was not given, can be signed. Code with a forged signature or a changed text cannot: deploy its file again. Signing what is signed changes nothing.',
    params: s.byId(),
    body: s.fields({ reason: s.reason }),
    answer: s.answer('It is signed', s.object({ codeHash: s.string })),
  },
}))

export function addRefusedCodeRoutes(app: FastifyInstance, api: Pick<HttpApi, 'refusedCode'>): void {
  const on = serveOn(app, refusedCodeOperations)
  on('listRefusedCode', async () => ({
    items: await api.refusedCode.list(),
  }))
  on('getRefusedCode', async (request) => {
    const found = await api.refusedCode.one(request.params.id)
    if (found === null) throw new AppError('not_found', 'no refused code has this hash')
    return found
  })
  on('signRefusedCode', async (request) => {
    const { id } = request.params
    await api.refusedCode.sign(id, { actor: request.caller.actor, reason: request.body.reason })
    return { codeHash: id }
  })
}
