// millrace events [id] | explain <event>: what came in, what happened to it, and which routes matched it.

import type { Command } from 'commander'
import { isCanonicalSource } from '../../core/events/canonical/index.ts'
import type { Change, Event, EventDetail } from '../../sdk/client/index.ts'
import { printAttempt } from '../attempts.ts'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { usageError } from '../failure.ts'
import { prettyJson } from '../output.ts'
import { type ListOptions, limitOption, noteRest, readPages } from '../pages.ts'
import { printTable } from '../resource.ts'
import { momentText } from '../since.ts'
import { count } from '../text.ts'

interface EventOptions extends ListOptions {
  readonly q?: string
  readonly source?: string
  readonly subject?: string
  readonly object?: string
  readonly correlation?: string
  readonly from?: string
  readonly to?: string
  readonly unmatched?: boolean
  readonly system?: boolean
  readonly follow?: boolean
}

export function addEventCommands(program: Command, cli: Cli): void {
  const events = program
    .command('events')
    .argument('[id]', 'one event, with everything that it caused')
    .description('list events, newest first, or show one with its timeline')
    .option(
      '-q, --q <text>',
      'only with this text in id, subject, source, object, dedup key or payload, or with this effect key',
    )
    .option('--source <name>', 'only of this source')
    .option('--subject <subject>', 'only with this subject')
    .option('--object <id>', 'only about this object')
    .option('--correlation <id>', 'only with this correlation id')
    .option('--from <when>', 'only those received since: a time, or how long ago, such as 2h')
    .option('--to <when>', 'only those received before')
    .option('--unmatched', 'only unmatched events')
    .option('--system', 'also the events about Millrace itself')
    .option('-f, --follow', 'show new events as they arrive, until Ctrl-C')
    .addOption(limitOption())
  handle<EventOptions>(events, cli, (session, options, id) =>
    id === undefined ? listEvents(session, options) : showEvent(session, options, id),
  )
  const explain = program
    .command('explain')
    .argument('<event>', 'its id')
    .description('show which routes matched an event, which did not, and why')
  handle(explain, cli, (session, _options, id) => explainEvent(session, String(id)))
}

const consumersOf = ({ consumers, matched }: Event) =>
  consumers.length === 0
    ? // Matched only by a rule of its source, which derived other events from it.
      matched === 0
      ? 'unmatched'
      : 'dispatched'
    : consumers.map(({ name, state }) => `${name}: ${state}`).join(', ')

async function listEvents(session: Session, options: EventOptions): Promise<void> {
  const { q, source, subject, unmatched } = options
  const query = { source, subject, ...(unmatched === true && { unmatched: true }) }
  if (options.follow === true) {
    const stored = (['q', 'object', 'correlation', 'from', 'to', 'system'] as const).find(
      (name) => options[name] !== undefined,
    )
    if (stored !== undefined)
      throw usageError(`--${stored} looks into what is stored; leave it out with --follow`)
    return followEvents(session, query)
  }
  const filters = {
    ...query,
    ...(options.system === true && { system: true }),
    q,
    objectId: options.object,
    correlationId: options.correlation,
    from: momentText(options.from),
    to: momentText(options.to),
  }
  const page = await readPages<Event>(session, '/v1/events', filters, options.limit)
  session.show(page, ({ items }) => {
    const { out } = session
    printTable(
      session,
      [
        ['RECEIVED', (one) => out.time(one.receivedAt)],
        ['ID', (one) => one.id],
        ['SUBJECT', (one) => one.subject, 16],
        ['OBJECT', (one) => one.objectId, 8],
        [
          'CONSUMERS',
          (one) => ({ text: consumersOf(one), ...(one.matched === 0 && { paint: out.colors.dim }) }),
          12,
        ],
      ],
      items,
    )
    noteRest(session, page, 'No events yet; ‘millrace send github’ sends one.')
  })
}

/** One line per event as the stream sends it; the list has the rest. */
async function followEvents(
  session: Session,
  filter: {
    readonly source: string | undefined
    readonly subject: string | undefined
    readonly unmatched?: boolean
  },
): Promise<void> {
  const { out } = session
  const isWanted = (change: Change) =>
    change.type === 'event' &&
    (filter.source !== undefined || !isCanonicalSource(change.source)) &&
    (filter.source === undefined || change.source === filter.source) &&
    (filter.subject === undefined || change.subject === filter.subject) &&
    (filter.unmatched !== true || change.matched === 0)
  for await (const message of await session.api.stream()) {
    if (message.type === 'gap') out.note('some live events were missed; the list has them')
    if (message.type === 'disconnected') out.note('the connection was lost; reconnecting')
    if (message.type !== 'changes') continue
    for (const change of message.changes) {
      if (change.type !== 'event' || !isWanted(change)) continue
      if (session.isJson) {
        out.jsonLine(change)
        continue
      }
      const matched = change.matched === 0 ? out.colors.dim('unmatched') : count(change.matched, 'consumer')
      out.line([out.time(change.receivedAt), change.id, change.subject, matched].join('  '))
    }
  }
}

