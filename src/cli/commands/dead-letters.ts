// millrace dead-letters [id] | groups, replay, edit, ready, discard: jobs that are not retried automatically.

import { type Command, Option } from 'commander'
import { DEAD_LETTER_STATES } from '../../core/failures/dead-letter/index.ts'
import type { DeadLetter, DeadLetterDetail } from '../../sdk/client/index.ts'
import { printAttempt } from '../attempts.ts'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { postWithReason, readJsonInput } from '../input.ts'
import { prettyJson } from '../output.ts'
import { type ListOptions, limitOption, noteRest, readPages } from '../pages.ts'
import { formerFilterOption, refuseReason } from '../reasons.ts'
import { parseMoment } from '../since.ts'
import { consumerText } from '../text.ts'

interface DeadLetterOptions extends ListOptions {
  readonly state?: string
  readonly consumer?: string
  readonly class?: string
  readonly withReason?: string
  /** Refused: the former name of `withReason`. */
  readonly reason?: string
  readonly cause?: string
  readonly withKey?: string
  readonly correlation?: string
  readonly severity?: string
  readonly from?: string
  readonly to?: string
}

export function addDeadLetterCommands(program: Command, cli: Cli): void {
  const stateOption = () => new Option('--state <state>', 'only in this state').choices(DEAD_LETTER_STATES)
  const letters = program
    .command('dead-letters')
    .argument('[id]', 'one dead letter, with its event and its attempts')
    .description('list what failed for good, newest first, show one, or act on one')
    .addOption(stateOption())
    .option('--consumer <route>', 'only of this route')
    .option('--class <class>', 'only with this failure class')
    .option('--with-reason <reason>', 'only with this reason, such as cap_reached')
    .addOption(formerFilterOption())
    .option('--cause <cause>', 'only of this group')
    .option('--with-key <key>', 'only under this idempotency key')
    .option('--correlation <id>', 'only of this chain of causes')
    .option('--severity <severity>', 'only of this severity')
    .option('--from <when>', 'only those that died since: a time, or how long ago, such as 2h')
    .option('--to <when>', 'only those that died before')
    .addOption(limitOption())
  handle<DeadLetterOptions>(letters, cli, (session, options, id) =>
    id === undefined ? listDeadLetters(session, options) : showDeadLetter(session, id),
  )
  const groups = letters
    .command('groups')
    .description('count dead letters by what went wrong')
    .addOption(stateOption().default('open'))
  handle<{ state?: string }>(groups, cli, listGroups)

  const action = (verb: string, description: string) =>
    letters.command(verb).argument('<id>', 'a dead letter').description(description)
  const replay = action('replay', 'do the work again, through the ledger')
    .option('--force', 'also after replays in vain')
    .option('--again', 'make an effect that is there once more; say why')
    .option('--reason <text>', 'why; it is kept')
  handle<{ force?: boolean; again?: boolean; reason?: string }>(
    replay,
    cli,
    (session, { force, again, reason }, id) =>
      act(session, String(id), 'replay', {
        ...(force === true && { force }),
        ...(again === true && { again }),
        ...given(reason),
      }),
  )
  const edit = action('edit', 'give it another payload; the key stays, the original is kept')
    .requiredOption('--data <file>', 'the payload as JSON; - reads stdin')
    .requiredOption('--reason <text>', 'why; it is kept')
    .option('--replay', 'do the work again with it at once')
  handle<{ data: string; reason: string; replay?: boolean }>(edit, cli, async (session, options, id) => {
    const data = await readJsonInput(session, options.data)
    const body = { data, reason: options.reason }
    if (options.replay !== true) return act(session, String(id), 'edit', body)
    await session.api.post(`/v1/dead-letters/${encodeURIComponent(String(id))}/edit`, body)
    return act(session, String(id), 'replay', { reason: options.reason })
  })
  const ready = action('ready', 'mark it as looked at and ready to be replayed').option(
    '--reason <text>',
    'why; it is kept',
  )
  handle<{ reason?: string }>(ready, cli, (session, { reason }, id) =>
    act(session, String(id), 'ready', given(reason)),
  )
  const discard = action('discard', 'give it up for good').requiredOption(
    '--reason <text>',
    'why; it is kept',
  )
  handle<{ reason: string }>(discard, cli, (session, { reason }, id) =>
    act(session, String(id), 'discard', { reason }),
  )
}

