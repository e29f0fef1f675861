// Keeps the sensitive values of an event inside the engine: texts of others lose them, and results in the ledger are encrypted.
// For other events both do nothing.

import type { LedgerEntry } from '../../core/effects/ledger/index.ts'
import type { NewEvent } from '../../core/events/event/index.ts'
import {
  inheritSensitive,
  isEncrypted,
  makeScrub,
  parsePayload,
  type Scrub,
  scrubNothing,
} from '../../core/events/sensitive/index.ts'
import { isNumber, isNumeral, JsonError, parseJson, stringifyJson } from '../../core/foundation/json/index.ts'
import { type Encryption, EncryptionError } from '../../ports/encryption.ts'
import type { Log } from '../../ports/log.ts'
import type { Item } from '../leases/index.ts'

type Bodies = Pick<NewEvent, 'sensitive' | 'data' | 'headers'>

/** Made once per event, and only when a text about it is written. */
const scrubs = new WeakMap<Bodies, Scrub>()

/** Removes the sensitive values of the event from a text. */
export function scrubOf(event: Bodies): Scrub {
  if (event.sensitive.length === 0) return scrubNothing
  const known = scrubs.get(event)
  if (known !== undefined) return known
  const scrub = makeScrubOf(event)
  scrubs.set(event, scrub)
  return scrub
}

function makeScrubOf({ sensitive, data, headers }: Bodies): Scrub {
  // It could not be decrypted here, so no text can quote it.
  if (isEncrypted(data)) return scrubNothing
  try {
    return makeScrub(sensitive, parseJson(data), parseJson(headers))
  } catch (error) {
    if (error instanceof JsonError) return scrubNothing
    throw error
  }
}

export function scrubOrNull(event: Bodies, text: string | null): string | null {
  return text === null ? null : scrubOf(event)(text)
}

/** Of anything that a function reports: every text in it. */
export function scrubFields(
  event: Bodies,
  fields: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const scrub = scrubOf(event)
  return scrub === scrubNothing ? fields : (scrubValue(fields, scrub, FIELDS_DEPTH_MAX) as typeof fields)
}

/** As deep as the log goes. */
const FIELDS_DEPTH_MAX = 6

function scrubValue(value: unknown, scrub: Scrub, depth: number): unknown {
  if (typeof value === 'string') return scrub(value)
  if (isNumber(value)) {
    const text = isNumeral(value) ? value.text : String(value)
    return scrub(text) === text ? value : scrub(text)
  }
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Error) return scrub(value.message)
  if (depth <= 0) return '[deep]'
  if (Array.isArray(value)) return value.map((one) => scrubValue(one, scrub, depth - 1))
  const members = Object.entries(value).map(([name, member]) => [
    scrub(name),
    scrubValue(member, scrub, depth - 1),
  ])
  return Object.fromEntries(members)
}

/** The sensitive paths of an event that `parent` causes with this payload. */
export function sensitiveOfCaused(parent: Bodies, data: string): readonly string[] {
  const { sensitive } = parent
  if (sensitive.length === 0) return sensitive
  // As received it may contain spaces.
  const isSame = data === parent.data || data === stringifyJson(parsePayload(parent.data))
  return inheritSensitive(sensitive, isSame)
}

/** A result as the ledger stores it. */
export function encryptResult(
  encryption: Encryption,
  { event }: Pick<Item, 'event'>,
  key: string,
  result: string | null,
): string | null {
  if (result === null || event.sensitive.length === 0) return result
  return encryption.encrypt({ tenant: event.tenant, row: key, part: 'result' }, result, event.sensitive)
}

export type OpenedResult =
  | { readonly ok: true; readonly text: string | null }
  | { readonly ok: false; readonly problem: string }

/** An encrypted text was encrypted here, under the entry's own key: a result is JSON, and never begins so by itself. */
export function openResult(
  encryption: Encryption,
  { tenant, key, result }: Pick<LedgerEntry, 'tenant' | 'key' | 'result'>,
): OpenedResult {
  if (result === null || !isEncrypted(result)) return { ok: true, text: result }
  try {
    return { ok: true, text: encryption.open({ tenant, row: key, part: 'result' }, result).text }
  } catch (error) {
    if (!(error instanceof EncryptionError)) throw error
    return { ok: false, problem: `its result does not open: ${error.message}` }
  }
}

/** The user who looks at an event. */
export interface Reader {
  readonly actor: string
  readonly seesSensitive: boolean
  /** Also what is restricted. */
  readonly seesRestricted: boolean
}

/** A user was shown sensitive values: logs who and what, and none of the values. */
export function logSensitiveRead(
  log: Pick<Log, 'info'>,
  { tenant, id }: Pick<NewEvent, 'tenant' | 'id'>,
  { actor }: Reader,
): void {
  log.info('event.sensitive-read', { tenant, event: id, actor })
}
