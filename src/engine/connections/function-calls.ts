// `ctx.connection(name).call(…)`: operations of a provider, called by a function. Within `ctx.effect` the call uses the
// effect's key and ledger entry; outside of one, only operations that may be repeated are called. Each call is a run.
//
// Invariants: DR9 an operation that may not be repeated is called within an effect, or not at all. DR10 the result of a call is
// thrown as what happens next: retryable or terminal if nothing happened, an unknown outcome if something may have. CX6 a call
// that waits puts the whole job back without using an attempt.

import type { OperationDocument } from '../../core/definitions/documents/index.ts'
import {
  type CompiledOperation,
  compileOperation,
  keyForHeader,
  parseResponse,
} from '../../core/effects/action/index.ts'
import { findJsonFault } from '../../core/effects/function/index.ts'
import { makeRun, type NewRun, runIdOfEffect, stepRun } from '../../core/effects/integration-run/index.ts'
import { keyOfGeneration } from '../../core/effects/ledger/index.ts'
import { scrubNothing } from '../../core/events/sensitive/index.ts'
import { describeError as describe, ExpressionError } from '../../core/expression/index.ts'
import type { CallVerdict } from '../../core/failures/failure/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { copyPlain, type JsonValue } from '../../core/foundation/json/index.ts'
import type { EngineBase } from '../commit/index.ts'
import type { EngineConfig } from '../config.ts'
import type { Account, Lookups } from '../definitions/index.ts'
import {
  errorTextInFull,
  type FunctionConnections,
  type FunctionRun,
  isFirstRun,
  type OpenEffect,
  traceparentOf,
} from '../effects/index.ts'
import type { CallAdmission } from '../flow-control/index.ts'
import { makeObstacle, SHORT_WAIT_MS, storableError } from '../settlement/index.ts'
import type { Judge } from './connection-calls.ts'
import type { Credentials, OutboundClient, OutboundResponse } from './connection-types.ts'
import { madeAttempt, type Runs } from './integration-runs.ts'
import { checkInput, givenBy } from './provider-operations.ts'

/** A second attempt at once, with the credential that is in use by then. */
const TRIES_MAX = 2
/** The wait until a limit without a stated duration is tried again. */
const LIMITED_MS = 30_000

