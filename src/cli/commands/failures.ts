// millrace failures [id] and millrace escalations [id] | ack: what went wrong, and who was notified.

import { type Command, Option } from 'commander'
import { ESCALATION_STATES } from '../../core/failures/escalation/index.ts'
import { FAILURE_CLASSES, FAILURE_STATES } from '../../core/failures/failure/index.ts'
import type { Escalation, Failure } from '../../sdk/client/index.ts'
import { type Cli, handle, type Session } from '../command.ts'
import { type ListOptions, limitOption, noteRest, readPages } from '../pages.ts'
import { consumerText } from '../text.ts'

interface FailureOptions extends ListOptions {
  readonly state?: string
  readonly consumer?: string
  readonly class?: string
  readonly cause?: string
}

export function addFailureCommands(program: Command, cli: Cli): void {
  const failures = program
    .command('failures')
    .argument('[id]', 'one failure')
    .description('list what went wrong, newest first, or show one')
    .addOption(new Option('--state <state>', 'only in this state').choices(FAILURE_STATES))
    .option('--consumer <route>', 'only of this route')
    .addOption(new Option('--class <class>', 'only with this failure class').choices(FAILURE_CLASSES))
    .option('--cause <cause>', 'only what this escalation counts: its cause')
    .addOption(limitOption())
  handle<FailureOptions>(failures, cli, (session, options, id) =>
    id === undefined ? listFailures(session, options) : showFailure(session, id),
  )

  const escalations = program
    .command('escalations')
    .argument('[id]', 'one escalation')
    .description('list what people should look at, newest first, show one, or acknowledge one')
    .addOption(new Option('--state <state>', 'only in this state').choices(ESCALATION_STATES))
    .option('--consumer <route>', 'only of this route')
    .addOption(limitOption())
  handle<FailureOptions>(escalations, cli, (session, options, id) =>
    id === undefined ? listEscalations(session, options) : showEscalation(session, id),
  )
  const ack = escalations
    .command('ack')
    .argument('<id>', 'an escalation')
    .description('take it over; what fails of its cause afterwards raises another one')
    .option('--note <text>', 'what you know or do about it; it is kept')
  handle<{ note?: string }>(ack, cli, (session, { note }, id) => acknowledge(session, String(id), note))
}

async function listFailures(session: Session, options: FailureOptions): Promise<void> {
  const { state, consumer, cause } = options
  const query = { state, consumer, class: options.class, cause }
  const page = await readPages<Failure>(session, '/v1/failures', query, options.limit)
  session.show(page, ({ items }) => {
    const { out } = session
    const columns = [
      { title: 'SINCE' },
      { title: 'ID' },
      { title: 'STATE' },
      { title: 'CONSUMER', min: 10 },
      { title: 'CLASS' },
      { title: 'TRIES', align: 'right' as const },
      { title: 'ERROR', min: 12 },
    ]
    const rows = items.map((failure) => [
      out.time(failure.createdAt),
      failure.id,
      out.state(failure.state),
      consumerText(failure.consumer),
      failure.class,
      failure.attempts,
      failure.lastError,
    ])
    out.table(columns, rows)
    noteRest(session, page, 'No failures.')
  })
}

async function showFailure(session: Session, id: string): Promise<void> {
  const failure = await session.api.get<Failure>(`/v1/failures/${encodeURIComponent(id)}`)
  session.show(failure, () => {
    const { out } = session
    out.fields([
      ['id', failure.id],
      ['state', out.state(failure.state)],
      ['consumer', consumerText(failure.consumer)],
      ['class', `${failure.class} (${failure.reportedAs})`],
      ['reason', failure.reason ?? undefined],
      ['error', failure.lastError],
      ['event', failure.eventId],
      ['work', failure.workId],
      ['key', failure.key],
      ['attempts', failure.attempts],
      ['tried again', failure.willRetryAt === null ? undefined : out.time(failure.willRetryAt)],
      ['cause', failure.cause ?? undefined],
    ])
  })
}

async function listEscalations(session: Session, options: FailureOptions): Promise<void> {
  const { state, consumer } = options
  const page = await readPages<Escalation>(session, '/v1/escalations', { state, consumer }, options.limit)
  session.show(page, ({ items }) => {
    const { out } = session
    const columns = [
      { title: 'SINCE' },
      { title: 'ID' },
      { title: 'STATE' },
      { title: 'COUNT', align: 'right' as const },
      { title: 'CONSUMER', min: 10 },
      { title: 'CLASS' },
      { title: 'REASON' },
      { title: 'ERROR', min: 12 },
    ]
    const rows = items.map((escalation) => [
      out.time(escalation.createdAt),
      escalation.id,
      out.state(escalation.state),
      escalation.count,
      consumerText(escalation.consumer),
      escalation.class,
      escalation.reason,
      escalation.lastError,
    ])
    out.table(columns, rows)
    noteRest(session, page, 'No escalations.')
  })
}

async function showEscalation(session: Session, id: string): Promise<void> {
  const escalation = await session.api.get<Escalation>(`/v1/escalations/${encodeURIComponent(id)}`)
  session.show(escalation, () => printEscalation(session, escalation))
}

async function acknowledge(session: Session, id: string, note: string | undefined): Promise<void> {
  const path = `/v1/escalations/${encodeURIComponent(id)}/acknowledge`
  const escalation = await session.api.post<Escalation>(path, note === undefined ? {} : { note })
  session.show(escalation, () => {
    session.out.line(`${id} is ${escalation.state} by ${escalation.acknowledgedBy ?? 'somebody'}`)
  })
}

function printEscalation({ out }: Session, escalation: Escalation): void {
  out.fields([
    ['id', escalation.id],
    ['state', out.state(escalation.state)],
    ['count', escalation.count],
    ['consumer', consumerText(escalation.consumer)],
    ['class', `${escalation.class} (${escalation.reportedAs})`],
    ['reason', escalation.reason],
    ['severity', escalation.severity],
    ['latest error', escalation.lastError],
    ['latest work', escalation.workId ?? undefined],
    ['cause', escalation.cause],
    ['runbook', escalation.runbook],
    ['acknowledged by', escalation.acknowledgedBy ?? undefined],
    ['note', escalation.note ?? undefined],
  ])
}
