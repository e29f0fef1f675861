// Whether the account accepts a new secret: one call of the provider's probe with it, past every gate. If a provider has no
// probe, checks without a call must do: that the value is set, and that a token is issued for it.

import { probeOf, resolveAddresses } from '../../../core/connections/connection/index.ts'
import type {
  ConnectionDocument,
  CredentialDocument,
  ProviderDocument,
  VarValues,
} from '../../../core/definitions/documents/index.ts'
import { parseResponse } from '../../../core/effects/action/index.ts'
import { compileShape, describeError as describe, ExpressionError } from '../../../core/expression/index.ts'
import type { CallVerdict, FailureClass } from '../../../core/failures/failure/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../../core/foundation/json/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import { errorTextInFull, factsOf } from '../../effects/index.ts'
import type { Item } from '../../leases/index.ts'
import type { Authorized, OutboundResponse, ToAuthorize } from '../connection-types.ts'
import type { CredentialDeps } from './credential-deps.ts'

/** Whose secret it is, and a connection that uses it; null: none does. */
export interface Account {
  readonly tenant: TenantId
  readonly provider: ProviderDocument
  readonly credential: CredentialDocument
  readonly hash: string
  readonly connection: ConnectionDocument | null
}

export interface Verified {
  readonly startedAt: Instant
  readonly durationMs: number
  /** null: the account accepts it. */
  readonly failure: {
    readonly class: FailureClass
    readonly error: string
    readonly retryAfterMs: number | null
  } | null
  readonly httpStatus: number | null
  /** null: there was no call. */
  readonly answer: OutboundResponse | null
}

/** The trace that the call belongs to. */
export interface Traced {
  readonly work: Pick<Item['work'], 'id'>
  readonly event: Pick<Item['event'], 'traceId'>
}

export type Verify = (item: Traced, account: Account, which: 'current' | 'pending') => Promise<Verified>

const ANSWER_BYTES_MAX = 65_536

export function configOf(
  connection: ConnectionDocument | null,
  vars: VarValues,
): Readonly<Record<string, unknown>> {
  const compiled = connection === null ? null : compileShape(connection.config)
  if (compiled === null || !compiled.ok) return {}
  const value = compiled.shape.render({ vars: vars as JsonValue })
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

export function traceOf({ work, event }: Traced): string {
  return `00-${event.traceId}-${work.id.replaceAll('-', '').slice(-16)}-01`
}

export function makeVerify(
  deps: Pick<CredentialDeps, 'clock' | 'time' | 'decisions' | 'vars' | 'outboundClient'> & {
    authorize(request: ToAuthorize): Promise<Authorized>
  },
): Verify {
  const { clock, time, decisions, vars } = deps

  const byToken = async (
    { tenant, provider, credential, connection }: Account,
    which: 'current' | 'pending',
  ) => {
    const allowed = await deps.authorize({
      tenant,
      provider,
      credential,
      request: { method: 'GET', url: 'https://localhost/', body: null },
      config: configOf(connection, vars(tenant)),
      ...(connection === null ? {} : { base: resolveAddresses(provider, connection, vars(tenant)).base }),
      secret: which,
    })
    return allowed.ok
      ? null
      : { class: allowed.class, error: `${allowed.code}: ${allowed.error}`, retryAfterMs: null }
  }

  const byProbe = async (
    item: Traced,
    { tenant, provider }: Account,
    connection: ConnectionDocument,
    which: 'current' | 'pending',
  ): Promise<OutboundResponse | null> => {
    const probe = probeOf(provider)
    if (probe === null) return null
    const config = configOf(connection, vars(tenant)) as JsonValue
    const request = probe.render({ input: null, config, key: '', vars: vars(tenant) })
    return deps.outboundClient.send({
      tenant,
      connection: connection.name,
      endpoint: null,
      ...request,
      timeoutMs: probe.document.timeoutMs,
      maxResponseBytes: ANSWER_BYTES_MAX,
      buckets: [],
      traceparent: traceOf(item),
      ...(which === 'pending' ? { secret: 'pending' as const } : {}),
    })
  }

  const judge = (provider: ProviderDocument, { outcome, problem }: OutboundResponse): Verified['failure'] => {
    if (problem !== null) return { ...problem, retryAfterMs: null }
    const probe = probeOf(provider)
    const policy = probe?.policy ?? { idempotent: true, classify: {} }
    let verdict: CallVerdict = decisions.classifyCall(factsOf(outcome, clock.now()), policy)
    if (outcome.kind === 'response' && probe !== null) verdict = probe.refine(parseResponse(outcome), verdict)
    if (verdict.as === 'done') return null
    const { class: failureClass, retryAfterMs } = verdict
    return { class: failureClass, error: errorTextInFull(outcome), retryAfterMs }
  }

  return async (item, account, which) => {
    const startedAt = time.now()
    const from = clock.monotonic()
    const took = () => Math.round(clock.monotonic() - from)
    const nothing = { startedAt, httpStatus: null, answer: null }
    try {
      const { connection, provider } = account
      const answer = connection === null ? null : await byProbe(item, account, connection, which)
      if (answer === null) return { ...nothing, failure: await byToken(account, which), durationMs: took() }
      const { outcome } = answer
      const httpStatus = outcome.kind === 'response' ? outcome.status : null
      return { startedAt, durationMs: took(), httpStatus, answer, failure: judge(provider, answer) }
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      const failure = { class: 'config', error: describe(error), retryAfterMs: null } as const
      return { ...nothing, failure, durationMs: took() }
    }
  }
}
