// FL3, FL9, FL12, ES2 and ES4 when a run is over: every failed job has a failure in the right state, each dead letter and each parked job
// an escalation, and each is published once, and never about a job that publishes; each connection
// that fails has one failure that is not resolved, and no other has one.

import { type ConnectionState, connectionFailureId } from '../src/core/connections/connection/index.ts'
import { CANONICAL_SOURCE, isCanonical } from '../src/core/events/canonical/index.ts'
import { failureId } from '../src/core/failures/failure/index.ts'
import { deadLetterOf } from '../src/core/queue/work/index.ts'
import type { StoreDump } from '../src/ports/store.ts'
import { isCopy } from './check-dead-letters.ts'
import { short } from './node.ts'
import type { Observations } from './run-observations.ts'

/** Of what is still there: retention takes failures with their events. */
export function checkFailures(observations: Observations, dump: StoreDump): void {
  const failures = new Map(dump.failures.map((row) => [row.id, row]))
  const letters = new Map(dump.deadLetters.map((row) => [row.id, row]))
  const works = new Map(dump.work.map((row) => [row.id, row]))
  // The failure of an edited dead letter belongs to the copy, and is deleted with it.
  const gone = new Set([...observations.gone.deadLetters.values()].map(({ failureId: one }) => one))
  const causes = new Set(dump.escalations.map(({ cause }) => cause))

  for (const row of dump.work) {
    const replayed = deadLetterOf(row)
    const id = replayed === null ? failureId(row.id) : (letters.get(replayed)?.failureId ?? failureId(row.id))
    const failure = failures.get(id)
    const found = failure?.state ?? 'absent'
    const isOver = row.state === 'done' || row.state === 'skipped' || row.state === 'cancelled'
    if (isOver && replayed === null && failure !== undefined && failure.state !== 'resolved')
      observations.violate('FL3', `work ${short(row.id)} is ${row.state}, its failure ${found}`)
    if (row.state === 'parked' && found !== 'escalated')
      observations.violate('FL3', `work ${short(row.id)} is parked, its failure ${found}`)
    if (row.state === 'dead' && failure === undefined && !gone.has(id))
      observations.violate('FL3', `dead work ${short(row.id)} has no failure`)
  }
  for (const letter of dump.deadLetters) {
    // Retention takes the failure with the event, also where an edited dead letter has another by now.
    if (observations.gone.work.has(letter.workId)) continue
    const state = letter.failureId === null ? undefined : failures.get(letter.failureId)?.state
    const expected = letter.state === 'resolved' || letter.state === 'discarded' ? 'resolved' : 'escalated'
    if (state !== expected)
      observations.violate('FL3', `dead letter ${short(letter.id)} is ${letter.state}, its failure ${state}`)
  }
  for (const failure of dump.failures) {
    const state = failure.workId === '' ? 'ready' : works.get(failure.workId)?.state
    const isTried = state === 'ready' || state === 'leased' || state === 'waiting' || state === 'merged'
    if (failure.state === 'open' && !isTried)
      observations.violate('FL3', `failure ${short(failure.id)} is open, its work ${state}`)
    if (failure.state === 'escalated' && (failure.cause === null || !causes.has(failure.cause)))
      observations.violate('ES2', `failure ${short(failure.id)} is escalated without an escalation`)
  }
  checkConnectionFailures(observations, dump)
  checkTold(observations, dump)
}

function checkConnectionFailures(observations: Observations, { failures, records }: StoreDump): void {
  const left = new Map(
    failures.flatMap((row) =>
      row.workId === '' && row.state !== 'resolved' ? [[row.id, row] as const] : [],
    ),
  )
  for (const { tenant, kind, key, body } of records) {
    const { failing } = kind === 'connection' ? (JSON.parse(body) as ConnectionState) : {}
    if (failing === undefined) continue
    const id = connectionFailureId(tenant, key, failing)
    const expected = failing.isOutage ? 'escalated' : 'open'
    // Retention takes a failure with the latest event about it.
    if (left.get(id)?.state !== expected && (left.has(id) || observations.gone.events.size === 0))
      observations.violate(
        'FL12',
        `connection ${key} fails, its failure is ${left.get(id)?.state ?? 'absent'}`,
      )
    left.delete(id)
  }
  for (const { id, consumer, state } of left.values())
    observations.violate('FL12', `failure ${short(id)} is ${state}, and ${consumer} does not fail`)
}

function checkTold(observations: Observations, dump: StoreDump): void {
  const events = new Map(dump.events.map((event) => [event.id, event]))
  const told = dump.events.filter(({ source }) => source === CANONICAL_SOURCE)
  const seen = new Set<string>()
  const about = new Map<string, string[]>()
  for (const event of told) {
    // An operator who edits the dead letter of a listening route makes a copy, which publishes nothing.
    if (isCopy(event)) continue
    const name = `${event.tenant} ${event.dedupKey}`
    if (seen.has(name)) observations.violate('ES4', `${event.dedupKey} was announced twice`)
    seen.add(name)
    const cause = event.causationId === null ? undefined : events.get(event.causationId)
    // A rotation starts with its own event, and publishes how it ended.
    if (cause !== undefined && isCanonical(cause) && cause.subject !== 'integration.credential.rotating')
      observations.violate('FL9', `event ${short(event.id)} tells of work that tells`)
    const { failureId: id } = JSON.parse(event.data) as { failureId?: string }
    if (id !== undefined) about.set(id, [...(about.get(id) ?? []), event.subject])
  }
  for (const failure of dump.failures) {
    const event = events.get(failure.eventId)
    if (event === undefined || isCanonical(event)) continue
    const subjects = about.get(failure.id) ?? []
    const resolved = subjects.filter((subject) => subject === 'integration.failure.resolved').length
    if (!subjects.includes('integration.failed'))
      observations.violate('FL3', `failure ${short(failure.id)} was never announced`)
    if (resolved !== (failure.state === 'resolved' ? 1 : 0))
      observations.violate(
        'FL3',
        `failure ${short(failure.id)} is ${failure.state}, announced as resolved ${resolved} times`,
      )
  }
  for (const { id, tenant, isAnnounced } of dump.escalations) {
    const isTold = seen.has(`${tenant} integration.escalation.raised:${id}`)
    if (isTold && !isAnnounced)
      observations.violate('ES4', `escalation ${short(id)} is announced and does not say so`)
  }
}
