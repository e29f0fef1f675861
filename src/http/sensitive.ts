// What a caller sees of an event's payload and headers: operators see all of it, which leaves a line in the log; viewers
// see `[hidden]` at the sensitive places, and operators at the restricted ones. A payload that does not open is left out, and the answer says why.

import { isAllowed } from '../core/access/callers/index.ts'
import type { StoredEvent } from '../core/events/event/index.ts'
import {
  encryptedProblem,
  hiddenFrom,
  isEncrypted,
  redact,
  redactHeader,
  restrictedOf,
} from '../core/events/sensitive/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import { parseJson, stringifyJson } from '../core/foundation/json/index.ts'
import type { Caller } from '../engine/access/index.ts'
import { logSensitiveRead, type Reader } from '../engine/secrets/index.ts'
import type { Log } from '../ports/log.ts'

export interface ShownBodies {
  /** JSON text. */
  readonly headers: string
  /** JSON text; `null` where it does not open. */
  readonly data: string
  /** Beside the envelope. */
  readonly about: { readonly sensitive: readonly string[]; readonly unreadable?: string }
}

export function readerOf(caller: Caller): Reader {
  return {
    actor: caller.actor,
    seesSensitive: isAllowed(caller, 'operator'),
    seesRestricted: isAllowed(caller, 'admin'),
  }
}

/** `log` gets a line when a caller reads sensitive data. */
export function showBodies(event: StoredEvent, caller: Caller, log: Pick<Log, 'info'>): ShownBodies {
  const { sensitive, data, headers } = event
  const about = { sensitive }
  if (isEncrypted(data))
    return { headers, data: 'null', about: { sensitive, unreadable: encryptedProblem(data) } }
  if (sensitive.length === 0) return { headers, data, about }
  const reader = readerOf(caller)
  if (reader.seesSensitive) logSensitiveRead(log, event, reader)
  const hidden = hiddenFrom(sensitive, reader)
  if (hidden.length === 0) return { headers, data, about }
  return {
    headers: stringifyJson(redactHeader(parseJson(headers), hidden)),
    data: stringifyJson(redact(parseJson(data), hidden)),
    about,
  }
}

/** The bodies as they were received, for callers who may see them; throws where they do not open. */
export function readBodies(event: StoredEvent, caller: Caller, log: Pick<Log, 'info'>): StoredEvent {
  if (isEncrypted(event.data)) throw new AppError('conflict', encryptedProblem(event.data))
  if (event.sensitive.length === 0) return event
  const reader = readerOf(caller)
  if (!reader.seesSensitive)
    throw new AppError('not_allowed', 'the event is sensitive: its body needs the role operator', {
      details: { needed: 'operator', role: caller.role },
    })
  assertSeesRestricted(event, caller)
  logSensitiveRead(log, event, reader)
  return event
}

/** For what needs the whole payload. */
export function assertSeesRestricted({ sensitive }: Pick<StoredEvent, 'sensitive'>, caller: Caller): void {
  if (restrictedOf(sensitive).length === 0 || isAllowed(caller, 'admin')) return
  throw new AppError('not_allowed', 'the event has restricted fields: its body needs the role admin', {
    details: { needed: 'admin', role: caller.role },
  })
}
