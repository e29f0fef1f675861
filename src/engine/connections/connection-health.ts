// The health worker: calls the other side of each connection once per window, by its provider's probe, and stores the result.
// It is not a job of the queue: the next probe makes up for a missed one.
//
// Invariants: HE1 one node probes per window: the first that records the window. HE2 the latest window wins: a late result of
// an earlier one changes nothing. HE3 a failed probe is tried twice more within its window, and not after it. HE4 sixty results
// are stored.

import { type ProbeResult, probeOf, provesReachOnly } from '../../core/connections/connection/index.ts'
import type { ConnectionDocument, ProviderDocument } from '../../core/definitions/documents/index.ts'
import { parseResponse } from '../../core/effects/action/index.ts'
import { compileShape, describeError as describe, ExpressionError } from '../../core/expression/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import { messageOf } from '../../core/foundation/errors/index.ts'
import type { Ids, TenantId } from '../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { type Instant, SECOND } from '../../core/foundation/time/index.ts'
import { type Commits, type EngineBase, RACES_MAX, retrying } from '../commit/index.ts'
import { errorTextInFull, factsOf } from '../effects/index.ts'
import type { Decisions } from '../settlement/index.ts'
import type { OutboundClient, OutboundResponse } from './connection-types.ts'

/** A connection that may be probed. */
export interface Watched {
  readonly tenant: TenantId
  readonly connection: ConnectionDocument
  readonly provider: ProviderDocument
}

export interface HealthWorker {
  start(): void
  stop(): Promise<void>
  /** The latest first. */
  history(tenant: TenantId, connection: string): Promise<readonly ProbeResult[]>
}

export interface HealthDeps extends Pick<EngineBase, 'store' | 'clock' | 'log' | 'time' | 'vars'> {
  readonly ids: Pick<Ids, 'uuid'>
  readonly commits: Pick<Commits, 'once'>
  readonly decisions: Pick<Decisions, 'classifyCall'>
  readonly outboundClient: Pick<OutboundClient, 'send'>
  /** Those that are tested and not retired. */
  watched(): readonly Watched[]
  /** Before a probe; true: it is the trial of an open circuit. */
  begin(tenant: TenantId, connection: string): Promise<boolean>
  /** The result of a window's probe. */
  probed(tenant: TenantId, connection: string, result: ProbeResult, isTry: boolean): void
  /** The credential was refused: no job has to fail first. */
  refused(watched: Watched, version: number | null, error: string): void
  /** It was accepted, in a call that began at `since`. */
  accepted(watched: Watched, version: number | null, since: Instant): void
}

/** As it is stored under the connection's name. */
interface HealthRecord {
  readonly form: 1
  /** The latest window that a node probes. */
  readonly window: Instant
  readonly by: string
  /** The latest first. */
  readonly results: readonly ProbeResult[]
}

interface StoredProbe {
  readonly version: number
  readonly record: HealthRecord
}

const NOTHING: StoredProbe = { version: 0, record: { form: 1, window: 0, by: '', results: [] } }
export const HEALTH_RESULTS_MAX = 60
const LOOK_MS_MIN = 250
const AGAIN_MS: readonly number[] = [1 * SECOND, 2 * SECOND]
const AT_ONCE_MAX = 16
const ANSWER_BYTES_MAX = 65_536
/** Another attempt within the window would have the same result. */
const DEFINITE: readonly FailureClass[] = ['auth', 'config', 'validation', 'rate_limited']

