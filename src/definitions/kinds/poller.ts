// A poller: a source that sends nothing, asked on schedule for what changed, page by page; each item becomes an event.

import * as z from 'zod'
import type {
  HttpActionDocument,
  PagingDocument,
  PollerDocument,
} from '../../core/definitions/documents/index.ts'
import { RETENTION_MS } from '../../core/definitions/documents/index.ts'
import { splitTemplateText } from '../../core/expression/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../core/foundation/time/index.ts'
import { RETRY_PROFILES } from '../../core/queue/retry/index.ts'
import { headers, lowerCased, REQUEST, timeout } from '../actions/action-kind.ts'
import { checkAction, checkCron, resolveAction } from '../actions/index.ts'
import type { Surroundings } from '../document-context.ts'
import {
  authPlace,
  constant,
  duration,
  field,
  literal,
  optional,
  path,
  pick,
  reference,
  send,
  sends,
  subjectSend,
  urlOrPath,
} from '../fields.ts'
import type { Remark } from '../finding.ts'
import { checkRetry } from '../retries.ts'
import { checkSensitivePoller } from '../sensitive-items.ts'
import { type Fields, fieldsOf, milliseconds } from '../written.ts'
import { type KindDeclaration, type Known, lazily } from './kind.ts'
import {
  count,
  deadLetter,
  envelope,
  resolveAuth,
  resolveDeadLetter,
  resolveRetry,
  retryInline,
  status,
} from './parts.ts'

const LIST_ROOTS = ['window', 'pageSize', 'tenant', 'vars'] as const
const ITEM_ROOTS = ['item', 'tenant'] as const
const RESULT_ROOTS = ['result'] as const

const PATHS_MAX = 100
const PAGE_SIZE = 200
const MAX_PAGES = 50

const http = () =>
  z.strictObject({
    connection: optional(reference(), 'Whose address and credential it goes with.', 'nobody’s'),
    auth: optional(authPlace(), 'What proves who calls, in place of a connection.', 'nothing does'),
    url: field(
      urlOrPath(LIST_ROOTS, REQUEST),
      'Absolute, http or https; with a connection a path behind its base. It is requested with GET.',
    ),
    query: optional(
      z.record(literal({ minLength: 1 }), field(send(LIST_ROOTS, REQUEST), 'One parameter.')),
      'Parameters, by name; values are percent-encoded.',
      'none',
    ),
    headers: optional(headers(LIST_ROOTS), 'Headers, by name.', 'none'),
  })

const list = () =>
  z.strictObject({
    http: optional(http(), 'A request to an address, or on a connection.', '`operation`'),
    operation: optional(
      reference(),
      'An operation of a provider that lists, as `shop.listOrders`.',
      '`http`',
    ),
    connection: optional(reference(), 'Of an operation: the account that it is called by.', '`http`'),
    with: optional(sends(LIST_ROOTS), 'The input of the operation.', 'none'),
    items: optional(
      pick(RESULT_ROOTS),
      'The list of items in the response: `result.body…`; for operations `result` as the operation gives it.',
      '`result.body`, or `result` of an operation',
    ),
  })

const sizes = () => ({
  pageSize: optional(count(10_000), 'What `pageSize` is in the request.', { default: PAGE_SIZE }),
  maxPages: optional(
    count(10_000),
    'How many pages one run reads. A window with more keeps the watermark, and the next run goes on at the next page.',
    { default: MAX_PAGES },
  ),
})

const paging = () => {
  const style = () => 'How the next page is asked for.'
  const param = () => field(literal({ minLength: 1 }), 'The parameter of the request that it is written in.')
  const total = () =>
    optional(
      pick(RESULT_ROOTS),
      'How many items there are over all pages. The last page is known by it, and pages that lack items are noticed.',
      'the pages end with an empty one, and items that move between them may be missed',
    )
  return z.discriminatedUnion('style', [
    z.strictObject({
      style: field(constant('page'), style()),
      param: param(),
      first: optional(z.number().int().min(0).max(1), 'The number of the first page.', { default: 1 }),
      total: total(),
      ...sizes(),
    }),
    z.strictObject({
      style: field(constant('offset'), style()),
      param: param(),
      first: optional(z.number().int().min(0).max(1), 'The offset of the first item.', '`0`'),
      total: total(),
      ...sizes(),
    }),
    z.strictObject({
      style: field(constant('cursor'), style()),
      param: param(),
      next: field(pick(RESULT_ROOTS), 'The cursor of the next page; null or empty at the end.'),
      ...sizes(),
    }),
    z.strictObject({ style: field(constant('link'), style()), ...sizes() }),
  ])
}