const given = (reason: string | undefined) => (reason === undefined ? {} : { reason })

async function listDeadLetters(session: Session, options: DeadLetterOptions): Promise<void> {
  refuseReason(options)
  const { state, consumer } = options
  const moment = (text: string | undefined) =>
    text === undefined ? undefined : new Date(parseMoment(text, Date.now())).toISOString()
  const query = {
    state,
    consumer,
    class: options.class,
    reason: options.withReason,
    cause: options.cause,
    key: options.withKey,
    correlationId: options.correlation,
    severity: options.severity,
    from: moment(options.from),
    to: moment(options.to),
  }
  const page = await readPages<DeadLetter>(session, '/v1/dead-letters', query, options.limit)
  session.show(page, ({ items }) => {
    const { out } = session
    const columns = [
      { title: 'SINCE' },
      { title: 'ID' },
      { title: 'STATE' },
      { title: 'CONSUMER', min: 10 },
      { title: 'CLASS' },
      { title: 'REASON' },
      { title: 'ERROR', min: 12 },
    ]
    const rows = items.map((letter) => [
      out.time(letter.createdAt),
      letter.id,
      out.state(letter.state),
      consumerText(letter.consumer),
      letter.class,
      letter.reason,
      letter.lastError,
    ])
    out.table(columns, rows)
    noteRest(session, page, 'No dead letters.')
  })
}

async function listGroups(session: Session, { state }: { state?: string }): Promise<void> {
  const answer = await session.api.get<Answer<'listDeadLetterGroups'>>('/v1/dead-letters/groups', { state })
  session.show(answer, ({ items }) => {
    const { out } = session
    const columns = [
      { title: 'COUNT', align: 'right' as const },
      { title: 'CONSUMER', min: 10 },
      { title: 'CLASS' },
      { title: 'REASON' },
      { title: 'LATEST' },
      { title: 'CAUSE', min: 16 },
      { title: 'FOR EXAMPLE' },
    ]
    const rows = items.map((group) => [
      group.count,
      consumerText(group.consumer),
      group.class,
      group.reason,
      out.time(group.latestAt),
      group.cause,
      group.sampleId,
    ])
    out.table(columns, rows)
    noteRest(session, { items, nextCursor: null }, 'No dead letters.')
  })
}

async function showDeadLetter(session: Session, id: string): Promise<void> {
  const letter = await session.api.get<DeadLetterDetail>(`/v1/dead-letters/${encodeURIComponent(id)}`)
  session.show(letter, () => {
    const { out } = session
    out.fields([
      ['id', letter.id],
      ['state', out.state(letter.state)],
      ['consumer', consumerText(letter.consumer)],
      ['class', `${letter.class} (${letter.reportedAs})`],
      ['reason', letter.reason],
      ['step', letter.step],
      ['error', letter.lastError],
      ['event', letter.eventId],
      ['edited from', letter.event?.editedFrom],
      ['correlation', letter.correlationId],
      ['payload', letter.payloadHash],
      ['key', letter.key],
      ['attempts', letter.attempts],
      ['replays', letter.replays],
      ['runbook', letter.runbook],
    ])
    for (const attempt of letter.history) printAttempt(session, attempt)
    if (letter.event !== null) out.line(`\n${prettyJson(letter.event.data)}`)
  })
}

async function act(
  session: Session,
  id: string,
  verb: string,
  body: Readonly<Record<string, unknown>>,
): Promise<void> {
  const answer = await postWithReason<object>(
    session,
    `/v1/dead-letters/${encodeURIComponent(id)}/${verb}`,
    body,
    '--reason',
  )
  session.show(answer, () => {
    const { workId, state } = answer as { readonly workId?: string; readonly state?: string }
    const text =
      verb === 'replay' ? `is done again as ${workId ?? 'another item'}` : `is ${state ?? 'changed'}`
    session.out.line(`${id} ${text}`)
  })
}
