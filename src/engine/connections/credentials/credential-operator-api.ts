// The operator API of credentials.

import { nextRotationAt } from '../../../core/connections/credential/index.ts'
import type { CredentialDocument, ManagedBy } from '../../../core/definitions/documents/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { CredentialView, Integrations } from '../connection-types.ts'
import type { BeginRotation } from './begin-rotation.ts'
import type { CredentialDeps } from './credential-deps.ts'
import type { CredentialStateCache } from './credential-state-cache.ts'
import { type Values, vaultNameOf } from './credential-values.ts'
import type { RotationSweep } from './rotation-sweep.ts'

export interface CredentialOperatorApi extends Pick<Integrations, 'credentials' | 'credential' | 'rotate'> {
  /** A pending value was stored in the vault under this name: rotations that it belongs to start, or continue. */
  supplied(tenant: TenantId, secret: string, by: string): Promise<void>
}

export function makeCredentialOperatorApi(
  deps: Pick<CredentialDeps, 'registry' | 'time' | 'ids'> & {
    readonly stateCache: CredentialStateCache
    readonly values: Values
    readonly begin: BeginRotation
    readonly waiting: Pick<RotationSweep, 'look'>
    managedBy(tenant: TenantId, credential: string): ManagedBy
  },
): CredentialOperatorApi {
  const { registry, time, ids, stateCache, values, begin, waiting } = deps

  const find = (tenant: TenantId, name: string): CredentialDocument => {
    const found = registry.credential(tenant, name)
    if (found === null) throw new AppError('not_found', `there is no credential ${name}`)
    return found.document
  }

  /** As the vault has it by now. */
  const lookUp = async (tenant: TenantId, document: CredentialDocument) => {
    const { name } = document
    const { state } = await stateCache.read(tenant, name)
    const value = await values.read(tenant, document, 'current', state)
    const isAway = !value.ok && value.code !== 'credential_missing_value'
    if (state.rotation !== null || isAway || document.auth === 'none') return state
    const current = value.ok ? { version: value.version, fingerprint: value.fingerprint } : null
    return stateCache.change(tenant, name, (now) =>
      now.rotation === null ? { type: 'found', at: time.now(), current, by: 'vault' } : null,
    )
  }

  const view = async (tenant: TenantId, document: CredentialDocument): Promise<CredentialView> => {
    const { name, rotation } = document
    const state = await lookUp(tenant, document)
    const connections = registry
      .connections(tenant)
      .flatMap(({ document: one }) => (one.credential === name ? [one.name] : []))
    return {
      document,
      managedBy: deps.managedBy(tenant, name),
      state,
      connections,
      nextRotationAt: nextRotationAt(state, rotation),
    }
  }

  return {
    async credentials(tenant) {
      const views: CredentialView[] = []
      for (const { document } of registry.credentials(tenant)) views.push(await view(tenant, document))
      return views
    },
    credential: async (tenant, name) => view(tenant, find(tenant, name)),
    async rotate(tenant, name, reason, { by, reason: note }) {
      const document = find(tenant, name)
      if (document.auth === 'none')
        throw new AppError('conflict', `the credential ${name} has no secret to rotate`)
      await lookUp(tenant, document)
      const cause = `${reason}:${ids.uuid()}`
      const { isNew, workId } = await begin(tenant, name, { reason, cause: () => cause, note, by })
      return { rotationId: workId, isNew, view: await view(tenant, document) }
    },
    async supplied(tenant, secret, by) {
      for (const { document } of registry.credentials(tenant))
        if (vaultNameOf(document) === secret) await waiting.look(tenant, document.name, by)
    },
  }
}