export function makeFunctionConnections(
  deps: Pick<EngineBase, 'clock' | 'store' | 'commits' | 'time' | 'vars'> & {
    readonly lookups: Lookups
    readonly callAdmission: CallAdmission
    readonly outboundClient: Pick<OutboundClient, 'send'>
    readonly credentials: Pick<Credentials, 'refused'>
    readonly runs: Runs
    readonly judge: Judge
  },
  config: Pick<EngineConfig, 'responseBytesMax'>,
): FunctionConnections {
  const {
    clock,
    store,
    commits,
    time,
    lookups,
    callAdmission,
    outboundClient,
    credentials,
    runs,
    judge,
    vars,
  } = deps
  const compiled = new WeakMap<OperationDocument, CompiledOperation>()
  const counts = new WeakMap<FunctionRun, Map<string, number>>()

  const compile = (operation: OperationDocument): CompiledOperation => {
    let known = compiled.get(operation)
    if (known === undefined) {
      known = compileOperation(operation)
      compiled.set(operation, known)
    }
    return known
  }

  /** The whole job waits; throws an error that the function must not catch. */
  const holdBack = (run: FunctionRun, effect: OpenEffect | null, delayMs: number, why: string): never => {
    // A part of the effect happened, and a repeat would double it: the effect's own abilities decide.
    if (effect !== null && effect.acts > 0 && !effect.abilities.idempotent) throw new Error(why)
    const { work } = run.call.item
    const isLate = time.now() + delayMs >= work.expiresAt
    const outcomeUnknown = effect?.over?.state === 'unknown' && !effect.abilities.idempotent
    run.stop(
      makeObstacle(effect?.key ?? run.key, {
        step: !isLate ? 'again' : outcomeUnknown ? 'park' : 'dead',
        delayMs,
        counts: isLate ? 'nothing' : 'wait',
        class: outcomeUnknown ? 'unknown' : (work.class ?? 'transient'),
        reason: 'expired',
        error: why,
        outcomeUnknown,
      }),
    )
    const error = new Error(`the run was stopped: ${why}`)
    run.holdBack(error)
    throw error
  }

  const nameCall = (run: FunctionRun, effect: OpenEffect | null, operation: string): string => {
    const names = counts.get(run) ?? new Map<string, number>()
    counts.set(run, names)
    const name = `${effect?.name ?? ''}/${operation}`
    const count = (names.get(name) ?? 0) + 1
    names.set(name, count)
    return `${name}/${count}`
  }

  const beginRun = async (
    run: FunctionRun,
    account: Account,
    operation: string,
    name: string,
    key: string,
  ): Promise<NewRun> => {
    const { item } = run.call
    const { work, event } = item
    const id = runIdOfEffect(work.id, name)
    const left = isFirstRun(item)
      ? null
      : await commits.retryUntilAvailable(() => store.forTenant(work.tenant).run(id))
    const about = {
      id,
      purpose: 'work' as const,
      connection: account.name,
      provider: account.provider.name,
      operation: `${account.provider.name}.${operation}`,
      workId: work.id,
      eventId: event.id,
      correlationId: event.correlationId,
      traceId: event.traceId,
      key,
      replayOf: await runs.replayedBy(item, (work) => runIdOfEffect(work, name)),
    }
    const before: NewRun =
      left === null || left.state === 'completed'
        ? makeRun(about)
        : { ...makeRun(about), state: 'failed', attemptCount: left.attemptCount, attempts: left.attempts }
    return stepRun(before, { type: 'begun' }, scrubNothing) ?? before
  }

  const keepRun = (
    run: FunctionRun,
    row: NewRun,
    exchanged: { readonly startedAt: number; readonly answer: OutboundResponse },
    verdict: CallVerdict,
    given: { readonly effectRef: string | null; readonly error: string | null },
  ) => {
    const { item } = run.call
    const failure =
      verdict.as === 'done' ? null : { class: verdict.class, error: given.error ?? verdict.class }
    const attempt = madeAttempt(exchanged, failure)
    const event =
      failure === null
        ? ({ type: 'answered', attempt, externalRef: given.effectRef } as const)
        : ({ type: 'failed', attempt } as const)
    const next = stepRun(row, event, (text) => storableError(item.event, text))
    if (next !== null) runs.beside(item, next.id, next)
  }

  const throwIfRefused = (tenant: TenantId, connection: string) => {
    const gate = callAdmission.gate(tenant, connection)
    if (gate.is === 'refused') throw terminal(`${gate.code}: ${gate.why}`)
  }

  const find = (run: FunctionRun, connection: string, operation: string) => {
    const { tenant } = run.call.item.work
    throwIfRefused(tenant, connection)
    const found = lookups.find(tenant, connection)
    if (!found.ok) throw terminal(`${found.code}: ${found.why}`)
    const { provider } = found.account
    const document = Object.hasOwn(provider.operations, operation)
      ? provider.operations[operation]
      : undefined
    if (document === undefined) {
      const names = Object.keys(provider.operations).sort().join(', ')
      throw terminal(`operation_unknown: ${provider.name} has no operation ${operation}; it has ${names}`)
    }
    return { account: found.account, operation: compile(document) }
  }

  const call = async (
    run: FunctionRun,
    connection: string,
    name: string,
    input: JsonValue,
    given: string | undefined,
    held: (hold: string) => void,
  ): Promise<JsonValue> => {
    const refusal = run.refusal()
    if (refusal !== null) {
      const error = new Error(refusal)
      run.holdBack(error)
      throw error
    }
    const { item } = run.call
    const { tenant, id, epoch } = item.work
    const { account, operation } = find(run, connection, name)
    const fault = findJsonFault(input, 'the input')
    if (fault !== null) throw terminal(`${connection}.${name}: ${fault}`)
    const effect = given === undefined ? null : effectOf(run, given)
    if (operation.document.idempotency !== 'idempotent' && effect === null) {
      throw terminal(
        `${connection}.${name} may not be repeated: call it within an effect and give it the effect's key, as in ctx.effect('${name}', (key) => ctx.connection('${connection}').call('${name}', input, { key }))`,
      )
    }
    const callName = nameCall(run, effect, `${connection}.${name}`)
    const key = given ?? keyForHeader(keyOfGeneration(`${run.key}#${callName}`, item.work.generation))
    const request = renderOrStop(item.work.tenant, account, operation, input, key)
    const hold = `${id} ${epoch} ${callName}`
    const isAct = effect !== null && operation.document.idempotency !== 'idempotent'
    held(hold)
    const where = { connection, buckets: operation.document.buckets }
    for (let tries = 1; ; tries += 1) {
      const preparing = callAdmission.prepare(tenant, where)
      if (preparing !== null) await preparing
      const row = await beginRun(run, account, name, callName, key)
      // Admission lets in refused calls, so that a route's call ends when it runs. Nothing else would end this one.
      throwIfRefused(tenant, connection)
      const closed = callAdmission.enter(tenant, where, hold)
      if (closed !== null) {
        const delayMs = Math.max(SHORT_WAIT_MS, (closed.untilAt ?? 0) - time.now())
        return holdBack(run, effect, delayMs, closed.why)
      }
      if (isAct) effect.acts += 1
      const startedAt = time.now()
      const answer = await outboundClient.send({
        tenant,
        connection,
        endpoint: operation.document.endpoint,
        method: request.method,
        target: request.target,
        headers: request.headers,
        body: request.body,
        // Checked when it is sent: its credential may take a while, and by then the function's time may be over.
        get timeoutMs() {
          return Math.min(operation.document.timeoutMs, leftMs(run))
        },
        get sendBy() {
          if (isTooLate(run, effect)) return Number.NEGATIVE_INFINITY
          return run.deadline === 0 ? Number.POSITIVE_INFINITY : run.deadline
        },
        maxResponseBytes: config.responseBytesMax,
        buckets: where.buckets,
        traceparent: traceparentOf(item),
        by: hold,
        isCounted: true,
      })
      if (answer.problem !== null && isTooLate(run, effect)) {
        if (isAct) effect.acts -= 1
        callAdmission.finished(hold)
        const error = new Error(`${connection}.${name}: nothing was sent, for the run is stopped`)
        run.holdBack(error)
        throw error
      }
      const { outcome } = answer
      if (answer.problem !== null) callAdmission.leave(hold)
      const response = outcome.kind === 'response' ? parseResponse(outcome) : null
      const judged = judge(answer, account.provider, operation.policy)
      const verdict = response === null ? judged : operation.refine(response, judged)
      if (isAct && verdict.as === 'failed' && verdict.effect === 'none') effect.acts -= 1
      const gives = verdict.as === 'done' && response !== null ? givenBy(operation, response) : null
      const error = verdict.as === 'done' ? null : (answer.problem?.error ?? errorTextInFull(outcome))
      keepRun(run, row, { startedAt, answer }, verdict, { effectRef: gives?.effectRef ?? null, error })
      const isRefused =
        verdict.as === 'failed' &&
        verdict.class === 'auth' &&
        verdict.effect === 'none' &&
        response !== null &&
        account.credential !== null
      const next = isRefused
        ? await refused(run, account, answer, error ?? '')
        : answer.wait === undefined
          ? null
          : ({ is: 'wait', ...answer.wait } as const)
      // A failure that a rotation handles says nothing about the other side.
      if (next === null || next.is === 'dead')
        callAdmission.reportResult(tenant, connection, hold, verdict.as === 'done' ? null : verdict.class)
      else callAdmission.used(hold)
      callAdmission.finished(hold)
      if (verdict.as === 'done') return copyPlain(gives?.value ?? null)
      const why = `${connection}.${name}: ${error}`
      if (next === null) return fail(run, effect, verdict, why)
      if (next.is === 'dead') throw terminal(`${why}; ${next.why}`)
      if (next.is === 'wait') return holdBack(run, effect, Math.max(SHORT_WAIT_MS, next.delayMs), next.why)
      if (tries >= TRIES_MAX) return holdBack(run, effect, SHORT_WAIT_MS, why)
    }
  }

  const refused = (run: FunctionRun, { credential }: Account, answer: OutboundResponse, error: string) => {
    const { work, event } = run.call.item
    return credentials.refused(work.tenant, credential?.name ?? '', {
      version: answer.credentialVersion,
      correlationId: event.correlationId,
      error,
    })
  }

  const renderOrStop = (
    tenant: TenantId,
    account: Account,
    operation: CompiledOperation,
    input: JsonValue,
    key: string,
  ) => {
    try {
      checkInput(operation.document, input)
      return operation.render({ input, config: account.addresses.config, key, vars: vars(tenant) })
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      throw terminal(`${account.name}.${operation.document.name}: ${describe(error)}`)
    }
  }

  /** Its own time, and no longer than the function has. */
  const leftMs = (run: FunctionRun): number => {
    const { timeoutMs } = run.action
    return run.deadline === 0 ? timeoutMs : Math.max(1, Math.min(timeoutMs, run.deadline - clock.monotonic()))
  }

  const fail = (
    run: FunctionRun,
    effect: OpenEffect | null,
    verdict: Extract<CallVerdict, { as: 'failed' }>,
    why: string,
  ): never => {
    // Within an effect its own abilities decide what an unknown outcome means.
    if (verdict.effect === 'maybe' && effect !== null) throw new Error(why)
    switch (verdict.class) {
      case 'rate_limited':
        return holdBack(run, effect, verdict.retryAfterMs ?? LIMITED_MS, why)
      case 'transient':
      case 'unknown':
        throw consequence(why, 'again', verdict.retryAfterMs)
      default:
        throw terminal(why)
    }
  }

  return {
    caller: (run, connection) => ({
      call(operation, input, options = {}) {
        let hold = ''
        const held = (own: string) => {
          hold = own
        }
        // However it ends, no permit stays taken.
        const made = call(
          run,
          String(connection),
          String(operation),
          input ?? null,
          options.key,
          held,
        ).finally(() => callAdmission.finished(hold))
        // The engine knows its result, also if the function does not await it.
        made.catch((error) => run.callFailed(error))
        return made
      },
    }),
  }
}

/** The effect of this run that has this key, and is in progress. */
function effectOf(run: FunctionRun, key: string): OpenEffect | null {
  for (const effect of run.effects?.values() ?? []) {
    const sent = keyForHeader(keyOfGeneration(effect.key, run.call.item.work.generation))
    if (effect.phase === 'called' && sent === key) return effect
  }
  return null
}

/**
 * No one awaits it any more, and the effect is settled by what else is known: a call that is sent now would belong to no
 * effect.
 */
function isTooLate(run: FunctionRun, effect: OpenEffect | null): boolean {
  return run.refusal() !== null || (effect !== null && effect.phase !== 'called')
}

/** Recognized by its mark, like the errors of src/sdk. */
function consequence(message: string, how: 'terminal' | 'again', afterMs: number | null): Error {
  return Object.assign(new Error(message), { [Symbol.for('millrace.consequence')]: { how, afterMs } })
}

function terminal(message: string): Error {
  return consequence(message, 'terminal', null)
}
