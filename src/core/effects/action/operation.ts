// An operation of a provider, compiled: renders a request from its document, an input and a connection's configuration, and
// maps a response to the operation's output. The outbound client adds the connection's address and credential.

import type {
  OperationActionDocument,
  OperationDocument,
  OperationRequest,
} from '../../definitions/documents/index.ts'
import {
  compileExpression,
  compileShape,
  compileTemplate,
  ExpressionError,
  type Keyed,
  type Scope,
  type Template,
} from '../../expression/index.ts'
import type { CallPolicy, CallVerdict } from '../../failures/failure/index.ts'
import { isNumber, isStorable, type JsonValue, stringifyJson } from '../../foundation/json/index.ts'
import type { EffectAbilities } from '../ledger/index.ts'
import type { ActionKind } from './action-kind.ts'
import { compileFound } from './effect-found.ts'
import { compileRequest, effectRefOf, headerText, keyForHeader, must, type ParsedResponse } from './http.ts'

/** The scope of a provider's templates. */
export interface OperationScope {
  readonly input: JsonValue
  readonly config: JsonValue
  readonly key: string
  readonly vars: Scope[string]
}

export interface PathRequest {
  readonly method: string
  /** Begins with a slash; includes its query. */
  readonly target: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export interface CompiledOperation {
  readonly document: OperationDocument
  readonly policy: CallPolicy
  readonly abilities: EffectAbilities
  /** Throws ExpressionError if a required value is missing. */
  render(scope: OperationScope): PathRequest
  /** null: the vendor cannot be asked whether the effect exists. */
  readonly lookup: {
    render(scope: OperationScope): PathRequest
    /** Throws ExpressionError when the formula gives no clear answer. */
    found(
      scope: OperationScope,
      response: ParsedResponse,
    ): { readonly isThere: boolean; readonly ref: string | null }
  } | null
  /** The meaning of the response beyond its status. */
  refine(response: ParsedResponse, verdict: CallVerdict): CallVerdict
  /** The operation's output. Throws ExpressionError. */
  resultOf(response: ParsedResponse): JsonValue
  refOf(response: ParsedResponse): string | null
}

export interface OperationAction extends Omit<CompiledOperation, 'document'> {
  readonly type: 'operation'
  readonly provider: string
  readonly connection: string
  readonly operation: OperationDocument
  input(scope: Scope): JsonValue
}

export const operationKind = {
  compile(document, keyed) {
    const { provider, connection, operation } = document
    const given = must(compileShape(document.with, keyed)).shape
    const timeoutMs = document.timeoutMs ?? operation.timeoutMs
    const classify = { ...operation.classify, ...document.classify }
    const { document: _, ...compiled } = compileOperation({ ...operation, timeoutMs, classify })
    return {
      type: 'operation',
      provider,
      connection,
      operation,
      ...compiled,
      input: (scope) => given.render(scope) ?? null,
    }
  },
  preview(action, scope) {
    const { provider, connection, operation } = action
    const name = `${provider}.${operation.name}`
    return { type: 'operation', operation: { name, connection, input: action.input(scope) } } as const
  },
} as const satisfies ActionKind<OperationActionDocument, OperationAction>

export function compileOperation(document: OperationDocument): CompiledOperation {
  const { idempotency, keyTtlMs, keyHeader, lookup, timeoutMs, classify, encoding } = document
  const idempotent = idempotency === 'idempotent'
  const request = compilePath(document, document.body, encoding)
  const result = document.result === null ? null : must(compileExpression(document.result)).expression
  const ref = document.ref === null ? null : must(compileExpression(document.ref)).expression
  return {
    document,
    policy: { idempotent, classify },
    abilities: {
      idempotent,
      keyTtlMs: idempotency === 'native' ? keyTtlMs : null,
      probeAfterMs: lookup?.afterMs ?? null,
      timeoutMs,
    },
    render(scope) {
      const rendered = request(scopeOf(scope))
      if (keyHeader === null) return rendered
      return { ...rendered, headers: { ...rendered.headers, [keyHeader]: keyForHeader(scope.key) } }
    },
    lookup: lookup === null ? null : compileLookup(lookup),
    refine: compileRefine(document.refine),
    resultOf: (response) =>
      result === null ? response.body : ((result.evaluate({ result: response }) ?? null) as JsonValue),
    refOf: (response) =>
      ref === null ? effectRefOf(response) : referenceOf(ref.evaluate({ result: response })),
  }
}

/**
 * The meaning of a response beyond its status: the first match counts. An unknown outcome is settled only by `done`, or by a
 * refusal that is not a 5xx: a server that failed midway may have applied the call, whatever it says.
 */
export function compileRefine(
  refine: OperationDocument['refine'],
): (response: ParsedResponse, verdict: CallVerdict) => CallVerdict {
  const refinements = refine.map(({ when, as }) => ({
    holds: must(compileExpression(when)).expression,
    as,
  }))
  return (response, verdict) => {
    for (const { holds, as } of refinements) {
      if (!isTrue(holds, response)) continue
      if (as === 'done') return { as: 'done' }
      const retryAfterMs = verdict.as === 'failed' ? verdict.retryAfterMs : null
      const wasDoubt = verdict.as === 'failed' && verdict.effect === 'maybe'
      const isRefusal = REFUSALS.has(as) && response.status < 500
      const isDoubt = as === 'unknown' || (wasDoubt && !isRefusal)
      return { as: 'failed', class: as, effect: isDoubt ? 'maybe' : 'none', retryAfterMs }
    }
    return verdict
  }
}

/** Classes that mean that the call was examined and refused. */
const REFUSALS: ReadonlySet<string> = new Set(['auth', 'config', 'rate_limited', 'validation'])

/** The response is complete: a formula that fails on it says nothing. */
function isTrue(holds: { evaluate(scope: Scope): unknown }, response: ParsedResponse): boolean {
  try {
    return holds.evaluate({ result: response }) === true
  } catch (error) {
    if (error instanceof ExpressionError) return false
    throw error
  }
}

function compileLookup(
  lookup: NonNullable<OperationDocument['lookup']>,
): NonNullable<CompiledOperation['lookup']> {
  const request = compilePath(lookup, null, 'json')
  const found = compileFound(lookup.found, 'lookup.found', KEYLESS)
  const id = lookup.id === null ? null : must(compileExpression(lookup.id)).expression
  return {
    render: (scope) => request(scopeOf(scope)),
    found(scope, response) {
      const seen = { ...scopeOf(scope), result: response }
      const isThere = found(scopeOf(scope), response)
      return { isThere, ref: isThere && id !== null ? referenceOf(id.evaluate(seen)) : null }
    },
  }
}

/**
 * A request below a connection's address. Where the caller chooses the target (a connector for any API), the path may be a
 * single template, which is then checked and not encoded; and `*` in the query and among the headers stands for a map of them.
 */
export function compilePath(
  { method, path, query, headers }: OperationRequest,
  body: JsonValue,
  encoding: OperationDocument['encoding'],
): (scope: Scope) => PathRequest {
  const { [ANY]: anyHeaders, ...named } = headers
  const whole = wholePath(path)
  const request = compileRequest(
    method,
    whole === null ? path : '/',
    named,
    encoding === 'json' ? body : null,
    undefined,
    KEYLESS,
  )
  const names = Object.entries(query).map(
    ([name, text]) => [name, must(compileTemplate(text)).template] as const,
  )
  const more = anyHeaders === undefined ? null : must(compileTemplate(anyHeaders)).template
  const form = encoding === 'form' && body !== null ? must(compileShape(body)).shape : null
  return (scope) => {
    const { url, ...rest } = request.render(scope)
    const pairs = names.flatMap(([name, template]) =>
      name === ANY
        ? Object.entries(mapOf(template.render(scope), 'query')).flatMap(([one, value]) =>
            pairsOf(one, value),
          )
        : pairsOf(name, template.render(scope)),
    )
    const where = whole === null ? url : checkedPath(whole.render(scope))
    const target = pairs.length === 0 ? where : `${where}${where.includes('?') ? '&' : '?'}${pairs.join('&')}`
    const given = more === null ? {} : givenHeaders(mapOf(more.render(scope), 'headers'), named)
    const sent = { ...rest, target, headers: { ...rest.headers, ...given } }
    if (form === null) return sent
    const text = Object.entries(mapOf(form.render(scope), 'body'))
      .flatMap(([name, value]) => (isPlainList(value) ? pairsOf(name, value) : fieldsOf(name, value)))
      .join('&')
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    return { ...sent, headers: { ...type, ...sent.headers }, body: text }
  }
}

const ANY = '*'
/** A provider is written for every tenant: `hmac` is refused in it. A route computes the digest and passes it as input. */
const KEYLESS: Keyed = {}
/** Characters allowed in a path (RFC 3986), with its slashes. */
const PATH = /^\/(?!\/)[\w.~!$&'()*+,;=:@%/-]*$/
const DOT_STEP = /(?:^|\/)(?:\.|%2e){1,2}(?=\/|$)/i
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/
/** These headers authenticate the caller, which only the connection may do. */
const CREDENTIAL_HEADERS = new Set(['authorization', 'cookie', 'proxy-authorization'])

/** A path that is a single template. */
function wholePath(path: string): Template | null {
  if (path.startsWith('/')) return null
  const { template } = must(compileTemplate(path))
  return template.literals.length === 1 && !template.isConstant ? template : null
}

function checkedPath(value: JsonValue | undefined): string {
  if (typeof value !== 'string' || !PATH.test(value))
    throw new ExpressionError(
      'url',
      'the path must begin with one slash, and what it holds must be percent-encoded, without a query',
      'path',
    )
  if (DOT_STEP.test(value))
    throw new ExpressionError('url', '`.` or `..` cannot be a step of the path', 'path')
  return value
}

type Fields = Readonly<Record<string, JsonValue>>

function mapOf(value: JsonValue | undefined, path: 'query' | 'headers' | 'body'): Fields {
  // A form without fields is certainly a mistake; an empty set of headers or query parameters is not.
  if ((value === undefined || value === null) && path !== 'body') return {}
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && !isNumber(value))
    return value as Fields
  throw new ExpressionError(
    'type',
    path === 'body' ? 'the form has no fields' : `\`${path}\` is no map`,
    path,
  )
}

function givenHeaders(given: Fields, named: Readonly<Record<string, string>>): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase()
    if (!HEADER_NAME.test(name)) throw new ExpressionError('type', 'this is no name of a header', 'headers')
    if (CREDENTIAL_HEADERS.has(lower))
      throw new ExpressionError('type', 'the credential of the connection is sent, and no other', 'headers')
    if (value !== null && named[lower] === undefined) headers[lower] = headerText(lower, value)
  }
  return headers
}

