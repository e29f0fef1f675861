// Creates a new secret at the vendor by an operation of its provider, under the ledger: the key is the rotation's token, so
// that no crash creates a second one. Revokes the former one in the same way.
//
// Invariants: CD13 one secret per rotation is created: an unknown outcome needs a user's decision, unless the operation may be
// repeated. CD12 the new value goes from the response into the vault, and nowhere else.

import { operationOf } from '../../../core/definitions/documents/index.ts'
import {
  type CompiledOperation,
  compileOperation,
  must,
  parseResponse,
} from '../../../core/effects/action/index.ts'
import { keyOfGeneration, type LedgerEntry } from '../../../core/effects/ledger/index.ts'
import {
  compileExpression,
  describeError as describe,
  ExpressionError,
} from '../../../core/expression/index.ts'
import type { FailureClass } from '../../../core/failures/failure/index.ts'
import { AppError, messageOf } from '../../../core/foundation/errors/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../../core/foundation/json/index.ts'
import { type Instant, MINUTE, SECOND } from '../../../core/foundation/time/index.ts'
import { fingerprintOf, makeRedact } from '../../../core/secrets/index.ts'
import type { Guard, Write } from '../../../ports/store.ts'
import type { EngineConfig } from '../../config.ts'
import {
  errorText,
  factsOf,
  leaseGuard,
  ledgerGuard,
  newEntry,
  reserveGuard,
  settleLedger,
  unreservedGuard,
} from '../../effects/index.ts'
import type { Item } from '../../leases/index.ts'
import { unreadable } from '../../secrets/index.ts'
import { SETTLE_MARGIN_MS } from '../../settlement/index.ts'
import type { OutboundResponse } from '../connection-types.ts'
import type { CredentialDeps } from './credential-deps.ts'
import type { CredentialStateCache } from './credential-state-cache.ts'
import { vaultNameOf } from './credential-values.ts'
import { type Account, configOf, traceOf } from './verify-secret.ts'

export interface ReserveEnd {
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
}

export type Made =
  /** It waits in the vault. `ref`: its name at the vendor. */
  | { readonly is: 'made'; readonly ref: string | null }
  | {
      readonly is: 'failed'
      readonly class: FailureClass
      readonly error: string
      readonly retryAfterMs: number | null
      /** Ends the reserve in the commit that counts the attempt; null: this run has none. */
      readonly end: ReserveEnd | null
    }
  /** It may have been created, and its value is lost. */
  | { readonly is: 'lost'; readonly why: string }
  /** Not now: nothing was sent. */
  | { readonly is: 'aside'; readonly why: string }
  /** Another node owns the job by now. */
  | { readonly is: 'stale' }

export interface AtVendor {
  create(item: Item, account: Account, token: string): Promise<Made>
  /** Revokes the former one. `ref`: its name at the vendor. */
  revoke(item: Item, account: Account, token: string, ref: string): Promise<Made>
}

const LOST = 'a new secret may have been made at the vendor, and its value got lost'
const BY = 'millrace'
/** For this long a value that exists nowhere else is held in memory while the vault does not store it. */
const KEEP_MS_MAX = 10 * MINUTE
const KEEP_PAUSE_MS_MAX = 15 * SECOND

