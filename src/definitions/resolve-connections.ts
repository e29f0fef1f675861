// The normal forms of connections and credentials. The environment it was written for is not part of it: that is where
// it is deployed.

import {
  type AuthModel,
  type CircuitPolicy,
  type ConnectionDocument,
  type CredentialDocument,
  PROBE_EVERY_MS,
  PROBE_TIMEOUT_MS,
  ROTATION_COOL_DOWN_MS,
  ROTATION_OVERLAP_MS,
  USUAL_CIRCUIT,
} from '../core/definitions/documents/index.ts'
import { parseDuration } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { withoutTrailingSlashes } from '../core/foundation/text/index.ts'
import { resolveCircuitInline } from './resolve-buffers.ts'
import { resolveBucket } from './resolve-providers.ts'
import { resolveSecret } from './resolve-secrets.ts'
import type { ConnectionInput, CredentialInput } from './schema.ts'

export function resolveConnection(input: ConnectionInput): ConnectionDocument {
  const { endpoints = {}, buckets = {}, probe = {} } = input
  return {
    kind: 'Connection',
    name: input.name,
    description: input.description ?? null,
    provider: input.provider,
    credential: input.credential ?? null,
    config: (input.config ?? {}) as JsonValue,
    endpoints: Object.fromEntries(
      Object.entries(endpoints).map(([name, address]) => [name, withoutTrailingSlashes(address)]),
    ),
    status: input.status ?? 'active',
    probe:
      probe === 'none'
        ? null
        : {
            everyMs: milliseconds(probe.every, PROBE_EVERY_MS),
            timeoutMs: milliseconds(probe.timeout, PROBE_TIMEOUT_MS),
          },
    buckets: Object.fromEntries(Object.entries(buckets).map(([name, one]) => [name, resolveBucket(one)])),
    circuit: resolveCircuit(input.circuit),
  }
}

function resolveCircuit(input: ConnectionInput['circuit']): CircuitPolicy | null {
  if (input === undefined) return USUAL_CIRCUIT
  return input === 'off' ? null : resolveCircuitInline(input)
}

/** `usual`: the first model of its provider; null: it is not known. */
export function resolveCredential(
  input: CredentialInput,
  usual: AuthModel | null,
): CredentialDocument | null {
  const auth = input.auth ?? usual
  if (auth === null) return null
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

function milliseconds(text: string | undefined, otherwise: number): number {
  return text === undefined ? otherwise : (parseDuration(text) ?? otherwise)
}
