// millrace publish | rejections | catalog: what can come in, what was refused, and custom events.

import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { type JsonValue, parseJson } from '../../core/foundation/json/index.ts'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { usageError } from '../failure.ts'
import { readInput } from '../input.ts'
import { prettyJson } from '../output.ts'
import { type ListOptions, limitOption, noteRest, readPages } from '../pages.ts'
import { formerFilterOption, refuseReason } from '../reasons.ts'

export function addSourceCommands(program: Command, cli: Cli): void {
  const publish = program
    .command('publish')
    .argument('<subject>', 'of the event')
    .description('publish an event of your own, as the API does; one with the same id is accepted once')
    .option('--data <json>', 'its data as JSON; @file reads a file, - reads stdin', '{}')
    .option('--source <name>', 'who it is from', 'millrace-cli')
    .option('--id <id>', 'its id; left out: a new one')
  handle<PublishOptions>(publish, cli, (session, options, subject) =>
    publishEvent(session, options, String(subject)),
  )
  const rejections = program
    .command('rejections')
    .description('list what sources turned away, newest first, with counts per reason; never the payload')
    .option('--source <name>', 'only of this source')
    .option('--with-reason <code>', 'only for this reason')
    .addOption(formerFilterOption())
    .addOption(limitOption())
  handle<RejectionOptions>(rejections, cli, listRejections)
  const catalog = program
    .command('catalog')
    .argument('[subject]', 'one subject, with its schema, its example and the routes that want it')
    .description('list the subjects that sources can publish')
    .option('--source <name>', 'only of this source')
    .option('-q, --q <text>', 'only with this text')
    .addOption(limitOption())
  handle<CatalogOptions>(catalog, cli, (session, options, subject) =>
    subject === undefined ? listCatalog(session, options) : showSubject(session, subject),
  )
}

// --- Publish

interface PublishOptions {
  readonly data: string
  readonly source: string
  readonly id?: string
}

const CLOUD_EVENT = 'application/cloudevents+json'

async function publishEvent(session: Session, options: PublishOptions, subject: string): Promise<void> {
  const { api, out } = session
  const event = {
    specversion: '1.0',
    id: options.id ?? randomUUID(),
    source: options.source,
    type: subject,
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
    data: await readData(session, options.data),
  }
  const answer = await api.post<object>('/v1/events', event, CLOUD_EVENT)
  session.show(answer, () => {
    const { eventId, duplicate } = answer as { readonly eventId: string; readonly duplicate: boolean }
    out.line(`${eventId}${duplicate ? '  (it was there already)' : ''}`)
    out.line(`${api.url}/events/${eventId}`)
  })
}

async function readData(session: Session, given: string): Promise<JsonValue> {
  const from = given === '-' ? '-' : given.startsWith('@') ? given.slice(1) : null
  const text = from === null ? given : (await readInput(session, from)).toString('utf8')
  try {
    return parseJson(text.replace(/^\ufeff/, ''))
  } catch (error) {
    const where = from === null ? '--data' : from === '-' ? 'stdin' : from
    throw usageError(
      `${where} is not JSON: ${(error as Error).message}`,
      'Put a text into double quotes too.',
    )
  }
}

// --- Rejections

interface RejectionOptions extends ListOptions {
  readonly source?: string
  readonly withReason?: string
  /** Refused: the former name of `withReason`. */
  readonly reason?: string
}

type Rejections = Answer<'listRejections'>

async function listRejections(session: Session, options: RejectionOptions): Promise<void> {
  refuseReason(options)
  const { source, withReason: reason } = options
  let counts: Rejections['counts'] = []
  const page = await readPages<Rejections['items'][number]>(
    session,
    '/v1/rejections',
    { source, reason },
    options.limit,
    (answer) => {
      counts = (answer as unknown as Rejections).counts
    },
  )
  session.show({ ...page, counts }, ({ items }) => {
    const { out } = session
    if (counts.length > 0) {
      const columns = [
        { title: 'COUNT', align: 'right' as const },
        { title: 'SOURCE', min: 8 },
        { title: 'REASON' },
        { title: 'LATEST' },
      ]
      out.table(
        columns,
        counts.map((one) => [one.count, one.source, one.reason, out.time(one.latestAt)]),
      )
      out.line()
    }
    const columns = [
      { title: 'AT' },
      { title: 'SOURCE', min: 8 },
      { title: 'REASON' },
      { title: 'STATUS', align: 'right' as const },
      { title: 'ADDRESS' },
      { title: 'DETAIL', min: 16 },
    ]
    const rows = items.map((one) => [
      out.time(one.at),
      one.source,
      one.reason,
      one.status,
      one.address,
      one.detail,
    ])
    out.table(columns, rows)
    noteRest(session, page, 'Nothing was turned away.')
  })
}

// --- Catalog

interface CatalogOptions extends ListOptions {
  readonly source?: string
  readonly q?: string
}

async function listCatalog(session: Session, options: CatalogOptions): Promise<void> {
  const { source, q } = options
  const page = await readPages<Answer<'listCatalog'>['items'][number]>(
    session,
    '/v1/catalog',
    { source, q },
    options.limit,
  )
  session.show(page, ({ items }) => {
    const { out } = session
    const columns = [
      { title: 'SUBJECT', min: 20 },
      { title: 'SOURCE', min: 8 },
      { title: 'SCHEMA' },
      { title: 'DESCRIPTION', min: 16 },
    ]
    out.table(
      columns,
      items.map((one) => [one.subject, one.source, one.hasSchema ? 'yes' : '', one.description]),
    )
    noteRest(session, page, 'No source says what it can publish.')
  })
}

async function showSubject(session: Session, subject: string): Promise<void> {
  const entry = await session.api.get<Answer<'getSubject'>>(`/v1/catalog/${encodeURIComponent(subject)}`)
  session.show(entry, () => {
    const { out } = session
    out.line(out.colors.bold(entry.subject))
    out.fields([
      ['source', entry.source],
      ['about', entry.description],
      ['routes', entry.routes.length === 0 ? 'none wants it yet' : entry.routes.join(', ')],
    ])
    for (const [title, value] of [
      ['schema', entry.schema],
      ['example', entry.example],
    ] as const) {
      if (value === null || value === undefined) continue
      out.line()
      out.line(out.colors.dim(title))
      out.line(prettyJson(value))
    }
    if (entry.routes.length === 0 && out.isTty) {
      out.note(`A route with ‘on: [${entry.subject}]’ would get it.`)
    }
  })
}
