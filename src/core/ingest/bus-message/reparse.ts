// Reparses an event that did not parse when it arrived, by the current source: its bytes, or an operator's replacement.

import type { StoredEvent } from '../../events/event/index.ts'
import { hashText } from '../../foundation/hash/index.ts'
import { JsonError, parseJson } from '../../foundation/json/index.ts'
import type { Body } from '../request-body/index.ts'
import type { EventNames, Source } from '../source/index.ts'
import {
  BODY_HEADER,
  bytesOf,
  type Header,
  nameOf,
  readPayload,
  storedKeyOf,
  UNREAD_HEADER,
  type Unread,
} from './bus-message.ts'

export type AgainVerdict =
  | {
      readonly ok: true
      readonly names: EventNames
      readonly header: Header
      readonly body: Body
      readonly payloadHash: string
    }
  | { readonly ok: false; readonly problem: string }

type StoredParts = Pick<
  StoredEvent,
  'id' | 'tenant' | 'causationId' | 'occurredAt' | 'data' | 'raw' | 'payloadHash'
>

/** null: it parsed when it arrived. */
export function readAgain(source: Source, event: StoredParts, kept: Header): AgainVerdict | null {
  if (kept[UNREAD_HEADER] === undefined) return null
  const { [UNREAD_HEADER]: _unread, [BODY_HEADER]: how = '', ...header } = kept
  // An operator's fixed copy has the original as its cause.
  const isMended = event.causationId !== null
  if (!isMended && how.includes('head'))
    return {
      ok: false,
      problem: 'it was too large, and only its head was kept: edit it, or let it be published again',
    }
  const read = isMended
    ? readMended(event.data)
    : readPayload(source.document.limits, header, bytesOf(kept, event.raw ?? event.data))
  if (!read.ok) return { ok: false, problem: read.detail }
  const payloadHash = isMended ? hashText(event.data) : event.payloadHash
  // Publishing it again under its id and replaying it result in one event.
  const usualKey = storedKeyOf(header) ?? `read:${event.id}`
  const named = nameOf(source, event.tenant, header, read.body, payloadHash, usualKey)
  if (!named.ok) return { ok: false, problem: named.detail }
  const names = { ...named.names, occurredAt: named.names.occurredAt ?? event.occurredAt }
  return { ok: true, names, header, body: read.body, payloadHash }
}

function readMended(data: string): { readonly ok: true; readonly body: Body } | Unread {
  try {
    return { ok: true, body: { payload: parseJson(data), data, raw: null } }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return { ok: false, code: 'not_json', detail: error.message }
  }
}
