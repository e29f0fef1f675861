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
const LITERAL = new RegExp(`(?:[A-Za-z0-9][^A-Za-z0-9]*){${LENGTH_MIN}}`)

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

/**
 * Whether a text of many fields, YAML or JSON, may contain one. It errs towards reporting too many: a text with more suspects than
 * `SUSPECTS_MAX` is reported without looking at the others, so that the time grows with the length of the text.
 */
export function mayHoldLiteral(text: string): boolean {
  if (text.search(SHAPE) >= 0) return true
  let looked = 0
  for (const { paths, value } of suspectsIn(text)) {
    looked += 1
    if (looked > SUSPECTS_MAX || paths.some((path) => spansOf(path, value).length > 0)) return true
  }
  return false
}

/** About 20 ms. */
export const SUSPECTS_MAX = 4_000

/** A value that is worth a closer look. */
interface Suspect {
  readonly paths: readonly (readonly Step[])[]
  readonly value: string
}

/** Parts of the text that may be a credential by the name before them, or by how they begin. */
export function* suspectsIn(text: string): Generator<Suspect> {
  for (const { index } of text.matchAll(/[:=]/g)) {
    const name = nameBefore(text, index)
    if (name === null || !(isSuspectName(name) || matchesAt(SUSPECT_START, text, index + 1))) continue
    const [, quoted, plain] = matchesAt(VALUE, text, index + 1) ?? []
    yield { paths: [['headers', name], ['query', name], ['url']], value: quoted ?? plain ?? '' }
  }
  // A query may begin anywhere in a value.
  for (const { 0: whole, 1: name = '', index } of text.matchAll(QUERY_NAME)) {
    if (!PARAMETER.test(name) && !VAGUE_PARAMETER.test(name)) continue
    const from = index + whole.length
    const [value = ''] = QUERY_VALUE.exec(maskTemplates(text.slice(from, from + VALUE_LENGTH_MAX))) ?? []
    yield { paths: [['query', name]], value }
  }
}

function isSuspectName(name: string): boolean {
  // None of them has fewer letters.
  if (name.length < 3) return false
  return HEADER.test(name) || PARAMETER.test(name) || VAGUE_PARAMETER.test(name)
}

function matchesAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at
  return sticky.exec(text)
}

const NAME_LENGTH_MAX = 64
const SPACES_MAX = 8
const VALUE_LENGTH_MAX = 512

/** The name of a field whose colon or equals sign is at `end`: read backwards, because each letter of a long word may begin a name. */
function nameBefore(text: string, end: number): string | null {
  let to = end
  while (end - to < SPACES_MAX && isSpace(text.charCodeAt(to - 1))) to -= 1
  if (text[to - 1] === '"' || text[to - 1] === "'") to -= 1
  let at = to
  let from = -1
  for (; at > 0 && to - at < NAME_LENGTH_MAX && isNameCode(text.charCodeAt(at - 1)); at -= 1)
    if (isLetter(text.charCodeAt(at - 1))) from = at - 1
  return from < 0 ? null : text.slice(from, to)
}

function isLetter(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
}

/** As `[\w-]`. */
function isNameCode(code: number): boolean {
  return isLetter(code) || (code >= 48 && code <= 57) || code === 95 || code === 45
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13) || (code > 127 && /\s/.test(String.fromCharCode(code)))
}

/** In YAML a value may begin on the next line; within JSON the end of a line is two characters. */
const BEFORE_VALUE = String.raw`\s{0,8}(?:[>|][-+\d]{0,2}(?:\\r)?(?:\\n|\s)\s{0,32})?`
const VALUE = new RegExp(String.raw`${BEFORE_VALUE}(?:["']([^"'\n]{0,512})|([^"'\s,}{[][^,}\n]{0,512}))`, 'y')
/** Values that are a credential, or may contain one, whatever their name. */
const SUSPECT_START = new RegExp(String.raw`${BEFORE_VALUE}["']?\s*(?:bearer\s|basic\s|https?://)`, 'iy')
const QUERY_NAME = /[?&]([\w.-]{1,64})=/g
/** Of a text whose templates are masked; a quotation mark that ends the value of a field ends it. */
const QUERY_VALUE = /^(?:(?!["'](?:[\s,:\]}\\]|$))[^&#\s])*/

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
  const rest = text.slice(from).replaceAll(/(?<![\w-])[\w-]{1,64}=["']?(?=\0)/g, '')
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
  return LITERAL.test(text)
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
