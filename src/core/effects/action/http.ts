// An http action, compiled: renders a request from a definition and a scope, and reads the details of a response.

import type { AuthDocument, HttpActionDocument } from '../../definitions/documents/index.ts'
import {
  compileShape,
  compileTemplate,
  ExpressionError,
  type Keyed,
  type Scope,
  secretsIn,
} from '../../expression/index.ts'
import type { CallPolicy } from '../../failures/failure/index.ts'
import { hashText } from '../../foundation/hash/index.ts'
import {
  isNumber,
  isStorable,
  type JsonValue,
  parseJson,
  stringifyJson,
} from '../../foundation/json/index.ts'
import type { EffectAbilities } from '../ledger/index.ts'
import type { ActionKind } from './action-kind.ts'
import { must, type ParsedResponse, type RenderedRequest } from './action-parts.ts'
import { compileFound } from './effect-found.ts'
import { compileAuth, markForShow, type SecretUse, usesOf } from './request-auth.ts'

export { must, type ParsedResponse, type RenderedRequest }

export interface HttpAction {
  readonly type: 'http'
  readonly policy: CallPolicy
  readonly abilities: EffectAbilities
  /** The secrets that the request carries. */
  readonly secrets: readonly SecretUse[]
  /** Throws ExpressionError if a required value is missing. */
  render(scope: Scope, key: string): RenderedRequest
  /** null: the operation cannot be probed. */
  readonly probe: {
    readonly secrets: readonly SecretUse[]
    render(scope: Scope): RenderedRequest
    /** Throws ExpressionError when the formula gives no clear answer. */
    found(scope: Scope, response: ParsedResponse): boolean
  } | null
}

/** Characters that are safe for a key in a header: vendors truncate or refuse the rest. */
const KEY_HEADER = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/

export const httpKind = {
  compile(document, keyed) {
    const { auth, probe } = document
    const request = compileRequest(
      document.method,
      document.url,
      document.headers,
      document.body,
      auth,
      keyed,
    )
    return {
      type: 'http',
      policy: { idempotent: document.idempotent, classify: document.classify },
      abilities: {
        idempotent: document.idempotent,
        keyTtlMs: document.keyTtlMs,
        probeAfterMs: document.probe?.afterMs ?? null,
        timeoutMs: document.timeoutMs,
      },
      secrets: request.secrets,
      render(scope, key) {
        const rendered = request.render(scope)
        return { ...rendered, headers: { ...rendered.headers, 'idempotency-key': keyForHeader(key) } }
      },
      probe: probe === null ? null : compileProbe(probe, auth, keyed),
    }
  },
  request: (action, scope, key) => action.render(scope, key),
} as const satisfies ActionKind<HttpActionDocument, HttpAction>

export function keyForHeader(key: string): string {
  return KEY_HEADER.test(key) ? key : hashText(key)
}

function compileProbe(
  probe: NonNullable<HttpActionDocument['probe']>,
  auth: AuthDocument | undefined,
  keyed: Keyed,
): NonNullable<HttpAction['probe']> {
  const { method, url, headers } = probe
  const { render, secrets } = compileRequest(method, url, headers, null, probe.auth ?? auth, keyed)
  return { secrets, render, found: compileFound(probe.found, 'probe.found', keyed) }
}

export interface CompiledRequest {
  readonly secrets: readonly SecretUse[]
  /** Without secret values in the scope, the request is for display only. */
  render(scope: Scope): RenderedRequest
}

export function compileRequest(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: JsonValue,
  auth: AuthDocument | undefined,
  keyed: Keyed,
): CompiledRequest {
  // The inputs of a request may contain secrets.
  const options = { ...keyed, secrets: true }
  const urlTemplate = must(compileTemplate(url, options)).template
  const headerTemplates = Object.entries(headers).map(
    ([name, text]) => [name.toLowerCase(), must(compileTemplate(text, options)).template] as const,
  )
  const shape = body === null ? null : must(compileShape(body, options)).shape
  const proof = auth === undefined ? null : compileAuth(auth)
  const secrets: readonly SecretUse[] = [
    ...(proof === null ? [] : [proof.use]),
    ...usesOf(urlTemplate, 'text'),
    ...headerTemplates.flatMap(([, template]) => usesOf(template, 'header')),
    ...(shape === null ? [] : usesOf(shape, 'text')),
  ]
  const renderAll = (scope: Scope): RenderedRequest => {
    const renderedUrl = urlTemplate.render(scope, 'url')
    if (typeof renderedUrl !== 'string') throw new ExpressionError('type', 'the url is not a text', 'url')
    const rendered: Record<string, string> = {}
    for (const [name, template] of headerTemplates) {
      const value = template.render(scope)
      if (value !== undefined && value !== null) rendered[name] = headerText(name, value)
    }
    if (proof !== null) rendered[proof.header] = headerText(proof.header, proof.render(scope))
    const value = shape === null ? undefined : shape.render(scope)
    if (value === undefined) return { method, url: renderedUrl, headers: rendered, body: null }
    const text = typeof value === 'string' ? value : stringifyJson(value)
    rendered['content-type'] ??= typeof value === 'string' ? 'text/plain; charset=utf-8' : 'application/json'
    return { method, url: renderedUrl, headers: rendered, body: text }
  }
  if (secrets.length === 0) return { secrets, render: renderAll }
  return {
    secrets,
    render: (scope) => (secretsIn(scope) === null ? markForShow(renderAll(scope)) : renderAll(scope)),
  }
}

/** As it appears in a request. Throws ExpressionError. */
export function headerText(name: string, value: JsonValue): string {
  const text = typeof value === 'string' ? value : stringifyJson(value)
  // A line break would let a payload inject headers.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what may not stand in a header
  if (/[\x00-\x08\x0a-\x1f\x7f]/.test(text) || /[^\x00-\xff]/.test(text)) {
    throw new ExpressionError('type', 'the value cannot stand in a header', `headers.${name}`)
  }
  return text
}

/** A body that is declared as JSON, or looks like it, is parsed; anything else stays text. */
export function parseResponse(response: {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}): ParsedResponse {
  const { status, headers, body } = response
  if (body === '') return { status, headers, body: null }
  try {
    return { status, headers, body: parseJson(body) }
  } catch {
    return { status, headers, body }
  }
}

/** The vendor's reference to the effect: the `location`, or an `id` in the response. */
export function effectRefOf(response: ParsedResponse): string | null {
  const location = response.headers.location
  if (location !== undefined) return location
  const { body } = response
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return null
  const id = (body as Readonly<Record<string, JsonValue>>).id
  if (typeof id !== 'string' && !isNumber(id)) return null
  // The effect already exists: a reference that cannot be stored must not prevent reporting it.
  const text = String(id)
  return text !== '' && isStorable(text) ? text : null
}
