// The catalog: which subjects can be published, with schemas and examples, and which routes want them: GET /v1/catalog …

import type { FastifyInstance } from 'fastify'
import {
  findEntry,
  PUBLISHED_BY_MILLRACE,
  type Published,
  publishedBy,
} from '../core/definitions/catalog/index.ts'
import type { RouteDocument } from '../core/definitions/documents/index.ts'
import { makeTrie, parsePattern, parseSubject, patternsMeet } from '../core/events/subject/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import { stringifyJson } from '../core/foundation/json/index.ts'
import { closestSubject } from '../definitions/index.ts'
import type { HttpApi } from './api.ts'
import { operations, serveOn } from './operations.ts'
import { readFilter } from './queries.ts'
import type { Kit } from './schema-kit.ts'

const subjectRow = (s: Kit) =>
  s.object({
    subject: s.string.describe('A pattern where a part of it is computed.'),
    source: s.string.describe('A source, `route:<name>` or `function:<name>`.'),
    mapping: s.nullable(s.string).describe('The ready mapping that it comes from.'),
    description: s.nullable(s.string),
    hasSchema: s.boolean,
    example: s.any.optional(),
  })

export const catalogOperations = operations('catalog', (s) => ({
  listCatalog: {
    at: 'GET /v1/catalog',
    summary: 'The subjects that can be published, by source',
    query: s.page({
      source: s.text,
      q: s.string.max(256).describe('A part of the subject or of its description.'),
      wanted: s.boolean.describe('`true`: only those that a route waits for.'),
    }),
    answer: s.pageOf(subjectRow(s)),
  },
  getSubject: {
    at: 'GET /v1/catalog/:subject',
    summary: 'A subject with its schema, an example, and the routes that want it',
    params: s.fields({ subject: s.textOf(255) }),
    answer: s.answer(
      'The subject',
      s.extend(subjectRow, { schema: s.any.describe('null: none.'), routes: s.list(s.string) }),
    ),
  },
}))

export function addCatalogRoutes(app: FastifyInstance, api: Pick<HttpApi, 'definitions'>): void {
  const on = serveOn(app, catalogOperations)

  on('listCatalog', async (request, reply) => {
    const { source, q = '', wanted, limit, cursor } = readFilter(request.query)
    const { entries, routes } = await readCatalog(api, request.caller.tenant)
    const text = plain(q)
    const isWanted = wanted === undefined ? () => true : wantedBy(routes, wanted)
    const found = entries.filter(
      (entry) =>
        (source === undefined || entry.source === source) &&
        (plain(`${entry.subject} ${entry.description ?? ''}`).includes(text) || text === '') &&
        isWanted(entry),
    )
    const from = cursor === null ? 0 : placeAfter(found, cursor)
    const items = found.slice(from, from + limit)
    const last = items.at(-1)
    const nextCursor = from + limit < found.length && last !== undefined ? cursorOf(last) : null
    const body = { items: items.map(showEntry), nextCursor }
    return reply.type('application/json').send(stringifyJson(body as never))
  })

  on('getSubject', async (request, reply) => {
    const { subject } = request.params
    const { entries, routes } = await readCatalog(api, request.caller.tenant)
    const entry = parsePattern(subject).ok ? findEntry(entries, subject) : undefined
    if (entry === undefined) throw new AppError('not_found', nobodyPublishes(subject, entries))
    const wanting = routes.filter(({ on }) => on.some((pattern) => patternsMeet(pattern, subject)))
    const body = { ...showEntry(entry), schema: entry.schema, routes: wanting.map(({ name }) => name) }
    return reply.type('application/json').send(stringifyJson(body as never))
  })
}

/** Whether a route waits for it, or none does. */
function wantedBy(routes: readonly RouteDocument[], wanted: boolean): (entry: Published) => boolean {
  const patterns = routes.flatMap(({ on }) => on)
  const trie = makeTrie(patterns.map((pattern) => ({ pattern, value: null })))
  return ({ subject }) => trie.meets(subject) === wanted
}

function nobodyPublishes(subject: string, entries: readonly Published[]): string {
  const known = entries.map((entry) => entry.subject).filter((one) => parseSubject(one).ok)
  const near = closestSubject(subject, known)
  return `no source publishes this subject${near === undefined ? '' : `; did you mean \`${near}\`?`}`
}

async function readCatalog(
  api: Pick<HttpApi, 'definitions'>,
  tenant: TenantId,
): Promise<{ readonly entries: readonly Published[]; readonly routes: readonly RouteDocument[] }> {
  const documents = (await api.definitions.list(tenant)).map(({ document }) => document)
  const emitted = api.definitions.functionEmits(tenant).flatMap(({ name, subjects }) =>
    subjects.map((subject) => ({
      subject,
      source: `function:${name}`,
      mapping: null,
      description: 'Emitted by a function.',
      schema: null,
    })),
  )
  const entries = [...documents.flatMap(publishedBy), ...emitted, ...PUBLISHED_BY_MILLRACE].sort(
    compareEntries,
  )
  return { entries, routes: documents.filter((one) => one.kind === 'Route') }
}

function compareEntries(a: Published, b: Published): number {
  if (a.subject !== b.subject) return a.subject < b.subject ? -1 : 1
  return a.source < b.source ? -1 : Number(a.source > b.source)
}

/** By what it names, not by a number: a definition applied between two pages moves nothing. */
function cursorOf({ subject, source }: Published): string {
  return Buffer.from(JSON.stringify([subject, source])).toString('base64url')
}

function placeAfter(entries: readonly Published[], cursor: string): number {
  const [subject, source] = readCursor(cursor)
  const last = { subject, source } as Published
  const place = entries.findIndex((entry) => compareEntries(entry, last) > 0)
  return place < 0 ? entries.length : place
}

function readCursor(cursor: string): readonly [string, string] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    if (Array.isArray(parts) && parts.length === 2 && parts.every((part) => typeof part === 'string'))
      return parts as [string, string]
  } catch {
    // Refused below, like any other text that is none of ours.
  }
  throw new AppError('invalid_cursor')
}

function showEntry({ subject, source, mapping, description, schema, example }: Published) {
  return {
    subject,
    source,
    mapping,
    description,
    hasSchema: schema !== null,
    ...(example === undefined ? {} : { example }),
  }
}

/** `mergerequest` finds `merge_request`. */
function plain(text: string): string {
  return text.toLowerCase().replaceAll(/[_-]/g, '')
}
