// The kinds of fields of the language. The field decides what a string means, never its content: a pick is an
// expression, a send is text with `{{ expression }}`, a name is a literal, a path is a path. A check reports through
// `params`, which issues.ts turns into remarks.

import * as z from 'zod'
import { readTarget } from '../core/access/network/index.ts'
import { parsePattern, parseSubject } from '../core/events/subject/index.ts'
import {
  compileCondition,
  compileExpression,
  compileShape,
  compileTemplate,
  type ExpressionProblem,
  formatDuration,
  looksLikePath,
  parseDuration,
  parseSize,
} from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { isSecretName, OWN_SECRETS, SECRET_NAME } from '../core/secrets/index.ts'
import { ELEMENT_NAME, isReserved } from './expression-names.ts'
import type { FieldPath, Remark, RuleName } from './finding.ts'

export type StringMeaning = 'pick' | 'send' | 'name' | 'path'

/** What json-schema.ts writes for a value that zod does not describe. */
export type Tree = 'sends' | 'condition' | 'json'

export type IssueParams = Pick<Remark, 'rule' | 'offset' | 'suggestion' | 'suggestedText' | 'onKey' | 'isCut'>

interface Refinement {
  addIssue(issue: { code: 'custom'; message: string; path: PropertyKey[]; params: IssueParams }): void
}

function report(context: Refinement, message: string, params: IssueParams, path: FieldPath = []): void {
  context.addIssue({ code: 'custom', message, path: [...path], params })
}

/** Roots that differ by environment, which must not change what is the same effect. */
const OTHER_ROOTS = ['vars', 'env']

/** Where to find the names that other fields of a route define. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  key: 'inside `do`',
  input: 'in transitions; what a start brings is the `payload`',
  actor: 'in transitions, and in `map` of a trigger',
  found: 'in `update` of an `upsert`',
  batch: 'in `do` of a route with `batch`',
  item: 'in `batch.item`',
  result: 'where an answer is looked at: `found`, `id`, `results`, `out`, `choose`',
}

function reportProblem(
  context: Refinement,
  rule: RuleName,
  text: string,
  problem: ExpressionProblem,
  path?: FieldPath,
): void {
  const root = /^`(\w+)` is not in scope/.exec(problem.message)?.[1]
  if (root === 'secrets' || root === 'secret' || problem.message.startsWith('`secret`')) {
    reportSecret(context, text, problem, path)
    return
  }
  if (root !== undefined && OTHER_ROOTS.includes(root)) {
    report(
      context,
      `\`${root}\` is not available here: it differs by environment; write it in what is sent`,
      { rule: 'notAvailable', offset: problem.offset },
      path,
    )
    return
  }
  const { offset, length, suggestion } = problem
  const elsewhere = root === undefined ? undefined : whereIs(root, problem.message)
  if (elsewhere?.isBatch === true) {
    report(context, elsewhere.message, { rule, offset }, path)
    return
  }
  const suggestedText =
    suggestion === undefined
      ? {}
      : { suggestedText: text.slice(0, offset) + suggestion + text.slice(offset + length) }
  const place = offset === 0 && length === 0 ? {} : { offset }
  const isCut = /not closed|ends too early/.test(problem.message)
  report(context, elsewhere?.message ?? problem.message, { rule, isCut, ...place, ...suggestedText }, path)
}

const SECRET_PATH = /^secrets?\.([A-Za-z0-9][A-Za-z0-9_-]*)/

/** Misplaced, misspelt, or in the syntax of other tools. */
function reportSecret(context: Refinement, text: string, problem: ExpressionProblem, path?: FieldPath): void {
  const { message, offset } = problem
  if (!message.includes('not in scope')) {
    report(context, message, { rule: 'secret', offset }, path)
    return
  }
  const named = SECRET_PATH.exec(text.slice(offset))
  const instead =
    named === null
      ? {}
      : {
          suggestedText: `${text.slice(0, offset)}secret('${named[1]}')${text.slice(offset + named[0].length)}`,
        }
  const words =
    "secrets are not in scope: in a header, a query or a body of a request write `{{ secret('name') }}`, or use `auth`"
  report(context, words, { rule: 'secret', offset, ...instead }, path)
}

