// `{{ secret('name') }}`: the one expression whose value is not in the scope of the definition. It is alone in its template, so
// that the rendered text contains the value unchanged and redaction finds all of it.
//
// Invariants: IX1 a text compiles with `secret` only where the compiler knows that it is part of a request. IX3 without values
// in the scope it renders as `[redacted]`: everything shown or stored is rendered that way.

import { isSecretName, OWN_SECRETS, REDACTED } from '../../secrets/index.ts'
import type { Frame, Scope } from '../evaluation/index.ts'
import { ExpressionError, Fault, type Node } from '../syntax/index.ts'

/** By `secretKey`. */
export type SecretValues = ReadonlyMap<string, string>

const SECRETS = Symbol('secrets')

/** The scope of a request that is about to be sent. */
export function withSecrets(scope: Scope, values: SecretValues): Scope {
  return { ...scope, [SECRETS]: values } as Scope
}

/** null: rendered for display. */
export function secretsIn(scope: Scope): SecretValues | null {
  return (scope as { readonly [SECRETS]?: SecretValues })[SECRETS] ?? null
}

/** The value, or its display text. Throws ExpressionError. */
export function secretText(scope: Scope, key: string, name: string): string {
  const values = secretsIn(scope)
  if (values === null) return REDACTED
  const value = values.get(key)
  if (value === undefined) throw new ExpressionError('missing', `the secret \`${name}\` has no value`)
  return value
}

type Call = Node & { readonly kind: 'call' }

/** The key of a vault entry among the values. */
export function vaultKey(name: string): string {
  return `ref ${name}`
}

/** The name, if the whole text is one call of `secret`; null: it is something else. Throws Fault. */
export function readSecretCall(node: Node): string | null {
  if (node.kind !== 'call' || node.name !== 'secret') return null
  const [name, ...more] = node.receiver === null ? node.args : [node.receiver, ...node.args]
  const isName = node.receiver === null && more.length === 0 && name?.kind === 'literal'
  if (!isName || typeof name.value !== 'string' || !isSecretName(name.value)) {
    const message = "`secret` takes one name of the vault, in quotes: `secret('books')`"
    throw new Fault(message, node.nameAt, node.end - node.nameAt)
  }
  if (name.value.startsWith(OWN_SECRETS)) {
    const message = `\`secret\` cannot read what begins with \`${OWN_SECRETS}\`: those are tokens of credentials`
    throw new Fault(message, name.at, name.end - name.at)
  }
  return name.value
}

export function evaluateSecret(name: string): (frame: Frame) => string {
  const key = vaultKey(name)
  return ({ scope }) => secretText(scope, key, name)
}

/** A call of `secret` that is not a whole template of a request. */
export function misplacedSecret(node: Call, isRequest: boolean): Fault {
  const message = isRequest
    ? "`secret` stands alone between `{{` and `}}`: write the text around it outside, as in `Bearer {{ secret('books') }}`"
    : '`secret` cannot be used here: a secret is rendered only when a request is sent. Use it in headers, queries and bodies of `http`, `upsert` and subscriptions, and in headers of agents'
  return new Fault(message, node.nameAt, node.end - node.nameAt)
}
