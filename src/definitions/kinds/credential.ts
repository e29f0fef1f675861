// A credential: the secret of an account at a provider, and how it authenticates. The environment it was written for is
// not part of its normal form: that is where it is deployed.

import * as z from 'zod'
import {
  type CredentialDocument,
  ROTATION_COOL_DOWN_MS,
  ROTATION_OVERLAP_MS,
} from '../../core/definitions/documents/index.ts'
import { DAY, HOUR, SECOND } from '../../core/foundation/time/index.ts'
import { duration, field, literal, oneOf, optional, reference, secretPlace, username } from '../fields.ts'
import { checkKeyless } from '../keyless.ts'
import { milliseconds } from '../written.ts'
import { checkCredential } from './connection-checks.ts'
import { type KindDeclaration, type Known, lazily } from './kind.ts'
import { envelope, environment, resolveSecret } from './parts.ts'
import { authModel } from './provider.ts'

const scopes = () => z.array(literal({ minLength: 1 })).max(100)

const schema = lazily(() =>
  z
    .strictObject({
      ...envelope('Credential'),
      environment: environment(),
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
    })
    .meta({ title: 'Credential' }),
)

type CredentialInput = z.infer<ReturnType<typeof schema>>

export const credentialKind: KindDeclaration<CredentialDocument, ReturnType<typeof schema>> = {
  schema,
  resolve: resolveCredential,
  check: (value, around) => [...checkCredential(value, around), ...checkKeyless(value, [])],
  hasEnvironments: true,
  summary: 'The secret of an account, and how it authenticates.',
  template: `kind: Credential
name: NAME
provider: NAME
auth: bearer
secret: { ref: NAME }
`,
}

/** null: its provider is not known. */
function resolveCredential(input: CredentialInput, { providers }: Known): CredentialDocument | null {
  const auth = input.auth ?? providers.get(input.provider)?.auth.find((one) => one !== 'none')
  if (auth === undefined) return null
  const { oauth2, githubApp, serviceAccount, hmac, rotation } = input
  return {
    kind: 'Credential',
    name: input.name,
    description: input.description ?? null,
    provider: input.provider,
    auth,
    secret: resolveSecret(input.secret),
    username: input.username ?? null,
    oauth2:
      oauth2 === undefined
        ? null
        : {
            grant: oauth2.grant ?? 'clientCredentials',
            clientId: oauth2.clientId,
            scopes: oauth2.scopes ?? null,
            audience: oauth2.audience ?? null,
          },
    githubApp: githubApp ?? null,
    serviceAccount:
      auth === 'serviceAccount'
        ? { scopes: serviceAccount?.scopes ?? [], subject: serviceAccount?.subject ?? null }
        : null,
    hmac: auth === 'hmac' ? { algorithm: hmac?.algorithm ?? 'sha256' } : null,
    rotation: {
      everyMs: rotation?.every === undefined ? null : milliseconds(rotation.every, 0),
      coolDownMs: milliseconds(rotation?.coolDown, ROTATION_COOL_DOWN_MS),
      overlapMs: milliseconds(rotation?.overlap, ROTATION_OVERLAP_MS),
    },
  }
}
