// The typed fields of a subscription, and what is sent to the node: all of a new one, only the changes of an edited
// one. Texts stay texts until then, so that nothing half-typed is lost.

import type { Args, SubscriptionDetail } from '../types.ts'
import { type FormField, SUBSCRIPTION_FIELDS } from './definition-fields.generated.ts'
import { checkJson, formatJson, parseJsonText } from './json-text.ts'
import { readPairs, writePairs } from './subscription-words.ts'

export interface Draft {
  readonly name: string
  readonly description: string
  readonly url: string
  readonly on: readonly string[]
  readonly where: string
  readonly transform: string
  readonly headers: string
  readonly signing: string
  readonly secretRef: string
  readonly perMinute: string
  readonly atOnce: string
  readonly orderBy: string
  readonly metadata: string
  /** By the language's name: the fields that the form does not draw by itself. */
  readonly others: Readonly<Record<string, string>>
}

/** Drawn with care, or changed elsewhere: a status has its own buttons. */
const DRAWN = ['description', 'signing', 'status']

/** All other fields of one line: a new one of the language is here without code. */
export const OTHER_FIELDS = SUBSCRIPTION_FIELDS.filter(({ name }) => !DRAWN.includes(name))

export const EMPTY_DRAFT: Draft = {
  name: '',
  description: '',
  url: '',
  on: [],
  where: '',
  transform: '',
  headers: '',
  signing: 'standard',
  secretRef: '',
  perMinute: '',
  atOnce: '',
  orderBy: '',
  metadata: '',
  others: {},
}

/** The parts of its document that the form shows. */
interface Document {
  readonly where?: unknown
  readonly transform?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly secret?: { readonly ref?: string } | null
  readonly rateLimit?: { readonly perMinute: number }
  readonly concurrency?: { readonly limit: number }
  readonly order?: { readonly by: string }
}

/** As it could be written; the node gives durations in milliseconds. */
function writtenOf(
  { name, isDuration, word }: FormField,
  document: Readonly<Record<string, unknown>>,
): string {
  const value = document[isDuration === true ? `${name}Ms` : name]
  if (value === null) return word ?? ''
  if (typeof value !== 'number') return typeof value === 'string' ? value : ''
  const [unit, size] = WRITTEN_UNITS.find(([, ms]) => value % ms === 0) ?? ['ms', 1]
  return `${value / size}${unit}`
}

const WRITTEN_UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

const asText = (value: unknown): string => formatJson(parseJsonText(JSON.stringify(value)))

export function draftOf({ document, ...one }: SubscriptionDetail): Draft {
  const { where, transform, headers, secret, rateLimit, concurrency, order } = document as Document
  return {
    name: one.name,
    description: one.description ?? '',
    url: one.url,
    on: one.on,
    where: where == null || where === true ? '' : typeof where === 'string' ? where : asText(where),
    transform: transform === undefined ? '' : asText(transform),
    headers: writePairs(headers ?? {}),
    signing: one.signing,
    secretRef: secret?.ref ?? '',
    perMinute: rateLimit === undefined ? '' : String(rateLimit.perMinute),
    atOnce: concurrency === undefined ? '' : String(concurrency.limit),
    orderBy: order?.by ?? '',
    metadata: writePairs(one.metadata),
    others: Object.fromEntries(OTHER_FIELDS.map((field) => [field.name, writtenOf(field, document)])),
  }
}

export interface Written {
  readonly body: Args<'createSubscription'>
  /** As the text it is: numbers keep their digits. */
  readonly transform: string | null
}

/** The fields with a text of their own. */
export type Line = Exclude<keyof Draft, 'others'>
type Errors = Readonly<Partial<Record<Line, string>>>

/** `before`: the state before; null: it is new. */
export function readDraft(draft: Draft, before: Draft | null): Written | { readonly errors: Errors } {
  const errors: Partial<Record<Line, string>> = {}
  const body: Record<string, unknown> = {}
  const isSaid = (field: Line) =>
    before === null
      ? draft[field] !== EMPTY_DRAFT[field] && String(draft[field]).trim() !== ''
      : String(draft[field]) !== String(before[field])
  /** Emptied, it goes back to its default. */
  const say = (field: Line, name: string, read: (text: string) => unknown) => {
    if (!isSaid(field)) return
    const text = String(draft[field]).trim()
    body[name] = text === '' ? null : read(text)
  }
  const pairs = (field: Line) => (text: string) => {
    const found = readPairs(text)
    if ('message' in found) errors[field] = found.message
    return 'pairs' in found ? found.pairs : null
  }
  const whole = (field: Line, wrap: (value: number) => unknown) => (text: string) => {
    if (!/^[1-9]\d*$/.test(text)) errors[field] = 'A whole number, 1 or more.'
    return wrap(Number(text))
  }
  if (draft.url.trim() === '') errors.url = 'Where to? Begin with https://.'
  if (draft.on.length === 0) errors.on = 'Which subjects? At least one.'
  if (before === null && draft.name.trim() !== '') body.name = draft.name.trim()
  say('description', 'description', (text) => text)
  say('url', 'url', (text) => text)
  if (isSaid('on')) body.on = draft.on
  say('where', 'where', (text) => (text.startsWith('{') ? readWhere(text, errors) : text))
  say('headers', 'headers', pairs('headers'))
  say('signing', 'signing', (text) => text)
  say('secretRef', 'secret', (ref) => ({ ref }))
  say(
    'perMinute',
    'rateLimit',
    whole('perMinute', (perMinute) => ({ perMinute })),
  )
  say(
    'atOnce',
    'concurrency',
    whole('atOnce', (limit) => ({ limit })),
  )
  say('orderBy', 'order', (by) => ({ by }))
  say('metadata', 'metadata', pairs('metadata'))
  for (const { name } of OTHER_FIELDS) {
    const text = draft.others[name]?.trim() ?? ''
    if (text !== (before?.others[name] ?? '')) body[name] = text === '' ? null : text
  }
  const transform = isSaid('transform') ? draft.transform.trim() : null
  if (transform === '') body.transform = null
  else if (transform !== null) {
    const checked = checkJson(transform)
    if ('message' in checked) errors.transform = checked.message
  }
  if (Object.keys(errors).length > 0) return { errors }
  return { body, transform: transform === '' ? null : transform }
}

/** A filter is a tree; what is not JSON is an expression that starts with a brace. */
function readWhere(text: string, errors: Partial<Record<Line, string>>): unknown {
  try {
    return JSON.parse(text)
  } catch {
    errors.where = 'It begins as JSON and is none: write an expression, or a filter as JSON.'
    return null
  }
}
