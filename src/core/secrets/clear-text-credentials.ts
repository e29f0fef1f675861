// Finds clear-text credentials in a definition: in headers, addresses and queries, or anywhere by their known format. The
// output of a template does not count as a literal.
//
// Invariant: every pattern here is linear in the length of the text.

import { isNumber, type JsonValue } from '../foundation/json/index.ts'

type Step = string | number

export interface LiteralCredential {
  readonly path: readonly Step[]
  /** Its offset in the text at the path. */
  readonly offset: number
  /** The credential itself. */
  readonly text: string
  /** What it is, to follow "this is": never a part of the credential. */
  readonly what: string
}

export const HIDDEN = '[hidden]'
export const USER_INFO_WHAT = 'a user and password in an address'

/** Tokens that are recognizable by their prefix. */
const SHAPES: readonly (readonly [what: string, pattern: string])[] = [
  ['a token of GitHub', 'gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{22,255}'],
  ['a token of GitLab', 'glpat-[A-Za-z0-9_-]{20,255}'],
  ['a token of Slack', 'xox[abeoprs]-[A-Za-z0-9-]{10,255}'],
  ['a key of Stripe', '[rs]k_(?:live|test)_[A-Za-z0-9]{10,255}'],
  ['a signing secret', 'whsec_[A-Za-z0-9+/=]{16,255}'],
  ['a key of AWS', '(?:AKIA|ASIA)[0-9A-Z]{16}'],
  ['a key of an AI provider', 'sk-[A-Za-z0-9_-]{20,255}'],
  ['a key of Google', 'AIza[A-Za-z0-9_-]{35}'],
  ['a key of Millrace', 'mrk_[A-Za-z0-9_-]{16,255}'],
  ['a signed token', 'eyJ[A-Za-z0-9_-]{8,8192}\\.eyJ[A-Za-z0-9_-]{8,8192}\\.[A-Za-z0-9_-]{8,8192}'],
  ['a private key', '-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----'],
]
const SHAPE = new RegExp(
  `(?<![A-Za-z0-9_-])(?:${SHAPES.map(([, pattern]) => `(${pattern})`).join('|')})`,
  'g',
)

const HEADER =
  /^(?:authorization|proxy-authorization|cookie|x-functions-key|ocp-apim-subscription-key|(?:[\w-]*[-_])?(?:api-?key|token|secret|password|auth-?key|access-?key))$/i
/** The word before the credential itself. */
const SCHEME = /^\s*(?:(?:bearer|basic|token|apikey|api-key|key|negotiate)\s+)?/i
/** Whatever the header's name. */
const SCHEMED = /^\s*(?:bearer|basic)\s+\S/i
const PARAMETER =
  /^(?:access[-_]?token|auth[-_]?token|api[-_]?key|auth[-_]?key|token|secret|client[-_]?secret|password|passwd|pwd)$/i
/** Ambiguous names: a credential is longer than their usual values. */
const VAGUE_PARAMETER = /^(?:key|code|sig|signature|auth)$/i
const VAGUE_LENGTH_MIN = 16
const LENGTH_MIN = 3

