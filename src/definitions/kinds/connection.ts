// A connection: a tenant's account at a provider. The environment it was written for is not part of its normal form: that
// is where it is deployed.

import * as z from 'zod'
import {
  type CircuitPolicy,
  type ConnectionDocument,
  PROBE_EVERY_MS,
  PROBE_TIMEOUT_MS,
  USUAL_CIRCUIT,
} from '../../core/definitions/documents/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { withoutTrailingSlashes } from '../../core/foundation/text/index.ts'
import { DAY, MINUTE, SECOND } from '../../core/foundation/time/index.ts'
import { duration, field, oneOf, optional, partName, reference, sends, url } from '../fields.ts'
import { checkKeyless } from '../keyless.ts'
import { milliseconds } from '../written.ts'
import { checkConnection } from './connection-checks.ts'
import { type KindDeclaration, lazily } from './kind.ts'
import { circuitPolicy, envelope, environment, ratePolicy, resolveCircuitInline } from './parts.ts'
import { resolveBucket } from './provider.ts'

const schema = lazily(() =>
  z
    .strictObject({
      ...envelope('Connection'),
      environment: environment(),
      provider: field(
        reference(),
        'Whose account it is: a `kind: Provider`, or one that comes with Millrace.',
      ),
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
        z.union([circuitPolicy(), oneOf('off')]),
        'When nothing is sent for a while because the other side fails; `off`: never.',
        'as below',
      ),
    })
    .meta({ title: 'Connection' }),
)

type ConnectionInput = z.infer<ReturnType<typeof schema>>

export const connectionKind: KindDeclaration<ConnectionDocument, ReturnType<typeof schema>> = {
  schema,
  resolve: resolveConnection,
  check: (value, around) => [...checkConnection(value, around), ...checkKeyless(value, [])],
  hasEnvironments: true,
  summary: "A tenant's account at a provider.",
  template: `kind: Connection
name: NAME
provider: NAME
credential: NAME
`,
}

function resolveConnection(input: ConnectionInput): ConnectionDocument {
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