function whereIs(root: string, message: string): { message: string; isBatch: boolean } | undefined {
  // The names in scope are listed at the end of the message.
  const isBatched = message.includes('in scope: `batch`')
  if (isBatched && ['event', 'payload', 'header', 'source'].includes(root)) {
    const instead = `write \`batch[*].${root}\`, or \`batch.map(b, …)\``
    return { message: `\`${root}\` is of one item, and a batch has many: ${instead}`, isBatch: true }
  }
  if (!Object.hasOwn(ELSEWHERE, root)) return undefined
  return { message: `\`${root}\` is not in scope here: it is there ${ELSEWHERE[root]}`, isBatch: false }
}

// --- What a field means

/** Facts about a field that its value does not show: editors, references, SDK types and forms are made from them. */
export interface FieldFacts {
  readonly meaning: string
  /** The default when the field is omitted, as it could be written. */
  readonly default?: string | number | boolean
  /** The same in words, if it is not a value. */
  readonly otherwise?: string
  /** The first release that has it; omitted: 0.1. */
  readonly since?: string
  /** A value, as it could be written. */
  readonly example?: JsonValue
  /** Its normal form is the written value, a duration in milliseconds, and it is omitted if it was not written. */
  readonly carried?: true
}

/** By schema. `.meta` would copy the schema of each field. */
export const FACTS = new WeakMap<object, FieldFacts>()

/** What an omitted field means: in words, or with more facts. */
type LeftOut = string | Omit<FieldFacts, 'meaning'>

/** A field that must be written. `leftOut` only where its schema accepts that it is missing. */
export function field<Schema extends z.ZodType>(
  schema: Schema,
  meaning: string,
  leftOut: LeftOut = {},
): Schema {
  const facts = typeof leftOut === 'string' ? { otherwise: leftOut } : leftOut
  FACTS.set(schema, { meaning, ...facts })
  return schema
}

/** The names that types of the SDK have. */
export const NAMED = new WeakMap<object, string>()

export function named<Schema extends z.ZodType>(name: string, schema: Schema): Schema {
  NAMED.set(schema, name)
  return schema
}

export function optional<Schema extends z.ZodType>(
  schema: Schema,
  meaning: string,
  leftOut: LeftOut,
): z.ZodOptional<Schema> {
  return field(schema.optional(), meaning, leftOut)
}

function stringOf(
  meaning: StringMeaning,
  check: (text: string, context: Refinement) => void,
  more: object = {},
) {
  return z
    .string()
    .superRefine(check)
    .meta({ 'x-millrace': meaning, ...more })
}

// --- Names: literals

function refuseTemplate(text: string, context: Refinement): boolean {
  const offset = text.indexOf('{{')
  if (offset < 0) return false
  report(context, 'this is a literal: `{{` has no meaning here', { rule: 'literal', offset })
  return true
}

/** Any text that is used as it is. */
export function literal(more: object = {}) {
  return stringOf('name', refuseTemplate, more)
}

/** Where to read: a web page, or a file beside the definitions. Consoles and chats show it as a link. */
export function readable() {
  const check = (text: string, context: Refinement) => {
    if (refuseTemplate(text, context) || isReadable(text)) return
    const message =
      'this is read by people: an address that begins with `https://` or `http://`, or the path of a file'
    report(context, message, { rule: 'url' })
  }
  return stringOf('name', check)
}

