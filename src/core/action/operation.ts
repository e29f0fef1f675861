// An operation of a provider, compiled: from its document, an input and a connection's configuration to a request, and from an answer to
// what the operation gives. The address and the credential are the connection's, and are added at the door.

import type { OperationActionDocument, OperationDocument, OperationRequest } from '../definition/index.ts'
import {
  compileExpression,
  compileShape,
  compileTemplate,
  ExpressionError,
  type Scope,
} from '../expression/index.ts'
import type { CallPolicy, CallVerdict } from '../failure/index.ts'
import { isStorable, type JsonValue, stringifyJson } from '../json/index.ts'
import type { EffectAbilities } from '../ledger/index.ts'
import { compileRequest, effectRefOf, keyForHeader, must, type ParsedResponse } from './http.ts'

/** What the templates of a provider see. */
export interface OperationScope {
  readonly input: JsonValue
  readonly config: JsonValue
  readonly key: string
  readonly vars: Scope[string]
}

export interface PathRequest {
  readonly method: string
  /** Begins with a slash; with its query. */
  readonly target: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export interface CompiledOperation {
  readonly document: OperationDocument
  readonly policy: CallPolicy
  readonly abilities: EffectAbilities
  /** Throws ExpressionError where a value is missing that the request cannot do without. */
  render(scope: OperationScope): PathRequest
  /** null: the vendor cannot be asked whether the effect is there. */
  readonly lookup: {
    render(scope: OperationScope): PathRequest
    /** Throws ExpressionError when the formula gives no clear answer. */
    found(
      scope: OperationScope,
      response: ParsedResponse,
    ): { readonly isThere: boolean; readonly ref: string | null }
  } | null
  /** What the answer means beyond its status. */
  refine(response: ParsedResponse, verdict: CallVerdict): CallVerdict
  /** What the operation gives. Throws ExpressionError. */
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

export function compileOperationAction(document: OperationActionDocument): OperationAction {
  const { provider, connection, operation } = document
  const given = must(compileShape(document.with)).shape
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
}

export function compileOperation(document: OperationDocument): CompiledOperation {
  const { idempotency, keyTtlMs, keyHeader, lookup, timeoutMs, classify, encoding } = document
  const idempotent = idempotency === 'idempotent'
  const request = compilePath(document, document.body, encoding)
  const refinements = document.refine.map(({ when, as }) => ({
    holds: must(compileExpression(when)).expression,
    as,
  }))
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
    refine(response, verdict) {
      for (const { holds, as } of refinements) {
        if (holds.evaluate({ result: response }) !== true) continue
        if (as === 'done') return { as: 'done' }
        const retryAfterMs = verdict.as === 'failed' ? verdict.retryAfterMs : null
        return { as: 'failed', class: as, effect: as === 'unknown' ? 'maybe' : 'none', retryAfterMs }
      }
      return verdict
    },
    resultOf: (response) =>
      result === null ? response.body : ((result.evaluate({ result: response }) ?? null) as JsonValue),
    refOf: (response) =>
      ref === null ? effectRefOf(response) : referenceOf(ref.evaluate({ result: response })),
  }
}

function compileLookup(
  lookup: NonNullable<OperationDocument['lookup']>,
): NonNullable<CompiledOperation['lookup']> {
  const request = compilePath(lookup, null, 'json')
  const found = must(compileExpression(lookup.found)).expression
  const id = lookup.id === null ? null : must(compileExpression(lookup.id)).expression
  return {
    render: (scope) => request(scopeOf(scope)),
    found(scope, response) {
      const seen = { ...scopeOf(scope), result: response }
      const isThere = found.evaluate(seen)
      // «No» allows another call: what is not said outright must not be taken for it.
      if (typeof isThere !== 'boolean')
        throw new ExpressionError('type', 'the answer is neither true nor false', 'lookup.found')
      return { isThere, ref: isThere && id !== null ? referenceOf(id.evaluate(seen)) : null }
    },
  }
}

/** A request behind somebody's address. */
export function compilePath(
  { method, path, query, headers }: OperationRequest,
  body: JsonValue,
  encoding: OperationDocument['encoding'],
): (scope: Scope) => PathRequest {
  const request = compileRequest(method, path, headers, encoding === 'json' ? body : null)
  const names = Object.entries(query).map(
    ([name, text]) => [name, must(compileTemplate(text)).template] as const,
  )
  const form = encoding === 'form' && body !== null ? must(compileShape(body)).shape : null
  return (scope) => {
    const { url, ...rest } = request(scope)
    const pairs = names.flatMap(([name, template]) => pairsOf(name, template.render(scope)))
    const target = pairs.length === 0 ? url : `${url}${url.includes('?') ? '&' : '?'}${pairs.join('&')}`
    if (form === null) return { ...rest, target }
    const fields = form.render(scope) ?? null
    const isFields = typeof fields === 'object' && fields !== null && !Array.isArray(fields)
    if (!isFields) throw new ExpressionError('type', 'the form has no fields', 'body')
    const text = Object.entries(fields)
      .flatMap(([name, value]) => pairsOf(name, value))
      .join('&')
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    return { ...rest, target, headers: { ...type, ...rest.headers }, body: text }
  }
}

function pairsOf(name: string, value: JsonValue | undefined): readonly string[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value.flatMap((one) => pairsOf(name, one))
  const text = typeof value === 'string' ? value : stringifyJson(value)
  return [`${encodeURIComponent(name)}=${encodeURIComponent(text)}`]
}

function scopeOf({ input, config, key, vars }: OperationScope): Scope {
  return { input, config, key, extRef: keyForHeader(key), vars }
}

/** The effect is there already: a reference that cannot be kept must not stand in the way of saying so. */
function referenceOf(value: unknown): string | null {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint') return null
  const text = String(value)
  return text !== '' && isStorable(text) ? text : null
}
