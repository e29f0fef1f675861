// Generated from the routes' schemas: `npx tsx scripts/write-client.ts`. Do not edit.

/** One try of a work item. */
export type Attempt = {
  readonly number: number
  readonly startedAt: string
  readonly durationMs: number
  readonly outcome: 'done' | 'again' | 'waited' | 'unknown' | 'probed' | 'parked' | 'dead'
  readonly class?: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'
  readonly httpStatus?: number
  readonly error?: string
}

/** Something that changed, as the stream tells it; read the row for the rest. */
export type Change = {
  readonly type: 'event'
  readonly id: string
  readonly subject: string
  readonly source: string
  readonly receivedAt: string
  readonly matched: number
  readonly objectId: string | null
} | {
  readonly type: 'work'
  readonly id: string
  readonly eventId: string | null
  readonly consumer: string | null
  readonly state: 'ready' | 'waiting' | 'leased' | 'done' | 'skipped' | 'merged' | 'parked' | 'dead' | 'cancelled'
  readonly attempts: number
  readonly class: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown' | null
} | {
  readonly type: 'deadLetter'
  readonly id: string
  readonly state: 'open' | 'ready_to_replay' | 'replaying' | 'resolved' | 'discarded'
} | {
  readonly type: 'definitions'
  readonly version: number
} | {
  readonly type: 'replay'
  readonly id: string
}

/** Who wanted an event, and how far it got. */
export type Consumer = {
  readonly kind: string
  readonly name: string
  readonly workId: string
  readonly state: 'ready' | 'waiting' | 'leased' | 'done' | 'skipped' | 'merged' | 'parked' | 'dead' | 'cancelled'
  readonly attempts: number
  readonly class?: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'
}

/** Work that is not retried by itself. */
export type DeadLetter = {
  readonly id: string
  readonly state: 'open' | 'ready_to_replay' | 'replaying' | 'resolved' | 'discarded'
  readonly class: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'
  readonly reason: 'cap_reached' | 'expired' | 'crash_loop' | 'unparseable' | 'rejected' | 'definition_missing'
  readonly reportedAs: 'TRANSIENT' | 'PERMANENT' | 'DATA_QUALITY'
  readonly severity: string
  readonly consumer: {
    readonly kind: string
    readonly name: string
  }
  readonly eventId: string
  readonly workId: string
  readonly attempts: number
  readonly replays: number
  readonly lastError: string
  readonly correlationId: string
  readonly payloadHash: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly key?: string
  readonly runbook?: string
}

/** A dead letter with its event and its tries. */
export type DeadLetterDetail = {
  readonly id: string
  readonly state: 'open' | 'ready_to_replay' | 'replaying' | 'resolved' | 'discarded'
  readonly class: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'
  readonly reason: 'cap_reached' | 'expired' | 'crash_loop' | 'unparseable' | 'rejected' | 'definition_missing'
  readonly reportedAs: 'TRANSIENT' | 'PERMANENT' | 'DATA_QUALITY'
  readonly severity: string
  readonly consumer: {
    readonly kind: string
    readonly name: string
  }
  readonly eventId: string
  readonly workId: string
  readonly attempts: number
  readonly replays: number
  readonly lastError: string
  readonly correlationId: string
  readonly payloadHash: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly key?: string
  readonly runbook?: string
  readonly history: readonly Attempt[]
  readonly event: Envelope | null
}

/** An accepted event with its payload. */
export type Envelope = {
  readonly id: string
  readonly tenant: string
  readonly source: string
  readonly subject: string
  readonly objectType: string | null
  readonly objectId: string | null
  readonly occurredAt: string | null
  readonly receivedAt: string
  readonly correlationId: string
  readonly causationId: string | null
  readonly traceId: string
  readonly dedupKey: string
  readonly payloadHash: string
  /** How many consumers wanted it; 0 is unmatched. */
  readonly matched: number
  readonly data: unknown
}

