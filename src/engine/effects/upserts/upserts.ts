// An upsert as one effect: look the object up by its reference, then update or create it, with the reference locked
// meanwhile.
//
// Invariants: UP2 between the lookup and the call no other job works on the reference. UP3 a create without a response
// is looked up before it is repeated. UP4 an update with an unknown outcome is repeated only if that is safe or the
// vendor still knows its key.

import { parseResponse, type Sought, type UpsertAction } from '../../../core/effects/action/index.ts'
import type { LedgerEntry } from '../../../core/effects/ledger/index.ts'
import { keyOfGeneration } from '../../../core/effects/ledger/index.ts'
import { describeError as describe, ExpressionError, type Scope } from '../../../core/expression/index.ts'
import type { CallPolicy } from '../../../core/failures/failure/index.ts'
import { isNumber } from '../../../core/foundation/json/index.ts'
import type { HttpOutcome } from '../../../ports/http-client.ts'
import type { EngineBase } from '../../commit/index.ts'
import type { EngineConfig } from '../../config.ts'
import type { Decisions } from '../../settlement/index.ts'
import type { Call, InternalCall, KnownOutcome, Performed, Sent } from '../call.ts'
import { errorTextInFull, hostOf, leaseGuard, reserveGuard } from '../call-outcome.ts'
import { notPerformed, openSecrets } from '../request-secrets.ts'
import { sendFor, verdictOf } from '../send-request.ts'
import { takeLock } from './reference-locks.ts'
import { lastPhase, type Phase, phaseEvidence } from './upsert-phases.ts'

export interface Upserts {
  /** Throws ExpressionError if the event has no reference. */
  callOf(call: InternalCall, action: UpsertAction): Call
}

