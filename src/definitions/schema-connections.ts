// Connections and credentials as written: a tenant's account at a provider, and its secret. One name may have a
// document for each environment; a node uses the one of its own.

import * as z from 'zod'
import { DAY, HOUR, MINUTE, SECOND } from '../core/foundation/time/index.ts'
import {
  duration,
  field,
  literal,
  oneOf,
  optional,
  partName,
  reference,
  secretPlace,
  sends,
  url,
  username,
} from './fields.ts'
import { circuitPolicy, ratePolicy } from './schema-buffers.ts'
import { authModel } from './schema-providers.ts'

const ENVIRONMENTS = ['DEV', 'QA', 'PROD'] as const
export type EnvironmentName = (typeof ENVIRONMENTS)[number]

const environment = () => oneOf(...ENVIRONMENTS)

export const connectionFields = {
  environment: optional(
    environment(),
    'The one that it is for: a name may have a document for each, and a node takes that of its own `MILLRACE_ENV`.',
    'every one that has no document of its own',
  ),
  provider: field(reference(), 'Whose account it is: a `kind: Provider`, or one that comes with Millrace.'),
  credential: optional(
    reference(),
    'The name of a `kind: Credential` of the same provider.',
    'the provider takes none',
  ),
  config: optional(
    sends(['vars']),
    'What the provider wants to know of the account; sees `vars`. No secrets.',
    'empty',
  ),
  endpoints: optional(
    z.record(partName(), field(url(['vars', 'config']), 'One address.')),
    'Addresses in place of the provider’s; `default` is the base. Sees `vars` and `config`.',
    'the provider’s',
  ),
  status: optional(oneOf('active', 'retired'), '`retired`: it runs nothing, for good.', {
    default: 'active',
  }),
  // The map first: its errors are reported, rather than that it is not `none`.
  probe: optional(
    z.union([
      z.strictObject({
        every: optional(duration(5 * SECOND, DAY), 'Once in so long.', { default: '1m' }),
        timeout: optional(duration(SECOND, MINUTE), 'How long an answer may take.', { default: '10s' }),
      }),
      oneOf('none'),
    ]),
    'How often it is looked whether the other side is well; `none`: never.',
    'as below',
  ),
  buckets: optional(
    z.record(partName(), field(ratePolicy(), 'One of them.')),
    'In place of the provider’s, by name.',
    'the provider’s',
  ),
  circuit: optional(
    z.union([circuitPolicy, oneOf('off')]),
    'When nothing is sent for a while because the other side fails; `off`: never.',
    'as below',
  ),
}

const scopes = () => z.array(literal({ minLength: 1 })).max(100)

export const credentialFields = {
  environment: optional(
    environment(),
    'The one that it is for: a name may have a document for each, and a node takes that of its own `MILLRACE_ENV`.',
    'every one that has no document of its own',
  ),
  provider: field(reference(), 'At whom it is known.'),
  auth: optional(authModel(), 'How: one of the provider’s models.', 'the provider’s first'),
  secret: field(
    secretPlace(),
    'Where the value is: the key, the token, the password, the client’s secret, the private key (PEM) or the key file (JSON). Never the value itself.',
  ),
  username: optional(username(), 'Of `basic`.', 'needed with `basic`'),
  oauth2: optional(
    z.strictObject({
      grant: optional(
        oneOf('clientCredentials', 'authorizationCode'),
        'As the client itself, or on behalf of a person who allowed it.',
        { default: 'clientCredentials' },
      ),
      clientId: field(literal({ minLength: 1 }), 'The client’s name at the provider.'),
      scopes: optional(scopes(), 'What is asked for.', 'the provider’s'),
      audience: optional(literal({ minLength: 1 }), 'For whom the token is.', 'not said'),
    }),
    'Of `oauth2`: who asks for tokens.',
    'needed with `oauth2`',
  ),
  githubApp: optional(
    z.strictObject({
      appId: field(literal({ minLength: 1 }), 'The app.'),
      installationId: field(literal({ minLength: 1 }), 'Its installation.'),
    }),
    'Of `githubApp`: which app, and where it is installed.',
    'needed with `githubApp`',
  ),
  serviceAccount: optional(
    z.strictObject({
      scopes: optional(scopes(), 'What is asked for.', 'nothing in particular'),
      subject: optional(literal({ minLength: 1 }), 'On whose behalf.', 'its own'),
    }),
    'Of `serviceAccount`.',
    'as below',
  ),
  hmac: optional(
    z.strictObject({
      algorithm: optional(oneOf('sha256', 'sha512'), 'The hash under the HMAC.', { default: 'sha256' }),
    }),
    'Of `hmac`.',
    'as below',
  ),
  rotation: optional(
    z.strictObject({
      every: optional(
        duration(HOUR, 3_650 * DAY),
        'Once in so long.',
        'only when somebody asks, or when it is refused',
      ),
      coolDown: optional(
        duration(SECOND, 7 * DAY),
        'How long after a rotation that failed none is begun by a refusal.',
        { default: '10m' },
      ),
      overlap: optional(
        duration(0, 30 * DAY),
        'For how long the former value stays good beside the new one.',
        { default: '1m' },
      ),
    }),
    'When another value takes its place.',
    'as below',
  ),
}
