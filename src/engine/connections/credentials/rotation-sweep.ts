// Background work of rotations: continues one that waited for a user and has its value by now, ends one whose job an operator
// ended, and starts those that are due by policy. Every node checks, to follow the others; among those with the role, the
// record of the credential decides who acts.

import { type CredentialState, nextRotationAt } from '../../../core/connections/credential/index.ts'
import { messageOf } from '../../../core/foundation/errors/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { EMPTY_NOTE, type WorkState } from '../../../core/queue/work/index.ts'
import { again } from '../../settlement/index.ts'
import { type BeginRotation, ROTATION_EXPIRES_MS } from './begin-rotation.ts'
import type { CredentialDeps } from './credential-deps.ts'
import type { CredentialStateCache } from './credential-state-cache.ts'
import { type Values, vaultNameOf } from './credential-values.ts'

export interface RotationSweep {
  /** A user may have provided the value that a rotation waits for, or one that was not requested. */
  look(tenant: TenantId, credential: string, by: string): Promise<void>
  start(): void
  stop(): Promise<void>
}

/** A value that was provided but whose rotation was not started: the node stopped in between. */
const LOOK_FOR_VALUES_EVERY = 12
const BY = 'millrace'
const AFRESH = { attempts: 0, waits: 0, losses: 0 }
const OVER: readonly WorkState[] = ['done', 'dead', 'cancelled', 'skipped', 'merged']

export function makeRotationSweep(
  deps: CredentialDeps & {
    readonly stateCache: CredentialStateCache
    readonly values: Values
    readonly begin: BeginRotation
    /** Whether this node acts on what it finds. */
    readonly hasScheduleRole: boolean
    readonly followMs: number
    /** Other periodic work for a tenant. */
    tidy(tenant: TenantId): Promise<void>
  },
): RotationSweep {
  const { store, clock, log, time, registry, settler, stateCache, values, begin } = deps
  let isStopped = true
  let cancel = () => {}
  let sweeps = 0
  let active: Promise<void> = Promise.resolve()

  /** Makes the parked job due, with the state of the credential, in one commit. False: its job is over. */
  const resume = async (tenant: TenantId, name: string): Promise<boolean> => {
    const stored = await stateCache.read(tenant, name)
    const { rotation } = stored.state
    if (rotation === null) return true
    const reads = store.forTenant(tenant)
    const work = await reads.work(rotation.workId)
    const event = work === null ? null : await reads.event(work.eventId)
    if (isOver(work)) return false
    if (work?.state !== 'parked' || event === null) return true
    const change = stateCache.plan(tenant, name, stored, [
      { type: 'resumed', at: time.now(), token: rotation.token },
    ])
    const settlement = await settler.settleUnheld(
      { work, event },
      null,
      again(0, {
        counters: AFRESH,
        note: { ...EMPTY_NOTE, class: work.class, lastError: 'its next secret is there' },
        // A user may have used up all of its time.
        expiresInMs: ROTATION_EXPIRES_MS,
        guards: change === null ? [] : [change.guard],
        writes: change === null ? [] : [change.write],
      }),
      { g: 'work', work: work.id, state: 'parked', epoch: work.epoch },
    )
    if (!settlement.ok) return true
    change?.onStored()
    log.info('credential.rotation-resumed', { tenant, credential: name, work: work.id })
    deps.wake()
    return true
  }

  /** An operator cancelled or discarded its job: nothing else will end the rotation. False: its job is not over. */
  const endAbandoned = async (tenant: TenantId, name: string): Promise<boolean> => {
    const { state } = await stateCache.read(tenant, name)
    const { rotation } = state
    if (rotation === null) return true
    if (!isOver(await store.forTenant(tenant).work(rotation.workId))) return false
    const { token } = rotation
    const error = 'its work item was ended before the rotation was'
    await stateCache.change(tenant, name, () => ({
      type: 'failed',
      at: time.now(),
      token,
      error,
      pending: null,
    }))
    log.warn('credential.rotation-abandoned', { tenant, credential: name, work: rotation.workId })
    deps.wake()
    return true
  }

  const look: RotationSweep['look'] = async (tenant, name, by) => {
    const document = registry.credential(tenant, name)?.document
    if (document === undefined) return
    const { state } = await stateCache.read(tenant, name)
    const { rotation } = state
    const current = await values.read(tenant, document, 'current', state)
    const pending = await values.read(tenant, document, 'pending', state)
    const isNew =
      pending.ok &&
      !state.versions.some(
        (one) =>
          one.state === 'refused' &&
          one.version === pending.version &&
          one.fingerprint === pending.fingerprint,
      )
    if (rotation !== null) {
      const isThere = isNew || (current.ok && current.version !== rotation.from)
      if (state.status === 'waiting' && isThere && (await resume(tenant, name))) return
      // A value that was provided after its job ended is for a rotation of its own.
      if (!(await endAbandoned(tenant, name))) return
    }
    if (isNew && pending.ok) {
      const cause = () => `supplied:${pending.fingerprint}`
      // Another node may have verified or refused it meanwhile.
      const isWanted = ({ versions }: CredentialState) =>
        !versions.some(
          (one) =>
            (one.state === 'active' || one.state === 'refused') &&
            one.version === pending.version &&
            one.fingerprint === pending.fingerprint,
        )
      await begin(tenant, name, { reason: 'supplied', cause, note: null, by, isWanted })
    }
  }

  const lookAtAll = async (tenant: TenantId): Promise<void> => {
    const all = registry.credentials(tenant)
    if (all.length === 0) return
    await stateCache.learn(tenant)
    if (!deps.hasScheduleRole) return
    for (const { document } of all) {
      if (isStopped) return
      const { name, rotation: policy } = document
      const state = stateCache.find(tenant, name)
      const looksForValues = sweeps % LOOK_FOR_VALUES_EVERY === 1 && vaultNameOf(document) !== null
      if (state.rotation !== null || looksForValues) await look(tenant, name, BY)
      const dueAt = nextRotationAt(state, policy)
      if (stateCache.find(tenant, name).rotation !== null || dueAt === null || dueAt > time.now()) continue
      const cause = () => `policy:${dueAt}`
      // What this node knows may be outdated: another one may have created it since.
      const isWanted = (now: CredentialState) => nextRotationAt(now, policy) === dueAt
      await begin(tenant, name, { reason: 'policy', cause, note: null, by: BY, isWanted })
    }
    await deps.tidy(tenant)
  }

  const sweep = async (): Promise<void> => {
    sweeps += 1
    for (const tenant of registry.tenants()) {
      if (isStopped) return
      try {
        await lookAtAll(tenant)
      } catch (error) {
        log.warn('credentials.not-followed', { tenant, error: messageOf(error) })
      }
    }
  }

  const next = () => {
    if (isStopped) return
    cancel = clock.after(deps.followMs, () => {
      active = sweep().then(next)
    })
  }

  return {
    look,
    start() {
      isStopped = false
      next()
    },
    async stop() {
      isStopped = true
      cancel()
      await active
    },
  }
}

function isOver(work: { readonly state: WorkState } | null): boolean {
  return work === null || OVER.includes(work.state)
}
