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
import { printTable, resource } from '../resource.ts'

export function addSourceCommands(program: Command, cli: Cli): void {
  const publish = program
    .command('publish')
    .argument('<subject>', 'the subject of the event')
    .description('publish an event over the API; an event with the same id is accepted once')
    .option('--data <json>', 'its data as JSON; @file reads a file, - reads stdin', '{}')
    .option('--source <name>', 'the source of the event', 'millrace-cli')
    .option('--id <id>', 'its id; default: a new one')
  handle<PublishOptions>(publish, cli, (session, options, subject) =>
    publishEvent(session, options, String(subject)),
  )
  const rejections = program
    .command('rejections')
    .description('list refused requests, newest first, with counts per reason; never the payload')
    .option('--source <name>', 'only of this source')
    .option('--with-reason <code>', 'only for this reason')
    .addOption(formerFilterOption())
    .addOption(limitOption())
  handle<RejectionOptions>(rejections, cli, listRejections)
  addCatalog(program, cli)
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
    out.line(`${eventId}${duplicate ? '  (already accepted)' : ''}`)
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
      printTable(
        session,
        [
          ['COUNT', (one) => one.count, 'right'],
          ['SOURCE', (one) => one.source, 8],
          ['REASON', (one) => one.reason],
          ['LATEST', (one) => out.time(one.latestAt)],
        ],
        counts,
      )
      out.line()
    }
    printTable(
      session,
      [
        ['AT', (one) => out.time(one.at)],
        ['SOURCE', (one) => one.source, 8],
        ['REASON', (one) => one.reason],
        ['STATUS', (one) => one.status, 'right'],
        ['ADDRESS', (one) => one.address],
        ['DETAIL', (one) => one.detail, 16],
      ],
      items,
    )
    noteRest(session, page, 'No refused requests.')
  })
}

// --- Catalog

const addCatalog = resource({
  command: 'catalog',
  on: ['subject', 'one subject, with its schema, its example and the routes that select it'],
  description: 'list the subjects that sources can publish',
  list: {
    operation: 'listCatalog',
    filters: [
      ['--source <name>', 'only of this source'],
      ['-q, --q <text>', 'only with this text'],
    ],
    columns: [
      ['SUBJECT', (one) => one.subject, 20],
      ['SOURCE', (one) => one.source, 8],
      ['SCHEMA', (one) => (one.hasSchema ? 'yes' : '')],
      ['DESCRIPTION', (one) => one.description, 16],
    ],
    empty: 'No subjects in the catalog.',
  },
  show: {
    operation: 'getSubject',
    more: (one, { out }) => {
      const { routes, schema, example } = one
      out.line(out.colors.bold(one.subject))
      out.fields([
        ['source', one.source],
        ['about', one.description],
        ['routes', routes.length === 0 ? 'none yet' : routes.join(', ')],
      ])
      for (const [title, value] of Object.entries({ schema, example })) {
        if (value === null || value === undefined) continue
        out.line()
        out.line(out.colors.dim(title))
        out.line(prettyJson(value))
      }
      if (routes.length === 0 && out.isTty) out.note(`A route with ‘on: [${one.subject}]’ would get it.`)
    },
  },
})