function isReadable(text: string): boolean {
  const isPath = !/^[^/?#]*:/.test(text) && !text.startsWith('//') && !/[\p{Cc}\\]/u.test(text)
  return isPath || (/^https?:\/\//i.test(text) && URL.canParse(text))
}

export function oneOf<const Values extends readonly [string, ...string[]]>(...values: Values) {
  return z.enum(values).meta({ 'x-millrace': 'name' })
}

export function constant<const Value extends string>(value: Value) {
  return z.literal(value).meta({ 'x-millrace': 'name' })
}

const NAME_LENGTH_MAX = 100
const NAME = /^[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*$/

export function documentName() {
  const check = (text: string, context: Refinement) => {
    if (refuseTemplate(text, context)) return
    const fault = documentNameFault(text)
    if (fault === null) return
    const suggestedText = nameLike(text)
    const isLong = text.length > NAME_LENGTH_MAX
    const more = isLong ? { offset: NAME_LENGTH_MAX } : suggestedText === '' ? {} : { suggestedText }
    report(context, fault, { rule: 'name', ...more })
  }
  return stringOf('name', check, { pattern: NAME.source, maxLength: NAME_LENGTH_MAX })
}

/** What is wrong with the name of a document or a function, or null. */
export function documentNameFault(text: string): string | null {
  if (text.length > NAME_LENGTH_MAX) return `a name has at most ${NAME_LENGTH_MAX} characters`
  return NAME.test(text)
    ? null
    : 'a name has small letters and digits, joined by `_` or `-`, and begins with a letter'
}

/** A name made of a text; empty: there is none. */
export function nameLike(text: string): string {
  const words = text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
  const name = words.filter((word) => word !== '').join(text.includes('-') && !text.includes('_') ? '-' : '_')
  return NAME.test(name) ? name : ''
}

/** The name of a list's element in expressions. */
export function elementName() {
  const check = (text: string, context: Refinement) => {
    if (refuseTemplate(text, context)) return
    const compiled = ELEMENT_NAME.test(text) ? compileExpression(text) : null
    // `true` and `null` are not names.
    if (compiled?.ok !== true || compiled.expression.roots[0] !== text) {
      report(context, 'this is a name for expressions: letters, digits and `_`', { rule: 'name' })
    } else if (isReserved(text)) {
      report(context, `\`${text}\` means something else already: take another name`, { rule: 'name' })
    }
  }
  return stringOf('name', check, { pattern: ELEMENT_NAME.source })
}

/** The text of a formula that is compared and never evaluated. */
export function formula() {
  return stringOf('name', () => {}, { minLength: 1 })
}

const NATS_NAME_LENGTH_MAX = 200
const NATS_NAME = /^[^\s.*>/\\\p{Cc}]+$/u

/** What NATS calls a stream or a consumer. */
export function natsName() {
  const check = (text: string, context: Refinement) => {
    if (refuseTemplate(text, context)) return
    if (text.length > NATS_NAME_LENGTH_MAX) {
      const message = `a name has at most ${NATS_NAME_LENGTH_MAX} characters`
      report(context, message, { rule: 'natsName', offset: NATS_NAME_LENGTH_MAX })
    } else if (!NATS_NAME.test(text)) {
      const like = text.replaceAll(/[\s.*>/\\\p{Cc}]+/gu, '-').replaceAll(/^-|-$/g, '')
      const message = 'NATS has no such name: it holds neither spaces nor dots, slashes, `*` or `>`'
      report(context, message, { rule: 'natsName', ...(like === '' ? {} : { suggestedText: like }) })
    }
  }
  return stringOf('name', check, { minLength: 1, maxLength: NATS_NAME_LENGTH_MAX })
}

const PART_NAME = /^[A-Za-z][A-Za-z0-9]*(?:[._-][A-Za-z0-9]+)*$/

/** The name of a part of a provider: an operation, a bucket, an address. */
export function partName() {
  const check = (text: string, context: Refinement) => {
    if (refuseTemplate(text, context) || (PART_NAME.test(text) && text.length <= NAME_LENGTH_MAX)) return
    const message = `a name has letters and digits, joined by \`_\`, \`-\` or dots, begins with a letter and has at most ${NAME_LENGTH_MAX} characters`
    report(context, message, { rule: 'name', onKey: true })
  }
  return stringOf('name', check, { pattern: PART_NAME.source, maxLength: NAME_LENGTH_MAX })
}

const VAR_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** What follows `vars.` in an expression. */
export function varName() {
  const check = (text: string, context: Refinement) => {
    if (refuseTemplate(text, context) || (VAR_NAME.test(text) && text.length <= NAME_LENGTH_MAX)) return
    const message = `a name has letters, digits and \`_\`, begins with a letter or \`_\` and has at most ${NAME_LENGTH_MAX} characters`
    report(context, message, { rule: 'name', onKey: true })
  }
  return stringOf('name', check, { pattern: VAR_NAME.source, maxLength: NAME_LENGTH_MAX })
}

/** A reference to something with a name: a profile or a function. */
export function reference() {
  return literal({ minLength: 1 })
}

/** The name of an entry of the vault; whether it is set is checked when it is applied. */
function vaultEntry() {
  const check = (text: string, context: Refinement) => {
    if (refuseTemplate(text, context)) return
    const isOwn = text.startsWith(OWN_SECRETS)
    if (isSecretName(text) && !isOwn) return
    const message = isOwn
      ? `what begins with \`${OWN_SECRETS}\` keeps tokens of credentials: give the secret another name`
      : 'a secret’s name has letters, digits, dots, `_` and `-`, at most 128; the value itself does not belong here'
    report(context, message, { rule: 'value' })
  }
  return stringOf('name', check, { pattern: SECRET_NAME })
}

/** A secret of the node's folder of secrets: one file, nowhere else. */
function secretFile() {
  const check = (text: string, context: Refinement) => {
    if (refuseTemplate(text, context) || isSecretName(text)) return
    const message =
      'a file of secrets has letters, digits, dots, `_` and `-`, and stands in the folder itself; the value does not belong here'
    report(context, message, { rule: 'value' })
  }
  return stringOf('name', check, { pattern: SECRET_NAME })
}

/** Where a secret is stored. */
export function secretPlace() {
  const place = z
    .strictObject({
      env: optional(environmentName(), 'An environment variable of the node.', '`ref` or `file` is needed'),
      ref: optional(vaultEntry(), 'A secret of the tenant’s vault.', '`env` or `file` is needed'),
      file: optional(secretFile(), 'A file of the node’s folder of secrets.', '`env` or `ref` is needed'),
    })
    .meta({ oneOf: [{ required: ['env'] }, { required: ['ref'] }, { required: ['file'] }] })
  return named('SecretReference', place)
}

/** The proof of the caller's identity, on a request itself; `isSet`: headers that it may not name. */
export function authPlace(isSet?: (name: string) => boolean) {
  const place = z
    .strictObject({
      bearer: optional(secretPlace(), 'A secret that is sent as `Authorization: Bearer …`.', 'another way'),
      basic: optional(
        z.strictObject({
          user: field(username(), 'The user name, without a colon.'),
          password: field(secretPlace(), 'The secret that is the password.'),
        }),
        'A user and a password, sent as `Authorization: Basic …`.',
        'another way',
      ),
      header: optional(
        z.strictObject({
          name: field(authHeaderName(isSet), 'The name of the header.'),
          value: field(secretPlace(), 'The secret that is its whole value.'),
        }),
        'A secret that is sent in a header of its own.',
        'another way',
      ),
    })
    .meta({ oneOf: [{ required: ['bearer'] }, { required: ['basic'] }, { required: ['header'] }] })
  return named('AuthDefinition', place)
}

const ENVIRONMENT_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

function environmentName() {
  const check = (text: string, context: Refinement) => {
    if (refuseTemplate(text, context) || ENVIRONMENT_NAME.test(text)) return
    report(
      context,
      'an environment variable has letters, digits and `_`; the value itself does not belong here',
      {
        rule: 'value',
      },
    )
  }
  return stringOf('name', check, { pattern: ENVIRONMENT_NAME.source })
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** Set by the engine or the connection; a second value would break the request. */
const OWN_HEADERS = ['connection', 'content-length', 'host', 'idempotency-key', 'transfer-encoding']

function isOwnHeader(name: string): boolean {
  return OWN_HEADERS.includes(name.toLowerCase())
}

export function headerName(isOurs: boolean, isSet: (name: string) => boolean = isOwnHeader) {
  const check = (text: string, context: Refinement) => {
    if (refuseTemplate(text, context)) return
    if (!HEADER_NAME.test(text)) {
      report(context, 'a header name has letters, digits and `-`', { rule: 'header', onKey: isOurs })
    } else if (isOurs && isSet(text)) {
      report(context, `the header \`${text}\` is set by the engine: leave it out`, {
        rule: 'header',
        onKey: true,
      })
    }
  }
  return stringOf('name', check)
}

function authHeaderName(isSet: (name: string) => boolean = isOwnHeader) {
  const check = (text: string, context: Refinement) => {
    if (refuseTemplate(text, context)) return
    if (!HEADER_NAME.test(text)) {
      report(context, 'a header name has letters, digits and `-`', { rule: 'header' })
    } else if (isSet(text)) {
      report(context, `the header \`${text}\` is set by the engine: name another`, { rule: 'header' })
    }
  }
  return stringOf('name', check, { minLength: 1 })
}

export function statusCode() {
  const check = (text: string, context: Refinement) => {
    if (/^[2-5]\d\d$/.test(text)) return
    report(context, 'this is an HTTP status: a number from 200 to 599', { rule: 'value', onKey: true })
  }
  return stringOf('name', check, { pattern: '^[2-5][0-9][0-9]$' })
}

export function pattern() {
  const check = (text: string, context: Refinement) => {
    if (refuseTemplate(text, context)) return
    const parsed = parsePattern(text)
    if (!parsed.ok)
      report(context, parsed.problem.message, { rule: 'subject', offset: parsed.problem.offset })
  }
  return stringOf('name', check)
}

/** A fixed subject. */
export function subjectName() {
  const check = (text: string, context: Refinement) => {
    if (refuseTemplate(text, context)) return
    const parsed = parseSubject(text)
    if (!parsed.ok)
      report(context, parsed.problem.message, { rule: 'subject', offset: parsed.problem.offset })
  }
  return stringOf('name', check)
}

// --- Units

/** How a number without a unit was probably meant. */
export const UNITS = z.registry<{ unit: 'duration' | 'size'; word?: string }>()

export function duration(minMs: number, maxMs: number, word?: string) {
  const check = (text: string, context: Refinement) => {
    if (text === word) return
    const value = parseDuration(text)
    if (value === null) {
      const otherwise = word === undefined ? '' : `, or \`${word}\``
      report(
        context,
        `a duration is a whole number with a unit: \`250ms\`, \`30s\`, \`5m\`, \`2h\`, \`7d\`${otherwise}`,
        {
          rule: 'unit',
          ...likely(text, /^(\d+)\s*(ms|s|m|h|d)(?:\w*)$/i),
        },
      )
    } else if (value < minMs || value > maxMs) {
      const message = `this is between \`${formatDuration(minMs)}\` and \`${formatDuration(maxMs)}\``
      const nearest = value < minMs ? minMs : maxMs
      report(context, message, { rule: 'bounds', suggestedText: formatDuration(nearest) })
    }
  }
  const pattern = word === undefined ? '^[0-9]+(ms|s|m|h|d)$' : `^([0-9]+(ms|s|m|h|d)|${word})$`
  return stringOf('name', check, { pattern }).register(UNITS, {
    unit: 'duration',
    ...(word === undefined ? {} : { word }),
  })
}

export function size(minBytes: number, maxBytes: number) {
  const check = (text: string, context: Refinement) => {
    const value = parseSize(text)
    if (value === null) {
      const units: Readonly<Record<string, string>> = { k: 'KiB', m: 'MiB', g: 'GiB' }
      const match = /^(\d+)\s*([kmg])/i.exec(text)
      const suggestedText =
        match === null ? {} : { suggestedText: `${match[1]}${units[String(match[2]).toLowerCase()]}` }
      const message = 'a size is a whole number with a unit: `512B`, `64KiB`, `1MiB`'
      report(context, message, { rule: 'unit', ...suggestedText })
    } else if (value < minBytes || value > maxBytes) {
      report(context, `this is between ${minBytes} and ${maxBytes} bytes`, { rule: 'bounds' })
    }
  }
  return stringOf('name', check, { pattern: '^[0-9]+(B|KiB|MiB|GiB)$' }).register(UNITS, { unit: 'size' })
}

function likely(text: string, form: RegExp): { suggestedText?: string } {
  const match = form.exec(text.trim())
  return match === null ? {} : { suggestedText: `${match[1]}${String(match[2]).toLowerCase()}` }
}

// --- Picks and sends

/** Of one name in an expression. */
const IDENTIFIER_LENGTH_MAX = 255
const QUOTED_TEXT = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/gs
const LONG_IDENTIFIER = new RegExp(`(?<!\\w)[A-Za-z_]\\w{${IDENTIFIER_LENGTH_MAX},}`)

/** Where a name starts that is longer than any field; -1: there is none. */
function longIdentifierAt(text: string): number {
  if (text.length <= IDENTIFIER_LENGTH_MAX) return -1
  return text.replaceAll(QUOTED_TEXT, (quoted) => ' '.repeat(quoted.length)).search(LONG_IDENTIFIER)
}

export function pick(roots: readonly string[]) {
  const check = (text: string, context: Refinement) => {
    const long = longIdentifierAt(text)
    if (long >= 0) {
      const message = `a name in an expression has at most ${IDENTIFIER_LENGTH_MAX} characters`
      report(context, message, { rule: 'bounds', offset: long })
      return
    }
    const compiled = compileExpression(text, { roots })
    if (compiled.ok) return
    const template = /^\s*\{\{(.*)\}\}\s*$/s.exec(text)?.[1]
    if (template === undefined) return reportProblem(context, 'expression', text, compiled.problem)
    const inner = compileExpression(template, { roots })
    if (!inner.ok && inner.problem.message.startsWith('`secret`')) {
      const at = text.indexOf('{{') + 2 + inner.problem.offset
      return reportProblem(context, 'expression', text, { ...inner.problem, offset: at })
    }
    const { message, offset } = compiled.problem
    report(context, message, { rule: 'expression', offset, suggestedText: template.trim() })
  }
  return stringOf('pick', check)
}

/** `secrets`: it is part of a request, where `{{ secret('…') }}` is allowed. */
export interface SendOptions {
  readonly secrets?: boolean
}

export function send(roots: readonly string[], options: SendOptions = {}) {
  return stringOf('send', (text, context) => {
    checkTemplate(text, roots, context, [], options)
  })
}

/** Text with `{{ expression }}` over names that the using document gives: they are looked up there. */
export function openSend() {
  return stringOf('send', (text, context) => {
    const compiled = compileTemplate(text)
    if (!compiled.ok) reportProblem(context, 'template', text, compiled.problem)
  })
}

function checkTemplate(
  text: string,
  roots: readonly string[],
  context: Refinement,
  path: FieldPath = [],
  { secrets = false }: SendOptions = {},
): boolean {
  const compiled = compileTemplate(text, { roots, secrets })
  if (!compiled.ok) {
    reportProblem(context, 'template', text, compiled.problem, path)
    return false
  }
  if (!compiled.template.isConstant || !looksLikePath(text, roots)) return true
  const params = { rule: 'looksLikePath', suggestedText: `{{ ${text.trim()} }}` } as const
  report(context, 'this is sent as the text it is, and looks like a path: write `{{ … }}`', params, path)
  return false
}

/** A template that makes a subject. A fixed one may start like a path: `event.created` is a valid subject. */
export function subjectSend(roots: readonly string[]) {
  return stringOf('send', (text, context) => {
    const compiled = compileTemplate(text, { roots })
    if (!compiled.ok) return reportProblem(context, 'template', text, compiled.problem)
    const isFixed = compiled.template.isConstant
    const parsed = parseSubject(isFixed ? text : maskTemplates(text))
    if (parsed.ok) return
    const { message, offset } = parsed.problem
    // The length of the rendered subject is not known yet.
    if (isFixed || !message.includes('at most')) report(context, message, { rule: 'subject', offset })
  })
}

/** Every template replaced by `x`es of the same length, so that positions stay. The text must compile. */
function maskTemplates(text: string): string {
  let masked = ''
  let from = 0
  for (let open = text.indexOf('{{'); open >= 0; open = text.indexOf('{{', from)) {
    const end = endOfTemplate(text, open)
    masked += text.slice(from, open) + 'x'.repeat(end - open)
    from = end
  }
  return masked + text.slice(from)
}

/** Each is compiled. */
const CLOSES_MAX = 50

/** The first `}}` before which the content compiles: quotes and maps may contain others. */
function endOfTemplate(text: string, open: number): number {
  let close = text.indexOf('}}', open)
  for (let tried = 0; close >= 0 && tried < CLOSES_MAX; tried += 1, close = text.indexOf('}}', close + 1)) {
    if (compileTemplate(text.slice(open, close + 2), { secrets: true }).ok) return close + 2
  }
  return text.length
}

/** A base address that differs between environments or connections. */
const BASE_ADDRESS = /^\{\{\s*(?:vars|config)\.[\w.]+\s*\}\}(?=[/?#]|$)/

export function url(roots: readonly string[]) {
  return stringOf('send', (text, context) => checkUrl(text, roots, context))
}

function checkUrl(
  text: string,
  roots: readonly string[],
  context: Refinement,
  options: SendOptions = {},
): void {
  const masked = maskedUrl(text, roots, context, options)
  if (masked === null) return
  const parsed = URL.canParse(masked) ? new URL(masked) : null
  if (parsed === null) report(context, 'this is no address', { rule: 'url' })
  else if (parsed.username !== '' || parsed.password !== '') {
    report(context, 'an address holds no user or password: definitions are read by many', { rule: 'url' })
  }
}

/** With a placeholder for each template; null: the problem was reported. */
function maskedUrl(
  text: string,
  roots: readonly string[],
  context: Refinement,
  options: SendOptions,
): string | null {
  if (!checkTemplate(text, roots, context, [], options) || !checkQuerySecret(text, context)) return null
  const masked = maskTemplates(text.replace(BASE_ADDRESS, 'https://x'))
  if (/^https?:\/\/[^/?#]/i.test(masked)) return masked
  report(context, roots.includes('config') && !roots.includes('vars') ? ABSOLUTE_BY_CONFIG : ABSOLUTE, {
    rule: 'url',
  })
  return null
}

const SECRET_START = /\{\{\s*secret\s*\(/

/** A secret may only come after the `?` of an address: paths and hosts are logged and shown. False: it was reported. */
function checkQuerySecret(text: string, context: Refinement): boolean {
  const at = text.search(SECRET_START)
  if (at < 0 || maskTemplates(text.slice(0, at)).includes('?')) return true
  const message =
    'a secret may stand in the query of an address, behind `?`, and nowhere else in it: paths and hosts are shown'
  report(context, message, { rule: 'secret', offset: at })
  return false
}

export const ABSOLUTE = 'an address begins with `https://` or `http://` and a host, or with `{{ vars.… }}`'
const ABSOLUTE_BY_CONFIG =
  'an address begins with `https://` or `http://` and a host, or with `{{ config.… }}`'

/** Absolute, or a path after the address of a connection; relations decide which. */
export function urlOrPath(roots: readonly string[], options: SendOptions = {}) {
  return stringOf('send', (text, context) => {
    if (!text.startsWith('/') || text.startsWith('//')) checkUrl(text, roots, context, options)
    else if (checkTemplate(text, roots, context, [], options)) checkQuerySecret(text, context)
  })
}

/** Where events are sent to, as far as no policy is needed: what every call would refuse is reported here. */
export function endpoint(roots: readonly string[], options: SendOptions = {}) {
  return stringOf('send', (text, context) => {
    const masked = maskedUrl(text, roots, context, options)
    const target = masked === null ? null : readTarget(masked)
    if (target === null || target.ok) return
    const hash = target.rule === 'fragment' ? maskTemplates(text).indexOf('#') : -1
    const at = hash < 0 ? {} : { offset: hash, suggestedText: text.slice(0, hash) }
    report(context, target.message, { rule: 'url', ...at })
  })
}

/** The value of a header: one line. The values of templates are checked when it is sent. */
export function headerText(roots: readonly string[], options: SendOptions = {}) {
  return stringOf('send', (text, context) => {
    if (!checkTemplate(text, roots, context, [], options)) return
    // Templates are masked, so their content does not count; a tab is allowed in a header.
    const masked = maskTemplates(text)
    const control = masked.search(/(?!\t)\p{Cc}/u)
    if (control >= 0)
      report(context, 'a header is one line without control characters', { rule: 'header', offset: control })
    const wide = masked.search(/[\u0100-\u{10ffff}]/u)
    if (wide < 0) return
    const message = `\`${String.fromCodePoint(text.codePointAt(wide) ?? 0)}\` cannot stand in a header: write it in plain letters`
    report(context, message, { rule: 'header', offset: wide })
  })
}

/** What follows a base address. */
export function requestPath(roots: readonly string[], options: SendOptions = {}) {
  return stringOf('send', (text, context) => {
    if (!checkTemplate(text, roots, context, [], options) || !checkQuerySecret(text, context)) return
    if (/^[/?]/.test(text) || text === '') return
    report(context, 'this stands behind `baseUrl`: it begins with `/` or `?`', {
      rule: 'url',
      ...(/^https?:/i.test(text) ? {} : { suggestedText: `/${text}` }),
    })
  })
}

/** Our own address, as others know it. */
export function address() {
  return stringOf('name', (text, context) => {
    if (refuseTemplate(text, context)) return
    const parsed = URL.canParse(text) ? new URL(text) : null
    if (parsed === null || !/^https?:\/\/[^/?#]/i.test(text)) {
      report(context, 'an address begins with `https://` or `http://` and a host', { rule: 'url' })
    } else if (parsed.username !== '' || parsed.password !== '') {
      report(context, 'an address holds no user or password: definitions are read by many', { rule: 'url' })
    } else if (/[?#]/.test(text)) {
      const offset = text.search(/[?#]/)
      const message = 'leave the query out: it is taken from each request'
      report(context, message, { rule: 'url', offset, suggestedText: text.slice(0, offset) })
    }
  })
}

/** Of Basic authentication: a colon would end it (RFC 7617). */
export function username() {
  return stringOf(
    'name',
    (text, context) => {
      if (refuseTemplate(text, context) || /^[^:\p{Cc}]+$/u.test(text)) return
      report(context, 'a user name is not empty and has no colon', { rule: 'value' })
    },
    { minLength: 1 },
  )
}

const TARGET = /^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$/

/** Names that mean something else in expressions: as a target they are a mistake. */
const READ_ONLY = /^(?:event|payload|header|source|tenant|vars|instance|steps|result|input|key)\./

/** Where a value of an instance goes: `data.x`, `metadata.x`, `correlation.x`; anything else is under `data`. */
export function target() {
  const check = (text: string, context: Refinement) => {
    if (refuseTemplate(text, context)) return
    if (!TARGET.test(text)) {
      const message = 'this is where the value goes: names joined by dots, as in `title` or `metadata.owner`'
      report(context, message, { rule: 'target', onKey: true })
    } else if (text === 'metadata' || text === 'correlation' || /^correlation\.[^.]*\./.test(text)) {
      const message =
        text === 'metadata'
          ? 'say which of the metadata: `metadata.owner`'
          : 'a key has one name: `correlation.order`'
      report(context, message, { rule: 'target', onKey: true })
    } else if (READ_ONLY.test(text)) {
      const message = `\`${text.split('.')[0]}\` is read and not written, and this would be \`data.${text}\`: write that, or another name`
      report(context, message, { rule: 'target', onKey: true, suggestion: `data.${text}` })
    }
  }
  return stringOf('path', check, { pattern: TARGET.source })
}

/** A tree in which every string is a send. */
export function sends(roots: readonly string[], { secrets = false }: SendOptions = {}) {
  return z
    .unknown()
    .superRefine((value, context) => {
      const compiled = compileShape(value as JsonValue, { roots, secrets })
      for (const problem of compiled.ok ? [] : compiled.problems) {
        const isKey = problem.message.startsWith('a field name is a literal')
        const text = isKey ? '' : stringAt(value, problem.path)
        if (isKey) report(context, problem.message, { rule: 'literal', onKey: true }, problem.path)
        else reportProblem(context, 'template', text, problem, problem.path)
      }
      for (const [path, text] of stringsOf(value, [])) {
        if (!text.includes('{{')) checkTemplate(text, roots, context, path)
      }
    })
    .meta({ 'x-tree': 'sends' satisfies Tree })
}

/** Any value, used as it is: no text in it is a template. */
export function json() {
  return z.unknown().meta({ 'x-tree': 'json' satisfies Tree })
}

/** A JSON Schema; what it may be is checked beside it. */
export function jsonSchema() {
  return named('JsonSchema', json())
}

/** The path of a value in an event: `payload.user.email`. */
export function path() {
  return stringOf('path', refuseTemplate, { minLength: 1 })
}

export function condition(roots: readonly string[]) {
  return z
    .unknown()
    .superRefine((value, context) => {
      const compiled = compileCondition(value as JsonValue, { roots })
      for (const problem of compiled.ok ? [] : compiled.problems) {
        const isOperator = /operator `/.test(problem.message)
        const text = stringAt(value, problem.path)
        if (isOperator) {
          const suggestion = problem.suggestion === undefined ? {} : { suggestion: problem.suggestion }
          report(context, problem.message, { rule: 'condition', onKey: true, ...suggestion }, problem.path)
        } else if (value === null) {
          report(context, 'the condition is empty: `#` begins a comment; text needs quotes', {
            rule: 'condition',
          })
        } else
          reportProblem(
            context,
            problem.length === 0 ? 'condition' : 'expression',
            text,
            problem,
            problem.path,
          )
      }
    })
    .meta({ 'x-tree': 'condition' satisfies Tree })
}

function stringAt(value: unknown, path: FieldPath): string {
  let found = value
  for (const step of path) found = (found as Record<string | number, unknown> | null)?.[step]
  return typeof found === 'string' ? found : ''
}

function* stringsOf(value: unknown, path: FieldPath): Generator<readonly [FieldPath, string]> {
  if (typeof value === 'string') yield [path, value]
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* stringsOf(item, [...path, index])
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) yield* stringsOf(item, [...path, key])
  }
}