/** An accepted event, as lists show it. */
export type Event = {
  readonly id: string
  readonly tenant: string
  readonly source: string
  readonly subject: string
  readonly objectType: string | null
  readonly objectId: string | null
  readonly occurredAt: string | null
  readonly receivedAt: string
  readonly correlationId: string
  readonly causationId: string | null
  readonly traceId: string
  readonly dedupKey: string
  readonly payloadHash: string
  /** How many consumers wanted it; 0 is unmatched. */
  readonly matched: number
  readonly consumers: readonly Consumer[]
}

/** An event and everything that followed from it. */
export type EventDetail = {
  readonly id: string
  readonly tenant: string
  readonly source: string
  readonly subject: string
  readonly objectType: string | null
  readonly objectId: string | null
  readonly occurredAt: string | null
  readonly receivedAt: string
  readonly correlationId: string
  readonly causationId: string | null
  readonly traceId: string
  readonly dedupKey: string
  readonly payloadHash: string
  /** How many consumers wanted it; 0 is unmatched. */
  readonly matched: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly data: unknown
  readonly consumers: readonly Consumer[]
  readonly story: readonly WorkStory[]
  /** Events that this one caused, oldest first; at most 100. */
  readonly followUps: readonly Event[]
}

/** An idempotency key and what became of its effect. */
export type LedgerEntry = {
  readonly key: string
  readonly generation: number
  readonly state: 'reserved' | 'done' | 'released' | 'unknown'
  readonly consumer: string
  readonly eventId: string
  readonly workId: string
  readonly objectId: string | null
  readonly effectRef: string | null
  readonly payloadHash: string
  readonly correlationId: string
  readonly createdAt: string
  readonly proof?: string
  readonly settledAt?: string
}

/** A refusal (RFC 9457). */
export type Problem = {
  /** Explained at this address of the server. */
  readonly type: string
  readonly title: string
  readonly status: number
  /** What was wrong in this case. */
  readonly detail: string
  readonly code: 'unknown_source' | 'source_disabled' | 'signature_missing' | 'signature_wrong' | 'signature_expired' | 'secret_missing' | 'not_json' | 'too_deep' | 'unnamed_event' | 'body_too_large' | 'wrong_type' | 'not_authenticated' | 'not_allowed' | 'wrong_origin' | 'limited' | 'secret_unreadable' | 'not_found' | 'method_not_allowed' | 'invalid_request' | 'invalid_cursor' | 'conflict' | 'replays_exhausted' | 'definition_missing' | 'definitions_invalid' | 'managed_by_folder' | 'shutting_down' | 'store_unavailable' | 'overloaded' | 'internal'
  /** What to do. */
  readonly next: string
  /** Names this answer in the log. */
  readonly instance: string
  readonly details?: {
    /** Every field that is not valid, as a JSON pointer, and what to write. */
    readonly fields?: readonly ({
      readonly path: string
      readonly message: string
    })[]
    readonly [name: string]: unknown
  }
}

/** One thing to do: an event for one consumer. */
export type Work = {
  readonly id: string
  readonly kind: string
  readonly consumer: string
  readonly eventId: string
  readonly state: 'ready' | 'waiting' | 'leased' | 'done' | 'skipped' | 'merged' | 'parked' | 'dead' | 'cancelled'
  readonly attempts: number
  readonly waits: number
  readonly losses: number
  readonly dueAt: string
  readonly createdAt: string
  readonly expiresAt: string
  /** Hash of the definition that it began with. */
  readonly definition: string
  readonly class?: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'
  readonly key?: string
  readonly processedAt?: string
  readonly effectRef?: string
  readonly lastError?: string
  readonly httpStatus?: number
  readonly durationMs?: number
  readonly replayOf?: string
}

/** A work item, its tries, its effect and its dead letter. */
export type WorkStory = {
  readonly id: string
  readonly kind: string
  readonly consumer: string
  readonly eventId: string
  readonly state: 'ready' | 'waiting' | 'leased' | 'done' | 'skipped' | 'merged' | 'parked' | 'dead' | 'cancelled'
  readonly attempts: number
  readonly waits: number
  readonly losses: number
  readonly dueAt: string
  readonly createdAt: string
  readonly expiresAt: string
  /** Hash of the definition that it began with. */
  readonly definition: string
  readonly class?: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'
  readonly key?: string
  readonly processedAt?: string
  readonly effectRef?: string
  readonly lastError?: string
  readonly httpStatus?: number
  readonly durationMs?: number
  readonly replayOf?: string
  readonly history: readonly Attempt[]
  readonly ledger: LedgerEntry | null
  readonly deadLetter: DeadLetter | null
}

