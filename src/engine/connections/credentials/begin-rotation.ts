// Starts a rotation: its event, its job, and the credential that the job locks, in one commit.
//
// Invariants: CD2 one rotation at a time, identified by its token: of any number of nodes that start one for the same cause,
// one does. CD3 whether one is wanted is decided by the state that the commit guards.

import {
  type CredentialEvent,
  type CredentialState,
  type RotationReason,
  rotationToken,
} from '../../../core/connections/credential/index.ts'
import type { CredentialDocument } from '../../../core/definitions/documents/index.ts'
import { CANONICAL_SOURCE } from '../../../core/events/canonical/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import type { TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import { DAY } from '../../../core/foundation/time/index.ts'
import type { NewWork } from '../../../core/queue/work/index.ts'
import type { Write } from '../../../ports/store.ts'
import { orConflict, RACES_MAX, retrying } from '../../commit/index.ts'
import { canonicalEvent, canonicalKey } from '../../events/index.ts'
import type { CredentialDeps } from './credential-deps.ts'
import type { CredentialStateCache } from './credential-state-cache.ts'
import type { Values } from './credential-values.ts'

export interface ToBegin {
  readonly reason: RotationReason
  /** The same cause for the same version is one rotation. */
  cause(state: CredentialState): string
  readonly note: string | null
  readonly by: string
  /** Of the timeline that it belongs to; omitted: it starts one. */
  readonly correlationId?: string
  /** The vendor refused the version in use. */
  readonly isRefused?: true
  /** Evaluated with the state that the commit guards: an earlier decision may be outdated. Omitted: it is wanted. */
  isWanted?(state: CredentialState): boolean
}

export interface Begun {
  readonly isNew: boolean
  readonly state: CredentialState
  /** null: there is none, because it is over already or no longer wanted. */
  readonly workId: WorkId | null
}

export type BeginRotation = (tenant: TenantId, name: string, asked: ToBegin) => Promise<Begun>

export const CREDENTIAL_PREFIX = 'credential:'
/** A user may need days to provide the new secret. */
export const ROTATION_EXPIRES_MS = 30 * DAY
const DEDUP_MS = DAY
const ROTATING = 'integration.credential.rotating'

export function credentialOf(consumer: string): string | null {
  return consumer.startsWith(CREDENTIAL_PREFIX) ? consumer.slice(CREDENTIAL_PREFIX.length) : null
}

export function newRotation(
  id: WorkId,
  { name, hash }: { readonly name: string; readonly hash: string },
  eventId: NewWork['eventId'],
  replayOf: NewWork['replayOf'] = null,
): NewWork {
  return {
    id,
    kind: 'rotation',
    consumer: `${CREDENTIAL_PREFIX}${name}`,
    definition: hash,
    codeHash: null,
    eventId,
    expiresInMs: ROTATION_EXPIRES_MS,
    replayOf,
  }
}

export function makeBegin(
  deps: CredentialDeps & { readonly stateCache: CredentialStateCache; readonly values: Values },
): BeginRotation {
  const { ids, time, unitOfWork, registry, stateCache, values, log } = deps

  /** The value that the vault has in use and that is not recorded yet: the rotation starts from it. */
  const findCurrent = async (
    tenant: TenantId,
    document: CredentialDocument,
    state: CredentialState,
  ): Promise<readonly CredentialEvent[]> => {
    const value = await values.read(tenant, document, 'current', state)
    if (!value.ok) return []
    const { version, fingerprint } = value
    return [{ type: 'found', at: time.now(), current: { version, fingerprint }, by: 'vault' }]
  }

  return (tenant, name, asked) => {
    const found = registry.credential(tenant, name)
    if (found === null) return Promise.reject(new AppError('not_found', `there is no credential ${name}`))
    const beginOnce = async (retry: () => Promise<Begun>): Promise<Begun> => {
      const stored = await stateCache.read(tenant, name)
      const { rotation } = stored.state
      const seen = rotation === null ? await findCurrent(tenant, found.document, stored.state) : []
      const { state: before } = stateCache.plan(tenant, name, stored, seen)?.next ?? stored
      const { current } = before
      const at = time.now()
      const refused: readonly CredentialEvent[] = asked.isRefused
        ? [{ type: 'refused', at, version: current?.version ?? 0 }]
        : []
      if (rotation !== null) {
        const state = asked.isRefused
          ? await stateCache.change(tenant, name, () => refused[0] ?? null)
          : stored.state
        return { isNew: false, state, workId: rotation.workId }
      }
      if (asked.isWanted?.(before) === false) return { isNew: false, state: before, workId: null }
      const { reason, note, by } = asked
      const from = current?.version ?? null
      const token = rotationToken(name, from, asked.cause(before))
      const workId = ids.work()
      const plan = canonicalEvent(deps, {
        tenant,
        subject: ROTATING,
        data: {
          credential: name,
          consumer: `${CREDENTIAL_PREFIX}${name}`,
          provider: found.document.provider,
          reason,
          by,
          token,
          from,
          note,
        },
        key: token,
        parent: null,
        object: { type: 'credential', id: name },
        dedupForMs: DEDUP_MS,
        ...(asked.correlationId === undefined ? {} : { correlationId: asked.correlationId }),
      })
      const begun = { token, reason, note, by, begunAt: at, workId, from }
      const change = stateCache.plan(tenant, name, stored, [
        ...seen,
        ...refused,
        { type: 'begun', at, rotation: begun },
      ])
      const work = newRotation(workId, { name, hash: found.hash }, plan.event.id)
      const add: Write = { w: 'work.add', work, lease: null, delayMs: 0 }
      if (change === null) {
        unitOfWork.release([plan])
        return retry()
      }
      const result = await unitOfWork.firmly(tenant, {
        guards: [change.guard, { g: 'dedup', source: CANONICAL_SOURCE, key: canonicalKey(ROTATING, token) }],
        writes: [...plan.writes, add, change.write],
        plans: [plan],
      })
      if (result.ok) {
        change.onStored()
        log.info('credential.rotating', { tenant, credential: name, reason, from, by, work: workId })
        deps.wake()
        return { isNew: true, state: change.next.state, workId }
      }
      if (result.guard !== 1) return retry()
      // This very rotation was started, and is over by now.
      const { state } = await stateCache.read(tenant, name)
      return { isNew: false, state, workId: state.rotation?.workId ?? null }
    }
    return retrying(RACES_MAX, beginOnce, orConflict(`the credential ${name} changes without end`))
  }
}
