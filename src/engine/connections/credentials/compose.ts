// Composes credentials: for the outbound client, for the worker of rotations, and for operators.

import type { ManagedBy } from '../../../core/definitions/documents/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { EngineConfig } from '../../config.ts'
import { SHORT_WAIT_MS } from '../../settlement/index.ts'
import type { Authorized, Credentials, ToAuthorize } from '../connection-types.ts'
import { makeAuthorize } from './authorize-request.ts'
import { makeBegin } from './begin-rotation.ts'
import type { CredentialDeps } from './credential-deps.ts'
import { type CredentialOperatorApi, makeCredentialOperatorApi } from './credential-operator-api.ts'
import { makeCredentialStateCache } from './credential-state-cache.ts'
import { makeValues } from './credential-values.ts'
import { makeTokens } from './derived-tokens.ts'
import { type Consent, makeConsent } from './oauth-consent.ts'
import { makeRefusals } from './refused-credentials.ts'
import { makeRotationSweep } from './rotation-sweep.ts'
import { makeRotations, type Rotations } from './rotation-worker.ts'
import { makeAtVendor } from './secret-at-vendor.ts'
import { makeVerify } from './verify-secret.ts'

export interface ComposedCredentials {
  readonly credentials: Credentials
  readonly rotations: Rotations
  readonly operatorApi: CredentialOperatorApi & Omit<Consent, 'tidy'>
  /** Reads the stored state of a tenant's credentials. */
  learn(tenant: TenantId): Promise<void>
  /** Checks what is due, and follows the other nodes. */
  start(): void
  stop(): Promise<void>
}

const ANOTHER_IN_USE = 'another secret is in use by now'

export function makeCredentials(
  deps: CredentialDeps & { managedBy(tenant: TenantId, credential: string): ManagedBy },
  config: Pick<EngineConfig, 'node' | 'sendWithinMs' | 'responseBytesMax' | 'roles' | 'followMs'>,
): ComposedCredentials {
  const stateCache = makeCredentialStateCache({ ...deps, opened: () => deps.wake() })
  const values = makeValues(deps)
  const tokens = makeTokens({ ...deps, stateCache, newLock: () => `${config.node}/${deps.ids.uuid()}` })
  const authorize = makeAuthorize({ ...deps, stateCache, values, tokens })
  const begin = makeBegin({ ...deps, stateCache, values })
  const verify = makeVerify({ ...deps, authorize })
  const rotations = makeRotations({
    ...deps,
    stateCache,
    values,
    verify,
    vendor: makeAtVendor({ ...deps, stateCache }, config),
  })
  const consent = makeConsent({ ...deps, stateCache, values, tokens, allowed: () => deps.wake() })
  const rotationSweep = makeRotationSweep({
    ...deps,
    stateCache,
    values,
    begin,
    tidy: consent.tidy,
    hasScheduleRole: config.roles.has('schedule'),
    followMs: config.followMs,
  })
  const refusals = makeRefusals({ ...deps, stateCache, values, begin, verify })

  /** If the token address refuses a client's secret, it is rotated like one that a call is refused for; the caller retries. */
  const authorizeOrRotate = async (request: ToAuthorize, isAgain = false): Promise<Authorized> => {
    const allowed = await authorize(request)
    if (
      allowed.ok ||
      request.secret === 'pending' ||
      allowed.code !== 'oauth_refused' ||
      allowed.class !== 'auth'
    )
      return allowed
    const { tenant, credential } = request
    const { state } = await stateCache.read(tenant, credential.name)
    const value = await values.read(tenant, credential, 'current', state)
    // A rotation was quicker: the refused value is no longer in use.
    if (!isAgain && value.ok && value.version !== allowed.version) return authorizeOrRotate(request, true)
    const about = { version: null, correlationId: deps.ids.uuid(), error: allowed.error }
    const next = await refusals.refused(tenant, credential.name, about)
    if (next.is === 'dead') return { ...allowed, error: `${allowed.error}; ${next.why}` }
    const wait = next.is === 'wait' ? next : { delayMs: SHORT_WAIT_MS, why: ANOTHER_IN_USE }
    return { ...allowed, class: 'transient', wait: { delayMs: wait.delayMs, why: wait.why } }
  }

  return {
    credentials: { authorize: (request) => authorizeOrRotate(request), ...refusals },
    rotations,
    operatorApi: {
      ...makeCredentialOperatorApi({ ...deps, stateCache, values, begin, waiting: rotationSweep }),
      authorizeUrl: consent.authorizeUrl,
      authorized: consent.authorized,
    },
    learn: stateCache.learn,
    start: rotationSweep.start,
    stop: rotationSweep.stop,
  }
}
