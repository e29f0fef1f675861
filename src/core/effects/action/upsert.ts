// An upsert, compiled: one object at the other side per external reference. It is looked up, and then updated or created with
// the reference on it.
//
// Invariant: UP1 a response that does not clearly say whether the object exists leads to no call.

import type { UpsertActionDocument, UpsertCallDocument } from '../../definitions/documents/index.ts'
import {
  compileExpression,
  compileTemplate,
  ExpressionError,
  type Scope,
  typeOf,
} from '../../expression/index.ts'
import type { CallPolicy } from '../../failures/failure/index.ts'
import { hashText } from '../../foundation/hash/index.ts'
import { isNumber, isStorable, type JsonValue } from '../../foundation/json/index.ts'
import { withoutTrailingSlashes } from '../../foundation/text/index.ts'
import type { EffectAbilities } from '../ledger/index.ts'
import type { ActionKind } from './action-kind.ts'
import { compileRequest, keyForHeader, must, type ParsedResponse, type RenderedRequest } from './http.ts'
import type { SecretUse } from './request-auth.ts'

export type Sought =
  | { readonly is: 'absent' }
  /** `id`: the id that the definition picks from the response. */
  | { readonly is: 'found'; readonly id: JsonValue }

export interface UpsertCall {
  readonly policy: CallPolicy
  /** How long the vendor remembers the key; null: not at all. */
  readonly keyTtlMs: number | null
  render(scope: Scope, key: string): RenderedRequest
}

export interface UpsertAction {
  readonly type: 'upsert'
  readonly policy: CallPolicy
  /** For both requests together: the lookup and the call. */
  readonly abilities: EffectAbilities
  /** The secrets that its requests carry. */
  readonly secrets: readonly SecretUse[]
  /** Of each request. */
  readonly timeoutMs: number
  readonly isLocked: boolean
  /** The scope of its requests, including the reference. Throws ExpressionError where there is none. */
  scopeOf(scope: Scope): Scope & { readonly extRef: string }
  readonly find: {
    render(scope: Scope): RenderedRequest
    /** Throws ExpressionError if the response does not say it. */
    read(scope: Scope, response: ParsedResponse): Sought
  }
  readonly create: UpsertCall
  /** null: an existing object is left unchanged. */
  readonly update: UpsertCall | null
}

export const upsertKind = {
  compile(document, keyed) {
    const { classify, timeoutMs, auth } = document
    const base = withoutTrailingSlashes(document.baseUrl)
    const extRef = must(compileTemplate(document.extRef, keyed)).template
    const { find: sought, headers } = document
    const find = compileRequest(sought.method, base + sought.path, headers, null, auth, keyed)
    const found = must(compileExpression(sought.found, keyed)).expression
    const id = sought.id === null ? null : must(compileExpression(sought.id, keyed)).expression
    const compileCall = (
      call: UpsertCallDocument,
    ): UpsertCall & { readonly secrets: readonly SecretUse[] } => {
      const request = compileRequest(call.method, base + call.path, headers, call.body, auth, keyed)
      return {
        policy: { idempotent: call.idempotent, classify },
        keyTtlMs: call.keyTtlMs,
        secrets: request.secrets,
        render(scope, key) {
          const rendered = request.render(scope)
          return { ...rendered, headers: { ...rendered.headers, 'idempotency-key': keyForHeader(key) } }
        },
      }
    }
    const create = compileCall(document.create)
    const update = document.update === null ? null : compileCall(document.update)
    return {
      type: 'upsert',
      policy: { idempotent: false, classify },
      abilities: {
        idempotent: false,
        keyTtlMs: null,
        probeAfterMs: document.find.afterMs,
        timeoutMs: 2 * timeoutMs,
      },
      secrets: [...find.secrets, ...create.secrets, ...(update?.secrets ?? [])],
      timeoutMs,
      isLocked: document.lock === 'single',
      scopeOf: (scope) => ({ ...scope, extRef: refText(extRef.render(scope)) }),
      find: {
        render: find.render,
        read(scope, response) {
          const inner = { ...scope, result: response as unknown as JsonValue }
          if (!isThere(found.evaluate(inner))) return { is: 'absent' }
          return { is: 'found', id: id === null ? null : id.evaluate(inner) }
        },
      },
      create,
      update,
    }
  },
  request: (action, scope) => action.find.render(action.scopeOf(scope)),
} as const satisfies ActionKind<UpsertActionDocument, UpsertAction>

/** True or false; or the number of objects, which may be at most one. */
function isThere(answer: JsonValue): boolean {
  if (typeof answer === 'boolean') return answer
  if (isNumber(answer)) {
    if (Number(answer) === 0 || Number(answer) === 1) return Number(answer) === 1
    const error = `${answer} objects have this reference; leave one of them and replay`
    throw new ExpressionError('type', error, 'find.found', 'number')
  }
  const error = 'the answer says neither that the object is there nor that it is not'
  throw new ExpressionError('type', error, 'find.found', typeOf(answer))
}

function refText(value: JsonValue | undefined): string {
  const isText = typeof value === 'string' || isNumber(value)
  const text = isText ? String(value) : ''
  if (text === '' || !isStorable(text)) {
    throw new ExpressionError('type', 'the external reference is a text or a number', 'extRef', typeOf(value))
  }
  return text
}

/** Prefix of the engine's own keys; no formula may produce it. */
export const OWN_KEY_PREFIX = 'millrace:'

const LOCK_PREFIX = `${OWN_KEY_PREFIX}lock:`
const REF_LENGTH_MAX = 512

/** The name of the lock by which one job at a time works on a reference, across all routes to the same host. */
export function lockKey(host: string | null, extRef: string): string {
  const ref = extRef.length > REF_LENGTH_MAX ? hashText(extRef) : extRef
  return `${LOCK_PREFIX}${host ?? ''}:${ref}`
}

export function isLockKey(key: string): boolean {
  return key.startsWith(LOCK_PREFIX)
}