/** What each operation takes and answers, by its operationId. */
export interface Operations {
  /** Make a key; its text is in this answer and nowhere else */
  createKey: {
    args: {
      readonly name: string
      readonly role: 'viewer' | 'operator' | 'admin'
      /** A duration such as `30d`; left out: never. */
      readonly expiresIn?: string | undefined
      /** Another tenant; for the node’s own admin. */
      readonly tenant?: string | undefined
    }
    answer: {
      readonly id: string
      readonly name: string
      readonly role: 'viewer' | 'operator' | 'admin'
      readonly createdAt: string
      readonly createdBy: string
      /** null: never. */
      readonly expiresAt: string | null
      /** To the minute; null: not yet. */
      readonly lastUsedAt: string | null
      readonly isExpired: boolean
      readonly tenant: string
      readonly key: string
    }
  }
  /** Make a tenant; it can have keys, secrets and definitions at once */
  createTenant: {
    args: {
      /** Small letters, digits and hyphens, at most 63, no hyphen first. */
      readonly name: string
      readonly description?: string | undefined
    }
    answer: {
      readonly name: string
      readonly description: string | null
      readonly createdAt: string
      readonly createdBy: string
    }
  }
  /** A dead letter with its event and its tries */
  getDeadLetter: {
    args: {
      readonly id: string
    }
    answer: DeadLetterDetail
  }
  /** What an error code means and what to do */
  getError: {
    args: {
      readonly code: string
    }
    answer: {
      readonly code: string
      readonly kind: string
      readonly status: number
      readonly title: string
      readonly next: string
    }
  }
  /** An event and everything that followed from it */
  getEvent: {
    args: {
      readonly id: string
    }
    answer: EventDetail
  }
  /** Whether the process lives */
  getHealth: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly status: string
    }
  }
  /** Who the caller is, and where */
  getMe: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly tenant: string
      readonly role: 'viewer' | 'operator' | 'admin'
      readonly actor: string
      readonly isNodeAdmin: boolean
      readonly environment: string
      readonly version: string
      readonly node: string
    }
  }
  /** This document */
  getOpenApi: {
    args: Readonly<Record<never, never>>
    answer: Readonly<Record<string, unknown>>
  }
  /** Whether the node can take and do work now */
  getReadiness: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly status: string
      readonly reasons: readonly string[]
    }
  }
  /** A work item with its tries, its effect and its dead letter */
  getWork: {
    args: {
      readonly id: string
    }
    answer: WorkStory
  }
  /** Dead letters, newest first */
  listDeadLetters: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly state?: 'open' | 'ready_to_replay' | 'replaying' | 'resolved' | 'discarded' | undefined
      readonly consumer?: string | undefined
      readonly class?: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown' | undefined
    }
    answer: {
      readonly items: readonly DeadLetter[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** Accepted events, newest first */
  listEvents: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly source?: string | undefined
      readonly subject?: string | undefined
      /** A piece of the id, subject, source, object id, correlation id, dedup key or payload; small and capital letters are alike. */
      readonly q?: string | undefined
      readonly unmatched?: boolean | undefined
    }
    answer: {
      readonly items: readonly Event[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** The tenant’s keys, oldest first; never their texts */
  listKeys: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
    }
    answer: {
      readonly items: readonly ({
        readonly id: string
        readonly name: string
        readonly role: 'viewer' | 'operator' | 'admin'
        readonly createdAt: string
        readonly createdBy: string
        /** null: never. */
        readonly expiresAt: string | null
        /** To the minute; null: not yet. */
        readonly lastUsedAt: string | null
        readonly isExpired: boolean
      })[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** Effects by idempotency key, newest first; never a payload */
  listLedger: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly state?: 'reserved' | 'done' | 'released' | 'unknown' | undefined
      readonly key?: string | undefined
    }
    answer: {
      readonly items: readonly LedgerEntry[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** The tenants of the node, by name */
  listTenants: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
    }
    answer: {
      readonly items: readonly ({
        readonly name: string
        readonly description: string | null
        readonly createdAt: string
        readonly createdBy: string
      })[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** Events that nobody wanted, newest first */
  listUnmatched: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly source?: string | undefined
      readonly subject?: string | undefined
      /** A piece of the id, subject, source, object id, correlation id, dedup key or payload; small and capital letters are alike. */
      readonly q?: string | undefined
    }
    answer: {
      readonly items: readonly Event[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** Work items, newest first */
  listWork: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly state?: 'ready' | 'waiting' | 'leased' | 'done' | 'skipped' | 'merged' | 'parked' | 'dead' | 'cancelled' | undefined
      readonly consumer?: string | undefined
      readonly class?: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown' | undefined
    }
    answer: {
      readonly items: readonly Work[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** Make a link that signs a browser in as the caller, once, within the hour */
  makeSignInLink: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly url: string
      readonly expiresAt: string
    }
  }
  /** Replay a dead letter with the definition in force, under the same key */
  replayDeadLetter: {
    args: ({
      readonly id: string
    }) & ({
      readonly force?: boolean | undefined
      readonly reason?: string | undefined
    })
    answer: {
      readonly replayId: string
      readonly accepted: number
      readonly workId: string
    }
  }
  /** Say what became of a parked item’s effect */
  resolveWork: {
    args: ({
      readonly id: string
    }) & ({
      readonly as: 'done' | 'released'
      readonly reason: string
    })
    answer: Work
  }
  /** End a key and the sessions that stand on it */
  revokeKey: {
    args: {
      readonly id: string
    }
    answer: undefined
  }
  /** Begin a session of the console, by key or by one-time link; the cookie comes with the answer */
  signIn: {
    args: {
      readonly key?: string | undefined
      readonly link?: string | undefined
    }
    answer: {
      readonly tenant: string
      readonly role: 'viewer' | 'operator' | 'admin'
      readonly actor: string
      readonly expiresAt: string
    }
  }
  /** End the session */
  signOut: {
    args: Readonly<Record<never, never>>
    answer: undefined
  }
}

/** Method, path, and which arguments go into the query; those in the path are marked there, the rest is the body. */
export const OPERATIONS = {
  createKey: ['POST', '/v1/keys', []],
  createTenant: ['POST', '/v1/tenants', []],
  getDeadLetter: ['GET', '/v1/dead-letters/{id}', []],
  getError: ['GET', '/errors/{code}', []],
  getEvent: ['GET', '/v1/events/{id}', []],
  getHealth: ['GET', '/healthz', []],
  getMe: ['GET', '/v1/me', []],
  getOpenApi: ['GET', '/openapi.json', []],
  getReadiness: ['GET', '/readyz', []],
  getWork: ['GET', '/v1/work/{id}', []],
  listDeadLetters: ['GET', '/v1/dead-letters', ['cursor', 'limit', 'state', 'consumer', 'class']],
  listEvents: ['GET', '/v1/events', ['cursor', 'limit', 'source', 'subject', 'q', 'unmatched']],
  listKeys: ['GET', '/v1/keys', ['cursor', 'limit']],
  listLedger: ['GET', '/v1/ledger', ['cursor', 'limit', 'state', 'key']],
  listTenants: ['GET', '/v1/tenants', ['cursor', 'limit']],
  listUnmatched: ['GET', '/v1/unmatched', ['cursor', 'limit', 'source', 'subject', 'q']],
  listWork: ['GET', '/v1/work', ['cursor', 'limit', 'state', 'consumer', 'class']],
  makeSignInLink: ['POST', '/v1/session/links', []],
  replayDeadLetter: ['POST', '/v1/dead-letters/{id}/replay', []],
  resolveWork: ['POST', '/v1/work/{id}/resolve', []],
  revokeKey: ['DELETE', '/v1/keys/{id}', []],
  signIn: ['POST', '/v1/session', []],
  signOut: ['DELETE', '/v1/session', []],
} as const satisfies Record<keyof Operations, readonly [string, string, readonly string[]]>