const schema = lazily(() =>
  z
    .strictObject({
      ...envelope('Poller'),
      status: status(
        '`paused`: it polls nothing and keeps its watermark. `disabled`: the same, by definition.',
      ),
      every: optional(duration(SECOND, 7 * DAY), 'How often it polls.', { default: '5m' }),
      cron: optional(literal({ minLength: 1 }), 'When it polls, instead of `every`.', '`every`'),
      zone: optional(literal({ minLength: 1 }), 'The time zone of `cron`.', '`UTC`'),
      list: field(
        list(),
        'The call that lists what changed; sees `window.from` (inclusive), `window.to` (exclusive) and `pageSize`.',
      ),
      paging: optional(paging(), 'How further pages are read.', 'one response has everything'),
      cursor: field(
        z.strictObject({
          field: field(pick(ITEM_ROOTS), 'When the item changed last: what the watermark follows.'),
        }),
        'How far it got.',
      ),
      since: optional(duration(MINUTE, 3_650 * DAY), 'How far back the first window begins.', {
        default: '30d',
      }),
      overlap: optional(
        duration(0, 30 * DAY, 'auto'),
        'How far each window reaches back behind the watermark, for what the source shows late.',
        { default: '10m' },
      ),
      safetyLag: optional(duration(0, DAY), 'How far each window ends before the present.', {
        default: '30s',
      }),
      unchanged: optional(
        pick(ITEM_ROOTS),
        'What an object consists of, as `hash(item)`: while it is the same as before, the object is skipped.',
        'the time of its change alone counts; if the request names no `window.from`, `event.id`',
      ),
      subject: field(subjectSend(ITEM_ROOTS), 'The subject of the events: that of the push path.'),
      event: field(
        z.strictObject({
          id: optional(
            pick(ITEM_ROOTS),
            'Which version of which object it is: the same is stored once.',
            'the object and the time of its change',
          ),
          objectType: optional(send(ITEM_ROOTS), 'What kind of object it is about.', 'none'),
          objectId: field(pick(ITEM_ROOTS), 'Which object it is about.'),
          occurredAt: optional(pick(ITEM_ROOTS), 'When it happened.', '`cursor.field`'),
        }),
        'What the events are about.',
      ),
      data: optional(sends(ITEM_ROOTS), 'The payload of the events.', 'the item'),
      retry: optional(
        z.union([reference(), retryInline()]),
        'Of calls that failed: the name of a profile, or a policy in place.',
        {
          default: 'STANDARD',
        },
      ),
      timeout: optional(timeout(), 'Of one page.', { default: '30s' }),
      deadLetter: deadLetter(),
      sensitive: optional(
        z.array(path()).min(1).max(PATHS_MAX),
        'What is encrypted at rest, kept out of logs and hidden from viewers.',
        'nothing',
      ),
      retention: optional(
        duration(HOUR, 3_650 * DAY),
        'How long an event is stored once all its jobs are done.',
        {
          default: '30d',
        },
      ),
    })
    .meta({ title: 'Poller' }),
)

type PollerInput = z.infer<ReturnType<typeof schema>>

export const pollerKind: KindDeclaration<PollerDocument, ReturnType<typeof schema>> = {
  schema,
  resolve: resolvePoller,
  check: checkPoller,
  summary: 'A source that is asked on schedule for what changed.',
  template: `kind: Poller
name: NAME
every: 5m
list:
  http:
    url: https://NAME.example.com/items
    query: { updatedSince: "{{ window.from }}", updatedBefore: "{{ window.to }}", limit: "{{ pageSize }}" }
  items: result.body.data
paging: { style: page, param: page, total: result.body.total }
cursor: { field: item.updatedAt }
subject: NAME.events.updated
event: { objectId: item.id }
`,
}

// --- The normal form

const TIMEOUT_MS = 30 * SECOND

/** null: it names a profile or a provider that is not valid. */
function resolvePoller(input: PollerInput, known: Known): PollerDocument | null {
  const retry = input.retry === undefined ? RETRY_PROFILES.STANDARD : resolveRetry(input.retry, known)
  const list = resolveList(input, known)
  if (retry === null || list === null) return null
  const { every, cron, zone, event, list: written } = input
  const retentionMs = milliseconds(input.retention, RETENTION_MS)
  return {
    kind: 'Poller',
    name: input.name,
    description: input.description ?? null,
    status: input.status ?? 'active',
    cadence:
      cron === undefined ? { everyMs: milliseconds(every, 5 * MINUTE) } : { cron, zone: zone ?? 'UTC' },
    list,
    items: written.items ?? (written.http === undefined ? 'result' : 'result.body'),
    paging: resolvePaging(input.paging),
    watermark: input.cursor.field,
    sinceMs: milliseconds(input.since, 30 * DAY),
    overlapMs: milliseconds(input.overlap, 10 * MINUTE),
    safetyLagMs: milliseconds(input.safetyLag, 30 * SECOND),
    ...(input.unchanged === undefined ? {} : { unchanged: input.unchanged }),
    subject: input.subject,
    event: {
      id: event.id ?? null,
      objectType: event.objectType ?? null,
      objectId: event.objectId,
      occurredAt: event.occurredAt ?? null,
    },
    data: (input.data ?? '{{ item }}') as JsonValue,
    retry,
    deadLetter: resolveDeadLetter(input.deadLetter),
    ...(input.sensitive === undefined ? {} : { sensitive: input.sensitive }),
    ...(retentionMs === RETENTION_MS ? {} : { retentionMs }),
  }
}

