// GET /webhooks/{tenant}/{name}/keys: the public keys of a subscription that signs with ed25519, for its receiver, who has no API
// key. They are public by nature. Any other name gets the same response as an unknown one, so that a request reveals nothing.

import type { FastifyInstance } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import type { HttpApi } from './api.ts'
import { fields, text } from './schemas.ts'
import { answer, listOf, shape, string } from './schemas-answers.ts'

/** A rotation without overlap is believed so much later. */
const CACHED_SECONDS = 60

export function addWebhookKeyRoutes(app: FastifyInstance, api: Pick<HttpApi, 'subscriptions'>): void {
  app.get<{ Params: { tenant: TenantId; name: string } }>(
    '/webhooks/:tenant/:name/keys',
    {
      schema: {
        operationId: 'listWebhookKeys',
        tags: ['open'],
        summary:
          'The public keys that deliveries of an ed25519 subscription are verified with, the current first',
        params: fields({ tenant: text, name: text }, ['tenant', 'name']),
        response: {
          200: answer(
            'The keys',
            shape({
              keys: listOf(
                shape({
                  id: string,
                  algorithm: { type: 'string', enum: ['ed25519'] },
                  key: { ...string, description: '`whpk_` and the base64 of the public key.' },
                }),
              ),
            }),
          ),
        },
      },
    },
    async ({ params }, reply) => {
      const keys = await api.subscriptions.publicKeys(params.tenant, params.name)
      if (keys === null) throw new AppError('not_found', 'there are no public keys here')
      reply.header('cache-control', `public, max-age=${CACHED_SECONDS}`)
      return { keys }
    },
  )
}
