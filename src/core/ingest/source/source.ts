// A source, compiled: names the event of a verified request.

import { compilePayloadCheck } from '../../definitions/catalog/index.ts'
import {
  type DefinitionStatus,
  hashDocument,
  type SourceDocument,
} from '../../definitions/documents/index.ts'
import { must } from '../../effects/action/index.ts'
import { parseSubject } from '../../events/subject/index.ts'
import {
  compileExpression,
  compileTemplate,
  type Expression,
  type Keyed,
  type Scope,
} from '../../expression/index.ts'
import { isNumber, isNumeral, isStorable, type JsonValue } from '../../foundation/json/index.ts'
import { type Instant, isCalendarDate, parseInstant } from '../../foundation/time/index.ts'
import { compileDispatch, type Dispatch } from './dispatch.ts'
import { type Answer, compileGuards, type Guards } from './source-guards.ts'
import type { Verifier, VerifyInput } from './verification-scheme.ts'
import { compileVerifier, handshakeOf, secretHeadersOf, signsBody } from './verify-request.ts'

export interface EventNames {
  readonly subject: string
  readonly objectType: string | null
  readonly objectId: string | null
  readonly occurredAt: Instant | null
  readonly dedupKey: string
}

export interface Source {
  readonly document: SourceDocument
  readonly hash: string
  /** As the document declares, unless an operator overrides it while it is deployed. */
  readonly status: DefinitionStatus
  readonly verifier: Verifier
  /** Whether the verdict may depend on the body. */
  readonly signsBody: boolean
  /** Names of headers, in lower case, that are never stored. */
  readonly secretHeaders: ReadonlySet<string>
  /** Responds to its vendor's handshakes; only for verified requests. */
  readonly vendorHandshake: ((input: VerifyInput) => Answer | null) | null
  readonly guards: Guards
  /** null: it has no rules. */
  readonly dispatch: Dispatch | null
  /** How the payload differs from the schema of its subject, without any value; null: it matches, or has no schema. */
  mismatch?(subject: string, payload: JsonValue): string | null
  /** `problem` says why the event cannot be named. Throws ExpressionError when a formula fails. */
  name(request: {
    readonly header: Scope
    readonly payload: JsonValue
    readonly tenant: string
    readonly payloadHash: string
    /** The default dedup key where no formula gives one; left out: the content and the object. */
    readonly usualKey?: string
  }): { readonly ok: true; readonly names: EventNames } | { readonly ok: false; readonly problem: string }
}

const NO_VARS = {}

/** Without a key, `hmac` in it cannot be evaluated. */
export function compileSource(document: SourceDocument, keyed: Keyed = {}): Source {
  const subject = must(compileTemplate(document.subject, keyed)).template
  const pick = (text: string | null): Expression | null =>
    text === null ? null : must(compileExpression(text, keyed)).expression
  const id = pick(document.event.id)
  const objectId = pick(document.event.objectId)
  const occurredAt = pick(document.event.occurredAt)
  const dedupBy = pick(document.dedup.by)
  const objectType =
    document.event.objectType === null
      ? null
      : must(compileTemplate(document.event.objectType, keyed)).template
  const subjectProblem = makeSubjectCheck()
  const mismatch = compilePayloadCheck(document)
  return {
    document,
    hash: hashDocument(document),
    status: document.status,
    verifier: compileVerifier(document.verify),
    signsBody: signsBody(document.verify),
    secretHeaders: secretHeadersOf(document.verify),
    vendorHandshake: handshakeOf(document.verify),
    guards: compileGuards(document, keyed),
    dispatch: document.dispatch === undefined ? null : compileDispatch(document.dispatch, keyed),
    ...(mismatch === null ? {} : { mismatch }),
    name({ header, payload, tenant, payloadHash, usualKey }) {
      const source = document.name
      const scope: Scope = { header, payload, source, tenant, vars: NO_VARS }
      const named = subject.render(scope)
      const problem = subjectProblem(typeof named === 'string' ? named : '')
      if (problem !== null) return { ok: false, problem }
      const object = textOf(objectId?.evaluate(scope))
      const event = {
        id: id?.evaluate(scope) ?? null,
        objectType: textOf(objectType?.render(scope)),
        objectId: object,
        occurredAt: instantOf(occurredAt?.evaluate(scope)),
      }
      const by =
        dedupBy === null
          ? event.id
          : dedupBy.evaluate({ header, payload, source, tenant, vars: NO_VARS, event })
      return {
        ok: true,
        names: {
          subject: named as string,
          objectType: event.objectType,
          objectId: object,
          occurredAt: event.occurredAt,
          // Without an id, content and object distinguish events.
          dedupKey: identityOf(by) ?? usualKey ?? `${payloadHash}:${object ?? ''}`,
        },
      }
    },
  }
}

/** A cache of valid subjects: a source uses a handful of them over and over. */
const SUBJECTS_MAX = 4_096

function makeSubjectCheck(): (subject: string) => string | null {
  const good = new Set<string>()
  return (subject) => {
    if (good.has(subject)) return null
    const parsed = parseSubject(subject)
    if (!parsed.ok) return parsed.problem.message
    if (!isStorable(subject)) return 'the subject is not well-formed text'
    if (good.size >= SUBJECTS_MAX) good.clear()
    good.add(subject)
    return null
  }
}

/** A value that no store can hold counts as missing. */
export function textOf(value: JsonValue | undefined): string | null {
  if (value === null || value === undefined || (typeof value === 'object' && !isNumber(value))) return null
  const text = String(value)
  return text === '' || !isStorable(text) ? null : text
}

/** A boolean distinguishes no events: as a dedup key it would make all but the first a duplicate. */
export function identityOf(value: JsonValue): string | null {
  return typeof value === 'boolean' ? null : textOf(value)
}

const INSTANT_MAX = 8.64e15

/** Seconds or milliseconds since the epoch, or an RFC 3339 text with a zone; in whole milliseconds. */
export function instantOf(value: JsonValue | undefined): Instant | null {
  if (typeof value === 'number' || isNumeral(value)) {
    const time = Number(value)
    const at = Math.trunc(time > 1e11 ? time : time * 1_000)
    return Math.abs(at) <= INSTANT_MAX ? at : null
  }
  if (typeof value !== 'string') return null
  // A date alone is midnight UTC; a time without a zone means a different instant on every machine, and is refused.
  return parseInstant(isCalendarDate(value) ? `${value}T00:00Z` : value)
}
