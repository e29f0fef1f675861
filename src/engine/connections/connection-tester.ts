// Tests of connections: one call of the provider's probe, stored as a run, reported to the state cache. An operator requests
// one; and a node tests by itself, with growing pauses, what was never tested, so that applying a connection is enough.

import { type ProbeResult, provesReachOnly } from '../../core/connections/connection/index.ts'
import { compilePath } from '../../core/effects/action/index.ts'
import { makeRun, type NewRun, stepRun } from '../../core/effects/integration-run/index.ts'
import { scrubNothing } from '../../core/events/sensitive/index.ts'
import { describeError as describe, ExpressionError } from '../../core/expression/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import { AppError, messageOf } from '../../core/foundation/errors/index.ts'
import type { RunId, TenantId } from '../../core/foundation/ids/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { EngineBase } from '../commit/index.ts'
import type { EngineConfig } from '../config.ts'
import type { Account, Lookups, Registry } from '../definitions/index.ts'
import { errorText } from '../effects/index.ts'
import type { Judge } from './connection-calls.ts'
import type { ConnectionStateCache } from './connection-state-cache.ts'
import type { OutboundClient, OutboundResponse } from './connection-types.ts'
import { madeAttempt } from './integration-runs.ts'
import { notSent, type RequestSender } from './request-sender.ts'

export interface Probed {
  readonly result: ProbeResult
  readonly run: NewRun
}

export interface Tester {
  /** Tests it, and updates the state cache. Throws `not_found`. */
  test(tenant: TenantId, connection: string): Promise<Probed>
  /** Definitions of the tenant may have changed: untested connections are tested. */
  wake(tenant: TenantId): void
  start(): void
  stop(): void
}

const FIRST_PAUSE_MS = 5_000
const LAST_PAUSE_MS = 5 * 60_000
const POLICY = { idempotent: true, classify: {} }

interface Pending {
  readonly hash: string
  failures: number
  cancel(): void
}