async function showEvent(session: Session, options: EventOptions, id: string): Promise<void> {
  if (options.follow === true) throw usageError('an event is final; --follow goes with the list')
  const event = await session.api.get<EventDetail>(`/v1/events/${encodeURIComponent(id)}`)
  session.show(event, () => {
    const { out } = session
    out.line(`${out.colors.bold(event.subject)}  ${event.id}`)
    out.fields([
      [
        'source',
        event.edited === undefined ? event.source : `${event.source} (it did not send this payload)`,
      ],
      [event.edited === undefined ? 'received' : 'copied', out.time(event.receivedAt)],
      ...editFields(event),
      [
        'object',
        event.objectId === null ? null : [event.objectType, event.objectId].filter(Boolean).join(' '),
      ],
      ['dedup key', event.dedupKey],
      ['correlation', event.correlationId],
      ['caused by', event.causationId],
      ['payload', event.payloadHash],
    ])
    const untold = event.consumers.length - event.story.length
    if (untold > 0) out.line(`\n${untold} older jobs are not shown; --json lists them.`)
    for (const work of event.story) {
      out.line()
      const { text, paint } = out.state(work.state)
      out.line(`${out.colors.bold(work.consumer)}  ${paint?.(text) ?? text}  ${out.colors.dim(work.id)}`)
      out.fields(
        [
          ['replay of', work.replayOf],
          ['attempts', work.attempts],
          ['key', work.key],
          ['ledger', work.ledger === null ? null : `${work.ledger.state}${proofOf(work.ledger.proof)}`],
          ['status', work.httpStatus],
          ['error', work.lastError],
          [
            'dead letter',
            work.deadLetter === null ? null : `${work.deadLetter.id} (${work.deadLetter.state})`,
          ],
        ],
        '  ',
      )
      for (const attempt of work.history) printAttempt(session, attempt)
    }
    const followUps = event.followUps
    for (const next of followUps) {
      out.line()
      out.line(`${out.colors.dim('then')} ${next.subject}  ${next.id}  ${consumersOf(next)}`)
    }
    if (event.story.length === 0 && event.matched === 0)
      out.line('\nNo route selected it; ‘millrace explain’ says why.')
    out.line()
    out.line(prettyJson(event.data))
  })
}

/** Who changed the payload of an edited copy, why, and where. */
function editFields({ edited }: EventDetail): readonly (readonly [string, string | null])[] {
  if (edited === undefined) return []
  const { changed } = edited
  const paths = changed?.map((path) => (path === '' ? 'the whole payload' : path)).join(', ')
  return [
    ['edited from', edited.from],
    ['edited for', edited.deadLetterId],
    ['edited by', edited.by ?? null],
    ['reason', edited.reason ?? null],
    ['changed', paths === undefined ? null : `${paths}${edited.hasMore === true ? ', and more' : ''}`],
  ]
}

const proofOf = (proof: string | undefined) => (proof === undefined ? '' : ` (${proof})`)

export type Reason = Answer<'explainEvent'>['consumers'][number]['why'][number]

const VERDICTS: Readonly<Record<string, string>> = {
  matched: 'matched',
  'would-match': 'would match now; it was not deployed when the event was accepted',
  'gave-way': 'not used: an earlier route has `fanOut: first`',
  ambiguous: 'several routes match, and one of them has `fanOut: one`: none runs',
  subject: 'its subjects do not match',
  condition: 'its condition does not hold',
  error: 'its condition failed',
  kept: 'the event is stored and will be matched when the source is resumed',
  unmatchable: 'the event could not be matched; its dead letter says why',
}

async function explainEvent(session: Session, id: string): Promise<void> {
  const answer = await session.api.get<Answer<'explainEvent'>>(`/v1/events/${encodeURIComponent(id)}/explain`)
  session.show(answer, () => {
    const { out } = session
    out.line(`${out.colors.bold(answer.subject)}  ${answer.eventId}`)
    const isKept = answer.consumers.some(({ verdict }) => verdict === 'kept')
    for (const consumer of answer.consumers) {
      const isMatch = consumer.verdict === 'matched'
      const isOpen = consumer.verdict === 'kept' || (isKept && consumer.verdict === 'would-match')
      const mark = isMatch
        ? out.colors.green('yes')
        : isOpen
          ? out.colors.yellow('…  ')
          : out.colors.dim('no ')
      const status = consumer.status === 'active' ? '' : out.colors.yellow(` (${consumer.status})`)
      const verdict =
        isKept && consumer.verdict === 'would-match'
          ? 'would match when the source is resumed'
          : (VERDICTS[consumer.verdict] ?? consumer.verdict)
      out.line(`${mark}  ${out.colors.bold(consumer.name)}${status}  ${verdict}`)
      if (consumer.verdict === 'subject') out.line(`       ${consumer.patterns.join(', ')}`)
      for (const line of renderReasons(consumer.why)) out.line(`       ${line}`)
      if (consumer.workId !== undefined) out.line(`       ${out.colors.dim(consumer.workId)}`)
    }
    if (answer.consumers.length === 0) out.line('There are no routes yet.')
  })
}

/** Each part of a condition with the value it saw. */
export function renderReasons(why: readonly Reason[]): readonly string[] {
  return why.map(({ part, holds, saw }) => {
    const mark = holds === true ? '✓' : holds === false ? '✗' : '?'
    return `${mark} ${part}${saw === undefined ? '' : `   saw ${typeof saw === 'string' ? saw : prettyOneLine(saw)}`}`
  })
}

const SAW_MAX = 120

function prettyOneLine(value: unknown): string {
  const text = prettyJson(value).replaceAll(/\s*\n\s*/g, ' ')
  return text.length > SAW_MAX ? `${text.slice(0, SAW_MAX)}…` : text
}