function pairsOf(name: string, value: JsonValue | undefined): readonly string[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value.flatMap((one) => pairsOf(name, one))
  const text = typeof value === 'string' ? value : stringifyJson(value)
  return [`${encodeURIComponent(name)}=${encodeURIComponent(text)}`]
}

/** How forms write trees: `a[b]`, and `a[0]` in lists. A list of plain values directly in the form repeats its name instead. */
function fieldsOf(name: string, value: JsonValue | undefined): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((one, at) => fieldsOf(`${name}[${at}]`, one))
  if (typeof value !== 'object' || value === null || isNumber(value)) return pairsOf(name, value)
  return Object.entries(value).flatMap(([part, one]) => fieldsOf(`${name}[${part}]`, one as JsonValue))
}

function isPlainList(value: JsonValue | undefined): boolean {
  return (
    Array.isArray(value) && value.every((one) => typeof one !== 'object' || one === null || isNumber(one))
  )
}

function scopeOf({ input, config, key, vars }: OperationScope): Scope {
  return { input, config, key, extRef: keyForHeader(key), vars }
}

/** The effect already exists: a reference that cannot be stored must not prevent reporting it. */
function referenceOf(value: unknown): string | null {
  if (typeof value !== 'string' && !isNumber(value)) return null
  const text = String(value)
  return text !== '' && isStorable(text) ? text : null
}
