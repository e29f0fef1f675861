// The secrets that requests carry: by `auth`, and by `{{ secret('…') }}` in their templates. Which ones are needed is known
// before rendering; their values enter the scope only when a request is about to be sent, and are in nothing that is rendered
// for other purposes.
//
// Invariants: IX3 a request that was rendered without values is for display, and is marked so. IX6 a value that is invalid at
// its position is named by its secret and never quoted.

import type { AuthDocument, SecretRef } from '../../definitions/documents/index.ts'
import { authHeaderOf, authSecretOf } from '../../definitions/documents/index.ts'
import { type Scope, secretsIn, secretText, type Template, vaultKey } from '../../expression/index.ts'
import { REDACTED } from '../../secrets/index.ts'

export interface SecretUse {
  readonly ref: SecretRef
  /** `header`: unchanged. `basic`: encoded, in a header. `text`: in a query or a body. */
  readonly place: 'header' | 'basic' | 'text'
  /** With `basic`. */
  readonly user?: string
}

/** The key of its value in the scope's secrets. */
export function secretKey(ref: SecretRef): string {
  if ('ref' in ref) return vaultKey(ref.ref)
  return 'env' in ref ? `env ${ref.env}` : `file ${ref.file}`
}

function secretName(ref: SecretRef): string {
  if ('ref' in ref) return ref.ref
  return 'env' in ref ? ref.env : ref.file
}

/** The vault entries that a template or a tree uses. */
export function usesOf(
  { secrets }: Pick<Template, 'secrets'>,
  place: 'header' | 'text',
): readonly SecretUse[] {
  return secrets.map((ref) => ({ ref: { ref }, place }))
}

export interface CompiledAuth {
  /** Lower case. */
  readonly header: string
  readonly use: SecretUse
  /** The value of the header; without values in the scope, a display text. Throws ExpressionError. */
  render(scope: Scope): string
}

export function compileAuth(auth: AuthDocument): CompiledAuth {
  const ref = authSecretOf(auth)
  const key = secretKey(ref)
  const name = secretName(ref)
  const header = authHeaderOf(auth)
  if ('basic' in auth) {
    const { user } = auth.basic
    const render = (scope: Scope) => {
      const password = secretText(scope, key, name)
      return `Basic ${secretsIn(scope) === null ? REDACTED : pairOf(user, password)}`
    }
    return { header, use: { ref, place: 'basic', user }, render }
  }
  const prefix = 'bearer' in auth ? 'Bearer ' : ''
  return {
    header,
    use: { ref, place: 'header' },
    render: (scope) => prefix + secretText(scope, key, name),
  }
}

function pairOf(user: string, password: string): string {
  return Buffer.from(`${user}:${password}`, 'utf8').toString('base64')
}

/** Values to redact where such a value was sent. */
export function hiddenTexts({ place, user = '' }: SecretUse, value: string): readonly string[] {
  return place === 'basic' ? [value, pairOf(user, value)] : [value]
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what may not stand in a header
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/
const WIDE = /[\u0100-\u{10ffff}]/u

/** Why a value is invalid at its position; null: it is valid. */
export function secretFault({ place }: SecretUse, value: string): string | null {
  if (place === 'text') return null
  if (CONTROL.test(value)) return 'has a line break or another control character'
  return place === 'header' && WIDE.test(value) ? 'has characters that no header can carry' : null
}

const FOR_SHOW = Symbol('for show')

/** Marks a request whose secrets are hidden; JSON does not include the mark. */
export function markForShow<Request extends object>(request: Request): Request {
  return { ...request, [FOR_SHOW]: true }
}

/** The secrets in it are hidden: it must not be sent. */
export function isForShow(request: object): boolean {
  return Object.hasOwn(request, FOR_SHOW)
}