export function makeUpserts(
  deps: Pick<EngineBase, 'clock' | 'http' | 'vault' | 'store' | 'commits' | 'time'> & {
    readonly decisions: Decisions
  },
  config: Pick<EngineConfig, 'responseBytesMax' | 'sendWithinMs'>,
): Upserts {
  const { clock, http, vault, commits, decisions, time } = deps

  const send = (call: Call, request: Call['request'], { timeoutMs, hidden }: Sending): Promise<Sent> =>
    sendFor(call, http, request, { timeoutMs, maxResponseBytes: config.responseBytesMax, hidden })

  const judge = (sent: Sent, policy: CallPolicy) => verdictOf(sent, policy, { decisions, now: clock.now() })

  /** The result of the lookup, or how it failed. It changes nothing externally in either case. */
  const look = async (
    call: Call,
    action: UpsertAction,
    scope: Scope,
    hidden: readonly string[],
  ): Promise<{ readonly ok: true; readonly sought: Sought; readonly outcome: HttpOutcome } | Failed> => {
    const sent = await send(call, action.find.render(scope), {
      timeoutMs: action.timeoutMs,
      hidden,
    })
    const { outcome } = sent
    const isAnswer = outcome.kind === 'response' && (outcome.status < 300 || outcome.status === 404)
    if (!isAnswer) {
      const verdict = judge(sent, READ)
      const failed = verdict.as === 'failed' ? verdict : UNREADABLE
      const error = `find: ${sent.error ?? errorTextInFull(outcome)}`
      return { ok: false, performed: { outcome, verdict: { ...failed, effect: 'none' }, error } }
    }
    try {
      return { ok: true, sought: action.find.read(scope, parseResponse(outcome)), outcome }
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      return { ok: false, performed: { outcome, verdict: UNREADABLE, error: describe(error) } }
    }
  }

  const perform = async (
    call: Call,
    action: UpsertAction,
    scope: Scope,
    hidden: readonly string[],
  ): Promise<Performed> => {
    const beganAt = clock.monotonic()
    const looked = await look(call, action, scope, hidden)
    if (!looked.ok) return looked.performed
    const { sought, outcome } = looked
    const isFound = sought.is === 'found'
    if (isFound && action.update === null) {
      return { outcome, verdict: { as: 'done' }, effectRef: refOf(sought.id) }
    }
    const next = isFound && action.update !== null ? action.update : action.create
    const sent = keyOfGeneration(call.key, call.item.work.generation)
    let request: Call['request']
    try {
      request = next.render(isFound ? { ...scope, found: { id: sought.id } } : scope, sent)
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      return { outcome, verdict: UNREADABLE, error: describe(error) }
    }
    if (needsPhases(action) && !(await notePhase(call, isFound ? 'update' : 'create'))) {
      return { outcome, verdict: { ...UNREADABLE, class: 'transient' }, error: 'the item was taken away' }
    }
    // A node that takes over allows for a slow lookup, but not for a process that was suspended in it.
    if (clock.monotonic() - beganAt > action.timeoutMs + LOOK_MARGIN_MS) {
      return { outcome, verdict: { ...UNREADABLE, class: 'transient' }, error: 'the look took too long' }
    }
    const answer = await send(call, request, { timeoutMs: action.timeoutMs, hidden })
    const verdict = judge(answer, next.policy)
    return {
      outcome: answer.outcome,
      verdict,
      ...(answer.error === null ? {} : { error: answer.error }),
      ...(isFound ? { effectRef: refOf(sought.id) } : {}),
    }
  }

  /** Recorded before the call, if an unknown outcome could not be interpreted otherwise. */
  const notePhase = async ({ item, key }: Call, phase: Phase): Promise<boolean> => {
    const guards = [leaseGuard(item), reserveGuard(item, key)]
    const evidence = phaseEvidence(phase, item.work.epoch)
    const result = await commits.firmly(item.work.tenant, guards, [{ w: 'ledger.observe', key, evidence }])
    return result.ok
  }

  const ask = async (
    call: Call,
    action: UpsertAction,
    scope: Scope,
    entry: LedgerEntry,
  ): Promise<KnownOutcome> => {
    const phase = needsPhases(action) ? lastPhase(entry) : 'unknown'
    if (phase === null) return { effect: 'absent' }
    if (phase === 'update') return { effect: 'unclear' }
    const opened = await openSecrets(vault, call.item.work.tenant, action.secrets)
    if (!opened.ok) return { effect: null, error: `find: ${opened.error}` }
    const looked = await look(call, action, opened.open(scope), opened.hidden)
    if (!looked.ok) return { effect: null, error: looked.performed.error ?? 'find: no answer' }
    if (looked.sought.is === 'absent') return { effect: 'absent' }
    if (action.update === null || phase === 'create') {
      return { effect: 'found', effectRef: refOf(looked.sought.id) }
    }
    const { policy, keyTtlMs } = action.update
    const untilMs = config.sendWithinMs + action.abilities.timeoutMs
    const isKnown = keyTtlMs !== null && time.now() + untilMs < entry.createdAt + keyTtlMs
    return { effect: policy.idempotent || isKnown ? 'repeat' : 'unclear' }
  }

  /** With the secrets of its requests, for one attempt. */
  const prepare = async (call: Call, action: UpsertAction, scope: Scope) => {
    const opened = await openSecrets(vault, call.item.work.tenant, action.secrets)
    if (!opened.ok) return async () => notPerformed(opened.class, opened.error)
    return () => perform(call, action, opened.open(scope), opened.hidden)
  }

  return {
    callOf(internal, action) {
      const scope = action.scopeOf(internal.scope)
      const rendered = action.find.render(scope)
      const request = internal.through?.locate(rendered) ?? rendered
      const call: Call = { ...internal, action: { ...action, probe: null }, scope, request }
      const reads = deps.store.forTenant(internal.item.work.tenant)
      return {
        ...call,
        externalRef: scope.extRef,
        ...(action.secrets.length === 0
          ? { perform: () => perform(call, action, scope, []) }
          : { prepare: () => prepare(call, action, scope) }),
        ask: (entry) => ask(call, action, scope, entry),
        ...(action.isLocked
          ? { beside: () => takeLock(reads, internal.item, hostOf(request.url), scope.extRef, config) }
          : {}),
      }
    },
  }
}

interface Sending {
  readonly timeoutMs: number
  readonly hidden: readonly string[]
}

interface Failed {
  readonly ok: false
  readonly performed: Performed
}

/** The lease is longer than both calls by more than this. */
const LOOK_MARGIN_MS = 250
const READ = { idempotent: true, classify: {} }
const UNREADABLE = { as: 'failed', class: 'validation', effect: 'none', retryAfterMs: null } as const

/** An update that may not be repeated: whether it or a create was sent decides what an unknown outcome means. */
function needsPhases({ update }: UpsertAction): boolean {
  return update !== null && !update.policy.idempotent && update.keyTtlMs === null
}

function refOf(id: unknown): string | null {
  return typeof id === 'string' || isNumber(id) ? String(id) : null
}
