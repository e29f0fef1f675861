// The rotation worker: from a job of the kind `rotation` to another secret in use. The new value is created at the vendor, or
// waits in the vault, or a user is asked for it; it is verified by a call, promoted, and the prior one is revoked after the
// overlap.
//
// Invariants: CD1 the prior version stays in use until the new one is verified. CD14 a crash after any commit converges: a
// created secret is not created twice, a promoted one is verified and recorded, and a finished step is not repeated.

import type {
  CredentialEvent,
  CredentialState,
  Rotation,
} from '../../../core/connections/credential/index.ts'
import { type NewRun, RUN_ATTEMPTS_MAX, runIdOf } from '../../../core/effects/integration-run/index.ts'
import { type FailureClass, failureId } from '../../../core/failures/failure/index.ts'
import { AppError, assert } from '../../../core/foundation/errors/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../../core/foundation/json/index.ts'
import { SECOND } from '../../../core/foundation/time/index.ts'
import { RETRY_PROFILES } from '../../../core/queue/retry/index.ts'
import { type Attempt, EMPTY_NOTE, LOSSES_MAX } from '../../../core/queue/work/index.ts'
import type { Write } from '../../../ports/store.ts'
import { type EventPlan, orFail, RACES_MAX, retrying } from '../../commit/index.ts'
import { countersOf, ledgerGuard, settleLedger } from '../../effects/index.ts'
import { canonicalEvent } from '../../events/index.ts'
import type { Item } from '../../leases/index.ts'
import { lineOf } from '../../observe/index.ts'
import { unreadable } from '../../secrets/index.ts'
import {
  again,
  type Decision,
  dead,
  decideNext,
  done,
  parked,
  type Settlement,
} from '../../settlement/index.ts'
import { CREDENTIAL_PREFIX, credentialOf, newRotation } from './begin-rotation.ts'
import type { CredentialDeps } from './credential-deps.ts'
import {
  type Change,
  type CredentialStateCache,
  isClosed,
  type StoredCredential,
} from './credential-state-cache.ts'
import { type Values, vaultNameOf } from './credential-values.ts'
import type { AtVendor, ReserveEnd } from './secret-at-vendor.ts'
import type { Account, Verified, Verify } from './verify-secret.ts'

export interface Rotations {
  /** Throws StoreError; the caller puts the job back. */
  run(item: Item): Promise<void>
}

/** What revokes the former secret at the vendor. */
const REVOKE_STEP = 'revoke'
const ASIDE_MS = SECOND
const BY = 'millrace'

interface Failed {
  readonly class: FailureClass
  readonly error: string
  readonly retryAfterMs: number | null
  readonly verified: Verified | null
  /** The pending version that failed verification. */
  readonly pending: number | null
  /** Of the call that failed. */
  readonly end: ReserveEnd | null
}

interface About {
  readonly item: Item
  readonly account: Account
  readonly rotation: Rotation
}

