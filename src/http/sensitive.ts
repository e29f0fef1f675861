// What a caller sees of an event's payload and headers: operators all of it, which leaves a line in the log; whoever may only
// look, `[hidden]` at the sensitive places. A payload that does not open is left out, and the answer says why.

import { isAllowed } from '../core/access/callers/index.ts'
import type { StoredEvent } from '../core/events/event/index.ts'
import { encryptedProblem, isEncrypted, redact, redactHeader } from '../core/events/sensitive/index.ts'
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
  return { actor: caller.actor, seesSensitive: isAllowed(caller, 'operator') }
}

/** `log` is told when somebody reads what is sensitive. */
export function showBodies(event: StoredEvent, caller: Caller, log: Pick<Log, 'info'>): ShownBodies {
  const { sensitive, data, headers } = event
  const about = { sensitive }
  if (isEncrypted(data))
    return { headers, data: 'null', about: { sensitive, unreadable: encryptedProblem(data) } }
  if (sensitive.length === 0) return { headers, data, about }
  const reader = readerOf(caller)
  if (reader.seesSensitive) {
    logSensitiveRead(log, event, reader)
    return { headers, data, about }
  }
  return {
    headers: stringifyJson(redactHeader(parseJson(headers), sensitive)),
    data: stringifyJson(redact(parseJson(data), sensitive)),
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
  logSensitiveRead(log, event, reader)
  return event
}
