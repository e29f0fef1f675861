// GET /openapi.json: the document that `npm run docs` made from what the routes declare.

import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import { stringifyJson } from '../core/foundation/json/index.ts'
import { operations, serveOn } from './operations.ts'

/** Beside this file, and beside the bundle's folder. */
const DOCUMENT = new URL('../http/openapi.generated.json', import.meta.url)

export const openApiOperations = operations('open', (s) => ({
  getOpenApi: {
    at: 'GET /openapi.json',
    summary: 'This document',
    answer: s.answer('OpenAPI 3.1', s.anyObject),
  },
}))

/** Call it before any route is added. */
export function addOpenApi(app: FastifyInstance): void {
  // The schemas of answers document and test; what is sent is what the route answered, whole.
  app.setSerializerCompiler(() => (value) => stringifyJson(value))
  app.register(async (scope) => {
    const on = serveOn(scope, openApiOperations)
    let text: string | undefined
    on('getOpenApi', async (_request, reply) => {
      text ??= await readFile(DOCUMENT, 'utf8')
      return reply.type('application/json').send(text)
    })
  })
}
