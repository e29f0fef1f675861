// Composes what connections need of jobs that end: credentials with their rotations, and the health worker.

import { definitionId } from '../../core/definitions/documents/index.ts'
import { messageOf } from '../../core/foundation/errors/index.ts'
import type { EngineBase } from '../commit/index.ts'
import type { EngineConfig } from '../config.ts'
import type { Definitions, Registry } from '../definitions/index.ts'
import type { Lease } from '../leases/index.ts'
import type { Decisions, Settler } from '../settlement/index.ts'
import { type HealthWorker, makeHealthWorker, type Watched } from './connection-health.ts'
import type { Credentials } from './connection-types.ts'
import type { Connections } from './connections.ts'
import { type ComposedCredentials, makeCredentials } from './credentials/index.ts'

interface Deps extends EngineBase {
  readonly registry: Registry
  readonly definitions: Pick<Definitions, 'owners'>
  readonly connections: Connections
  readonly settler: Settler
  readonly decisions: Decisions
  readonly lease: Lease
  /** What tests use instead of those made here. */
  readonly credentials: Credentials | undefined
}

export function composeCredentials(
  deps: Deps,
  config: Pick<EngineConfig, 'node' | 'sendWithinMs' | 'responseBytesMax' | 'roles' | 'followMs'>,
): { readonly credentials: ComposedCredentials; readonly health: HealthWorker } {
  const { definitions, log, ids } = deps
  const { outboundClient, authorizeWith } = deps.connections
  const credentials = makeCredentials(
    {
      ...deps,
      outboundClient,
      managedBy: (tenant, name) =>
        definitions.owners(tenant).get(definitionId({ kind: 'Credential', name })) ?? 'folder',
    },
    config,
  )
  authorizeWith(deps.credentials ?? credentials.credentials)
  const { refused, accepted } = credentials.credentials
  const warn = (error: unknown) => log.warn('connection.not-probed', { error: messageOf(error) })
  const health = makeHealthWorker(
    {
      ...deps,
      outboundClient,
      watched: () => findWatched(deps),
      begin: outboundClient.mayTry,
      probed: outboundClient.probed,
      refused({ tenant, connection: { credential } }, version, error) {
        if (credential === null) return
        refused(tenant, credential, { version, correlationId: ids.uuid(), error }).catch(warn)
      },
      accepted({ tenant, connection: { credential } }, version, since) {
        if (credential !== null) accepted(tenant, credential, version, since).catch(warn)
      },
    },
    config,
  )
  return { credentials, health }
}

/** Connections that are tested and not retired: the others are not used, so nothing waits for them. */
function findWatched({ registry, connections }: Pick<Deps, 'registry' | 'connections'>): readonly Watched[] {
  return registry.tenants().flatMap((tenant) =>
    registry.connections(tenant).flatMap(({ document }) => {
      const provider = document.probe === null ? null : registry.provider(tenant, document.provider)
      const status = connections.status(tenant, document.name)
      if (provider === null || status === 'pending' || status === 'retired') return []
      return [{ tenant, connection: document, provider: provider.document }]
    }),
  )
}
