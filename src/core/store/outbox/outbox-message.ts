// Converts a row of the outbox to a bus message.

import { type NewFact, subjectOfFact, unpackFact } from '../../events/canonical/index.ts'
import { type EventSummary, type StoredEvent, showEnvelope } from '../../events/event/index.ts'
import { encryptedProblem, isEncrypted, redact } from '../../events/sensitive/index.ts'
import type { EventId, TenantId } from '../../foundation/ids/index.ts'
import { type JsonValue, parseJson, stringifyJson } from '../../foundation/json/index.ts'
import { eventSubject } from './bus-subjects.ts'
import type { NewOutboxRow, OutboxRow } from './outbox.ts'
import type { TokenMessage } from './token-messages.ts'

export interface OutboxMessage {
  readonly id: string
  readonly subject: string
  readonly headers: Readonly<Record<string, string>>
  /** Empty: the subject's last value is deleted. */
  readonly body: string
}

export function eventMessage({
  id,
  tenant,
  subject,
}: Pick<EventSummary, 'id' | 'tenant' | 'subject'>): NewOutboxRow {
  return { id, subject: eventSubject(tenant, subject), about: 'event', event: id, body: null }
}

/** A fact is published as its event: the message has its body. */
export function factMessage(tenant: TenantId, { id, body }: NewFact): NewOutboxRow {
  return { id, subject: eventSubject(tenant, subjectOfFact(body)), about: 'event', event: null, body }
}

/** null: the event to publish is gone. */
export function messageOf(
  row: OutboxRow,
  event: StoredEvent | undefined,
  prefix: string,
): OutboxMessage | null {
  const { id, tenant, about, body } = row
  const to = { id, subject: `${prefix}.${row.subject}` }
  if (about === 'event') {
    const found = body === null ? event : eventOf(row, body)
    if (found === undefined) return null
    const headers = {
      'millrace-tenant': headerText(tenant),
      'millrace-subject': headerText(found.subject),
      'millrace-correlation': headerText(found.correlationId),
    }
    return { ...to, headers, body: showEvent(found) }
  }
  const headers = { 'millrace-tenant': headerText(tenant) }
  if (body === null) return { ...to, headers, body: '' }
  const message = parseJson(body) as unknown as TokenMessage
  return {
    ...to,
    headers,
    body: stringifyJson({
      ...message,
      since: message.since ?? new Date(row.createdAt).toISOString(),
    } as unknown as JsonValue),
  }
}

function eventOf({ id, tenant, createdAt }: OutboxRow, body: string): StoredEvent {
  return unpackFact({ id: id as EventId, tenant, createdAt, body })
}

/** The envelope as the API lists it, with its payload; sensitive values are hidden. */
function showEvent(event: StoredEvent): string {
  const { data, sensitive } = event
  const join = (about: object, json: string) =>
    `${JSON.stringify({ ...showEnvelope(event), ...about }).slice(0, -1)},"data":${json}}`
  if (isEncrypted(data)) return join({ sensitive, unreadable: encryptedProblem(data) }, 'null')
  if (sensitive.length === 0) return join({}, data)
  return join({ sensitive }, stringifyJson(redact(parseJson(data), sensitive)))
}

/** A header is one line. */
function headerText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  return text.replace(/[\u0000-\u001f\u007f]/g, (mark) => encodeURIComponent(mark))
}
