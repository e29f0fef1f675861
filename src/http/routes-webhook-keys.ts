// GET /webhooks/{tenant}/{name}/keys: the public keys of a subscription that signs with ed25519, for its receiver, who has no API
// key. They are public by nature. Any other name gets the same response as an unknown one, so that a request reveals nothing.

import type { FastifyInstance } from 'fastify'
import { AppError } from '../core/foundation/errors/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import type { HttpApi } from './api.ts'
import { operations, serveOn } from './operations.ts'

/** A rotation without overlap is believed so much later. */
const CACHED_SECONDS = 60

export const webhookKeysOperations = operations('open', (s) => ({
  listWebhookKeys: {
    at: 'GET /webhooks/:tenant/:name/keys',
    summary:
      'The public keys that deliveries of an ed25519 subscription are verified with, the current first',
    params: s.fields({ tenant: s.as<TenantId>(s.text), name: s.text }),
    answer: s.answer(
      'The keys',
      s.object({
        keys: s.list(
          s.object({
            id: s.string,
            algorithm: s.enum(['ed25519']),
            key: s.string.describe('`whpk_` and the base64 of the public key.'),
          }),
        ),
      }),
    ),
  },
}))

export function addWebhookKeyRoutes(app: FastifyInstance, api: Pick<HttpApi, 'subscriptions'>): void {
  const on = serveOn(app, webhookKeysOperations)
  on('listWebhookKeys', async ({ params }, reply) => {
    const keys = await api.subscriptions.publicKeys(params.tenant, params.name)
    if (keys === null) throw new AppError('not_found', 'there are no public keys here')
    reply.header('cache-control', `public, max-age=${CACHED_SECONDS}`)
    return { keys }
  })
}
