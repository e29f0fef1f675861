// Idempotency keys of our own API: the first response to a key is stored for a day and returned again.
//
// A key is reserved before its request runs and gets the response after it. A request that broke off in between leaves its
// reserve behind: it is free again at once in the same incarnation of a node, after a while for another one. The request then
// runs again, because the outcome of the first run is unknown.
//
// Record names start with the day, so that old ones are found at the beginning of the list.

import { createHash } from 'node:crypto'
import { AppError, messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Guard, Store, Write } from '../../ports/store.ts'

export interface StoredResponse {
  readonly status: number
  readonly type: string | null
  readonly text: string
}

export type Begun =
  | { readonly do: 'replay'; readonly answer: StoredResponse }
  /** Call `finish` exactly once: with the response to store, or null to delete the key. */
  | { readonly do: 'run'; finish(answer: StoredResponse | null): Promise<void> }

export interface Idempotency {
  /** `request` represents method, path and body. Throws `idempotency_mismatch` and `idempotency_running`. */
  begin(tenant: TenantId, caller: string, key: string, request: string): Promise<Begun>
  /** Removes expired keys, now and every few minutes, page by page. */
  start(): void
  stop(): void
}

interface Body {
  readonly request: string
  readonly at: Instant
  /** The node and incarnation that runs it. */
  readonly life: string
  /** null while it runs; 'large' if it was too large to be stored. */
  readonly answer: StoredResponse | 'large' | null
}

interface Reserved {
  readonly version: number
  readonly body: Body
}

const DAY_MS = 86_400_000
/** Longer than any request may take. */
const ABANDONED_AFTER_MS = 120_000
const RETRY_SECONDS = 1
const ANSWER_LENGTH_MAX = 262_144
const CLEAN_EVERY_MS = 600_000
const CLEAN_PAGE = 100

export function makeIdempotency(deps: {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  /** Unlike that of any other incarnation of any node. */
  readonly life: string
  tenants(): Promise<readonly TenantId[]>
}): Idempotency {
  const { store, clock, log, life } = deps
  const running = new Set<string>()
  let cancel: () => void = () => {}
  let isStopped = false

  const find = async (tenant: TenantId, names: readonly string[]) => {
    const reads = store.forTenant(tenant)
    const records = await Promise.all(names.map((name) => reads.record('idempotency', name)))
    const versions = records.map((record) => record?.version ?? 0)
    const bodies = records.map((record) => (record === null ? null : (JSON.parse(record.body) as Body)))
    const index = bodies.findIndex((body) => body !== null && clock.now() - body.at < DAY_MS)
    return { versions, index, body: index === -1 ? null : (bodies[index] as Body) }
  }

  const put = (name: string, version: number, body: Body): Write => ({
    w: 'record.put',
    kind: 'idempotency',
    key: name,
    version,
    body: JSON.stringify(body),
  })
  const guard = (name: string, version: number): Guard => ({
    g: 'version',
    of: 'idempotency',
    key: name,
    version,
  })

  const isUnderWay = (slot: string, body: Body): boolean =>
    body.life === life ? running.has(slot) : Math.abs(clock.now() - body.at) < ABANDONED_AFTER_MS

  const finish = async (
    tenant: TenantId,
    name: string,
    reserved: Reserved,
    answer: StoredResponse | null,
  ) => {
    const { version, body } = reserved
    const storable = answer !== null && answer.text.length > ANSWER_LENGTH_MAX ? 'large' : answer
    const write: Write =
      storable === null
        ? { w: 'record.delete', kind: 'idempotency', key: name }
        : put(name, version + 1, { ...body, answer: storable })
    // The request is done, and the caller must get its response, whatever happens to the key.
    try {
      const result = await store.commit({ tenant, guards: [guard(name, version)], writes: [write] })
      if (!result.ok) log.warn('idempotency.lost', { tenant, error: 'the key was taken up by another run' })
    } catch (error) {
      log.warn('idempotency.lost', { tenant, error: messageOf(error) })
    }
  }

  const begin: Idempotency['begin'] = async (tenant, caller, key, request) => {
    const owner = digest(`${caller}\n${key}`)
    const slot = `${tenant} ${owner}`
    const now = clock.now()
    // Days beside today, so that a key that is sent around midnight is still one key.
    const names = [-1, 0, 1].map((days) => `${dayOf(now + days * DAY_MS)}/${owner}`)
    const { versions, index, body } = await find(tenant, names)
    if (body !== null) {
      if (body.request !== digest(request)) throw new AppError('idempotency_mismatch')
      if (body.answer === 'large') {
        throw new AppError(
          'conflict',
          'this request was done before, and its answer was too large to be kept',
        )
      }
      if (body.answer !== null) return { do: 'replay', answer: body.answer }
      if (isUnderWay(slot, body)) throw isRunning()
    }
    // Taken before the store is asked: other requests can read a reserve before its own commit has returned.
    if (running.has(slot)) throw isRunning()
    running.add(slot)
    try {
      // A key that is taken over keeps its name: the first run, if it still lives, loses its version guard.
      const at = index === -1 ? 1 : index
      const [name, version] = [names[at] as string, (versions[at] as number) + 1]
      const fresh: Body = { request: digest(request), at: now, life, answer: null }
      const guards = names.map((one, position) => guard(one, versions[position] as number))
      const result = await store.commit({ tenant, guards, writes: [put(name, version, fresh)] })
      if (!result.ok) throw isRunning()
      return {
        do: 'run',
        finish: (answer) =>
          finish(tenant, name, { version, body: fresh }, answer).finally(() => running.delete(slot)),
      }
    } catch (error) {
      running.delete(slot)
      throw error
    }
  }

  /** Whether there may be more. */
  const cleanPage = async (tenant: TenantId, oldest: string): Promise<boolean> => {
    const query = { kind: 'idempotency', cursor: null, limit: CLEAN_PAGE } as const
    const { items } = await store.forTenant(tenant).records(query)
    const old = items.filter(({ key }) => key < oldest)
    if (old.length === 0) return false
    const writes = old.map(({ key }): Write => ({ w: 'record.delete', kind: 'idempotency', key }))
    await store.commit({ tenant, guards: [], writes })
    return old.length === CLEAN_PAGE
  }
  /** A page of each tenant in turn, until nothing old is left: a tenant with many does not make others wait. */
  const clean = async () => {
    const oldest = dayOf(clock.now() - DAY_MS)
    let waiting = await deps.tenants()
    while (waiting.length > 0) {
      const more: TenantId[] = []
      for (const tenant of waiting) {
        if (isStopped) return
        if (await cleanPage(tenant, oldest)) more.push(tenant)
        await new Promise<void>((done) => clock.defer(done))
      }
      waiting = more
    }
  }
  const round = () => {
    void clean()
      .catch((error) => {
        if (!isStopped) log.warn('idempotency.not-cleaned', { error: messageOf(error) })
      })
      .then(() => {
        if (!isStopped) cancel = clock.after(CLEAN_EVERY_MS, round)
      })
  }

  return {
    begin,
    start: round,
    stop() {
      isStopped = true
      cancel()
    },
  }
}

function isRunning(): AppError {
  return new AppError('idempotency_running', undefined, { details: { retryAfterSeconds: RETRY_SECONDS } })
}

function dayOf(at: Instant): string {
  return new Date(at).toISOString().slice(0, 10)
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
