// A subscription in the spelling of older documents: `kind: WebhookSubscription`, with an endpoint, event types and the reference of a
// secret. Rewritten before anything is checked, as workflows are (import.ts).

import type { JsonValue } from '../core/foundation/json/index.ts'
import { type Imported, moved, type Rewriting, rewritten } from './import-origins.ts'
import type { ReadDocument } from './read.ts'

const KIND = 'WebhookSubscription'

/** The field of the language for each that is spelled differently. */
const FIELDS: Readonly<Record<string, string>> = {
  id: 'name',
  subscriptionId: 'name',
  endpoint: 'url',
  endpointUrl: 'url',
  eventTypes: 'on',
  eventFilter: 'on',
  signingSecretRef: 'secret',
}

/** null: it has none of these spellings. */
export function importSubscription(document: ReadDocument): Imported | null {
  const { value } = document
  const isOther = value.kind === KIND
  if (!isOther && value.kind !== 'Subscription') return null
  const found = Object.keys(value).filter(
    // A field in both spellings is reported as it is.
    (name) => Object.hasOwn(FIELDS, name) && !Object.hasOwn(value, FIELDS[name] as string),
  )
  if (!isOther && found.length === 0) return null
  const work: Rewriting = { origins: [], notes: [] }
  const result: Record<string, JsonValue> = {}
  for (const [name, one] of Object.entries(value)) {
    const field = found.includes(name) ? (FIELDS[name] as string) : name
    result[field] = rewriteField(field, name, one)
    if (field === 'secret' && field !== name) moved(work, ['secret', 'ref'], [name])
    if (field !== name) moved(work, [field], [name], `read as \`${field}\``)
  }
  if (isOther) moved(work, ['kind'], ['kind'], 'read as `Subscription`')
  return rewritten(document, { ...result, kind: 'Subscription' }, work)
}

function rewriteField(field: string, name: string, value: JsonValue): JsonValue {
  if (field === 'status' && typeof value === 'string') return value.toLowerCase()
  return field === 'secret' && name !== field && typeof value === 'string' ? { ref: value } : value
}