function resolveList({ list, timeout }: PollerInput, known: Known): PollerDocument['list'] | null {
  const { http, operation, connection } = list
  if (http !== undefined) return resolveHttp(http, milliseconds(timeout, TIMEOUT_MS))
  const given = { operation, connection, with: list.with ?? {}, timeout }
  const action = resolveAction(given as Parameters<typeof resolveAction>[0], 'route', known)
  return action?.type === 'operation' ? action : null
}

function resolveHttp(
  { connection, auth, url, query, headers }: NonNullable<PollerInput['list']['http']>,
  timeoutMs: number,
): HttpActionDocument {
  const pairs = Object.entries(query ?? {}).map(
    ([name, text]) => `${encodeURIComponent(name)}=${encoded(text)}`,
  )
  const joined = pairs.length === 0 ? url : `${url}${url.includes('?') ? '&' : '?'}${pairs.join('&')}`
  return {
    type: 'http',
    ...(connection === undefined ? {} : { connection }),
    ...resolveAuth(auth),
    method: 'GET',
    url: joined,
    headers: lowerCased(headers),
    body: null,
    idempotent: true,
    keyTtlMs: null,
    probe: null,
    timeoutMs,
    classify: {},
  }
}

/** Text as a part of a query; the values of templates are encoded when they are filled in. */
function encoded(text: string): string {
  const parts = splitTemplateText(text) ?? []
  return parts
    .map((part) => (part.isExpression ? `{{ ${part.text} }}` : encodeURIComponent(part.text)))
    .join('')
}

function resolvePaging(input: PollerInput['paging']): PagingDocument {
  if (input === undefined) return { style: 'none', pageSize: PAGE_SIZE, maxPages: MAX_PAGES }
  const { pageSize = PAGE_SIZE, maxPages = MAX_PAGES } = input
  switch (input.style) {
    case 'page':
    case 'offset': {
      const { style, param, total = null, first = style === 'page' ? 1 : 0 } = input
      return { style, param, first, total, pageSize, maxPages }
    }
    case 'cursor':
      return { style: 'cursor', param: input.param, next: input.next, pageSize, maxPages }
    case 'link':
      return { style: 'link', pageSize, maxPages }
  }
}

// --- Checks

function checkPoller(value: Fields, around: Surroundings): readonly Remark[] {
  return [
    ...checkCadence(value),
    ...checkList(value, around),
    ...checkRetry(value.retry, around),
    ...checkOverlap(value),
    ...checkBound(value),
    ...checkSensitivePoller(value),
    ...checkTotal(value),
  ]
}

function checkCadence({ every, cron, zone }: Fields): readonly Remark[] {
  if (cron === undefined) {
    if (zone === undefined) return []
    return [{ rule: 'together', message: '`zone` is that of `cron`', path: ['zone'], onKey: true }]
  }
  if (every !== undefined) {
    const message = 'it polls `every` so often or by `cron`: keep one of them'
    return [{ rule: 'together', message, path: ['every'], onKey: true }]
  }
  return checkCron({ cron, ...(zone === undefined ? {} : { zone }) }, [])
}

function checkList({ list: written, paging }: Fields, around: Surroundings): readonly Remark[] {
  const list = fieldsOf(written)
  const { items: _items, ...action } = list
  const { http } = list
  if (http === undefined && list.operation === undefined) {
    return [{ rule: 'oneOf', message: 'say what lists: `http` or `operation`', path: ['list'] }]
  }
  const remarks = [...checkAction(withGet(action), ['list'], '`list`', around)]
  if (http === undefined && fieldsOf(paging).style === 'link') {
    const message = 'an operation gives no headers: `style: link` needs `list.http`'
    remarks.push({ rule: 'together', message, path: ['paging', 'style'] })
  }
  return remarks
}

/** As the action that it becomes. */
function withGet(action: Fields): Fields {
  return action.http === undefined ? action : { ...action, http: { ...fieldsOf(action.http), method: 'GET' } }
}

function checkOverlap({ overlap }: Fields): readonly Remark[] {
  if (overlap !== 'auto') return []
  const message = '`overlap: auto` is not available in this version: write how long, as `10m`'
  return [{ rule: 'notAvailable', message, path: ['overlap'] }]
}

/** Without a lower bound each poll reads everything: that is allowed, and rarely meant. */
function checkBound({ list }: Fields): readonly Remark[] {
  if (/\bwindow\s*\.\s*from\b/.test(JSON.stringify(list ?? null))) return []
  const message =
    'nothing in the request names `window.from`: each poll reads everything. Ask for what changed since, as `updatedSince: "{{ window.from }}"`'
  return [{ rule: 'pollsEverything', severity: 'warning', message, path: ['list'] }]
}

/** A page begins where the one before ended, as counted from an end that moves when an item leaves. */
function checkTotal({ paging }: Fields): readonly Remark[] {
  const { style, total } = fieldsOf(paging)
  if ((style !== 'page' && style !== 'offset') || total !== undefined) return []
  const message =
    'without `total` it is not noticed when items leave earlier pages while later ones are read: others move up, and are missed. Write where the response says how many there are, as `total: result.body.total`, or read by `cursor` or `link`'
  return [{ rule: 'mayMissItems', severity: 'warning', message, path: ['paging'] }]
}