export function makeHealthWorker(
  deps: HealthDeps,
  config: { readonly node: string; readonly followMs: number },
): HealthWorker {
  const { store, clock, log, time, ids, commits, vars } = deps
  const known = new Map<string, StoredProbe>()
  const underWay = new Map<string, Promise<void>>()
  let isStopped = true
  let cancel = () => {}

  const placeOf = (tenant: TenantId, name: string) => `${tenant}/${name}`
  const pause = (delayMs: number) => new Promise<void>((resolve) => clock.after(delayMs, resolve))

  const read = async (tenant: TenantId, name: string): Promise<StoredProbe> => {
    const found = await store.forTenant(tenant).record('health', name)
    const stored =
      found === null ? NOTHING : { version: found.version, record: JSON.parse(found.body) as HealthRecord }
    known.set(placeOf(tenant, name), stored)
    return stored
  }

  const write = async (
    tenant: TenantId,
    name: string,
    before: StoredProbe,
    record: HealthRecord,
  ): Promise<boolean> => {
    const version = before.version + 1
    const { ok } = await commits.once(
      tenant,
      [{ g: 'version', of: 'health', key: name, version: before.version }],
      [{ w: 'record.put', kind: 'health', key: name, version, body: JSON.stringify(record) }],
    )
    if (ok) known.set(placeOf(tenant, name), { version, record })
    return ok
  }

  /** null: another node probes, or probed. */
  const claim = async (tenant: TenantId, name: string, window: Instant): Promise<StoredProbe | null> => {
    const stored = known.get(placeOf(tenant, name)) ?? (await read(tenant, name))
    if (stored.record.window >= window) return null
    const record = { ...stored.record, window, by: config.node }
    if (await write(tenant, name, stored, record)) return { version: stored.version + 1, record }
    await read(tenant, name)
    return null
  }

  const configOf = ({ tenant, connection }: Watched): JsonValue => {
    const compiled = compileShape(connection.config)
    return compiled.ok ? (compiled.shape.render({ vars: vars(tenant) }) ?? null) : null
  }

  const send = (watched: Watched): Promise<OutboundResponse> | null => {
    const { tenant, connection, provider } = watched
    const probe = probeOf(provider)
    if (probe === null) return null
    const config = configOf(watched)
    const request = probe.render({ input: null, config, key: '', vars: vars(tenant) })
    return deps.outboundClient.send({
      tenant,
      connection: connection.name,
      endpoint: null,
      ...request,
      timeoutMs: connection.probe?.timeoutMs ?? probe.document.timeoutMs,
      maxResponseBytes: ANSWER_BYTES_MAX,
      buckets: [],
      traceparent: `00-${ids.uuid().replaceAll('-', '')}-${ids.uuid().replaceAll('-', '').slice(-16)}-01`,
    })
  }

  const lookOnce = async (watched: Watched, window: Instant): Promise<ProbeResult | null> => {
    const at = time.now()
    const from = clock.monotonic()
    const base = { window, at, httpStatus: null }
    try {
      const sent = send(watched)
      if (sent === null) return null
      const answer = await sent
      const durationMs = Math.round(clock.monotonic() - from)
      const { outcome, problem } = answer
      if (problem !== null) return { ...base, durationMs, ok: false, ...problem }
      const httpStatus = outcome.kind === 'response' ? outcome.status : null
      const failureClass = judge(watched.provider, answer)
      const result = { ...base, durationMs, httpStatus, ok: failureClass === null, class: failureClass }
      if (failureClass === null) {
        deps.accepted(watched, answer.credentialVersion, at)
        return { ...result, error: null }
      }
      // It proves nothing about the credential, so jobs that wait for it keep waiting.
      if (provesReachOnly(watched.provider, configOf(watched), httpStatus))
        return { ...result, ok: true, class: null, error: null, isUnverified: true }
      const error = errorTextInFull(outcome)
      if (httpStatus === 401) deps.refused(watched, answer.credentialVersion, error)
      return { ...result, error }
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      return { ...base, durationMs: 0, ok: false, class: 'config', error: describe(error) }
    }
  }

  const judge = (provider: ProviderDocument, { outcome }: OutboundResponse): FailureClass | null => {
    const probe = probeOf(provider)
    const policy = probe?.policy ?? { idempotent: true, classify: {} }
    const judged = deps.decisions.classifyCall(factsOf(outcome, clock.now()), policy)
    const verdict =
      outcome.kind === 'response' && probe !== null ? probe.refine(parseResponse(outcome), judged) : judged
    return verdict.as === 'done' ? null : verdict.class
  }

  const look = async (watched: Watched, window: Instant, endsAt: Instant): Promise<void> => {
    const { tenant, connection } = watched
    const { name } = connection
    const claimed = await claim(tenant, name, window)
    if (claimed === null) return
    const isTry = await deps.begin(tenant, name)
    let result = await lookOnce(watched, window)
    for (const delayMs of AGAIN_MS) {
      if (result === null || result.class === null || DEFINITE.includes(result.class)) break
      const timeoutMs = connection.probe?.timeoutMs ?? 0
      if (isStopped || time.now() + delayMs + timeoutMs >= endsAt) break
      await pause(delayMs)
      result = await lookOnce(watched, window)
    }
    if (result === null || !(await keep(tenant, name, claimed, result))) return
    deps.probed(tenant, name, result, isTry)
    if (!result.ok) log.info('connection.probe-failed', { tenant, connection: name, class: result.class })
  }

  /** False: a later window is being probed already. */
  const keep = (
    tenant: TenantId,
    name: string,
    claimed: StoredProbe,
    result: ProbeResult,
  ): Promise<boolean> => {
    let stored = claimed
    const keepOnce = async (retry: () => Promise<boolean>): Promise<boolean> => {
      if (stored.record.window > result.window) return false
      const results = [result, ...stored.record.results.filter(({ window }) => window !== result.window)]
      const record = { ...stored.record, results: results.slice(0, HEALTH_RESULTS_MAX) }
      if (await write(tenant, name, stored, record)) return true
      stored = await read(tenant, name)
      return retry()
    }
    return retrying(RACES_MAX, keepOnce, () => false)
  }

  /** Each connection has its own offset, so that not all are probed together. */
  const windowOf = ({ tenant, connection }: Watched, everyMs: number): Instant => {
    const offset = hashOf(placeOf(tenant, connection.name)) % everyMs
    return Math.floor((time.now() - offset) / everyMs) * everyMs + offset
  }

  const check = () => {
    if (isStopped) return
    let nextMs: number = config.followMs
    for (const watched of deps.watched()) {
      const { tenant, connection } = watched
      const everyMs = connection.probe?.everyMs
      if (everyMs === undefined || watched.provider.probe === null) continue
      const place = placeOf(tenant, connection.name)
      const window = windowOf(watched, everyMs)
      nextMs = Math.min(nextMs, window + everyMs - time.now())
      if ((known.get(place)?.record.window ?? 0) >= window || underWay.has(place)) continue
      if (underWay.size >= AT_ONCE_MAX) {
        nextMs = LOOK_MS_MIN
        break
      }
      const looking = look(watched, window, window + everyMs)
        .catch((error: unknown) =>
          log.warn('connection.not-probed', { tenant, connection: connection.name, error: messageOf(error) }),
        )
        .finally(() => underWay.delete(place))
      underWay.set(place, looking)
    }
    cancel = clock.after(Math.max(LOOK_MS_MIN, nextMs), check)
  }

  return {
    start() {
      isStopped = false
      cancel = clock.after(LOOK_MS_MIN, check)
    },
    async stop() {
      isStopped = true
      cancel()
      await Promise.all(underWay.values())
    },
    history: async (tenant, name) => (await read(tenant, name)).record.results,
  }
}

/** FNV-1a: the same for the same text. */
function hashOf(text: string): number {
  let hash = 0x811c_9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193) >>> 0
  return hash
}