export function makeTester(
  deps: Pick<EngineBase, 'log' | 'time' | 'ids' | 'vars'> & {
    readonly clock: Pick<Clock, 'after'>
    readonly registry: Pick<Registry, 'connection' | 'connections'>
    readonly lookups: Lookups
    readonly stateCache: ConnectionStateCache
    readonly outboundClient: Pick<OutboundClient, 'send'>
    readonly requestSender: Pick<RequestSender, 'authorize'>
    readonly judge: Judge
  },
  config: Pick<EngineConfig, 'responseBytesMax'>,
): Tester {
  const { clock, time, ids, registry, lookups, stateCache, outboundClient, requestSender, judge, log, vars } =
    deps
  const pending = new Map<string, Pending>()
  let isStarted = false

  const ask = async (
    tenant: TenantId,
    account: Account,
    traceId: string,
  ): Promise<{
    readonly answer: OutboundResponse
    readonly class: FailureClass | null
    readonly error: string | null
    readonly isUnverified?: true
  }> => {
    const { provider, addresses, connection } = account
    if (provider.probe === null) {
      const allowed = await requestSender.authorize({ tenant, connection: account.name })
      const answer = allowed.ok
        ? { ...notSent('config', '', 'nothing can be called to see whether it works'), problem: null }
        : notSent(allowed.class, `${allowed.code}: ${allowed.error}`, 'nothing was sent')
      return { answer, class: answer.problem?.class ?? null, error: answer.problem?.error ?? null }
    }
    const { probe } = provider
    const scope = { input: null, config: addresses.config, key: '', extRef: '', vars: vars(tenant) }
    const { target, ...request } = compilePath(probe, null, 'json')(scope)
    const answer = await outboundClient.send({
      ...request,
      tenant,
      connection: account.name,
      endpoint: null,
      target,
      timeoutMs: connection.probe?.timeoutMs ?? probe.timeoutMs,
      maxResponseBytes: config.responseBytesMax,
      buckets: [],
      traceparent: `00-${traceId}-${traceId.slice(-16)}-01`,
    })
    const verdict = judge(answer, provider, POLICY)
    if (verdict.as === 'done') return { answer, class: null, error: null }
    if (provesReachOnly(provider, addresses.config, statusOf(answer)))
      return { answer, class: null, error: null, isUnverified: true }
    return { answer, class: verdict.class, error: answer.problem?.error ?? errorText(answer.outcome) }
  }

  const look = async (tenant: TenantId, connection: string): Promise<Probed> => {
    const document = registry.connection(tenant, connection)?.document
    if (document === undefined)
      throw new AppError('not_found', `there is no connection ${connection} in force`)
    const found = lookups.find(tenant, connection)
    const startedAt = time.now()
    const traceId = ids.uuid().replaceAll('-', '')
    let seen: Awaited<ReturnType<typeof ask>>
    try {
      seen = found.ok ? await ask(tenant, found.account, traceId) : failing(`${found.code}: ${found.why}`)
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      seen = failing(`the probe cannot be made: ${describe(error)}; mend the connection's config`)
    }
    const { answer, class: failureClass, error } = seen
    const failure = failureClass === null ? null : { class: failureClass, error: error ?? failureClass }
    const attempt = madeAttempt({ startedAt, answer }, failure)
    const begun = stepRun(
      makeRun({
        id: `run_${ids.uuid()}` as RunId,
        purpose: 'test',
        connection,
        provider: document.provider,
        operation: `${document.provider} probe`,
        workId: null,
        eventId: null,
        correlationId: ids.uuid(),
        traceId,
        key: null,
        replayOf: null,
      }),
      { type: 'begun' },
      scrubNothing,
    )
    const event =
      failure === null
        ? ({ type: 'answered', attempt, externalRef: null } as const)
        : ({ type: 'failed', attempt } as const)
    const run = begun === null ? null : stepRun(begun, event, scrubNothing)
    if (run === null) throw new Error('assertion failed: a new run begins and ends')
    const { durationMs, httpStatus } = attempt
    const ok = failure === null
    return {
      run,
      result: {
        ...{ window: startedAt, at: time.now(), ok, durationMs, httpStatus, class: failureClass, error },
        ...(seen.isUnverified && { isUnverified: true }),
      },
    }
  }

  const test: Tester['test'] = async (tenant, connection) => {
    const probed = await look(tenant, connection)
    const { result, run } = probed
    stateCache.tried(tenant, connection, result.class)
    await stateCache.change(tenant, connection, { type: 'tested', at: time.now(), result }, [
      { w: 'run.put', row: run },
    ])
    return probed
  }

  const isPending = (tenant: TenantId, name: string) => stateCache.state(tenant, name).status === 'pending'

  const testLater = (tenant: TenantId, name: string, one: Pending) => {
    const id = `${tenant}/${name}`
    const delayMs = one.failures === 0 ? 0 : Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (one.failures - 1))
    one.cancel = clock.after(delayMs, () => {
      const isSame = registry.connection(tenant, name)?.hash === one.hash
      if (!isStarted || !isSame || !isPending(tenant, name)) {
        if (pending.get(id) === one) pending.delete(id)
        return
      }
      test(tenant, name)
        .then(
          ({ result }) => (result.ok ? null : result.error),
          (error: unknown) => messageOf(error),
        )
        .then((error) => {
          if (error === null) {
            pending.delete(id)
            return
          }
          one.failures += 1
          if (one.failures === 1) log.warn('connection.test-failed', { tenant, connection: name, error })
          testLater(tenant, name, one)
        })
    })
  }

  const wake: Tester['wake'] = (tenant) => {
    if (!isStarted) return
    for (const { document, hash } of registry.connections(tenant)) {
      const id = `${tenant}/${document.name}`
      const known = pending.get(id)
      if (known?.hash === hash || !isPending(tenant, document.name)) continue
      known?.cancel()
      const one: Pending = { hash, failures: 0, cancel: () => {} }
      pending.set(id, one)
      testLater(tenant, document.name, one)
    }
  }

  return {
    test,
    wake,
    start() {
      isStarted = true
    },
    stop() {
      isStarted = false
      for (const { cancel } of pending.values()) cancel()
      pending.clear()
    },
  }
}

function failing(error: string) {
  return { answer: notSent('config', error, 'nothing was sent'), class: 'config' as const, error }
}

function statusOf({ outcome, problem }: OutboundResponse): number | null {
  return problem === null && outcome.kind === 'response' ? outcome.status : null
}
