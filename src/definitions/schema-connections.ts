// Connections and credentials as written: a tenant's account at a provider, and its secret. One name may have a
// document for each environment; a node uses the one of its own.

import * as z from 'zod'
import { DAY, HOUR, MINUTE, SECOND } from '../core/foundation/time/index.ts'
import { duration, literal, oneOf, partName, reference, secretPlace, sends, url, username } from './fields.ts'
import { circuitPolicy, ratePolicy } from './schema-buffers.ts'
import { authModel } from './schema-providers.ts'

const ENVIRONMENTS = ['DEV', 'QA', 'PROD'] as const
export type EnvironmentName = (typeof ENVIRONMENTS)[number]

const environment = () => oneOf(...ENVIRONMENTS).optional()

export const connectionFields = {
  environment: environment(),
  provider: reference(),
  credential: reference().optional(),
  config: sends(['vars']).optional(),
  endpoints: z.record(partName(), url(['vars', 'config'])).optional(),
  status: oneOf('active', 'retired').optional(),
  // The map first: its errors are reported, rather than that it is not `none`.
  probe: z
    .union([
      z.strictObject({
        every: duration(5 * SECOND, DAY).optional(),
        timeout: duration(SECOND, MINUTE).optional(),
      }),
      oneOf('none'),
    ])
    .optional(),
  buckets: z.record(partName(), ratePolicy).optional(),
  circuit: z.union([circuitPolicy, oneOf('off')]).optional(),
}

const scopes = () =>
  z
    .array(literal({ minLength: 1 }))
    .max(100)
    .optional()

export const credentialFields = {
  environment: environment(),
  provider: reference(),
  auth: authModel().optional(),
  secret: secretPlace(),
  username: username().optional(),
  oauth2: z
    .strictObject({
      grant: oneOf('clientCredentials', 'authorizationCode').optional(),
      clientId: literal({ minLength: 1 }),
      scopes: scopes(),
      audience: literal({ minLength: 1 }).optional(),
    })
    .optional(),
  githubApp: z
    .strictObject({ appId: literal({ minLength: 1 }), installationId: literal({ minLength: 1 }) })
    .optional(),
  serviceAccount: z
    .strictObject({ scopes: scopes(), subject: literal({ minLength: 1 }).optional() })
    .optional(),
  hmac: z.strictObject({ algorithm: oneOf('sha256', 'sha512').optional() }).optional(),
  rotation: z
    .strictObject({
      every: duration(HOUR, 3_650 * DAY).optional(),
      coolDown: duration(SECOND, 7 * DAY).optional(),
      overlap: duration(0, 30 * DAY).optional(),
    })
    .optional(),
}
