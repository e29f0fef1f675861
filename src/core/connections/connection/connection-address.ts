// Resolves where calls on a connection go: its own addresses, or its provider's, and nowhere else.
//
// Invariant: DR1 whatever a call names, it goes to the origin of one of the connection's addresses.

import type { ConnectionDocument, ProviderDocument } from '../../definitions/documents/index.ts'
import { compileShape, compileTemplate, ExpressionError, type Scope } from '../../expression/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import { withoutTrailingSlashes } from '../../foundation/text/index.ts'

export interface Addresses {
  /** The connection as the provider's templates see it. */
  readonly config: JsonValue
  readonly base: string
  readonly endpoints: ReadonlyMap<string, string>
  readonly origins: ReadonlySet<string>
}

/** Throws ExpressionError if an address lacks a required value or is not an address. */
export function resolveAddresses(
  provider: Pick<ProviderDocument, 'baseUrl' | 'endpoints'>,
  connection: Pick<ConnectionDocument, 'config' | 'endpoints'>,
  vars: Scope[string],
): Addresses {
  const shape = compileShape(connection.config)
  if (!shape.ok) throw new ExpressionError('type', 'the configuration cannot be read', 'config')
  const config = (shape.shape.render({ vars }) ?? null) as JsonValue
  const scope = { vars, config }
  const { default: ownBase, ...own } = connection.endpoints
  const base = render(ownBase ?? provider.baseUrl, scope, 'baseUrl')
  const endpoints = new Map<string, string>()
  for (const [name, text] of Object.entries({ ...provider.endpoints, ...own }))
    endpoints.set(name, render(text, scope, `endpoints.${name}`))
  const origins = new Set([base, ...endpoints.values()].map(originOf))
  return { config, base, endpoints, origins }
}

export type Located =
  | { readonly ok: true; readonly url: string }
  | { readonly ok: false; readonly why: string }

/** `target`: a path below the address, or a whole address of the same origin. */
export function locate(
  { base, endpoints, origins }: Addresses,
  endpoint: string | null,
  target: string,
): Located {
  const isWhole = /^[a-z][a-z0-9+.-]*:/i.test(target)
  if (!isWhole && target !== '' && !/^[/?]/.test(target))
    return { ok: false, why: 'a path begins with a slash' }
  // A class that the provider no longer has falls back to the base.
  const address = (endpoint === null ? undefined : endpoints.get(endpoint)) ?? base
  const url = isWhole ? target : `${address}${target}`
  if (!URL.canParse(url)) return { ok: false, why: 'this is no address' }
  const { username, password } = new URL(url)
  if (!origins.has(originOf(url)) || username !== '' || password !== '')
    return { ok: false, why: 'the address is not one of the connection: its credential is sent nowhere else' }
  return { ok: true, url }
}

function render(text: string, scope: Scope, path: string): string {
  const compiled = compileTemplate(text)
  const value = compiled.ok ? compiled.template.render(scope) : undefined
  if (typeof value !== 'string') throw new ExpressionError('missing', 'the address is no text', path)
  const address = withoutTrailingSlashes(value)
  if (!/^(?:https?|smtps?):\/\/[^/?#]+/i.test(address) || !URL.canParse(address))
    throw new ExpressionError('url', 'this is no http address', path)
  return address
}

/** Also for mail servers, whose URLs have no origin of their own. */
function originOf(address: string): string {
  const { protocol, host } = new URL(address)
  return `${protocol}//${host}`
}