/** Fields whose content is sent. */
const SENT = new Set<Step>(['body', 'data', 'with'])
/** Reads of an event or its context, where a field takes an expression. */
const READ = /^\s*(?:payload|header|event|data|metadata|instance|steps|vars|actor|input|item|result)\s*[.[]/

const ADDRESS = /^\s*https?:\/\//i
const USER_INFO = /^\s*https?:\/\/([^/?#@\s]{0,1000})@/i
const QUERY = /[?&]([\w.-]{1,64})=([^&#\s]*)/g
/** Webhook addresses: anyone who knows the path may post. */
const WEBHOOKS: readonly (readonly [what: string, pattern: RegExp])[] = [
  [
    'the secret path of a Slack webhook',
    /^\s*https:\/\/hooks\.slack\.com\/(?:services|workflows|triggers)\/(\S+)/i,
  ],
  ['the secret path of a Teams webhook', /^\s*https:\/\/[\w.-]{1,200}\.webhook\.office\.com\/(\S+)/i],
  ['the secret path of a Teams webhook', /^\s*https:\/\/outlook\.office(?:365)?\.com\/webhook\/(\S+)/i],
  [
    'the secret path of a Discord webhook',
    /^\s*https:\/\/(?:\w{1,20}\.)?discord(?:app)?\.com\/api\/webhooks\/(\S+)/i,
  ],
  ['the token of a Telegram bot', /^\s*https:\/\/api\.telegram\.org\/bot([^/\s]+)/i],
]

/** Fields that contain examples and descriptions of data, not what is sent. */
const NOT_SENT = new Set(['example', 'examples', 'schema'])

interface Span {
  readonly from: number
  readonly to: number
  readonly what: string
}

/** Every clear-text credential in a document, as written or in its normal form. */
export function findLiterals(value: JsonValue): readonly LiteralCredential[] {
  const found: LiteralCredential[] = []
  walk(value, [], (path, text) => {
    for (const { from, to, what } of spansOf(path, text))
      found.push({ path, offset: from, text: text.slice(from, to), what })
    return text
  })
  return found
}

/** The same document with each of them hidden. */
export function hideLiterals<Value extends JsonValue>(value: Value): Value {
  return walk(value, [], (path, text) => hideSpans(text, spansOf(path, text))) as Value
}

/** A request as it is sent: values at credential positions are hidden, wherever they come from. */
export function hideRequest<
  Request extends { readonly url: string; readonly headers: Readonly<Record<string, string>> },
>(request: Request): Request {
  const { url, headers } = request
  return { ...request, ...hideLiterals({ url, headers }) }
}

/** Whether a text of many fields, YAML or JSON, may contain one. It errs towards reporting too many. */
export function mayHoldLiteral(text: string): boolean {
  if (shapesIn(text).length > 0) return true
  for (const [, name = '', quoted, plain] of text.matchAll(FIELD)) {
    const value = quoted ?? plain ?? ''
    const places = [['headers', name], ['query', name], ['url']]
    if (places.some((path) => spansOf(path, value).length > 0)) return true
  }
  return false
}

/**
 * The value is only looked ahead at, not consumed: it may contain further fields. In YAML it may begin on the next line; within
 * JSON the end of a line is two characters.
 */
const FIELD =
  /([A-Za-z][\w-]{0,63})["']?\s{0,8}[:=](?=\s{0,8}(?:[>|][-+\d]{0,2}(?:\\r)?(?:\\n|\s)\s{0,32})?(?:["']([^"'\n]{0,512})|([^"'\s,}{[][^,}\n]{0,512})))/g

function walk(
  value: JsonValue,
  path: readonly Step[],
  visit: (path: readonly Step[], text: string) => string,
): JsonValue {
  if (typeof value === 'string') return visit(path, value)
  if (typeof value !== 'object' || value === null || isNumber(value)) return value
  if (Array.isArray(value)) return value.map((one, index) => walk(one, [...path, index], visit))
  return Object.fromEntries(
    Object.entries(value as { readonly [name: string]: JsonValue }).map(([name, one]) => [
      name,
      NOT_SENT.has(name) ? one : walk(one, [...path, name], visit),
    ]),
  )
}

function spansOf(path: readonly Step[], text: string): readonly Span[] {
  if (text.length < LENGTH_MIN) return []
  const masked = maskTemplates(text)
  const name = String(path.at(-1) ?? '')
  const within = path.at(-2)
  const spans = [...shapesIn(masked)]
  if (within === 'headers' && (HEADER.test(name) || SCHEMED.test(masked))) spans.push(...headerSpan(masked))
  if ((within === 'query' || within === 'params') && isLiteralParameter(name, masked))
    spans.push({ from: 0, to: text.length, what: 'a credential in a query' })
  if (PARAMETER.test(name) && isLiteral(masked) && !READ.test(masked) && path.slice(0, -1).some(isSent))
    spans.push({ from: 0, to: text.length, what: 'a credential in what is sent' })
  if (ADDRESS.test(text) || /url$/i.test(name)) spans.push(...addressSpans(masked))
  return merge(spans)
}

function isSent(step: Step): boolean {
  return SENT.has(step)
}

function shapesIn(text: string): readonly Span[] {
  return [...text.matchAll(SHAPE)].map((match) => {
    const index = SHAPES.findIndex((_, at) => match[at + 1] !== undefined)
    return { from: match.index, to: match.index + match[0].length, what: SHAPES[index]?.[0] ?? 'a token' }
  })
}

function headerSpan(text: string): readonly Span[] {
  const from = SCHEME.exec(text)?.[0].length ?? 0
  // `token=` before a template only names it.
  const rest = text.slice(from).replaceAll(/[\w-]{1,64}=["']?(?=\0)/g, '')
  return isLiteral(rest) ? [{ from, to: text.length, what: 'a credential in a header' }] : []
}

function addressSpans(text: string): readonly Span[] {
  const spans: Span[] = []
  const user = USER_INFO.exec(text)
  if (user?.[1] !== undefined && isLiteral(user[1])) {
    const to = user[0].length - 1
    spans.push({ from: to - user[1].length, to, what: USER_INFO_WHAT })
  }
  for (const match of text.matchAll(QUERY)) {
    const [whole, name = '', value = ''] = match
    const to = match.index + whole.length
    if (isLiteralParameter(name, value))
      spans.push({ from: to - value.length, to, what: 'a credential in the query of an address' })
  }
  for (const [what, pattern] of WEBHOOKS) {
    const match = pattern.exec(text)
    if (match?.[1] !== undefined && isLiteral(match[1]))
      spans.push({ from: match[0].length - match[1].length, to: match[0].length, what })
  }
  return spans
}

function isLiteralParameter(name: string, value: string): boolean {
  if (PARAMETER.test(name)) return isLiteral(value)
  return VAGUE_PARAMETER.test(name) && value.length >= VAGUE_LENGTH_MIN && isLiteral(value)
}

/** Something is left beside the output of templates. */
function isLiteral(text: string): boolean {
  return text.replaceAll(/[^A-Za-z0-9]/g, '').length >= LENGTH_MIN
}

/** Templates as NULs of the same length, so that offsets stay. */
function maskTemplates(text: string): string {
  if (!text.includes('{{')) return text
  let masked = ''
  let from = 0
  for (let open = text.indexOf('{{'); open >= 0; open = text.indexOf('{{', from)) {
    const close = text.indexOf('}}', open)
    const end = close < 0 ? text.length : close + 2
    masked += text.slice(from, open) + '\0'.repeat(end - open)
    from = end
  }
  return masked + text.slice(from)
}

function merge(spans: readonly Span[]): readonly Span[] {
  const merged: Span[] = []
  for (const span of [...spans].sort((a, b) => a.from - b.from || b.to - a.to)) {
    const last = merged.at(-1)
    if (last !== undefined && span.from < last.to)
      merged[merged.length - 1] = { ...last, to: Math.max(last.to, span.to) }
    else merged.push(span)
  }
  return merged
}

function hideSpans(text: string, spans: readonly Span[]): string {
  let hidden = ''
  let from = 0
  for (const span of spans) {
    hidden += text.slice(from, span.from) + HIDDEN
    from = span.to
  }
  return hidden + text.slice(from)
}