export function makeAtVendor(
  deps: CredentialDeps & { readonly stateCache: CredentialStateCache },
  config: Pick<EngineConfig, 'sendWithinMs' | 'responseBytesMax'>,
): AtVendor {
  const { store, clock, time, commits, decisions, lease, secrets, vars, stateCache, log } = deps

  /** `sendBy`: the reserve is ours, and the call begins before that by the monotonic clock, or not at all. */
  const reserve = async (
    item: Item,
    key: string,
    operation: CompiledOperation,
    entry: LedgerEntry | null,
  ): Promise<Made | { readonly is: 'reserved'; readonly sendBy: number }> => {
    const neededMs = config.sendWithinMs + operation.abilities.timeoutMs + SETTLE_MARGIN_MS
    if (!(await lease.covers(item.owner, neededMs)))
      return { is: 'aside', why: 'the lease could not be made long enough for the call' }
    const askedAt = clock.monotonic()
    const result = await commits.firmly(
      item.work.tenant,
      [leaseGuard(item), entry === null ? unreservedGuard(key) : ledgerGuard(entry)],
      [{ w: 'ledger.reserve', entry: newEntry(item, key), sendWithinMs: config.sendWithinMs }],
    )
    if (!result.ok && !isOwn(item, result)) return { is: 'stale' }
    const sendBy = askedAt + config.sendWithinMs
    const isLate =
      clock.monotonic() > sendBy ||
      !lease.holds(item.owner) ||
      (entry?.state === 'unknown' && !mayRepeat(operation, entry, result.at))
    if (!isLate) return { is: 'reserved', sendBy }
    await settle(item, key, settleNothing(key, operation, entry, 'never-sent'))
    return { is: 'aside', why: 'the reserve took too long; nothing was sent' }
  }

  /** Refused by its own first attempt, whose response was lost. */
  const isOwn = (
    { work }: Item,
    { isRepeat, found }: { readonly isRepeat?: boolean; readonly found?: unknown },
  ): boolean => {
    const known = found as { readonly f: string; readonly entry: LedgerEntry } | null | undefined
    if (isRepeat !== true || known?.f !== 'ledger') return false
    const { state, work: owner, epoch } = known.entry
    return state === 'reserved' && owner === work.id && epoch === work.epoch
  }

  const settle = async (item: Item, key: string, write: Write): Promise<boolean> => {
    const { ok } = await commits.firmly(
      item.work.tenant,
      [leaseGuard(item), reserveGuard(item, key)],
      [write],
    )
    return ok
  }

  /** The node that reserved it stopped before it was settled: no node will settle it, and the job may end without it. */
  const unknownOutcome = async (item: Item, key: string, entry: LedgerEntry): Promise<Made> => {
    if (entry.state !== 'reserved') return { is: 'lost', why: LOST }
    const { ok } = await commits.firmly(
      item.work.tenant,
      [leaseGuard(item), ledgerGuard(entry)],
      [settleLedger(key, 'unknown', 'no-answer', null, null)],
    )
    return ok ? { is: 'lost', why: LOST } : { is: 'stale' }
  }

  /** A crash left the reserve behind: the call may have been made, and counts as one. */
  const interrupted = (key: string, entry: LedgerEntry): Made => ({
    is: 'failed',
    class: 'transient',
    error: 'the node stopped between reserve and answer; the call may have been made',
    retryAfterMs: null,
    end: {
      guards: [ledgerGuard(entry)],
      writes: [settleLedger(key, 'unknown', 'crash', null, null)],
    },
  })

  /** This call had no effect. That says nothing about an earlier one which it repeats: the outcome of that stays unknown. */
  const settleNothing = (
    key: string,
    { policy }: CompiledOperation,
    entry: LedgerEntry | null,
    proof: 'never-sent' | 'not-applied',
  ): Write =>
    entry?.state === 'unknown' && !policy.idempotent
      ? settleLedger(key, 'unknown', 'no-answer', null, null)
      : settleLedger(key, 'released', proof, null, null)

  const mayRepeat = (
    { abilities, document }: CompiledOperation,
    entry: LedgerEntry,
    at: Instant = time.now(),
  ): boolean => {
    if (document.idempotency === 'idempotent') return true
    const { keyTtlMs, timeoutMs } = abilities
    return keyTtlMs !== null && at + config.sendWithinMs + timeoutMs < entry.createdAt + keyTtlMs
  }

  const send = (
    item: Item,
    { connection, tenant }: Account,
    operation: CompiledOperation,
    request: ReturnType<CompiledOperation['render']>,
    sendBy: number,
  ) => {
    const { endpoint, buckets } = operation.document
    return deps.outboundClient.send({
      tenant,
      connection: connection?.name ?? '',
      endpoint,
      ...request,
      timeoutMs: operation.abilities.timeoutMs,
      maxResponseBytes: config.responseBytesMax,
      buckets,
      sendBy,
      traceparent: traceOf(item),
    })
  }

  /** One call under its key. `keep` gets the response before the call is recorded as made. */
  const once = async (
    item: Item,
    account: Account,
    name: string,
    key: string,
    input: JsonValue,
    keep: (
      operation: CompiledOperation,
      answer: Extract<OutboundResponse['outcome'], { kind: 'response' }>,
    ) => Promise<Made>,
  ): Promise<Made> => {
    const document = operationOf(account.provider, name)
    if (document === null || account.connection === null)
      return hopeless(
        `the provider ${account.provider.name} has no operation ${name} that a connection could call`,
      )
    const operation = compileOperation(document)
    const entry = await store.forTenant(item.work.tenant).ledger(key)
    if (entry?.state === 'done') return { is: 'made', ref: entry.effectRef }
    if (entry !== null && entry.state !== 'released' && !mayRepeat(operation, entry))
      return unknownOutcome(item, key, entry)
    if (entry?.state === 'reserved') return interrupted(key, entry)
    // Before the reserve: a request that cannot be rendered leaves no unknown outcome behind.
    const request = operation.render({
      input,
      config: configOf(account.connection, vars(item.work.tenant)) as JsonValue,
      key: keyOfGeneration(key, 1),
      vars: vars(item.work.tenant),
    })
    const reserved = await reserve(item, key, operation, entry)
    if (reserved.is !== 'reserved') return reserved
    const answer = await send(item, account, operation, request, reserved.sendBy)
    const { outcome, problem } = answer
    const endWith = (write: Write): ReserveEnd => ({ guards: [reserveGuard(item, key)], writes: [write] })
    if (problem !== null) {
      const end = endWith(settleNothing(key, operation, entry, 'never-sent'))
      return { is: 'failed', ...problem, retryAfterMs: null, end }
    }
    const judged = decisions.classifyCall(factsOf(outcome, clock.now()), operation.policy)
    const verdict = outcome.kind === 'response' ? operation.refine(parseResponse(outcome), judged) : judged
    if (verdict.as === 'failed') {
      const end = endWith(
        verdict.effect === 'maybe'
          ? settleLedger(key, 'unknown', 'no-answer', null, null)
          : settleNothing(key, operation, entry, 'not-applied'),
      )
      // The error may quote the value that it was about to return.
      const error = `${operation.document.name}: ${errorText(outcome)}`
      return { is: 'failed', class: verdict.class, error, retryAfterMs: verdict.retryAfterMs, end }
    }
    if (outcome.kind !== 'response') return { is: 'lost', why: LOST }
    const made = await keep(operation, outcome)
    if (made.is !== 'made') return made
    const isKept = await settle(item, key, settleLedger(key, 'done', 'acknowledged', made.ref, null))
    return isKept ? made : { is: 'stale' }
  }

  /**
   * `before`: the fingerprint of the value that was pending before the call; null: there was none. False: a user provided
   * another one meanwhile, which stays.
   */
  const keepValue = async (
    item: Item,
    tenant: TenantId,
    name: string,
    value: string,
    before: string | null,
  ): Promise<boolean> => {
    const giveUpAt = clock.monotonic() + KEEP_MS_MAX
    for (let pauseMs = SECOND; ; pauseMs = Math.min(KEEP_PAUSE_MS_MAX, pauseMs * 2)) {
      try {
        const pending = await secrets.pending(tenant, name)
        // By an attempt whose response was lost.
        if (pending?.value === value) return true
        if (pending !== null && pending.fingerprint !== before) return false
        await secrets.set(tenant, name, value, { isPending: true, by: BY })
        return true
      } catch (error) {
        log.warn('credential.not-kept', {
          tenant,
          secret: name,
          error: makeRedact([value])(messageOf(error)),
        })
        const isOurs = await lease.covers(item.owner, pauseMs + SETTLE_MARGIN_MS)
        if (!isOurs || clock.monotonic() >= giveUpAt) throw error
        await new Promise<void>((resolve) => clock.after(pauseMs, resolve))
      }
    }
  }

  return {
    async create(item, account, token) {
      const { provider, credential, tenant } = account
      const name = vaultNameOf(credential)
      const { rotation } = provider
      if (rotation === null || name === null) return hopeless('the provider makes no secrets')
      const input = { credential: credential.name, rotation: token }
      try {
        // A vault that is down must be noticed before there is a value to store.
        const before = (await secrets.pending(tenant, name))?.fingerprint ?? null
        return await once(
          item,
          account,
          rotation.create,
          `rotation:${token}`,
          input,
          async (operation, outcome) => {
            const response = parseResponse(outcome)
            const value = must(compileExpression(rotation.secret)).expression.evaluate({ result: response })
            if (typeof value !== 'string' || value === '')
              return { is: 'lost', why: `${LOST}: the answer of ${rotation.create} has none` }
            const called = refOf(operation, response)
            const ref = called === null ? null : makeRedact([value])(called)
            const fingerprint = fingerprintOf(tenant, name, value)
            if (ref !== null)
              await stateCache.change(tenant, credential.name, () => ({
                type: 'made',
                at: time.now(),
                token,
                fingerprint,
                ref,
              }))
            if (await keepValue(item, tenant, name, value, before)) return { is: 'made', ref }
            log.warn('credential.made-unused', { tenant, credential: credential.name, ref })
            return { is: 'made', ref: null }
          },
        )
      } catch (error) {
        if (error instanceof ExpressionError) return hopeless(describe(error))
        if (error instanceof AppError)
          return { is: 'failed', ...unreadable(error), retryAfterMs: null, end: null }
        throw error
      }
    },

    async revoke(item, account, token, ref) {
      const { provider, credential } = account
      const name = provider.rotation?.revoke ?? null
      if (name === null) return { is: 'made', ref: null }
      const input = { credential: credential.name, rotation: token, ref }
      try {
        return await once(item, account, name, `revoke:${token}`, input, async () => ({ is: 'made', ref }))
      } catch (error) {
        if (error instanceof ExpressionError) return hopeless(describe(error))
        throw error
      }
    },
  }
}

function refOf(
  operation: CompiledOperation,
  response: Parameters<CompiledOperation['refOf']>[0],
): string | null {
  try {
    return operation.refOf(response)
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    return null
  }
}

function hopeless(error: string): Made {
  return { is: 'failed', class: 'config', error, retryAfterMs: null, end: null }
}