export function makeRotations(
  deps: CredentialDeps & {
    readonly stateCache: CredentialStateCache
    readonly values: Values
    readonly verify: Verify
    readonly vendor: AtVendor
  },
): Rotations {
  const { store, log, time, ids, registry, settler, stateCache, values, vendor, secrets } = deps

  const run = async (item: Item): Promise<void> => {
    const { work, event } = item
    const name = credentialOf(work.consumer)
    assert(name !== null, 'a rotation is of a credential')
    assert(work.tenant === event.tenant, 'a rotation and its event are of one tenant')
    const rotationPayload = item.payload() as { readonly token: string; readonly from: number | null }
    const account = accountOf(work.tenant, name)
    if (work.step === REVOKE_STEP) return runRevoke(item, account, name, rotationPayload.token)
    const stored = await ownOf(item, name, rotationPayload)
    if (stored === null) return over(item, 'that rotation is over')
    const rotation = stored.state.rotation as Rotation
    if (account === null) {
      const error = `the credential ${name} or its provider is not defined any more`
      return deadLetterJob(item, name, rotation, { ...NO_TRY, class: 'config', error })
    }
    const end = endOf(item)
    if (end !== null) return deadLetterJob(item, name, rotation, { ...NO_TRY, ...end })
    await rotate({ item, account, rotation }, stored)
  }

  const accountOf = (tenant: TenantId, name: string): Account | null => {
    const found = registry.credential(tenant, name)
    const provider = found === null ? null : registry.provider(tenant, found.document.provider)
    if (found === null || provider === null) return null
    const connection = registry
      .connections(tenant)
      .map(({ document }) => document)
      .find(({ credential, status }) => credential === name && status !== 'retired')
    return {
      tenant,
      provider: provider.document,
      credential: found.document,
      hash: found.hash,
      connection: connection ?? null,
    }
  }

  /** The rotation of this job; null: it is over. A replayed job resumes it unless another one is in progress. */
  const ownOf = async (
    { work }: Item,
    name: string,
    { token, from }: { readonly token: string; readonly from: number | null },
  ): Promise<StoredCredential | null> => {
    const stored = await stateCache.read(work.tenant, name)
    const { rotation, current } = stored.state
    if (rotation?.token === token) return stored
    if (rotation !== null || work.replayOf === null || (current?.version ?? null) !== from) return null
    const begun: Rotation = {
      token,
      reason: 'request',
      note: null,
      by: BY,
      begunAt: time.now(),
      workId: work.id,
      from,
    }
    await stateCache.change(work.tenant, name, () => ({ type: 'begun', at: time.now(), rotation: begun }))
    const now = await stateCache.read(work.tenant, name)
    return now.state.rotation?.token === token ? now : null
  }

  const endOf = ({ work }: Item): { readonly class: FailureClass; readonly error: string } | null => {
    if (work.losses >= LOSSES_MAX)
      return { class: 'poison', error: 'the node stopped each time while this item ran alone' }
    if (time.now() < work.expiresAt) return null
    return { class: work.class ?? 'transient', error: work.lastError ?? 'it waited longer than it may' }
  }

  const rotate = async (about: About, stored: StoredCredential): Promise<void> => {
    const { item, account, rotation } = about
    const { tenant, credential, provider } = account
    const current = await values.read(tenant, credential, 'current', stored.state)
    if (!current.ok && current.code !== 'credential_missing_value')
      return failed(about, { ...NO_TRY, ...current })
    if (current.ok && current.version !== rotation.from) return verifyCurrent(about, current)
    const pending = await values.read(tenant, credential, 'pending', stored.state)
    if (pending.ok && !wasRefused(stored.state, pending)) return verifyPending(about, pending)
    if (!pending.ok && pending.code !== 'credential_missing_value')
      return failed(about, { ...NO_TRY, ...pending })
    if (provider.rotation === null || vaultNameOf(credential) === null || account.connection === null)
      return waitForOperator(about, stored, null)
    const made = await vendor.create(item, account, rotation.token)
    switch (made.is) {
      case 'made': {
        const value = await values.read(tenant, credential, 'pending', stored.state)
        if (value.ok) return verifyPending(about, value, made.ref)
        return waitForOperator(
          about,
          stored,
          'the secret that was made at the vendor is not in the vault any more',
        )
      }
      case 'failed':
        // A refused secret cannot create the next one: jobs wait for it, so a user is asked at once.
        if (made.class === 'auth' && isClosed(stored.state))
          return waitForOperator(
            about,
            stored,
            'the secret that was refused could not make the next one',
            made.end,
          )
        return failed(about, { ...made, verified: null, pending: null })
      case 'lost':
        return waitForOperator(about, stored, made.why)
      case 'aside':
        return aside(item, made.why)
      case 'stale':
        return
    }
  }

  const wasRefused = (
    state: CredentialState,
    value: { readonly version: number; readonly fingerprint: string },
  ) =>
    state.versions.some(
      (one) =>
        one.state === 'refused' && one.version === value.version && one.fingerprint === value.fingerprint,
    )

  type Candidate = { readonly version: number; readonly fingerprint: string }

  const verifyPending = async (about: About, value: Candidate, ref: string | null = null): Promise<void> => {
    const { item, account, rotation } = about
    const { tenant, credential } = account
    const pending = { version: value.version, fingerprint: value.fingerprint }
    const made = rotation.made?.fingerprint === value.fingerprint ? rotation.made.ref : null
    const name = ref ?? made
    await stateCache.change(tenant, credential.name, () => ({
      type: 'supplied',
      at: time.now(),
      pending,
      by: rotation.by,
      ...(name === null ? {} : { ref: name }),
    }))
    const verified = await deps.verify(item, account, 'pending')
    if (verified.failure !== null)
      return failed(about, { ...verified.failure, verified, pending: value.version, end: null })
    const secret = vaultNameOf(credential)
    assert(secret !== null, 'what is pending is in the vault')
    try {
      const { version } = await secrets.promote(tenant, secret, rotation.by, credential.rotation.overlapMs, {
        expectedPendingFingerprint: value.fingerprint,
      })
      await finish(about, { version, fingerprint: value.fingerprint }, verified)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      // Another node was quicker, or a user provided another value meanwhile: it is checked again.
      if (error.code === 'conflict' || error.code === 'not_found') return aside(item, error.message)
      return failed(about, { ...NO_TRY, ...unreadable(error), verified })
    }
  }

  /** The vault has another value in use already: set by us before a crash, or by a user. It is verified all the same. */
  const verifyCurrent = async (about: About, value: Candidate): Promise<void> => {
    const { item, account } = about
    const verified = await deps.verify(item, account, 'current')
    if (verified.failure !== null) return failed(about, { ...NO_TRY, ...verified.failure, verified })
    await finish(about, { version: value.version, fingerprint: value.fingerprint }, verified)
  }

  const finish = async (about: About, current: Candidate, verified: Verified): Promise<void> => {
    const { item, account, rotation } = about
    const { tenant, credential } = account
    const { name } = credential
    const { overlapMs } = credential.rotation
    const at = time.now()
    const counters = { ...countersOf(item), attempts: item.work.attempts + 1 }
    const run = await runRow(item, account, verified, 'completed', counters.attempts)
    const settlement = await settleWith(
      item,
      name,
      [{ type: 'promoted', at, token: rotation.token, current, by: rotation.by }],
      () => endReserve(item, rotation, current),
      ({ state }) => ({
        decision: {
          to: 'done',
          counters,
          note: { ...EMPTY_NOTE, httpStatus: verified.httpStatus, durationMs: verified.durationMs },
          guards: [],
          writes: [...run, ...revokeWrites(item, account, state)],
          attempt:
            counters.attempts === 1 ? null : attemptOf(verified, counters.attempts, 'done', null, null),
        },
        plan: canonicalEvent(deps, {
          tenant,
          subject: 'integration.credential.rotated',
          data: {
            credential: name,
            consumer: `${CREDENTIAL_PREFIX}${name}`,
            provider: credential.provider,
            reason: rotation.reason,
            by: rotation.by,
            from: rotation.from,
            version: current.version,
            fingerprint: current.fingerprint,
            oldUntil: overlapMs === 0 ? null : new Date(at + overlapMs).toISOString(),
          },
          key: rotation.token,
          parent: item.event,
        }),
      }),
    )
    if (settlement?.ok !== true) return
    logRotation(item, name, 'ROTATED', { class: null, error: '', attempts: counters.attempts })
    deps.wake()
  }

  /**
   * A node that crashed while it created the secret left its reserve. The value in use now is that very secret, or another one,
   * or still the prior one (null): then the outcome of the call is unknown.
   */
  const endReserve = async (
    { work }: Item,
    { token, made }: Rotation,
    current: Candidate | null,
  ): Promise<ReserveEnd> => {
    const key = `rotation:${token}`
    const entry = await store.forTenant(work.tenant).ledger(key)
    if (entry?.state !== 'reserved' || entry.work !== work.id) return NO_END
    const write =
      made != null && made.fingerprint === current?.fingerprint
        ? settleLedger(key, 'done', 'acknowledged', made.ref, null)
        : settleLedger(key, 'unknown', 'crash', null, null)
    return { guards: [ledgerGuard(entry)], writes: [write] }
  }

  /** If the vendor can revoke the former one, and its name there is known. */
  const revokeWrites = (
    item: Item,
    { provider, credential, hash }: Account,
    state: CredentialState,
  ): readonly Write[] => {
    const from = state.rotation?.from ?? null
    const former = state.versions.find(({ version }) => version === from)
    if (provider.rotation?.revoke == null || former?.ref === undefined) return []
    const work = newRotation(ids.work(), { name: credential.name, hash }, item.event.id)
    return [
      {
        w: 'work.add',
        work: { ...work, step: REVOKE_STEP },
        lease: null,
        delayMs: credential.rotation.overlapMs,
      },
    ]
  }

  const waitForOperator = async (
    { item, account, rotation }: About,
    stored: StoredCredential,
    why: string | null,
    end: ReserveEnd | null = null,
  ): Promise<void> => {
    const { credential } = account
    const { secret, name } = credential
    const next =
      'ref' in secret
        ? `give it with \`millrace secrets set ${secret.ref} --pending\``
        : 'env' in secret
          ? `set the environment variable ${secret.env} and restart the nodes`
          : `put it into the file ${secret.file} of the folder of secrets`
    const error = `${why === null ? '' : `${why}; `}the credential ${name} needs its next secret: ${next}, and the rotation goes on by itself`
    const settlement = await settleWith(
      item,
      name,
      [{ type: 'waited', at: time.now(), token: rotation.token }],
      firstly(end ?? NO_END, () => endReserve(item, rotation, null)),
      () => ({
        decision: parked({
          counters: countersOf(item),
          note: { ...EMPTY_NOTE, class: 'auth', lastError: error },
        }),
        plan: null,
      }),
      stored,
    )
    if (settlement?.ok === true)
      logRotation(item, name, 'PARKED', { class: 'auth', error, attempts: item.work.attempts })
  }

  /** Retried by the profile of rotations, whatever the class: a new secret may take a moment to be known everywhere. */
  const failed = async (about: About, failure: Failed): Promise<void> => {
    const { item, account, rotation } = about
    const counters = { ...countersOf(item), attempts: item.work.attempts + 1 }
    const isLimited = failure.class === 'rate_limited'
    const step = decideNext(deps, item, RETRY_PROFILES.ROTATION, {
      class: isLimited ? 'rate_limited' : 'transient',
      retryAfterMs: failure.retryAfterMs,
    })
    if (step.step !== 'again')
      return deadLetterJob(item, account.credential.name, rotation, failure, counters.attempts)
    const { name } = account.credential
    const run = await runRow(item, account, failure.verified, 'failed', counters.attempts)
    const decision = again(step.delayMs, {
      counters: step.counters,
      note: {
        ...EMPTY_NOTE,
        class: failure.class,
        lastError: failure.error,
        httpStatus: failure.verified?.httpStatus ?? null,
      },
      guards: failure.end?.guards ?? [],
      writes: [...run, ...(failure.end?.writes ?? [])],
      attempt: attemptOf(failure.verified, counters.attempts, 'again', failure.class, failure.error),
    })
    const settlement = await settler.settle(item, null, decision)
    if (!settlement.ok) return
    deps.wake(step.delayMs)
    logRotation(item, name, 'RETRY', { ...failure, attempts: counters.attempts })
  }

  /** The prior one stays in use; operators are notified. */
  const deadLetterJob = async (
    item: Item,
    name: string,
    rotation: Rotation,
    failure: Failed,
    attempts = item.work.attempts,
  ): Promise<void> => {
    const { tenant } = item.work
    const { class: failureClass, error, verified } = failure
    const account = accountOf(tenant, name)
    const run = account === null ? [] : await runRow(item, account, verified, 'dead-lettered', attempts)
    const settlement = await settleWith(
      item,
      name,
      [{ type: 'failed', at: time.now(), token: rotation.token, error, pending: failure.pending }],
      firstly(failure.end, () => endReserve(item, rotation, null)),
      () => ({
        decision: {
          to: 'dead',
          class: failureClass,
          reason: 'rotation_failed',
          error,
          step: 'rotation',
          counters: { ...countersOf(item), attempts },
          note: {
            ...EMPTY_NOTE,
            class: failureClass,
            lastError: error,
            httpStatus: verified?.httpStatus ?? null,
          },
          guards: [],
          writes: run,
          attempt: verified === null ? null : attemptOf(verified, attempts, 'dead', failureClass, error),
        },
        plan: canonicalEvent(deps, {
          tenant,
          subject: 'integration.failed',
          data: failedData(item, name, failure, attempts),
          key: `${item.work.id}:rotation`,
          parent: item.event,
        }),
      }),
    )
    if (settlement?.ok !== true) return
    logRotation(item, name, 'DEAD_LETTERED', { ...failure, attempts })
    deps.wake()
  }

  /**
   * With the change of the credential and the end of the reserve, in one commit. If either changed meanwhile, that one is
   * read again. `endOfReserve`: from the second call on, as the ledger says it now.
   */
  const settleWith = (
    item: Item,
    name: string,
    events: readonly CredentialEvent[],
    endOfReserve: () => Promise<ReserveEnd>,
    decide: (stored: StoredCredential) => { readonly decision: Decision; readonly plan: EventPlan | null },
    known?: StoredCredential,
  ): Promise<Settlement | null> => {
    const { tenant } = item.work
    let end: ReserveEnd | null = null
    const settleOnce = async (retry: () => Promise<Settlement>, race: number): Promise<Settlement> => {
      const stored = race === 0 && known !== undefined ? known : await stateCache.read(tenant, name)
      end ??= await endOfReserve()
      const change: Change | null = stateCache.plan(tenant, name, stored, events)
      const { decision, plan } = decide(stored)
      const settlement = await settler.settle(item, null, {
        ...decision,
        guards: [...end.guards, ...decision.guards, ...(change === null ? [] : [change.guard])],
        writes: [
          ...decision.writes,
          ...end.writes,
          ...(change === null ? [] : [change.write]),
          ...(plan?.writes ?? []),
        ],
        ...(plan === null ? {} : { plans: [plan] }),
      })
      if (settlement.ok) change?.onStored()
      if (settlement.ok || settlement.why === 'stale') return settlement
      if (settlement.index < end.guards.length) end = null
      return retry()
    }
    const unending = orFail('assertion failed: the record of a credential changes without end')
    return retrying(RACES_MAX, settleOnce, unending)
  }

  const aside = async (item: Item, why: string): Promise<void> => {
    const settlement = await settler.settle(
      item,
      null,
      again(ASIDE_MS, {
        counters: { ...countersOf(item), waits: item.work.waits + 1 },
        note: { ...EMPTY_NOTE, class: item.work.class, lastError: why },
      }),
    )
    if (settlement.ok) deps.wake(ASIDE_MS)
  }

  const over = async (item: Item, why: string): Promise<void> => {
    await settler.settle(
      item,
      null,
      done({ counters: countersOf(item), note: { ...EMPTY_NOTE, lastError: why } }),
    )
  }

  const runRevoke = async (
    item: Item,
    account: Account | null,
    name: string,
    token: string,
  ): Promise<void> => {
    const { from } = item.payload() as { readonly from: number | null }
    const { state } = await stateCache.read(item.work.tenant, name)
    const former = state.versions.find(({ version }) => version === from)
    if (account === null || former?.ref === undefined || former.state === 'active')
      return over(item, 'there is nothing to end at the vendor')
    const current = await values.read(item.work.tenant, account.credential, 'current', state)
    const inUse = current.ok ? current.fingerprint : state.current?.fingerprint
    if (inUse === former.fingerprint) return over(item, 'the former secret is in use again, and stays')
    const made = await vendor.revoke(item, account, token, former.ref)
    switch (made.is) {
      case 'made':
        log.info('credential.revoked', { tenant: item.work.tenant, credential: name, version: from })
        return over(item, 'the former secret was ended at the vendor')
      case 'aside':
        return aside(item, made.why)
      case 'stale':
        return
      case 'lost':
        return revokeFailed(item, name, {
          class: 'unknown',
          error: 'whether the former secret was ended is not known',
          end: null,
        })
      case 'failed':
        return revokeFailed(item, name, made)
    }
  }

  const revokeFailed = async (
    item: Item,
    name: string,
    { class: failureClass, error, end }: Pick<Failed, 'class' | 'error' | 'end'>,
  ): Promise<void> => {
    const attempts = item.work.attempts + 1
    const isLast = attempts >= RETRY_PROFILES.ROTATION.attempts || failureClass === 'unknown'
    const base = {
      counters: { ...countersOf(item), attempts },
      note: { ...EMPTY_NOTE, class: failureClass, lastError: error },
      guards: end?.guards ?? [],
      writes: end?.writes ?? [],
      attempt: attemptOf(null, attempts, isLast ? 'dead' : 'again', failureClass, error),
    }
    const delayMs = RETRY_PROFILES.ROTATION.delaysMs[attempts - 1] ?? SECOND
    const settlement = await settler.settle(
      item,
      null,
      isLast
        ? dead({ class: failureClass, reason: 'rotation_failed', error, step: REVOKE_STEP }, base)
        : again(delayMs, base),
    )
    if (!settlement.ok) return
    deps.wake(delayMs)
    logRotation(item, name, isLast ? 'DEAD_LETTERED' : 'RETRY', { class: failureClass, error, attempts })
  }

  /** Nothing if no call was made. */
  const runRow = async (
    item: Item,
    { provider, connection }: Account,
    verified: Verified | null,
    state: NewRun['state'],
    number: number,
  ): Promise<readonly Write[]> => {
    if (verified === null || verified.answer === null || connection === null) return []
    const { work, event } = item
    const id = runIdOf(work.id)
    const before = number === 1 ? null : await store.forTenant(work.tenant).run(id)
    const { answer, failure, startedAt, durationMs, httpStatus } = verified
    const attempt = {
      number,
      startedAt,
      durationMs,
      class: failure?.class ?? null,
      httpStatus,
      error: failure?.error ?? null,
      credentialVersion: answer.credentialVersion,
      request: answer.requestHead,
      response: answer.responseHead,
    }
    const row: NewRun = {
      id,
      state,
      purpose: 'verification',
      connection: connection.name,
      provider: provider.name,
      operation: 'probe',
      workId: work.id,
      eventId: event.id,
      correlationId: event.correlationId,
      traceId: event.traceId,
      key: null,
      attemptCount: number,
      attempts: [...(before?.attempts ?? []), attempt].slice(-RUN_ATTEMPTS_MAX),
      class: attempt.class,
      httpStatus,
      durationMs,
      error: attempt.error,
      externalRef: null,
      replayOf: null,
    }
    return [{ w: 'run.put', row }]
  }

  const attemptOf = (
    verified: Verified | null,
    number: number,
    outcome: Attempt['outcome'],
    failureClass: FailureClass | null,
    error: string | null,
  ): Attempt => ({
    number,
    startedAt: verified?.startedAt ?? time.now(),
    durationMs: verified?.durationMs ?? 0,
    outcome,
    class: failureClass,
    httpStatus: verified?.httpStatus ?? null,
    error,
  })

  const logRotation = (
    item: Item,
    name: string,
    action: string,
    {
      class: failureClass,
      error,
      attempts,
    }: { readonly class: FailureClass | null; readonly error: string; readonly attempts: number },
  ) =>
    log.control(
      lineOf(action === 'DEAD_LETTERED' ? 'dead-letter' : 'effect', action, item.event, {
        route: name,
        work: item.work.id,
        definition: item.work.definition,
        attempt: attempts,
        class: failureClass,
        message: error,
        errorCode: action === 'DEAD_LETTERED' ? 'rotation_failed' : null,
      }),
    )

  return { run }
}

const NO_END: ReserveEnd = { guards: [], writes: [] }

/** Returns `first` once; afterwards, and where there is none, what `then` returns. */
function firstly<Value>(first: Value | null, then: () => Promise<Value>): () => Promise<Value> {
  let given = first
  return async () => {
    if (given === null) return then()
    const value = given
    given = null
    return value
  }
}

const NO_TRY = { retryAfterMs: null, verified: null, pending: null, end: null } as const

function failedData(
  { work, event }: Item,
  name: string,
  { class: failureClass, error }: Failed,
  attempts: number,
): Readonly<Record<string, JsonValue>> {
  return {
    what: 'rotation',
    failureId: failureId(work.id),
    workId: work.id,
    eventId: event.id,
    consumer: work.consumer,
    route: null,
    severity: 'high',
    credential: name,
    class: failureClass,
    reason: 'rotation_failed',
    attempts,
    terminal: true,
    willRetryAt: null,
    error,
    cause: null,
  }
}
