// Random operations on runs: the part of operations.conformance.ts that is about connections.

import { type NewRun, RUN_STATES, runIdOf, runIdOfEffect } from '../../core/effects/integration-run/index.ts'
import type { Commit, Page, TenantReads } from '../store.ts'
import { oneOf, rarely, type Turn, tenantOf } from './operation-choices.conformance.ts'

const CONNECTIONS = ['tickets', 'chat', 'ü'] as const

/** New, or one of the latest again: about the same, or now and then about something else. */
export function makeRunPut(turn: Turn): Commit {
  const { book, pick } = turn
  const known = rarely(pick, 2) ? oneOf(pick, book.runs.slice(-8)) : undefined
  const work = rarely(pick, 3) ? undefined : oneOf(pick, book.works.slice(-20))
  const tenant = known?.tenant ?? work?.tenant ?? tenantOf(pick)
  const ofWork = work && (pick(2) === 0 ? runIdOf(work.id) : runIdOfEffect(work.id, `effect ${pick(3)}`))
  const row: NewRun = {
    id: known?.id ?? ofWork ?? book.ids.run(),
    state: oneOf(pick, RUN_STATES),
    purpose: work ? 'work' : oneOf(pick, ['test', 'verification', 'work'] as const),
    connection: oneOf(pick, CONNECTIONS),
    provider: 'github',
    operation: oneOf(pick, ['issue.create', 'a\u0000b']),
    workId: work?.id ?? null,
    eventId: oneOf(pick, book.events.slice(-20))?.id ?? null,
    correlationId: book.ids.uuid(),
    traceId: book.ids.uuid(),
    key: oneOf(pick, [null, 'key-1']),
    attemptCount: pick(30),
    attempts: Array.from({ length: pick(3) }, (_, index) => ({
      number: index + 1,
      startedAt: book.now,
      durationMs: pick(9) / 4,
      class: oneOf(pick, [null, 'transient'] as const),
      httpStatus: oneOf(pick, [null, 503]),
      error: oneOf(pick, [null, `error "${pick(9)}" \u0000`]),
      credentialVersion: oneOf(pick, [null, 2]),
      request: oneOf(pick, [null, 'POST /issues']),
      response: oneOf(pick, [null, 'HTTP 503\n\n😀']),
    })),
    class: oneOf(pick, [null, 'config', 'transient'] as const),
    httpStatus: oneOf(pick, [null, 200]),
    durationMs: oneOf(pick, [null, 1.5]),
    error: oneOf(pick, [null, `error ${pick(5)}\u0000`]),
    externalRef: oneOf(pick, [null, '#7']),
    replayOf: rarely(pick, 6) ? (oneOf(pick, book.runs)?.id ?? null) : null,
  }
  return { tenant, guards: [], writes: [{ w: 'run.put', row }] }
}

type Twice = <Row>(read: (cursor: string | null) => Promise<Page<Row>>) => Promise<unknown>

export async function readRuns(reads: TenantReads, twice: Twice, limit: number): Promise<unknown> {
  const list = (query: Omit<Parameters<TenantReads['runs']>[0], 'cursor' | 'limit'>) =>
    twice((cursor) => reads.runs({ ...query, cursor, limit }))
  const { items } = await reads.runs({ cursor: null, limit })
  const workId = items.find((row) => row.workId !== null)?.workId
  return [
    await list({}),
    await list({ connection: 'tickets' }),
    await list({ state: 'failed' }),
    await list({ state: 'running', connection: 'ü' }),
    await list({ state: 'dead-lettered', connection: 'chat' }),
    await list({ state: 'completed' }),
    await list({ purpose: 'test', connection: 'chat' }),
    await list({ purpose: 'work', state: 'pending' }),
    workId == null ? null : await list({ workId }),
    items[0] === undefined ? null : await reads.run(items[0].id),
  ]
}
