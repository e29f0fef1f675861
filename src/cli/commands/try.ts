// millrace try <route>: match, key, rendered request and ledger verdict, for a stored or made-up event. It calls no
// other system.

import type { Command } from 'commander'
import { matchesPattern } from '../../core/events/subject/index.ts'
import { parseJson } from '../../core/foundation/json/index.ts'
import type { Event } from '../../sdk/client/index.ts'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { EXIT, usageError } from '../failure.ts'
import { readInput, readJsonInput } from '../input.ts'
import { prettyJson } from '../output.ts'
import { readPages } from '../pages.ts'
import { renderReasons } from './events.ts'

interface TryOptions {
  readonly event?: string
  readonly data?: string
  readonly subject?: string
  readonly source?: string
}

export function addTryCommand(program: Command, cli: Cli): void {
  const command = program
    .command('try')
    .argument('<route>', 'a deployed route, or the path of a YAML file with one')
    .description('show what a route would do with an event; calls no external system')
    .option('--event <id>', 'an accepted event; default: the newest that matches')
    .option('--data <file>', 'a payload as JSON instead; - reads stdin')
    .option('--subject <subject>', 'its subject, with --data')
    .option('--source <name>', 'its source, with --data')
  handle<TryOptions>(command, cli, async (session, options, route) => {
    const tried = await readRoute(session, String(route))
    const answer = await session.api.post<Answer<'tryRoute'>>('/v1/try', {
      ...tried,
      event: await readEvent(session, options, 'route' in tried ? tried.route : null),
    })
    session.show(answer, () => printTrial(session, answer))
    return (answer.findings ?? []).length > 0 ? EXIT.findings.code : EXIT.ok.code
  })
}

type Tried = { readonly route: string } | { readonly yaml: string }

async function readRoute(session: Session, route: string): Promise<Tried> {
  if (!/\.(ya?ml|json)$/i.test(route) && route !== '-') return { route }
  return { yaml: (await readInput(session, route)).toString('utf8') }
}

/** How many of the newest events are searched for one that matches the route's subjects. */
const LOOKED_AT = 100

async function readEvent(session: Session, options: TryOptions, route: string | null): Promise<unknown> {
  const { event, data, subject, source } = options
  if (event !== undefined) {
    if (data !== undefined) throw usageError('--event and --data exclude each other')
    return event
  }
  if (data !== undefined) {
    if (subject === undefined)
      throw usageError('--data needs --subject', 'Write for example --subject shop.events.order.paid.')
    return { subject, data: await readJsonInput(session, data), ...(source !== undefined && { source }) }
  }
  const { items } = await readPages<Event>(session, '/v1/events', { subject, source }, LOOKED_AT)
  const patterns = route === null ? [] : await patternsOf(session, route)
  const fits = ({ subject: own }: Event) => patterns.some((pattern) => matchesPattern(pattern, own))
  const newest = items.find(fits) ?? items[0]
  if (newest === undefined)
    throw usageError('there is no event to try it with', 'Pass one with --data and --subject.')
  const which = fits(newest) ? 'the newest event that fits' : 'the newest event'
  if (!session.isJson) session.out.note(`with ${which}, ${newest.id}`)
  return newest.id
}

async function patternsOf(session: Session, route: string): Promise<readonly string[]> {
  const { items } = await session.api.get<Answer<'listDefinitions'>>('/v1/definitions', { kind: 'Route' })
  return items.find(({ name }) => name === route)?.on ?? []
}

const VERDICTS: Readonly<Record<string, string>> = {
  'would-call': 'it would call: the ledger does not have the key yet',
  'would-skip': 'it would not call: the effect already happened',
  'would-wait': 'it would wait for another job with the same key',
  'would-park': 'it would be parked: the outcome of the last call is unknown',
}

function printTrial(session: Session, trial: Answer<'tryRoute'>): void {
  const { out } = session
  for (const { message } of trial.findings ?? []) out.line(out.colors.red(message))
  out.fields([
    ['route', trial.route.name],
    ['subject', trial.subjectFits ? 'fits' : 'does not fit'],
    [
      'matched',
      trial.matched ? { text: 'yes', paint: out.colors.green } : { text: 'no', paint: out.colors.red },
    ],
    ['key', trial.key],
  ])
  for (const line of renderReasons(trial.why)) out.line(`  ${line}`)
  if (trial.problem !== undefined && trial.problem !== null) {
    const { message } = trial.problem as { readonly message?: string }
    out.line(out.colors.red(message ?? prettyJson(trial.problem)))
  }
  const { action } = trial
  if (action !== null && action !== undefined) {
    out.line()
    if (action.request !== undefined && action.request !== null) {
      const { method, url, headers = {}, body } = action.request
      out.line(`${out.colors.bold(method)} ${url}`)
      for (const [name, value] of Object.entries(headers)) out.line(out.colors.dim(`${name}: ${value}`))
      if (body !== undefined && body !== null)
        out.line(typeof body === 'string' ? prettyText(body) : prettyJson(body))
    } else out.line(`${action.type} ${prettyJson(action[action.type as keyof typeof action] ?? null)}`)
  }
  if (trial.ledger !== null && trial.ledger !== undefined) {
    out.line()
    out.line(VERDICTS[trial.ledger.verdict] ?? trial.ledger.verdict)
  }
}

function prettyText(body: string): string {
  try {
    return prettyJson(parseJson(body))
  } catch {
    return body
  }
}
