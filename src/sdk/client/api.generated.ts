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
  readonly type: 'failure'
  readonly id: string
  readonly state: 'open' | 'resolved' | 'escalated'
} | {
  readonly type: 'escalation'
  /** null: of whichever is raised for the cause. */
  readonly id: string | null
  readonly cause: string | null
} | {
  readonly type: 'instance'
  readonly id: string
  readonly workflow: string
  readonly state: 'active' | 'completed' | 'failed' | 'cancelled'
  readonly attention: 'step_failed' | 'step_parked' | 'undo_failed' | 'stuck' | 'lock_expired' | null
  readonly marking: Readonly<Record<string, number>>
} | {
  readonly type: 'orphan'
  readonly id: string
  readonly workflow: string
  readonly state: 'waiting' | 'open' | 'correlated' | 'discarded'
} | {
  readonly type: 'agent'
  readonly agent: string
  readonly work: string
  readonly instance: string | null
  readonly text: string
  readonly characters: number
} | {
  readonly type: 'definitions'
  readonly version: number
} | {
  readonly type: 'replay'
  readonly id: string
} | {
  readonly type: 'subscription'
  readonly name: string
  /** null: it is gone, or as its definition declares. */
  readonly status: 'active' | 'failing' | 'paused' | 'disabled' | null
}

/** A CloudEvent 1.0. */
export type CloudEvent = {
  readonly specversion: '1.0'
  /** With `source`, the name of the event. */
  readonly id: string
  /** A URI reference. */
  readonly source: string
  /** The subject of the event. */
  readonly type: string
  /** The id of the object that it is about. */
  readonly subject?: string | null
  readonly time?: string | null
  readonly datacontenttype?: string | null
  readonly dataschema?: string | null
  /** The payload: JSON, or a text where `datacontenttype` is not JSON. */
  readonly data?: unknown
  /** The payload where it is bytes; instead of `data`. */
  readonly data_base64?: string | null
}

/** An account at another system. */
export type Connection = {
  /** Its name. */
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly provider: string
  readonly credential: string | null
  readonly config: unknown
  readonly endpoints: Readonly<Record<string, string>>
  /** null: it is not probed by itself. */
  readonly probeEveryMs: number | null
  readonly managedBy: 'folder' | 'api' | 'demo'
  /** `pending`: it has not passed a test, and runs nothing. */
  readonly status: 'pending' | 'active' | 'degraded' | 'retired'
  readonly health: 'unknown' | 'healthy' | 'degraded' | 'unhealthy'
  /** The last test that a user or a new definition asked for. */
  readonly lastTest: Probe | null
  /** The latest look at the other side: by the clock (`probe.every`) or by a test, whichever is newer. */
  readonly lastProbe: Probe | null
  readonly circuit: {
    readonly state: 'closed' | 'open' | 'half-open'
    readonly since: string | null
    readonly tryAt: string | null
    readonly class: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown' | null
    /** `probe`: one probe failed, and no call or later probe has confirmed the outage yet. */
    readonly openedBy: 'calls' | 'probe' | null
    /** What a person says of it. */
    readonly override: {
      readonly is: 'open' | 'closed'
      readonly reason: string
      readonly by: string
      readonly since: string
      readonly until: string | null
    } | null
  }
  readonly retired: {
    readonly by: string
    readonly reason: string
    readonly at: string
  } | null
  readonly buckets: readonly ({
    readonly name: string
    readonly perMinute: number
    readonly burst: number
    readonly left: number
    readonly closedUntil: string | null
  })[]
  readonly updatedAt: string
}

/** A connection with its health. */
export type ConnectionDetail = {
  /** Its name. */
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly provider: string
  readonly credential: string | null
  readonly config: unknown
  readonly endpoints: Readonly<Record<string, string>>
  /** null: it is not probed by itself. */
  readonly probeEveryMs: number | null
  readonly managedBy: 'folder' | 'api' | 'demo'
  /** `pending`: it has not passed a test, and runs nothing. */
  readonly status: 'pending' | 'active' | 'degraded' | 'retired'
  readonly health: 'unknown' | 'healthy' | 'degraded' | 'unhealthy'
  /** The last test that a user or a new definition asked for. */
  readonly lastTest: Probe | null
  /** The latest look at the other side: by the clock (`probe.every`) or by a test, whichever is newer. */
  readonly lastProbe: Probe | null
  readonly circuit: {
    readonly state: 'closed' | 'open' | 'half-open'
    readonly since: string | null
    readonly tryAt: string | null
    readonly class: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown' | null
    /** `probe`: one probe failed, and no call or later probe has confirmed the outage yet. */
    readonly openedBy: 'calls' | 'probe' | null
    /** What a person says of it. */
    readonly override: {
      readonly is: 'open' | 'closed'
      readonly reason: string
      readonly by: string
      readonly since: string
      readonly until: string | null
    } | null
  }
  readonly retired: {
    readonly by: string
    readonly reason: string
    readonly at: string
  } | null
  readonly buckets: readonly ({
    readonly name: string
    readonly perMinute: number
    readonly burst: number
    readonly left: number
    readonly closedUntil: string | null
  })[]
  readonly updatedAt: string
  /** The latest looks at the other side, the last one first. */
  readonly history: readonly Probe[]
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

/** What opens accounts; never its value. */
export type Credential = {
  /** Its name. */
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly provider: string
  readonly auth: 'none' | 'apiKey' | 'basic' | 'bearer' | 'oauth2' | 'githubApp' | 'serviceAccount' | 'hmac'
  /** Of `oauth2`. */
  readonly grant: string | null
  /** Where the value lies; never the value. */
  readonly secret: Readonly<Record<string, string>>
  readonly managedBy: 'folder' | 'api' | 'demo'
  readonly status: 'active' | 'rotating' | 'waiting' | 'missing'
  readonly version: number | null
  readonly fingerprint: string | null
  readonly versions: readonly ({
    readonly version: number
    readonly fingerprint: string
    readonly since: string
    readonly by: string
    readonly state: 'active' | 'pending' | 'former' | 'refused'
  })[]
  readonly connections: readonly string[]
  readonly rotation: {
    readonly everyMs: number | null
    readonly coolDownMs: number
    readonly overlapMs: number
    readonly nextAt: string | null
    readonly lastAt: string | null
    readonly underWay: {
      readonly reason: 'policy' | 'request' | 'auth-failure' | 'supplied'
      readonly note: string | null
      readonly by: string
      readonly begunAt: string
      readonly workId: string
    } | null
    readonly lastFailure: {
      readonly at: string
      readonly error: string
      readonly version: number | null
    } | null
  }
  readonly tokenExpiresAt: string | null
  readonly updatedAt: string
}

/** Work that is not retried by itself. */
export type DeadLetter = {
  readonly id: string
  readonly state: 'open' | 'ready_to_replay' | 'replaying' | 'resolved' | 'discarded'
  readonly class: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'
  readonly reason: 'cap_reached' | 'expired' | 'crash_loop' | 'unparseable' | 'rejected' | 'definition_missing' | 'config_missing' | 'ambiguous_routes' | 'too_many_elements' | 'rotation_failed' | 'over_rate_limit'
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
  /** The failure that it stands for. */
  readonly failureId?: string
  /** How far it came: `match`, `key`, `call`, `probe`, `function`, `effect <name>`, `batch` … */
  readonly step?: string
}

/** A dead letter with its event and its tries. */
export type DeadLetterDetail = {
  readonly id: string
  readonly state: 'open' | 'ready_to_replay' | 'replaying' | 'resolved' | 'discarded'
  readonly class: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'
  readonly reason: 'cap_reached' | 'expired' | 'crash_loop' | 'unparseable' | 'rejected' | 'definition_missing' | 'config_missing' | 'ambiguous_routes' | 'too_many_elements' | 'rotation_failed' | 'over_rate_limit'
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
  /** The failure that it stands for. */
  readonly failureId?: string
  /** How far it came: `match`, `key`, `call`, `probe`, `function`, `effect <name>`, `batch` … */
  readonly step?: string
  readonly history: readonly Attempt[]
  readonly event: Envelope | null
}

/** Dead letters of one consumer that failed alike. */
export type DeadLetterGroup = {
  readonly class: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'
  readonly reason: 'cap_reached' | 'expired' | 'crash_loop' | 'unparseable' | 'rejected' | 'definition_missing' | 'config_missing' | 'ambiguous_routes' | 'too_many_elements' | 'rotation_failed' | 'over_rate_limit'
  readonly reportedAs: 'TRANSIENT' | 'PERMANENT' | 'DATA_QUALITY'
  readonly consumer: {
    readonly kind: string
    readonly name: string
  }
  /** The last error without what differs from one event to the next. */
  readonly cause: string
  readonly count: number
  readonly firstAt: string
  readonly latestAt: string
  /** The newest of them. */
  readonly sampleId: string
}

/** One event on its way to one endpoint. */
export type Delivery = {
  readonly id: string
  readonly subscription: string
  /** Sent as `webhook-id`, the same in every try. */
  readonly eventId: string
  /** Of the event; null: the event is gone. */
  readonly subject: string | null
  readonly state: 'pending' | 'delivering' | 'retrying' | 'delivered' | 'dead-lettered' | 'cancelled' | 'skipped'
  readonly attempts: number
  /** When it is tried next, while it is not over. */
  readonly dueAt: string
  readonly createdAt: string
  /** Of the last answer. */
  readonly httpStatus?: number
  /** Of the last try. */
  readonly durationMs?: number
  readonly class?: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'
  /** Of the last try, or why it was skipped or cancelled. */
  readonly error?: string
  /** When it was over. */
  readonly processedAt?: string
  readonly deadLetterId?: string
  /** The dead letter or the event that was sent again. */
  readonly replayOf?: string
}

/** One try of a delivery. */
export type DeliveryAttempt = {
  readonly number: number
  readonly startedAt: string
  readonly durationMs: number
  readonly outcome: 'done' | 'again' | 'waited' | 'unknown' | 'probed' | 'parked' | 'dead'
  readonly class?: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'
  readonly httpStatus?: number
  readonly error?: string
  /** How the answer began: status, a few headers, the first 1,024 characters. */
  readonly response?: string
}

/** A delivery with every try. */
export type DeliveryDetail = {
  readonly id: string
  readonly subscription: string
  /** Sent as `webhook-id`, the same in every try. */
  readonly eventId: string
  /** Of the event; null: the event is gone. */
  readonly subject: string | null
  readonly state: 'pending' | 'delivering' | 'retrying' | 'delivered' | 'dead-lettered' | 'cancelled' | 'skipped'
  readonly attempts: number
  /** When it is tried next, while it is not over. */
  readonly dueAt: string
  readonly createdAt: string
  /** Of the last answer. */
  readonly httpStatus?: number
  /** Of the last try. */
  readonly durationMs?: number
  readonly class?: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'
  /** Of the last try, or why it was skipped or cancelled. */
  readonly error?: string
  /** When it was over. */
  readonly processedAt?: string
  readonly deadLetterId?: string
  /** The dead letter or the event that was sent again. */
  readonly replayOf?: string
  /** Every try. */
  readonly history: readonly DeliveryAttempt[]
  /** What would be sent now; the signature is made when it is sent. null: it cannot be made, `requestError` says why. */
  readonly request: {
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    /** null: the caller may not see it. */
    readonly body: string | null
  } | null
  readonly requestError?: string
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
  /** How often it came again within its dedup window; told a second later. */
  readonly duplicates: number
  readonly lastDuplicateAt: string | null
  /** Only on an edited copy: the event that a user copied and edited. The source did not send this payload, and its signature says nothing of it. */
  readonly editedFrom?: string
  /** Paths of what is sensitive in it: callers below operator see `[hidden]` there. */
  readonly sensitive: readonly string[]
  /** Why the payload is not shown: it is sealed and does not open. */
  readonly unreadable?: string
  readonly data: unknown
}

/** Failures of one cause, listed until an operator acknowledges them. */
export type Escalation = {
  readonly id: string
  readonly state: 'raised' | 'acknowledged'
  /** What its failures have in common. */
  readonly cause: string
  readonly class: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'
  readonly reason: string
  readonly reportedAs: 'TRANSIENT' | 'PERMANENT' | 'DATA_QUALITY'
  readonly severity: string
  readonly consumer: {
    readonly kind: string
    readonly name: string
  }
  /** How many failures it stands for. */
  readonly count: number
  /** As the latest of them says it. */
  readonly lastError: string
  /** The latest of them; null: it is about the consumer. */
  readonly workId: string | null
  /** Its event is out. */
  readonly isAnnounced: boolean
  readonly acknowledgedBy: string | null
  readonly note: string | null
  readonly createdAt: string
  readonly updatedAt: string
  readonly runbook?: string
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
  /** How often it came again within its dedup window; told a second later. */
  readonly duplicates: number
  readonly lastDuplicateAt: string | null
  /** Only on an edited copy: the event that a user copied and edited. The source did not send this payload, and its signature says nothing of it. */
  readonly editedFrom?: string
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
  /** How often it came again within its dedup window; told a second later. */
  readonly duplicates: number
  readonly lastDuplicateAt: string | null
  /** Only on an edited copy: the event that a user copied and edited. The source did not send this payload, and its signature says nothing of it. */
  readonly editedFrom?: string
  /** Paths of what is sensitive in it: callers below operator see `[hidden]` there. */
  readonly sensitive: readonly string[]
  /** Why the payload is not shown: it is sealed and does not open. */
  readonly unreadable?: string
  readonly data: unknown
  readonly headers: Readonly<Record<string, unknown>>
  readonly consumers: readonly Consumer[]
  /** The newest work of the event, oldest first; at most 50. `consumers` has all of it. */
  readonly story: readonly WorkStory[]
  /** Events that this one caused, oldest first; at most 100. */
  readonly followUps: readonly Event[]
  readonly edited?: EventEdit
}

/** Who edited an event, when, why, and which fields. Copies that an earlier version made have only `from`, `deadLetterId` and `at`. */
export type EventEdit = {
  /** The event that was copied; it stays as it was. */
  readonly from: string
  readonly deadLetterId: string
  readonly at: string
  readonly by?: string
  readonly reason?: string
  /** Paths in the payload that differ, at most 50; the empty path is all of it. Below a sensitive path only that path is named. */
  readonly changed?: readonly string[]
  /** Whether more fields differ than `changed` names. */
  readonly hasMore?: boolean
  readonly payloadHashBefore?: string
}

/** What a replay of events would do, route by route. */
export type EventReplayPreview = {
  /** The oldest of them. */
  readonly items: readonly ({
    readonly id: string
    /** null: there is no such event. */
    readonly subject: string | null
    readonly consumers: readonly ({
      /** A route, or the source where the event is in the way. */
      readonly name: string
      readonly verdict: 'would-skip' | 'would-call' | 'would-differ' | 'would-wait' | 'would-fail'
      readonly reason: string
      /** What is other than when it was tried before. Sensitive values are hidden. */
      readonly diff?: readonly ({
        readonly of: 'definition' | 'code' | 'payload'
        /** The first 50; none where what was before is not in the store any more. */
        readonly changes: readonly ({
          /** Empty: all of it. */
          readonly path: string
          /** As JSON text; null: it was not there. */
          readonly before: string | null
          /** As JSON text; null: it is not there any more. */
          readonly after: string | null
        })[]
      })[]
      /** With would-skip: the effect that is there. */
      readonly effect?: {
        readonly key: string
        readonly generation: number
        readonly workId: string
        readonly effectRef: string | null
      }
    })[]
  })[]
  /** Of the consumers in `items`. */
  readonly totals: {
    readonly 'would-skip': number
    readonly 'would-call': number
    readonly 'would-differ': number
    readonly 'would-wait': number
    readonly 'would-fail': number
  }
  /** How many calls each host would get, for `items`. */
  readonly calls: Readonly<Record<string, number>>
  /** What these calls take of the rate limits. */
  readonly cost: readonly ({
    readonly host: string
    readonly route: string
    readonly calls: number
    /** The route’s rate limit; null: it has none. */
    readonly perMinute: number | null
    /** How long the calls take at that rate. */
    readonly minutes: number | null
  })[]
  /** How many events the filter finds in all. */
  readonly matched: number
  /** There are more events than `items`. */
  readonly isCapped: boolean
}

/** What went wrong with a work item, until it is resolved or escalated. */
export type Failure = {
  readonly id: string
  readonly state: 'open' | 'resolved' | 'escalated'
  readonly class: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown'
  /** Why retries have stopped; null while they continue. */
  readonly reason: string | null
  readonly reportedAs: 'TRANSIENT' | 'PERMANENT' | 'DATA_QUALITY'
  readonly severity: string
  readonly consumer: {
    readonly kind: string
    readonly name: string
  }
  readonly eventId: string
  /** The item that failed last: a replay goes on with the failure. null: a connection fails, and its jobs wait. */
  readonly workId: string | null
  readonly attempts: number
  readonly lastError: string
  /** null: not by itself. */
  readonly willRetryAt: string | null
  /** That of its escalation. */
  readonly cause: string | null
  readonly correlationId: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly key?: string
}

/** One running case of a workflow. */
export type Instance = {
  readonly id: string
  readonly workflow: string
  /** As its definition calls itself. */
  readonly version: string
  /** Hash of the definition that it is on. */
  readonly definition: string
  readonly state: 'active' | 'completed' | 'failed' | 'cancelled'
  /** Why it needs attention; null: it does not. */
  readonly attention: 'step_failed' | 'step_parked' | 'undo_failed' | 'stuck' | 'lock_expired' | null
  /** Place → tokens; places without any are left out. */
  readonly marking: Readonly<Record<string, number>>
  /** The event that began it. */
  readonly eventId: string
  readonly correlationId: string
  /** The instance that started it. */
  readonly parent: string | null
  readonly createdAt: string
  readonly updatedAt: string
  readonly endedAt: string | null
}

export type InstanceChange = {
  /** `data.x.y`, `metadata.x` or `correlation.name`. */
  readonly path: string
  /** Left out: it was not there. */
  readonly before?: unknown
  /** Left out: it is not there any more. */
  readonly after?: unknown
  /** The workflow keeps no values in its history: only that it changed is known. */
  readonly hidden?: boolean
}

/** An instance with its data, what is under way and what was done. */
export type InstanceDetail = {
  readonly id: string
  readonly workflow: string
  /** As its definition calls itself. */
  readonly version: string
  /** Hash of the definition that it is on. */
  readonly definition: string
  readonly state: 'active' | 'completed' | 'failed' | 'cancelled'
  /** Why it needs attention; null: it does not. */
  readonly attention: 'step_failed' | 'step_parked' | 'undo_failed' | 'stuck' | 'lock_expired' | null
  /** Place → tokens; places without any are left out. */
  readonly marking: Readonly<Record<string, number>>
  /** The event that began it. */
  readonly eventId: string
  readonly correlationId: string
  /** The instance that started it. */
  readonly parent: string | null
  readonly createdAt: string
  readonly updatedAt: string
  readonly endedAt: string | null
  readonly data: unknown
  readonly metadata: unknown
  readonly correlations: readonly ({
    readonly name: string
    readonly value: string
  })[]
  /** What has begun and not ended. */
  readonly firings: readonly ({
    /** Counts within the instance. */
    readonly number: number
    readonly type: 'fire' | 'enter' | 'undo'
    /** Of the transition; of the place for `enter`. */
    readonly name: string
    /** One token of each is held by it. */
    readonly held: readonly string[]
    readonly state: 'running' | 'failed' | 'parked' | 'interrupted' | 'waiting'
    readonly beganAt: string
    /** Of `undo`: the firing that it takes back. */
    readonly of?: number
    /** Who fired it. */
    readonly actor?: string
    readonly input?: unknown
    /** The instance that it started. */
    readonly child?: string
    /** It was interrupted, and its outcome is unknown. */
    readonly inDoubt?: boolean
  })[]
  /** What ended well, oldest first. */
  readonly steps: readonly ({
    readonly number: number
    readonly type: 'fire' | 'enter'
    readonly name: string
    readonly key: string | null
    readonly endedAt: string
    /** null also where it was too long to keep. */
    readonly result: unknown
    readonly undone: boolean
  })[]
  readonly failure: {
    readonly name: string
    readonly class: string
    readonly reason: string
    readonly error: string
    readonly at: string
  } | null
  /** While what is done is taken back: the firings that are left. */
  readonly rollBack: {
    readonly through: string | null
    readonly to: string
    readonly left: readonly number[]
  } | null
  /** It may not move yet: another instance has its lock, or too many run. */
  readonly waitsFor: 'lock' | 'slot' | null
  /** Instances that it started; the latest hundred. */
  readonly children: readonly string[]
  /** The latest 200, oldest first. */
  readonly history: readonly InstanceHistory[]
  /** Paths that are encrypted at rest; viewers see `[hidden]` there and in results. */
  readonly encrypted: readonly string[]
  /** Of the version that it is on, to be drawn. */
  readonly net: {
    readonly start: string
    readonly places: readonly ({
      readonly name: string
      readonly type: 'normal' | 'waiting' | 'review' | 'error' | 'final'
      readonly description: string | null
      /** Of a workflow: of all active instances, on whichever version; of an instance: its own. */
      readonly tokens: number
      readonly timeout: {
        readonly afterMs: number
        readonly fire: string
      } | null
      /** The action for every token that comes in. */
      readonly onEnter: string | null
    })[]
    readonly transitions: readonly ({
      readonly name: string
      readonly description: string | null
      readonly from: readonly string[]
      readonly fromAny: readonly string[]
      /** All places that it may put a token in. */
      readonly to: readonly string[]
      readonly on: 'auto' | 'manual' | 'event' | 'timer'
      /** It fires by itself as soon as it can. */
      readonly isAutomatic: boolean
      /** Its condition, as written. */
      readonly when: string | null
      /** What it does: null where it only moves tokens. */
      readonly action: string | null
      readonly undo: boolean
      readonly permission: string | null
      /** JSON Schema of its input; null: anything. */
      readonly input: unknown
    })[]
    readonly arcs: readonly ({
      readonly place: string
      /** null: of a roll-back that is over, from `place` to `to`. */
      readonly transition: string | null
      /** `in` and `any` lead to the transition, the others from it. */
      readonly type: 'in' | 'any' | 'out' | 'choose' | 'failure' | 'undone'
      /** Of a branch of `choose`. */
      readonly when?: string
      readonly to?: string
    })[]
  }
  /** Only with `?at=`: the last step that is part of it. */
  readonly at?: {
    readonly sequence: number
    readonly time: string
    /** false: the history keeps no values, and data is not whole. */
    readonly isWhole: boolean
  }
}

/** One change of an instance. */
export type InstanceHistory = {
  /** The number of the step: what `?at=` takes. */
  readonly sequence: number
  readonly at: string
  readonly type: 'created' | 'updated' | 'admitted' | 'began' | 'fired' | 'ended' | 'failed' | 'interrupted' | 'late' | 'undone' | 'rolling_back' | 'timed_out' | 'learned' | 'moved' | 'edited' | 'cancelled' | 'retried' | 'migrated' | 'noted'
  /** Transition or place. */
  readonly name?: string
  /** What a place does on entry, or an undo; left out: of a transition. */
  readonly part?: 'enter' | 'undo'
  readonly firing?: number
  /** Places that lost a token. */
  readonly took?: readonly string[]
  /** Places that got a token. */
  readonly put?: readonly string[]
  readonly changes?: readonly ({
    /** `data.x.y`, `metadata.x` or `correlation.name`. */
    readonly path: string
    /** Left out: it was not there. */
    readonly before?: unknown
    /** Left out: it is not there any more. */
    readonly after?: unknown
    /** The workflow keeps no values in its history: only that it changed is known. */
    readonly hidden?: boolean
  })[]
  readonly state?: 'active' | 'completed' | 'failed' | 'cancelled'
  readonly version?: string
  readonly actor?: string
  /** The comment or the reason of the user who did it. */
  readonly comment?: string
  readonly input?: unknown
  readonly result?: unknown
  readonly error?: string
  readonly eventId?: string
  readonly workId?: string
  readonly child?: string
  /** The instance that took over by a migration. */
  readonly successor?: string
  /** The instance that it took over from by a migration. */
  readonly predecessor?: string
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
  /** In lists: the work item that made the effect, as it is now; null: it is gone. */
  readonly work?: {
    readonly id: string
    readonly state: 'ready' | 'waiting' | 'leased' | 'done' | 'skipped' | 'merged' | 'parked' | 'dead' | 'cancelled'
    readonly key: string | null
  } | null
  /** In lists: what may be done about `work` now. `done` and `released` are `resolve` with that word. */
  readonly actions?: readonly ('done' | 'released' | 'probe' | 'retry' | 'cancel')[]
}

/** An event that a workflow wants for one of its instances, and that found none, or more than one. */
export type Orphan = {
  readonly id: string
  readonly state: 'waiting' | 'open' | 'correlated' | 'discarded'
  /** It found no instance, or several. */
  readonly reason: 'nobody' | 'several'
  readonly workflow: string
  /** The trigger that wanted it, by its place in the definition. */
  readonly trigger: string
  readonly eventId: string
  readonly workId: string
  /** `name=value` of the keys by which it looked. */
  readonly keys: string
  /** Of one that waits: until when. */
  readonly expiresAt: string | null
  /** Where it went. */
  readonly instance: string | null
  readonly by: string | null
  readonly note: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

/** One look at the other side. */
export type Probe = {
  readonly at: string
  readonly window: string
  readonly ok: boolean
  readonly durationMs: number
  readonly httpStatus: number | null
  readonly class: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown' | null
  readonly error: string | null
  /** Only where it is true: the other side is there, but its answer says nothing of the credential. Name a path in `config.probe` that can be read with it. */
  readonly unverified?: boolean
}

/** A refusal (RFC 9457). */
export type Problem = {
  /** Explained at this address of the server. */
  readonly type: string
  readonly title: string
  readonly status: number
  /** What was wrong in this case. */
  readonly detail: string
  readonly code: 'unknown_source' | 'source_disabled' | 'address_refused' | 'handshake_refused' | 'rate_limited' | 'backlog_full' | 'signature_missing' | 'signature_wrong' | 'signature_expired' | 'secret_missing' | 'not_json' | 'duplicate_key' | 'number_out_of_range' | 'body_unreadable' | 'too_deep' | 'unnamed_event' | 'event_invalid' | 'body_too_large' | 'headers_too_large' | 'expectation_failed' | 'request_timeout' | 'wrong_type' | 'not_authenticated' | 'not_allowed' | 'permission_needed' | 'wrong_origin' | 'limited' | 'secret_unreadable' | 'vault_sealed' | 'vault_denied' | 'vault_unavailable' | 'not_found' | 'method_not_allowed' | 'invalid_request' | 'invalid_cursor' | 'conflict' | 'tenant_limit' | 'replays_exhausted' | 'reason_required' | 'definition_missing' | 'instance_ended' | 'unknown_transition' | 'unknown_place' | 'cannot_fire' | 'shut_out' | 'invalid_input' | 'mapping_failed' | 'firing_gone' | 'in_doubt' | 'cannot_migrate' | 'endless_loop' | 'versions_unsupported' | 'check_too_long' | 'definitions_invalid' | 'managed_by_folder' | 'unknown_subscription' | 'subscription_invalid' | 'name_taken' | 'endpoint_refused' | 'overlap_invalid' | 'signing_secret_invalid' | 'secret_in_environment' | 'secret_shown' | 'provider_unknown' | 'credential_unknown' | 'integration_invalid' | 'credential_missing_value' | 'credential_scope_missing' | 'credential_refused' | 'refresh_token_expired' | 'oauth_refused' | 'oauth_state_invalid' | 'oauth_unavailable' | 'rotation_cool_down' | 'subscription_disabled' | 'nothing_to_recover' | 'demo_unavailable' | 'idempotency_mismatch' | 'idempotency_running' | 'source_unusable' | 'role_missing' | 'node_paused' | 'shutting_down' | 'store_unavailable' | 'overloaded' | 'internal'
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

/** A kind of system that connections lead to. */
export type Provider = {
  readonly name: string
  readonly title: string
  readonly description: string | null
  readonly category: string
  /** What a credential may be; the first is the usual one. */
  readonly auth: readonly ('none' | 'apiKey' | 'basic' | 'bearer' | 'oauth2' | 'githubApp' | 'serviceAccount' | 'hmac')[]
  readonly capabilities: readonly string[]
  /** What to use in its place; null: it is current. */
  readonly deprecated: string | null
  /** How what it sends is verified and named. */
  readonly inbound: {
    readonly scheme: string
    readonly subjects: string | null
  } | null
  readonly managedBy: 'folder' | 'api' | 'demo' | 'built-in'
  /** How many of the tenant’s name it. */
  readonly connections: number
  /** Whether a connection to it can be tested by a call. */
  readonly canProbe: boolean
  /** Whether it makes new secrets by its own API. */
  readonly canRotate: boolean
  readonly operations: readonly string[]
}

/** A provider with its operations. */
export type ProviderDetail = {
  readonly name: string
  readonly title: string
  readonly description: string | null
  readonly category: string
  /** What a credential may be; the first is the usual one. */
  readonly auth: readonly ('none' | 'apiKey' | 'basic' | 'bearer' | 'oauth2' | 'githubApp' | 'serviceAccount' | 'hmac')[]
  readonly capabilities: readonly string[]
  /** What to use in its place; null: it is current. */
  readonly deprecated: string | null
  /** How what it sends is verified and named. */
  readonly inbound: {
    readonly scheme: string
    readonly subjects: string | null
  } | null
  readonly managedBy: 'folder' | 'api' | 'demo' | 'built-in'
  /** How many of the tenant’s name it. */
  readonly connections: number
  /** Whether a connection to it can be tested by a call. */
  readonly canProbe: boolean
  /** Whether it makes new secrets by its own API. */
  readonly canRotate: boolean
  readonly baseUrl: string
  readonly endpoints: Readonly<Record<string, string>>
  /** JSON Schema of a connection’s `config`; null: anything. */
  readonly config: unknown
  readonly buckets: Readonly<Record<string, {
    readonly perMinute: number
    readonly burst: number
  }>>
  readonly authentication: {
    readonly header: string | null
    readonly prefix: string
    readonly query: string | null
  }
  readonly oauth2: {
    readonly scopes: readonly string[]
    readonly hasAuthorizationCode: boolean
  } | null
  readonly operations: readonly ({
    readonly name: string
    readonly description: string | null
    readonly method: string
    readonly path: string
    /** JSON Schema; null: anything. */
    readonly input: unknown
    /** JSON Schema; null: anything. */
    readonly output: unknown
    readonly idempotency: 'native' | 'lookup' | 'idempotent' | 'none'
    readonly keyTtlMs: number | null
    readonly scopes: readonly string[]
    readonly deprecated: string | null
    readonly timeoutMs: number
  })[]
}

export type Published = {
  /** The `id` that was sent. */
  readonly id: string
  /** Its id here; of a duplicate, that of the first. */
  readonly eventId: string
  readonly duplicate: boolean
} | {
  readonly items: readonly ({
    /** The `id` that was sent. */
    readonly id: string
    /** Its id here; of a duplicate, that of the first. */
    readonly eventId: string
    readonly duplicate: boolean
  })[]
}

/** What a recovery would do; nothing was done. */
export type RecoveryPreview = {
  /** Of the events looked at that the subscription wants. `failed`: the dead letter would be replayed; `missing`: it would be sent for the first time; the others are left as they are. */
  readonly totals: {
    readonly failed: number
    readonly missing: number
    readonly delivered: number
    readonly 'under-way': number
    readonly 'given-up': number
    readonly unmatched: number
  }
  /** How many would go out, by what was asked for. */
  readonly recovered: number
  /** The first of those that would go out. */
  readonly items: readonly ({
    readonly eventId: string
    readonly subject: string
    readonly receivedAt: string
    readonly verdict: 'failed' | 'missing' | 'delivered' | 'under-way' | 'given-up' | 'unmatched'
    readonly deadLetterId: string | null
  })[]
  /** How many events were looked at. */
  readonly walked: number
  /** Up to when. */
  readonly walkedTo: string | null
  /** All were looked at; a preview looks at a bounded number, a recovery at all. */
  readonly isComplete: boolean
  /** Of the oldest event that is kept: what is older is gone. */
  readonly oldestEventAt: string | null
}

/** Many dead letters, events or deliveries replayed one after the other. */
export type Replay = {
  readonly id: string
  /** What it replays. `deliveries`: what an endpoint has missed. */
  readonly of: 'deadLetters' | 'events' | 'deliveries'
  readonly state: 'running' | 'done' | 'cancelled'
  /** How many there were when it began; of deliveries how many were found so far. */
  readonly total: number
  readonly replayed: number
  readonly refused: number
  /** The last of those that could not be replayed, and why. */
  readonly refusals: readonly ({
    readonly id: string
    readonly code: 'unknown_source' | 'source_disabled' | 'address_refused' | 'handshake_refused' | 'rate_limited' | 'backlog_full' | 'signature_missing' | 'signature_wrong' | 'signature_expired' | 'secret_missing' | 'not_json' | 'duplicate_key' | 'number_out_of_range' | 'body_unreadable' | 'too_deep' | 'unnamed_event' | 'event_invalid' | 'body_too_large' | 'headers_too_large' | 'expectation_failed' | 'request_timeout' | 'wrong_type' | 'not_authenticated' | 'not_allowed' | 'permission_needed' | 'wrong_origin' | 'limited' | 'secret_unreadable' | 'vault_sealed' | 'vault_denied' | 'vault_unavailable' | 'not_found' | 'method_not_allowed' | 'invalid_request' | 'invalid_cursor' | 'conflict' | 'tenant_limit' | 'replays_exhausted' | 'reason_required' | 'definition_missing' | 'instance_ended' | 'unknown_transition' | 'unknown_place' | 'cannot_fire' | 'shut_out' | 'invalid_input' | 'mapping_failed' | 'firing_gone' | 'in_doubt' | 'cannot_migrate' | 'endless_loop' | 'versions_unsupported' | 'check_too_long' | 'definitions_invalid' | 'managed_by_folder' | 'unknown_subscription' | 'subscription_invalid' | 'name_taken' | 'endpoint_refused' | 'overlap_invalid' | 'signing_secret_invalid' | 'secret_in_environment' | 'secret_shown' | 'provider_unknown' | 'credential_unknown' | 'integration_invalid' | 'credential_missing_value' | 'credential_scope_missing' | 'credential_refused' | 'refresh_token_expired' | 'oauth_refused' | 'oauth_state_invalid' | 'oauth_unavailable' | 'rotation_cool_down' | 'subscription_disabled' | 'nothing_to_recover' | 'demo_unavailable' | 'idempotency_mismatch' | 'idempotency_running' | 'source_unusable' | 'role_missing' | 'node_paused' | 'shutting_down' | 'store_unavailable' | 'overloaded' | 'internal'
  })[]
  readonly filter: Readonly<Record<string, unknown>>
  readonly force: boolean
  /** Effects that are there are made once more. */
  readonly again: boolean
  /** null: as quickly as the nodes take them up. */
  readonly perSecond: number | null
  readonly by: string
  readonly reason: string | null
  readonly createdAt: string
  readonly finishedAt: string | null
  /** Of deliveries: how far it has looked. */
  readonly walk?: {
    /** How many events were looked at. */
    readonly walked: number
    /** Up to when they were received. */
    readonly walkedTo: string | null
    /** Of those that the subscription wants: left as they are, delivered or under way. */
    readonly left: number
  }
}

/** What a replay would do; nothing was done. */
export type ReplayPreview = {
  readonly items: readonly ({
    readonly id: string
    readonly verdict: 'would-skip' | 'would-call' | 'would-differ' | 'would-wait' | 'would-fail'
    readonly reason: string
    /** What is other than when it was tried before. Sensitive values are hidden. */
    readonly diff?: readonly ({
      readonly of: 'definition' | 'code' | 'payload'
      /** The first 50; none where what was before is not in the store any more. */
      readonly changes: readonly ({
        /** Empty: all of it. */
        readonly path: string
        /** As JSON text; null: it was not there. */
        readonly before: string | null
        /** As JSON text; null: it is not there any more. */
        readonly after: string | null
      })[]
    })[]
    /** With would-skip: the effect that is there. */
    readonly effect?: {
      readonly key: string
      readonly generation: number
      readonly workId: string
      readonly effectRef: string | null
    }
  })[]
  /** Of the letters in `items`. */
  readonly totals: {
    readonly 'would-skip': number
    readonly 'would-call': number
    readonly 'would-differ': number
    readonly 'would-wait': number
    readonly 'would-fail': number
  }
  /** Calls by host, for the letters in `items`. */
  readonly calls: Readonly<Record<string, number>>
  /** What these calls take of the rate limits. */
  readonly cost: readonly ({
    readonly host: string
    readonly route: string
    readonly calls: number
    /** The route’s rate limit; null: it has none. */
    readonly perMinute: number | null
    /** How long the calls take at that rate. */
    readonly minutes: number | null
  })[]
  /** How many letters the filter finds in all. */
  readonly matched: number
  /** There are more letters than `items`. */
  readonly isCapped: boolean
}

/** A new secret. */
export type RotatedSecret = {
  /** Shown in this answer and nowhere else. */
  readonly secret: string
  readonly version: number
  /** Until then the former secret signs too; null: it does not. */
  readonly oldUntil: string | null
}

/** One outbound operation, with its attempts. */
export type Run = {
  readonly id: string
  readonly state: 'pending' | 'running' | 'completed' | 'failed' | 'dead-lettered'
  readonly purpose: 'work' | 'test' | 'verification'
  /** What made the calls. All but `connection` are derived from their job: they appear with the end of their first attempt. */
  readonly via: 'connection' | 'http' | 'upsert' | 'function' | 'agent' | 'delivery'
  /** null: the calls name none. */
  readonly connection: string | null
  readonly provider: string | null
  /** Of a connection `provider.operation`; otherwise the method and address as defined, the name of the function or agent, or the subscription. */
  readonly operation: string
  readonly workId: string | null
  readonly eventId: string | null
  readonly correlationId: string
  readonly traceId: string
  readonly key: string | null
  readonly attemptCount: number
  readonly attempts: readonly ({
    readonly number: number
    readonly startedAt: string
    readonly durationMs: number
    readonly class: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown' | null
    readonly httpStatus: number | null
    readonly error: string | null
    readonly credentialVersion: number | null
    /** Hidden from viewers. */
    readonly request: string | null
    /** Hidden from viewers. */
    readonly response: string | null
  })[]
  readonly class: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown' | null
  readonly httpStatus: number | null
  readonly durationMs: number | null
  readonly error: string | null
  readonly externalRef: string | null
  readonly replayOf: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

/** A subscribed endpoint. */
export type Subscription = {
  readonly name: string
  readonly description: string | null
  /** Where to. Values of its query are shown as `[hidden]` to callers below operator. */
  readonly url: string
  /** Patterns of the subjects that it wants. */
  readonly on: readonly string[]
  /** `failing`: it is tried still, but nothing has arrived for a while. `paused`: what comes is kept for later. `disabled`: what comes is skipped, and can be recovered. */
  readonly status: 'active' | 'failing' | 'paused' | 'disabled'
  /** If it is disabled: it answered 410, it failed for too long, or a user disabled it. */
  readonly because: 'gone' | 'failing' | 'person' | null
  /** What was said, or what the endpoint answered. */
  readonly reason: string | null
  /** Since when the status is what it is, where it changed. */
  readonly since: string | null
  /** The first failure behind which no success came. */
  readonly failingSince: string | null
  /** When it will disable itself if nothing arrives until then. */
  readonly disableAt: string | null
  /** `folder`: change its file, not it. */
  readonly managedBy: 'folder' | 'api'
  readonly signing: 'standard' | 'ed25519' | 'github'
  /** Its owner’s own words. */
  readonly metadata: Readonly<Record<string, string>>
  readonly createdAt: string | null
  readonly updatedAt: string | null
  /** How it goes. */
  readonly health: {
    readonly lastDeliveredAt: string | null
    readonly lastFailedAt: string | null
    /** Tries in the last while, as far as this node made them. */
    readonly recent: {
      readonly delivered: number
      readonly failed: number
    }
    /** Deliveries that are not over; counted up to a cap. */
    readonly waiting: number
    /** At least so many wait. */
    readonly isCapped: boolean
  }
}

/** A subscription, how it sends, and what it signs with. */
export type SubscriptionDetail = {
  readonly name: string
  readonly description: string | null
  /** Where to. Values of its query are shown as `[hidden]` to callers below operator. */
  readonly url: string
  /** Patterns of the subjects that it wants. */
  readonly on: readonly string[]
  /** `failing`: it is tried still, but nothing has arrived for a while. `paused`: what comes is kept for later. `disabled`: what comes is skipped, and can be recovered. */
  readonly status: 'active' | 'failing' | 'paused' | 'disabled'
  /** If it is disabled: it answered 410, it failed for too long, or a user disabled it. */
  readonly because: 'gone' | 'failing' | 'person' | null
  /** What was said, or what the endpoint answered. */
  readonly reason: string | null
  /** Since when the status is what it is, where it changed. */
  readonly since: string | null
  /** The first failure behind which no success came. */
  readonly failingSince: string | null
  /** When it will disable itself if nothing arrives until then. */
  readonly disableAt: string | null
  /** `folder`: change its file, not it. */
  readonly managedBy: 'folder' | 'api'
  readonly signing: 'standard' | 'ed25519' | 'github'
  /** Its owner’s own words. */
  readonly metadata: Readonly<Record<string, string>>
  readonly createdAt: string | null
  readonly updatedAt: string | null
  /** How it goes. */
  readonly health: {
    readonly lastDeliveredAt: string | null
    readonly lastFailedAt: string | null
    /** Tries in the last while, as far as this node made them. */
    readonly recent: {
      readonly delivered: number
      readonly failed: number
    }
    /** Deliveries that are not over; counted up to a cap. */
    readonly waiting: number
    /** At least so many wait. */
    readonly isCapped: boolean
  }
  /** The user who did it; null: it happened automatically, or not at all. */
  readonly by: string | null
  readonly createdBy: string | null
  readonly updatedBy: string | null
  /** Everything that it says, defaults filled in. Below operator, headers and values of the query are `[hidden]`. */
  readonly document: Readonly<Record<string, unknown>>
  /** How this node sends to it; null: it has not so far. */
  readonly window: {
    /** How many may be on their way at once. */
    readonly limit: number
    readonly inFlight: number
    /** Nothing is sent before; the endpoint asked for it, or does not answer. */
    readonly pausedUntil: string | null
  } | null
  /** What it signs with; never the value. */
  readonly secret: {
    /** Where it is kept. */
    readonly from: 'generated' | 'vault' | 'environment' | 'file'
    /** Its name in the vault, in the environment or in the folder of secrets. */
    readonly name: string
    /** null: it is not set, or not in the vault. */
    readonly version: number | null
    /** Until when each former secret signs beside it. */
    readonly oldUntil: readonly string[]
    /** It was generated, and `reveal-secret` shows it once. */
    readonly isUnseen: boolean
  }
}

/** A subscription that was made or changed. */
export type SubscriptionMade = {
  readonly name: string
  readonly description: string | null
  /** Where to. Values of its query are shown as `[hidden]` to callers below operator. */
  readonly url: string
  /** Patterns of the subjects that it wants. */
  readonly on: readonly string[]
  /** `failing`: it is tried still, but nothing has arrived for a while. `paused`: what comes is kept for later. `disabled`: what comes is skipped, and can be recovered. */
  readonly status: 'active' | 'failing' | 'paused' | 'disabled'
  /** If it is disabled: it answered 410, it failed for too long, or a user disabled it. */
  readonly because: 'gone' | 'failing' | 'person' | null
  /** What was said, or what the endpoint answered. */
  readonly reason: string | null
  /** Since when the status is what it is, where it changed. */
  readonly since: string | null
  /** The first failure behind which no success came. */
  readonly failingSince: string | null
  /** When it will disable itself if nothing arrives until then. */
  readonly disableAt: string | null
  /** `folder`: change its file, not it. */
  readonly managedBy: 'folder' | 'api'
  readonly signing: 'standard' | 'ed25519' | 'github'
  /** Its owner’s own words. */
  readonly metadata: Readonly<Record<string, string>>
  readonly createdAt: string | null
  readonly updatedAt: string | null
  /** How it goes. */
  readonly health: {
    readonly lastDeliveredAt: string | null
    readonly lastFailedAt: string | null
    /** Tries in the last while, as far as this node made them. */
    readonly recent: {
      readonly delivered: number
      readonly failed: number
    }
    /** Deliveries that are not over; counted up to a cap. */
    readonly waiting: number
    /** At least so many wait. */
    readonly isCapped: boolean
  }
  /** The generated secret, in this answer and nowhere else; null: it names one, or has it already. An answer that is repeated by its idempotency key has null here. */
  readonly secret: string | null
  /** What is doubtful about it; it is in force all the same. */
  readonly warnings: readonly ({
    readonly severity: string
    readonly rule: string
    readonly message: string
    readonly field: string
    readonly suggestion?: string
  })[]
}

/** One call made now; it is kept nowhere. */
export type SubscriptionTest = {
  /** The endpoint answered with a 2xx status. */
  readonly ok: boolean
  readonly status: number | null
  readonly durationMs: number
  readonly class: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown' | null
  readonly error: string | null
  /** How the answer began; null: there was none. */
  readonly response: {
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    /** It goes on behind what is here. */
    readonly isCut: boolean
  } | null
  /** As it was sent; what may be secret in it is hidden. null: nothing was sent. */
  readonly request: {
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
  } | null
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
  /** The dead letter that it replays, or its event. */
  readonly replayOf?: string
  /** Which element of its route’s `each` it is about, counted from 0. */
  readonly element?: number
  /** The key of its lane: what `by` gave. */
  readonly lane?: string
  /** It is dead or parked, and those behind it in its lane wait. */
  readonly holdsLane?: boolean
  /** The batch that it is merged into. */
  readonly into?: string
  /** Above 1: it makes the effect of its key once more, on purpose. */
  readonly generation?: number
  /** What it is about, of `intake` alone. */
  readonly explanation?: string
  /** The instance of a workflow that it is of. */
  readonly instance?: string
  /** What it is of its workflow: `fire/3/book`, `stay/1/review`, `lock` … */
  readonly step?: string
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
  /** The dead letter that it replays, or its event. */
  readonly replayOf?: string
  /** Which element of its route’s `each` it is about, counted from 0. */
  readonly element?: number
  /** The key of its lane: what `by` gave. */
  readonly lane?: string
  /** It is dead or parked, and those behind it in its lane wait. */
  readonly holdsLane?: boolean
  /** The batch that it is merged into. */
  readonly into?: string
  /** Above 1: it makes the effect of its key once more, on purpose. */
  readonly generation?: number
  /** What it is about, of `intake` alone. */
  readonly explanation?: string
  /** The instance of a workflow that it is of. */
  readonly instance?: string
  /** What it is of its workflow: `fire/3/book`, `stay/1/review`, `lock` … */
  readonly step?: string
  readonly history: readonly Attempt[]
  readonly ledger: LedgerEntry | null
  readonly deadLetter: DeadLetter | null
  /** Of an item that waits for a place in its lane. */
  readonly turn?: {
    /** How many wait before it; no more are counted than 1,000. */
    readonly ahead: number
    /** The item that waits just before it. */
    readonly behind: string | null
    /** A dead or parked item that holds the lane up. */
    readonly heldBy: string | null
  }
  /** The version of the definitions that brought the one it began with, while that is known. */
  readonly definitionVersion?: number
  /** Of a batch that is not over: the items that it stands for. */
  readonly members?: readonly ({
    readonly id: string
    readonly eventId: string
    readonly state: 'ready' | 'waiting' | 'leased' | 'done' | 'skipped' | 'merged' | 'parked' | 'dead' | 'cancelled'
    readonly key: string | null
  })[]
}

/** A workflow in force, and how many instances it has. */
export type Workflow = {
  readonly name: string
  readonly version: string
  /** Hash of the definition in force. */
  readonly definition: string
  readonly status: 'active' | 'paused' | 'disabled'
  readonly description: string | null
  /** Active instances, and those of them that a person should look at; each stops at 10,000. */
  readonly counts: {
    readonly active: number
    readonly attention: number
  }
  /** How many are active on each version. */
  readonly versions: readonly ({
    readonly definition: string
    readonly version: string
    readonly count: number
  })[]
}

/** A workflow with its net and its triggers. */
export type WorkflowDetail = {
  readonly name: string
  readonly version: string
  /** Hash of the definition in force. */
  readonly definition: string
  readonly status: 'active' | 'paused' | 'disabled'
  readonly description: string | null
  /** Active instances, and those of them that a person should look at; each stops at 10,000. */
  readonly counts: {
    readonly active: number
    readonly attention: number
  }
  /** How many are active on each version. */
  readonly versions: readonly ({
    readonly definition: string
    readonly version: string
    readonly count: number
  })[]
  /** The normal form of its definition. */
  readonly document: unknown
  /** To be drawn. */
  readonly net: {
    readonly start: string
    readonly places: readonly ({
      readonly name: string
      readonly type: 'normal' | 'waiting' | 'review' | 'error' | 'final'
      readonly description: string | null
      /** Of a workflow: of all active instances, on whichever version; of an instance: its own. */
      readonly tokens: number
      readonly timeout: {
        readonly afterMs: number
        readonly fire: string
      } | null
      /** The action for every token that comes in. */
      readonly onEnter: string | null
    })[]
    readonly transitions: readonly ({
      readonly name: string
      readonly description: string | null
      readonly from: readonly string[]
      readonly fromAny: readonly string[]
      /** All places that it may put a token in. */
      readonly to: readonly string[]
      readonly on: 'auto' | 'manual' | 'event' | 'timer'
      /** It fires by itself as soon as it can. */
      readonly isAutomatic: boolean
      /** Its condition, as written. */
      readonly when: string | null
      /** What it does: null where it only moves tokens. */
      readonly action: string | null
      readonly undo: boolean
      readonly permission: string | null
      /** JSON Schema of its input; null: anything. */
      readonly input: unknown
    })[]
    readonly arcs: readonly ({
      readonly place: string
      /** null: of a roll-back that is over, from `place` to `to`. */
      readonly transition: string | null
      /** `in` and `any` lead to the transition, the others from it. */
      readonly type: 'in' | 'any' | 'out' | 'choose' | 'failure' | 'undone'
      /** Of a branch of `choose`. */
      readonly when?: string
      readonly to?: string
    })[]
  }
  readonly triggers: readonly ({
    readonly id: string
    readonly on: readonly string[]
    readonly schedule: string | null
    readonly manual: boolean
    readonly permission: string | null
    readonly action: 'create' | 'update' | 'createOrUpdate'
    readonly fire: string | null
    /** JSON Schema of a manual start; null: anything. */
    readonly input: unknown
  })[]
}

/** What each operation takes and answers, by its operationId. */
export interface Operations {
  /** Take an escalation over; what fails of its cause afterwards raises another one */
  acknowledgeEscalation: {
    args: ({
      readonly id: string
    }) & ({
      /** It is kept. */
      readonly note?: string | undefined
    })
    answer: Escalation
  }
  /** Put definitions in force, all of them or none */
  applyDefinitions: {
    args: {
      readonly files: readonly ({
        /** Its name, for the findings. */
        readonly path: string
        /** YAML, or JSON when the path ends so. */
        readonly text: string
      })[]
      /** Also remove what was applied by the API, or is gone from the folder, and is not in the files. */
      readonly prune?: boolean | undefined
      /** The version that the plan was made on. */
      readonly base?: number | undefined
      readonly reason?: string | undefined
    }
    answer: {
      readonly version: number
      readonly hash: string
      readonly changes: readonly ({
        readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
        readonly name: string
        readonly change: 'create' | 'update' | 'remove' | 'unchanged'
      })[]
      readonly findings: readonly ({
        readonly severity: 'error' | 'warning' | 'info'
        readonly rule: string
        readonly message: string
        readonly file: string
        readonly line: number
        readonly column: number
        readonly suggestion?: string
        readonly trace?: readonly ({
          /** A transition, or the place whose `onEnter` it is. */
          readonly fire: string | null
          readonly way: 'start' | 'done' | 'failed' | 'enterFailed' | 'undone'
          readonly marking: Readonly<Record<string, number>>
          readonly conditions?: readonly string[]
        })[]
        /** What follows this step of the trace happens again and again. */
        readonly repeatsAfter?: number
      })[]
    }
  }
  /** Where a person goes to allow this tenant in, for credentials of the authorization code */
  authorizeCredential: {
    args: {
      readonly id: string
    }
    answer: {
      readonly url: string
      readonly expiresAt: string
    }
  }
  /** End a delivery that is not over; it is not sent any more */
  cancelDelivery: {
    args: ({
      readonly id: string
    }) & ({
      readonly reason: string
    })
    answer: Delivery
  }
  /** End an instance; nothing that was done is undone */
  cancelInstance: {
    args: ({
      readonly id: string
    }) & ({
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
    })
    answer: InstanceDetail
  }
  /** Stop a replay; what it replayed already runs on */
  cancelReplay: {
    args: ({
      readonly id: string
    }) & ({
      readonly reason?: string | undefined
    })
    answer: Replay
  }
  /** End an item that is ready or parked; what is unknown of its effect stays unknown */
  cancelWork: {
    args: ({
      readonly id: string
    }) & ({
      readonly reason: string
    })
    answer: Work
  }
  /** Check definitions without applying them */
  checkDefinitions: {
    args: {
      readonly files: readonly ({
        /** Its name, for the findings. */
        readonly path: string
        /** YAML, or JSON when the path ends so. */
        readonly text: string
      })[]
    }
    answer: {
      readonly ok: boolean
      readonly findings: readonly ({
        readonly severity: 'error' | 'warning' | 'info'
        readonly rule: string
        readonly message: string
        readonly file: string
        readonly line: number
        readonly column: number
        readonly suggestion?: string
        readonly trace?: readonly ({
          /** A transition, or the place whose `onEnter` it is. */
          readonly fire: string | null
          readonly way: 'start' | 'done' | 'failed' | 'enterFailed' | 'undone'
          readonly marking: Readonly<Record<string, number>>
          readonly conditions?: readonly string[]
        })[]
        /** What follows this step of the trace happens again and again. */
        readonly repeatsAfter?: number
      })[]
      readonly proofs: readonly ({
        readonly workflow: string
        readonly file: string
        readonly verdict: 'proved' | 'sound-ignoring-conditions' | 'not-proved' | 'unsound'
        readonly says: string
        readonly markings: number
      })[]
    }
  }
  /** Let a route that paused itself go on at once */
  closeCircuit: {
    args: ({
      readonly route: string
    }) & ({
      readonly reason: string
    })
    answer: {
      readonly route: string
      readonly status: 'active' | 'paused' | 'disabled'
      readonly priority: 'high' | 'normal' | 'low'
      /** The route pauses itself when too many of its calls fail. */
      readonly circuit: {
        readonly state: 'closed' | 'open' | 'half-open'
        readonly since: string | null
        /** When one item is tried, or until when one is being tried. */
        readonly tryAt: string | null
        /** Closed: in a row. Otherwise: how often it opened since then. */
        readonly failures: number
        readonly class: string | null
      }
      /** Calls that this node may make; null: no limit. */
      readonly rate: {
        readonly perMinute: number
        readonly burst: number
        readonly tokens: number
      } | null
      /** Whom it calls, where its address says so for every event. */
      readonly host: {
        readonly name: string
        readonly closedUntil: string | null
      } | null
      readonly drain: {
        readonly profile: string | null
        readonly nextAt: string
        readonly left: number
      } | null
      readonly limit: {
        readonly limit: number
        readonly running: number
      } | null
      /** The connection that it calls on, and why its jobs wait for it; null: it names none. */
      readonly connection: {
        readonly name: string
        /** `closed`: jobs wait, without using an attempt. `refused`: they become dead letters. */
        readonly state: 'open' | 'closed' | 'refused'
        readonly until: string | null
        readonly why: string | null
      } | null
    }
  }
  /** Let a step or a trigger that paused itself go on at once */
  closeWorkflowCircuit: {
    args: ({
      readonly workflow: string
    }) & ({
      readonly part: string
      readonly reason: string
    })
    answer: {
      readonly workflow: string
      /** The action of a transition (`fire/charge`), what undoes it (`undo/charge`), the agent of a place (`enter/review`), or a trigger by its number (`trigger/0`). */
      readonly part: string
      /** The part pauses itself, for all instances, when too many of its jobs fail. */
      readonly circuit: {
        readonly state: 'closed' | 'open' | 'half-open'
        readonly since: string | null
        /** When one item is tried, or until when one is being tried. */
        readonly tryAt: string | null
        /** Closed: in a row. Otherwise: how often it opened since then. */
        readonly failures: number
        readonly class: string | null
      }
    }
  }
  /** Let a paused node run on a copied data file, or with another master key */
  confirmCopy: {
    args: {
      /** The code of the message, such as `0a1b2c3d`. */
      readonly code: string
    }
    answer: {
      readonly isPaused: boolean
    }
  }
  /** Say to which instance it belongs: its trigger is run for that one */
  correlateOrphan: {
    args: ({
      readonly id: string
    }) & ({
      readonly instance: string
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
    })
    answer: Orphan
  }
  /** Make a key; its text is in this answer and nowhere else */
  createKey: {
    args: {
      readonly name: string
      readonly role: 'viewer' | 'operator' | 'admin'
      /** What it may do in workflows, beside its role; an admin may do all of it. */
      readonly permissions?: readonly string[] | undefined
      /** A duration such as `30d`; left out: never. */
      readonly expiresIn?: string | undefined
      /** Another tenant; for the node’s own admin. */
      readonly tenant?: string | undefined
    }
    answer: {
      readonly id: string
      readonly name: string
      readonly role: 'viewer' | 'operator' | 'admin'
      /** What it may do in workflows, beside its role. */
      readonly permissions: readonly string[]
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
  /** Let an endpoint get events; a generated secret is in this answer and nowhere else */
  createSubscription: {
    args: {
      /** Left out when it is created: one is made from the address. */
      readonly name?: string | undefined
      /** For people; it changes nothing. Left out: none. */
      readonly description?: string | null | undefined
      /** Where events are sent to: http or https, without a user, a password or a `#`. Sees `vars` alone; what the node does not allow is refused. */
      readonly url?: string | undefined
      /** Subjects that it wants; `*` is one token, `>` at the end one or more. */
      readonly on?: string | readonly string[] | undefined
      /** Which of these events: an expression or a filter. Left out: all of them. */
      readonly where?: unknown | undefined
      /** One of `active`, `paused`, `disabled`. `paused`: deliveries are kept and not sent. `disabled`: what arrives is skipped. Left out: `active`. */
      readonly status?: string | null | undefined
      /** The body that is sent. Left out: `id`, `type`, `timestamp` and `data` of the event. */
      readonly transform?: unknown | undefined
      /** Headers beside our own, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent. Left out: none. */
      readonly headers?: Readonly<Record<string, unknown>> | null | undefined
      /** What proves who calls, beside the signature. It has `bearer`, `basic`, `header`. Left out: the signature alone does. */
      readonly auth?: Readonly<Record<string, unknown>> | null | undefined
      /** What deliveries are signed with. It has `env`, `ref`, `file`. Left out: one is generated, and shown once. */
      readonly secret?: Readonly<Record<string, unknown>> | null | undefined
      /** One of `standard`, `ed25519`, `github`. How: with the headers of Standard Webhooks by a shared secret (`standard`) or a key pair (`ed25519`), or with `x-hub-signature-256` (`github`). Left out: `standard`. */
      readonly signing?: string | null | undefined
      /** The name of a profile, or a policy in place. Left out: `DELIVERY`. */
      readonly retry?: unknown | undefined
      /** Of one attempt, `1s` to `60s`. Left out: `15s`. */
      readonly timeout?: string | null | undefined
      /** How long a delivery may wait beside its retries, as when the endpoint asks for less. Left out: `24h`. */
      readonly maxWait?: string | null | undefined
      /** How long everything may fail before the subscription disables itself; `never`: it goes on for good. Left out: `5d`. */
      readonly disableAfter?: string | null | undefined
      /** How much is sent: a policy in place, or the name of a profile. Deliveries wait for their turn. Left out: as much as the endpoint bears. */
      readonly rateLimit?: unknown | undefined
      /** How many deliveries are under way at once. It has `limit`. Left out: as many as the endpoint bears, up to 64 a node. */
      readonly concurrency?: Readonly<Record<string, unknown>> | null | undefined
      /** The connection whose rate limits its deliveries share with the calls on it: the default bucket of its provider, also while that is closed after a 429. Address and proof stay those of the subscription. Left out: limits are those of the endpoint alone. */
      readonly connection?: string | null | undefined
      /** Deliveries of one value go one after another, in the order in which events were accepted. It has `by`, `onBlocked`. Left out: in any order. */
      readonly order?: Readonly<Record<string, unknown>> | null | undefined
      /** What its dead letters say. It has `severity`, `runbook`. */
      readonly deadLetter?: Readonly<Record<string, unknown>> | null | undefined
      /** `send`: what sources declare as sensitive is sent to this endpoint. Left out: it is sent as `[hidden]`. */
      readonly sensitive?: string | null | undefined
      /** Whose it is, in your own words; it changes nothing. Left out: none. */
      readonly metadata?: Readonly<Record<string, unknown>> | null | undefined
      readonly [name: string]: unknown
    }
    answer: SubscriptionMade
  }
  /** Make a tenant; it can have keys, secrets and definitions at once */
  createTenant: {
    args: {
      /** Small letters, digits and hyphens, at most 63, no hyphen first. */
      readonly name: string
      /** It must not hold control characters, line breaks or invisible marks. */
      readonly description?: string | undefined
    }
    answer: {
      readonly name: string
      readonly description: string | null
      readonly createdAt: string
      readonly createdBy: string
    }
  }
  /** Forget a subscription with its generated secret; its open deliveries end as cancelled */
  deleteSubscription: {
    args: {
      readonly name: string
    }
    answer: {
      readonly name: string
    }
  }
  /** Skip what arrives for a route, or refuse what comes to a source */
  disableDefinition: {
    args: ({
      readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
      readonly name: string
    }) & ({
      readonly reason?: string | undefined
    })
    answer: {
      readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
      readonly name: string
      readonly description: string | null
      /** In force; null for what has none. */
      readonly status: 'active' | 'paused' | 'disabled' | null
      /** What the document says. */
      readonly declaredStatus: 'active' | 'paused' | 'disabled' | null
      /** Who said otherwise than the document. */
      readonly control: {
        readonly by: string
        readonly at: string
        readonly reason: string | null
      } | null
      readonly hash: string
      readonly managedBy: 'folder' | 'api' | 'demo'
      /** The version of the definitions that brought it. */
      readonly version: number
      readonly updatedAt: string
      /** Of routes. */
      readonly on?: readonly string[]
      /** Of sources. */
      readonly subject?: string
      /** Of routes. */
      readonly action?: 'http' | 'upsert' | 'function' | 'emit' | 'start' | 'schedule' | 'unschedule' | 'agent' | 'operation'
      /** Of schedules; null while it does not fire. */
      readonly nextFireAt?: string | null
      /** Of schedules: the newest slot that became an event. */
      readonly lastFiredAt?: string | null
      /** Of sources that take from NATS, as the node that answers sees it. */
      readonly consumer?: {
        /** Waiting: it is tried again by itself. */
        readonly state: 'consuming' | 'waiting' | 'stopped'
        readonly why: string | null
      }
    }
  }
  /** Send nothing more: what comes is skipped and can be recovered, what waits stays */
  disableSubscription: {
    args: ({
      readonly name: string
    }) & ({
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
    })
    answer: Subscription
  }
  /** Discard a dead letter: it will not be replayed */
  discardDeadLetter: {
    args: ({
      readonly id: string
    }) & ({
      readonly reason: string
    })
    answer: DeadLetter
  }
  /** Discard an orphan; its event stays stored */
  discardOrphan: {
    args: ({
      readonly id: string
    }) & ({
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
    })
    answer: Orphan
  }
  /** Replay a copy of its event with another payload; the original stays as it is, and so does the key */
  editDeadLetter: {
    args: ({
      readonly id: string
    }) & ({
      /** The payload of the copy: any JSON value. */
      readonly data: unknown
      readonly reason: string
    })
    answer: DeadLetter
  }
  /** Change data of an instance; with `dryRun`, only show the difference */
  editInstance: {
    args: ({
      readonly id: string
    }) & ({
      readonly changes: readonly ({
        /** `data.customer.city`, `metadata.owner` or `correlation.order`. */
        readonly path: string
        /** Any JSON value; left out: the field goes. */
        readonly value?: unknown | undefined
      })[]
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
      /** Only say what would change. */
      readonly dryRun?: boolean | undefined
    })
    answer: {
      readonly dryRun: boolean
      readonly changes: readonly InstanceChange[]
      /** Transitions that begin by it. */
      readonly fires: readonly string[]
      readonly instance?: InstanceDetail
    }
  }
  /** Let a paused or disabled subscription get events again; from disabled, a test event goes first */
  enableSubscription: {
    args: ({
      readonly name: string
    }) & ({
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
    })
    answer: Subscription
  }
  /** Who wants an event by the definitions in force, who does not, and why */
  explainEvent: {
    args: {
      readonly id: string
    }
    answer: {
      readonly eventId: string
      readonly subject: string
      readonly consumers: readonly ({
        readonly kind: string
        readonly name: string
        readonly verdict: 'matched' | 'would-match' | 'gave-way' | 'ambiguous' | 'subject' | 'condition' | 'error' | 'kept' | 'unmatchable'
        readonly status: 'active' | 'paused' | 'disabled' | 'gone'
        readonly patterns: readonly string[]
        readonly why: readonly ({
          readonly part: string
          readonly holds: boolean
          /** What it looked at. */
          readonly saw?: string
        })[]
        readonly workId?: string
      })[]
    }
  }
  /** Why each transition can or cannot fire now, rule by rule, for the caller */
  explainInstance: {
    args: {
      readonly transition?: string | undefined
      readonly id: string
    }
    answer: {
      readonly transitions: readonly ({
        readonly name: string
        /** The caller could fire it by hand. */
        readonly canFire: boolean
        readonly rules: readonly ({
          readonly rule: string
          readonly holds: boolean
          readonly message: string
        })[]
      })[]
    }
  }
  /** Where a vendor sends people back whom it asked whether we may come in */
  finishAuthorization: {
    args: {
      /** As the link carried it. */
      readonly state?: string | undefined
      /** What the vendor gives when the person agreed. */
      readonly code?: string | undefined
      /** Why it gives none. */
      readonly error?: string | undefined
    }
    answer: undefined
  }
  /** Fire a transition by hand */
  fireTransition: {
    args: ({
      readonly id: string
    }) & ({
      readonly transition: string
      /** What the transition’s `input` asks for. */
      readonly input?: unknown | undefined
      /** Kept in the history. */
      readonly comment?: string | undefined
    })
    answer: InstanceDetail
  }
  /** A connection: its status, health, circuit and limits */
  getConnection: {
    args: {
      readonly id: string
    }
    answer: ConnectionDetail
  }
  /** A credential with its versions and rotations; never a value */
  getCredential: {
    args: {
      readonly id: string
    }
    answer: Credential
  }
  /** A dead letter with its event and its tries */
  getDeadLetter: {
    args: {
      readonly id: string
    }
    answer: DeadLetterDetail
  }
  /** A definition as it is in force, as it was written, and its history */
  getDefinition: {
    args: {
      readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
      readonly name: string
    }
    answer: {
      readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
      readonly name: string
      readonly description: string | null
      /** In force; null for what has none. */
      readonly status: 'active' | 'paused' | 'disabled' | null
      /** What the document says. */
      readonly declaredStatus: 'active' | 'paused' | 'disabled' | null
      /** Who said otherwise than the document. */
      readonly control: {
        readonly by: string
        readonly at: string
        readonly reason: string | null
      } | null
      readonly hash: string
      readonly managedBy: 'folder' | 'api' | 'demo'
      /** The version of the definitions that brought it. */
      readonly version: number
      readonly updatedAt: string
      /** Of routes. */
      readonly on?: readonly string[]
      /** Of sources. */
      readonly subject?: string
      /** Of routes. */
      readonly action?: 'http' | 'upsert' | 'function' | 'emit' | 'start' | 'schedule' | 'unschedule' | 'agent' | 'operation'
      /** Of schedules; null while it does not fire. */
      readonly nextFireAt?: string | null
      /** Of schedules: the newest slot that became an event. */
      readonly lastFiredAt?: string | null
      /** Of sources that take from NATS, as the node that answers sees it. */
      readonly consumer?: {
        /** Waiting: it is tried again by itself. */
        readonly state: 'consuming' | 'waiting' | 'stopped'
        readonly why: string | null
      }
      /** The normal form: defaults filled in, units resolved. */
      readonly document: unknown
      /** As it was written. */
      readonly yaml: string
      /** The file it was written in. */
      readonly path: string | null
      readonly history: readonly ({
        readonly hash: string
        readonly appliedAt: string
        readonly by: string
        readonly version: number
      })[]
    }
  }
  /** A delivery with every try, how each answer began, and what would be sent now */
  getDelivery: {
    args: {
      readonly id: string
    }
    answer: DeliveryDetail
  }
  /** Whether there is a demo, and how far its stream is */
  getDemo: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly available: boolean
      readonly isSending: boolean
      readonly sent: number
      readonly total: number
    }
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
  /** An escalation */
  getEscalation: {
    args: {
      readonly id: string
    }
    answer: Escalation
  }
  /** An event and everything that followed from it */
  getEvent: {
    args: {
      readonly id: string
    }
    answer: EventDetail
  }
  /** The body of an event, byte for byte as it was received, with its content type */
  getEventBody: {
    args: {
      readonly id: string
    }
    answer: undefined
  }
  /** A failure */
  getFailure: {
    args: {
      readonly id: string
    }
    answer: Failure
  }
  /** Whether the process lives */
  getHealth: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly status: string
    }
  }
  /** An instance as it is, or as it was at a moment or step */
  getInstance: {
    args: {
      /** An instant (`2026-11-16T09:30:00Z`), or the number of a step of its history. */
      readonly at?: string | undefined
      readonly id: string
    }
    answer: InstanceDetail
  }
  /** Who the caller is, and where */
  getMe: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly tenant: string
      readonly role: 'viewer' | 'operator' | 'admin'
      readonly permissions: readonly string[]
      readonly actor: string
      readonly isNodeAdmin: boolean
      readonly environment: string
      readonly version: string
      readonly node: string
      readonly nodeRoles: readonly ('ingest' | 'api' | 'work' | 'schedule' | 'deliver')[]
    }
  }
  /** Figures of this node, as Prometheus reads them */
  getMetrics: {
    args: Readonly<Record<never, never>>
    answer: undefined
  }
  /** This document */
  getOpenApi: {
    args: Readonly<Record<never, never>>
    answer: Readonly<Record<string, unknown>>
  }
  /** An orphan; its event is read by `eventId` */
  getOrphan: {
    args: {
      readonly id: string
    }
    answer: Orphan
  }
  /** How much there is to do, and what this node did in the last minute */
  getOverview: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly now: string
      /** Each is counted up to a cap. */
      readonly counts: {
        readonly ready: number
        readonly leased: number
        readonly parked: number
        readonly openDeadLetters: number
        readonly openFailures: number
        readonly raisedEscalations: number
        readonly activeInstances: number
        readonly instancesWithAttention: number
        readonly openOrphans: number
        readonly unmatched: number
      }
      /** There are at least as many as the count says. */
      readonly isCapped: {
        readonly ready: boolean
        readonly leased: boolean
        readonly parked: boolean
        readonly openDeadLetters: boolean
        readonly openFailures: boolean
        readonly raisedEscalations: boolean
        readonly activeInstances: boolean
        readonly instancesWithAttention: boolean
        readonly openOrphans: boolean
        readonly unmatched: boolean
      }
      /** Since when the oldest ready work is due. */
      readonly oldestReadyAt: string | null
      readonly definitions: {
        readonly sources: number
        readonly routes: number
        readonly workflows: number
        readonly paused: number
      }
      /** Endpoints that get our events, by status. */
      readonly subscriptions: {
        readonly active: number
        readonly failing: number
        readonly paused: number
        readonly disabled: number
      }
      /** What this node did in the last minute. */
      readonly rates: {
        readonly acceptedPerMinute: number
        readonly donePerMinute: number
        readonly failedPerMinute: number
      }
    }
  }
  /** When the work of a route may run, and how much of it there is */
  getPace: {
    args: {
      readonly route: string
    }
    answer: {
      readonly route: string
      readonly status: 'active' | 'paused' | 'disabled'
      readonly priority: 'high' | 'normal' | 'low'
      /** The route pauses itself when too many of its calls fail. */
      readonly circuit: {
        readonly state: 'closed' | 'open' | 'half-open'
        readonly since: string | null
        /** When one item is tried, or until when one is being tried. */
        readonly tryAt: string | null
        /** Closed: in a row. Otherwise: how often it opened since then. */
        readonly failures: number
        readonly class: string | null
      }
      /** Calls that this node may make; null: no limit. */
      readonly rate: {
        readonly perMinute: number
        readonly burst: number
        readonly tokens: number
      } | null
      /** Whom it calls, where its address says so for every event. */
      readonly host: {
        readonly name: string
        readonly closedUntil: string | null
      } | null
      readonly drain: {
        readonly profile: string | null
        readonly nextAt: string
        readonly left: number
      } | null
      readonly limit: {
        readonly limit: number
        readonly running: number
      } | null
      /** The connection that it calls on, and why its jobs wait for it; null: it names none. */
      readonly connection: {
        readonly name: string
        /** `closed`: jobs wait, without using an attempt. `refused`: they become dead letters. */
        readonly state: 'open' | 'closed' | 'refused'
        readonly until: string | null
        readonly why: string | null
      } | null
      /** Items that are due or will be, that wait for a place in a lane, and in hand. Each stops at `cappedAt`. */
      readonly work: {
        readonly ready: number
        readonly waiting: number
        readonly leased: number
        readonly cappedAt: number
      }
    }
  }
  /** A provider with its operations and what they take and give */
  getProvider: {
    args: {
      readonly id: string
    }
    answer: ProviderDetail
  }
  /** Whether the node can take and do work now */
  getReadiness: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly status: string
      readonly reasons: readonly string[]
      /** What an operator should do although the node is ready. */
      readonly notes?: readonly string[]
      readonly checks: {
        readonly store: 'ok' | 'away'
        readonly lease: 'held' | 'lost'
        readonly bus: 'ok' | 'away' | 'none'
        readonly code?: 'refused'
      }
    }
  }
  /** One refused bundle with its text */
  getRefusedCode: {
    args: {
      readonly id: string
    }
    answer: {
      /** The SHA-256 of its text. */
      readonly codeHash: string
      /** The file of the folder that it was made of. */
      readonly file: string
      readonly bytes: number
      /** Why it must not run, and what to do. */
      readonly why: string
      /** Definitions that pin it, in any stored version, as `default/Route/book`. Empty: no job needs it. */
      readonly usedBy: readonly string[]
      readonly text: string
    }
  }
  /** A replay and how far it is */
  getReplay: {
    args: {
      readonly id: string
    }
    answer: Replay
  }
  /** A run with its attempts: what was sent and answered, redacted */
  getRun: {
    args: {
      readonly id: string
    }
    answer: Run
  }
  /** What this node did over the last minutes: by 2 seconds up to 15 minutes, by the minute beyond */
  getStats: {
    args: {
      readonly minutes?: number | undefined
    }
    answer: {
      readonly stepMs: number
      /** When the first bucket begins; the last one is still filling. */
      readonly from: string
      readonly accepted: readonly number[]
      readonly done: readonly number[]
      readonly retried: readonly number[]
      readonly dead: readonly number[]
      /** From received to done; off by a fifth at most. */
      readonly latencyP50Ms: readonly (number | null)[]
      readonly latencyP95Ms: readonly (number | null)[]
      /** How long the oldest ready job has been due; null if it was not measured. */
      readonly queueAgeMs: readonly (number | null)[]
      readonly consumers: readonly ({
        readonly consumer: string
        readonly perMinute: number
        readonly done: number
        readonly retried: number
        readonly dead: number
      })[]
      readonly sources: readonly ({
        readonly source: string
        readonly perMinute: number
        readonly accepted: number
      })[]
    }
  }
  /** A subject with its schema, an example, and the routes that want it */
  getSubject: {
    args: {
      readonly subject: string
    }
    answer: {
      /** A pattern where a part of it is computed. */
      readonly subject: string
      /** A source, `route:<name>` or `function:<name>`. */
      readonly source: string
      /** The ready mapping that it comes from. */
      readonly mapping: string | null
      readonly description: string | null
      readonly hasSchema: boolean
      readonly example?: unknown
      /** null: none. */
      readonly schema: unknown
      readonly routes: readonly string[]
    }
  }
  /** A subscription: what it says, how it goes, and what it signs with; never the secret */
  getSubscription: {
    args: {
      readonly name: string
    }
    answer: SubscriptionDetail
  }
  /** One value that differs by environment */
  getVar: {
    args: {
      readonly name: string
    }
    answer: {
      readonly name: string
      /** What holds on the node that answers. */
      readonly value: unknown
      /** Where that comes from: `values`, `environments`, or a setting of the node. */
      readonly from: 'default' | 'environment' | 'setting'
      /** The setting of the node that gives the value. */
      readonly setting: string | null
      /** Where an environment has no value of its own; null: there is none. */
      readonly default: unknown
      /** By environment, what differs there. */
      readonly environments: Readonly<Record<string, unknown>>
      /** The document that defines it. */
      readonly definition: string
      readonly managedBy: 'folder' | 'api' | 'demo'
      /** Deployed definitions that depend on it. */
      readonly readers: readonly ({
        readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
        readonly name: string
      })[]
      /** Nodes of the same database whose settings give another value. They should agree. */
      readonly differsOn: readonly string[]
    }
  }
  /** A work item with its tries, its effect and its dead letter */
  getWork: {
    args: {
      readonly id: string
    }
    answer: WorkStory
  }
  /** A workflow with its net, its triggers, and where the tokens of its instances are */
  getWorkflow: {
    args: {
      readonly name: string
    }
    answer: WorkflowDetail
  }
  /** Let those behind a dead or parked item go on; the item itself stays as it is */
  leaveLane: {
    args: ({
      readonly id: string
    }) & ({
      readonly reason: string
    })
    answer: Work
  }
  /** The subjects that can be published, by source */
  listCatalog: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly source?: string | undefined
      /** A part of the subject or of its description. */
      readonly q?: string | undefined
      /** `true`: only those that a route waits for. */
      readonly wanted?: boolean | undefined
    }
    answer: {
      readonly items: readonly ({
        /** A pattern where a part of it is computed. */
        readonly subject: string
        /** A source, `route:<name>` or `function:<name>`. */
        readonly source: string
        /** The ready mapping that it comes from. */
        readonly mapping: string | null
        readonly description: string | null
        readonly hasSchema: boolean
        readonly example?: unknown
      })[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** The latest looks at the other side, the last one first */
  listConnectionHealth: {
    args: {
      readonly id: string
    }
    answer: {
      readonly items: readonly Probe[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** The tenant’s accounts at other systems, with their health */
  listConnections: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly items: readonly Connection[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** What opens the tenant’s accounts: which secret, in which version; never a value */
  listCredentials: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly items: readonly Credential[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** Dead letters of one state grouped by what killed them, the largest group first */
  listDeadLetterGroups: {
    args: {
      readonly state?: 'open' | 'ready_to_replay' | 'replaying' | 'resolved' | 'discarded' | undefined
    }
    answer: {
      readonly items: readonly DeadLetterGroup[]
      readonly nextCursor: null
      /** There are more letters or groups than were looked at. */
      readonly isCapped: boolean
    }
  }
  /** Dead letters, newest first */
  listDeadLetters: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly state?: 'open' | 'ready_to_replay' | 'replaying' | 'resolved' | 'discarded' | undefined
      readonly consumer?: string | undefined
      readonly class?: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown' | undefined
      readonly reason?: 'cap_reached' | 'expired' | 'crash_loop' | 'unparseable' | 'rejected' | 'definition_missing' | 'config_missing' | 'ambiguous_routes' | 'too_many_elements' | 'rotation_failed' | 'over_rate_limit' | undefined
      /** As the groups tell it. A page by this or what follows may hold fewer items than asked while `nextCursor` is not null. */
      readonly cause?: string | undefined
      /** Under this idempotency key. */
      readonly key?: string | undefined
      /** Of this chain of causes. */
      readonly correlationId?: string | undefined
      readonly severity?: string | undefined
      /** Died at this instant or later. */
      readonly from?: string | undefined
      /** Died before this instant. */
      readonly to?: string | undefined
    }
    answer: {
      readonly items: readonly DeadLetter[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** The versions of the definitions, newest first */
  listDefinitionVersions: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
    }
    answer: {
      readonly items: readonly ({
        readonly version: number
        readonly hash: string
        readonly appliedAt: string
        readonly by: string
        readonly reason: string | null
        /** How many definitions differ from the version before. */
        readonly changes: number
      })[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** The definitions in force */
  listDefinitions: {
    args: {
      readonly kind?: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars' | undefined
    }
    answer: {
      readonly items: readonly ({
        readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
        readonly name: string
        readonly description: string | null
        /** In force; null for what has none. */
        readonly status: 'active' | 'paused' | 'disabled' | null
        /** What the document says. */
        readonly declaredStatus: 'active' | 'paused' | 'disabled' | null
        /** Who said otherwise than the document. */
        readonly control: {
          readonly by: string
          readonly at: string
          readonly reason: string | null
        } | null
        readonly hash: string
        readonly managedBy: 'folder' | 'api' | 'demo'
        /** The version of the definitions that brought it. */
        readonly version: number
        readonly updatedAt: string
        /** Of routes. */
        readonly on?: readonly string[]
        /** Of sources. */
        readonly subject?: string
        /** Of routes. */
        readonly action?: 'http' | 'upsert' | 'function' | 'emit' | 'start' | 'schedule' | 'unschedule' | 'agent' | 'operation'
        /** Of schedules; null while it does not fire. */
        readonly nextFireAt?: string | null
        /** Of schedules: the newest slot that became an event. */
        readonly lastFiredAt?: string | null
        /** Of sources that take from NATS, as the node that answers sees it. */
        readonly consumer?: {
          /** Waiting: it is tried again by itself. */
          readonly state: 'consuming' | 'waiting' | 'stopped'
          readonly why: string | null
        }
      })[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** Deliveries, newest first */
  listDeliveries: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly subscription?: string | undefined
      readonly state?: 'pending' | 'delivering' | 'retrying' | 'delivered' | 'dead-lettered' | 'cancelled' | 'skipped' | undefined
      readonly eventId?: string | undefined
      /** Made at this instant or later. */
      readonly from?: string | undefined
      /** Made before this instant. */
      readonly to?: string | undefined
    }
    answer: {
      readonly items: readonly Delivery[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** What people should look at, newest first */
  listEscalations: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly state?: 'raised' | 'acknowledged' | undefined
      readonly consumer?: string | undefined
    }
    answer: {
      readonly items: readonly Escalation[]
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
      /** About this object. */
      readonly objectId?: string | undefined
      /** Of this chain of causes. */
      readonly correlationId?: string | undefined
      /** Received at this instant or later. */
      readonly from?: string | undefined
      /** Received before this instant. */
      readonly to?: string | undefined
      /** A piece of the id, subject, source, object id, correlation id, dedup key or payload; small and capital letters are alike. Or the whole key of an effect, as the ledger has it. */
      readonly q?: string | undefined
      readonly unmatched?: boolean | undefined
      /** `true`: also the events about Millrace itself, such as `webhook.delivered`, which are left out otherwise. The source `millrace` and the id of one in `q` ask for them too. */
      readonly system?: boolean | undefined
    }
    answer: {
      readonly items: readonly Event[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** What went wrong, newest first */
  listFailures: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly state?: 'open' | 'resolved' | 'escalated' | undefined
      readonly consumer?: string | undefined
      readonly class?: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown' | undefined
      /** The `cause` of an escalation: the failures that it counts. */
      readonly cause?: string | undefined
    }
    answer: {
      readonly items: readonly Failure[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** Dead and parked items that hold their lanes up, newest first */
  listHeldLanes: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
    }
    answer: {
      readonly items: readonly ({
        readonly route: string
        /** What `by` gave. */
        readonly lane: string
        /** How many wait behind it. */
        readonly waiting: number
        readonly work: Work
      })[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** Everything that happened to an instance, oldest first */
  listInstanceHistory: {
    args: {
      /** Only what comes behind this step. */
      readonly after?: number | undefined
      readonly limit?: number | undefined
      readonly id: string
    }
    answer: {
      readonly items: readonly InstanceHistory[]
      /** Give it back as `after` to get the next page; null at the end. */
      readonly nextAfter: number | null
    }
  }
  /** The work items of an instance, by birth, a thousand at most */
  listInstanceWork: {
    args: {
      readonly id: string
    }
    answer: {
      readonly items: readonly Work[]
      readonly nextCursor: null
    }
  }
  /** Instances of a workflow, newest first */
  listInstances: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly state?: 'active' | 'completed' | 'failed' | 'cancelled' | undefined
      /** Active, with a token there. */
      readonly place?: string | undefined
      /** Active, and a person should look at them, for this reason or any. */
      readonly attention?: 'step_failed' | 'step_parked' | 'undo_failed' | 'stuck' | 'lock_expired' | 'any' | undefined
      /** Active, and on the definition of this hash. */
      readonly definition?: string | undefined
      readonly name: string
    }
    answer: {
      readonly items: readonly Instance[]
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
        /** What it may do in workflows, beside its role. */
        readonly permissions: readonly string[]
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
      /** `unknown` are the outcomes that wait for a person. */
      readonly state?: 'reserved' | 'done' | 'released' | 'unknown' | undefined
      readonly consumer?: string | undefined
      readonly key?: string | undefined
    }
    answer: {
      readonly items: readonly LedgerEntry[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** All generations of a key, the first one first: each is one requested effect */
  listLedgerHistory: {
    args: {
      readonly key: string
    }
    answer: {
      readonly items: readonly LedgerEntry[]
      readonly nextCursor: null
    }
  }
  /** Events that found no instance, or several, newest first */
  listOrphans: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly state?: 'waiting' | 'open' | 'correlated' | 'discarded' | undefined
      readonly workflow?: string | undefined
    }
    answer: {
      readonly items: readonly Orphan[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** When the work of each route may run, and the circuits of workflows, as this node knows it */
  listPace: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly items: readonly ({
        readonly route: string
        readonly status: 'active' | 'paused' | 'disabled'
        readonly priority: 'high' | 'normal' | 'low'
        /** The route pauses itself when too many of its calls fail. */
        readonly circuit: {
          readonly state: 'closed' | 'open' | 'half-open'
          readonly since: string | null
          /** When one item is tried, or until when one is being tried. */
          readonly tryAt: string | null
          /** Closed: in a row. Otherwise: how often it opened since then. */
          readonly failures: number
          readonly class: string | null
        }
        /** Calls that this node may make; null: no limit. */
        readonly rate: {
          readonly perMinute: number
          readonly burst: number
          readonly tokens: number
        } | null
        /** Whom it calls, where its address says so for every event. */
        readonly host: {
          readonly name: string
          readonly closedUntil: string | null
        } | null
        readonly drain: {
          readonly profile: string | null
          readonly nextAt: string
          readonly left: number
        } | null
        readonly limit: {
          readonly limit: number
          readonly running: number
        } | null
        /** The connection that it calls on, and why its jobs wait for it; null: it names none. */
        readonly connection: {
          readonly name: string
          /** `closed`: jobs wait, without using an attempt. `refused`: they become dead letters. */
          readonly state: 'open' | 'closed' | 'refused'
          readonly until: string | null
          readonly why: string | null
        } | null
      })[]
      readonly workflows: readonly ({
        readonly workflow: string
        /** The action of a transition (`fire/charge`), what undoes it (`undo/charge`), the agent of a place (`enter/review`), or a trigger by its number (`trigger/0`). */
        readonly part: string
        /** The part pauses itself, for all instances, when too many of its jobs fail. */
        readonly circuit: {
          readonly state: 'closed' | 'open' | 'half-open'
          readonly since: string | null
          /** When one item is tried, or until when one is being tried. */
          readonly tryAt: string | null
          /** Closed: in a row. Otherwise: how often it opened since then. */
          readonly failures: number
          readonly class: string | null
        }
      })[]
    }
  }
  /** The systems that connections may lead to: built in, or described by definitions */
  listProviders: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly items: readonly Provider[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** Stored code that this node refuses to run */
  listRefusedCode: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly items: readonly ({
        /** The SHA-256 of its text. */
        readonly codeHash: string
        /** The file of the folder that it was made of. */
        readonly file: string
        readonly bytes: number
        /** Why it must not run, and what to do. */
        readonly why: string
        /** Definitions that pin it, in any stored version, as `default/Route/book`. Empty: no job needs it. */
        readonly usedBy: readonly string[]
      })[]
    }
  }
  /** Requests that were refused on the way in, newest first, and how many of each reason */
  listRejections: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly source?: string | undefined
      readonly reason?: 'unknown_source' | 'source_disabled' | 'address_refused' | 'handshake_refused' | 'rate_limited' | 'backlog_full' | 'signature_missing' | 'signature_wrong' | 'signature_expired' | 'secret_missing' | 'not_json' | 'duplicate_key' | 'number_out_of_range' | 'body_unreadable' | 'too_deep' | 'unnamed_event' | 'event_invalid' | 'body_too_large' | 'headers_too_large' | 'expectation_failed' | 'request_timeout' | 'wrong_type' | 'not_authenticated' | 'not_allowed' | 'permission_needed' | 'wrong_origin' | 'limited' | 'secret_unreadable' | 'vault_sealed' | 'vault_denied' | 'vault_unavailable' | 'not_found' | 'method_not_allowed' | 'invalid_request' | 'invalid_cursor' | 'conflict' | 'tenant_limit' | 'replays_exhausted' | 'reason_required' | 'definition_missing' | 'instance_ended' | 'unknown_transition' | 'unknown_place' | 'cannot_fire' | 'shut_out' | 'invalid_input' | 'mapping_failed' | 'firing_gone' | 'in_doubt' | 'cannot_migrate' | 'endless_loop' | 'versions_unsupported' | 'check_too_long' | 'definitions_invalid' | 'managed_by_folder' | 'unknown_subscription' | 'subscription_invalid' | 'name_taken' | 'endpoint_refused' | 'overlap_invalid' | 'signing_secret_invalid' | 'secret_in_environment' | 'secret_shown' | 'provider_unknown' | 'credential_unknown' | 'integration_invalid' | 'credential_missing_value' | 'credential_scope_missing' | 'credential_refused' | 'refresh_token_expired' | 'oauth_refused' | 'oauth_state_invalid' | 'oauth_unavailable' | 'rotation_cool_down' | 'subscription_disabled' | 'nothing_to_recover' | 'demo_unavailable' | 'idempotency_mismatch' | 'idempotency_running' | 'source_unusable' | 'role_missing' | 'node_paused' | 'shutting_down' | 'store_unavailable' | 'overloaded' | 'internal' | undefined
    }
    answer: {
      readonly items: readonly ({
        readonly at: string
        /** As it was asked for, whether it is defined or not. */
        readonly source: string
        /** An error code. */
        readonly reason: string
        readonly status: number
        /** The sender’s, after trusted proxies. */
        readonly address: string
        readonly detail: string
      })[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
      readonly counts: readonly ({
        /** null: all sources together that are not defined. */
        readonly source: string | null
        readonly reason: string
        readonly count: number
        readonly latestAt: string
      })[]
    }
  }
  /** Replays of many dead letters, newest first */
  listReplays: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
    }
    answer: {
      readonly items: readonly Replay[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** Outbound operations with their attempts, newest first */
  listRuns: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly connection?: string | undefined
      readonly state?: 'pending' | 'running' | 'completed' | 'failed' | 'dead-lettered' | undefined
      readonly purpose?: 'work' | 'test' | 'verification' | undefined
      readonly via?: 'connection' | 'http' | 'upsert' | 'function' | 'agent' | 'delivery' | undefined
      readonly workId?: string | undefined
    }
    answer: {
      readonly items: readonly Run[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** Names and versions of the tenant’s secrets; never their values */
  listSecrets: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
    }
    answer: {
      readonly items: readonly ({
        readonly name: string
        /** Of the value in use; null: there is only a pending one. */
        readonly version: number | null
        /** Of the value in use: tells values apart and says nothing of them. null: there is none, or it does not open. */
        readonly fingerprint: string | null
        readonly hasPending: boolean
        /** Of the pending value. */
        readonly pendingFingerprint: string | null
        /** Until when each former value is valid beside the one in use, the latest one first. */
        readonly oldUntil: readonly string[]
        readonly updatedAt: string
        readonly updatedBy: string
      })[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** Endpoints that get events, by name, with their health */
  listSubscriptions: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly status?: 'active' | 'failing' | 'paused' | 'disabled' | undefined
      /** A piece of the name, description, address, patterns or metadata. */
      readonly q?: string | undefined
    }
    answer: {
      readonly items: readonly Subscription[]
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
  /** Unmatched events, newest first */
  listUnmatched: {
    args: {
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
      readonly source?: string | undefined
      readonly subject?: string | undefined
      /** About this object. */
      readonly objectId?: string | undefined
      /** Of this chain of causes. */
      readonly correlationId?: string | undefined
      /** Received at this instant or later. */
      readonly from?: string | undefined
      /** Received before this instant. */
      readonly to?: string | undefined
      /** A piece of the id, subject, source, object id, correlation id, dedup key or payload; small and capital letters are alike. Or the whole key of an effect, as the ledger has it. */
      readonly q?: string | undefined
    }
    answer: {
      readonly items: readonly Event[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** The values that differ by environment, where each comes from, and what reads it */
  listVars: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly items: readonly ({
        readonly name: string
        /** What holds on the node that answers. */
        readonly value: unknown
        /** Where that comes from: `values`, `environments`, or a setting of the node. */
        readonly from: 'default' | 'environment' | 'setting'
        /** The setting of the node that gives the value. */
        readonly setting: string | null
        /** Where an environment has no value of its own; null: there is none. */
        readonly default: unknown
        /** By environment, what differs there. */
        readonly environments: Readonly<Record<string, unknown>>
        /** The document that defines it. */
        readonly definition: string
        readonly managedBy: 'folder' | 'api' | 'demo'
        /** Deployed definitions that depend on it. */
        readonly readers: readonly ({
          readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
          readonly name: string
        })[]
        /** Nodes of the same database whose settings give another value. They should agree. */
        readonly differsOn: readonly string[]
      })[]
      /** Give it back as `cursor` to get the next page; null at the end. */
      readonly nextCursor: string | null
    }
  }
  /** The public keys that deliveries of an ed25519 subscription are verified with, the current first */
  listWebhookKeys: {
    args: {
      readonly tenant: string
      readonly name: string
    }
    answer: {
      readonly keys: readonly ({
        readonly id: string
        readonly algorithm: 'ed25519'
        /** `whpk_` and the base64 of the public key. */
        readonly key: string
      })[]
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
  /** The workflows in force that the caller may see */
  listWorkflows: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly items: readonly Workflow[]
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
  /** Bring an instance to the version of its workflow that is in force */
  migrateInstance: {
    args: ({
      readonly id: string
    }) & ({
      /** Only say what would change. */
      readonly dryRun?: boolean | undefined
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
    })
    answer: {
      readonly id: string
      readonly from: string
      readonly to: string
      /** It can be done; of a run: it was done. */
      readonly ok: boolean
      readonly message: string
      /** Place → tokens; places without any are left out. */
      readonly before: Readonly<Record<string, number>>
      /** Place → tokens; places without any are left out. */
      readonly after: Readonly<Record<string, number>>
      readonly changes: readonly ({
        /** `data.x.y`, `metadata.x` or `correlation.name`. */
        readonly path: string
        /** Left out: it was not there. */
        readonly before?: unknown
        /** Left out: it is not there any more. */
        readonly after?: unknown
        /** The workflow keeps no values in its history: only that it changed is known. */
        readonly hidden?: boolean
      })[]
      /** The new instance that took over; null: this one goes on, or was only looked at. */
      readonly successor: string | null
    }
  }
  /** Bring active instances of older versions to the one in force, a page at a time */
  migrateInstances: {
    args: ({
      readonly name: string
    }) & ({
      /** Only those on this version; left out: on any other than the one in force. */
      readonly from?: string | undefined
      /** Only say what would change. */
      readonly dryRun?: boolean | undefined
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
      readonly cursor?: string | undefined
      readonly limit?: number | undefined
    })
    answer: {
      readonly items: readonly ({
        readonly id: string
        readonly from: string
        readonly to: string
        /** It can be done; of a run: it was done. */
        readonly ok: boolean
        readonly message: string
        /** Place → tokens; places without any are left out. */
        readonly before: Readonly<Record<string, number>>
        /** Place → tokens; places without any are left out. */
        readonly after: Readonly<Record<string, number>>
        readonly changes: readonly ({
          /** `data.x.y`, `metadata.x` or `correlation.name`. */
          readonly path: string
          /** Left out: it was not there. */
          readonly before?: unknown
          /** Left out: it is not there any more. */
          readonly after?: unknown
          /** The workflow keeps no values in its history: only that it changed is known. */
          readonly hidden?: boolean
        })[]
        /** The new instance that took over; null: this one goes on, or was only looked at. */
        readonly successor: string | null
      })[]
      /** Of this page. */
      readonly migrated: number
      /** Of this page: they stay on their version. */
      readonly refused: number
      /** How many are still on the versions asked for. */
      readonly left: number
      readonly nextCursor: string | null
    }
  }
  /** Move tokens from places to others, past every transition */
  moveTokens: {
    args: ({
      readonly id: string
    }) & ({
      /** A place, a list of places, or how many tokens of each: `{"review": 2}`. */
      readonly from: string | readonly string[] | Readonly<Record<string, number>>
      /** A place, a list of places, or how many tokens of each: `{"review": 2}`. */
      readonly to: string | readonly string[] | Readonly<Record<string, number>>
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
    })
    answer: InstanceDetail
  }
  /** Change the fields that are given; null takes one back to its default */
  patchSubscription: {
    args: ({
      readonly name: string
    }) & ({
      /** For people; it changes nothing. Left out: none. */
      readonly description?: string | null | undefined
      /** Where events are sent to: http or https, without a user, a password or a `#`. Sees `vars` alone; what the node does not allow is refused. */
      readonly url?: string | undefined
      /** Subjects that it wants; `*` is one token, `>` at the end one or more. */
      readonly on?: string | readonly string[] | undefined
      /** Which of these events: an expression or a filter. Left out: all of them. */
      readonly where?: unknown | undefined
      /** One of `active`, `paused`, `disabled`. `paused`: deliveries are kept and not sent. `disabled`: what arrives is skipped. Left out: `active`. */
      readonly status?: string | null | undefined
      /** The body that is sent. Left out: `id`, `type`, `timestamp` and `data` of the event. */
      readonly transform?: unknown | undefined
      /** Headers beside our own, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent. Left out: none. */
      readonly headers?: Readonly<Record<string, unknown>> | null | undefined
      /** What proves who calls, beside the signature. It has `bearer`, `basic`, `header`. Left out: the signature alone does. */
      readonly auth?: Readonly<Record<string, unknown>> | null | undefined
      /** What deliveries are signed with. It has `env`, `ref`, `file`. Left out: one is generated, and shown once. */
      readonly secret?: Readonly<Record<string, unknown>> | null | undefined
      /** One of `standard`, `ed25519`, `github`. How: with the headers of Standard Webhooks by a shared secret (`standard`) or a key pair (`ed25519`), or with `x-hub-signature-256` (`github`). Left out: `standard`. */
      readonly signing?: string | null | undefined
      /** The name of a profile, or a policy in place. Left out: `DELIVERY`. */
      readonly retry?: unknown | undefined
      /** Of one attempt, `1s` to `60s`. Left out: `15s`. */
      readonly timeout?: string | null | undefined
      /** How long a delivery may wait beside its retries, as when the endpoint asks for less. Left out: `24h`. */
      readonly maxWait?: string | null | undefined
      /** How long everything may fail before the subscription disables itself; `never`: it goes on for good. Left out: `5d`. */
      readonly disableAfter?: string | null | undefined
      /** How much is sent: a policy in place, or the name of a profile. Deliveries wait for their turn. Left out: as much as the endpoint bears. */
      readonly rateLimit?: unknown | undefined
      /** How many deliveries are under way at once. It has `limit`. Left out: as many as the endpoint bears, up to 64 a node. */
      readonly concurrency?: Readonly<Record<string, unknown>> | null | undefined
      /** The connection whose rate limits its deliveries share with the calls on it: the default bucket of its provider, also while that is closed after a 429. Address and proof stay those of the subscription. Left out: limits are those of the endpoint alone. */
      readonly connection?: string | null | undefined
      /** Deliveries of one value go one after another, in the order in which events were accepted. It has `by`, `onBlocked`. Left out: in any order. */
      readonly order?: Readonly<Record<string, unknown>> | null | undefined
      /** What its dead letters say. It has `severity`, `runbook`. */
      readonly deadLetter?: Readonly<Record<string, unknown>> | null | undefined
      /** `send`: what sources declare as sensitive is sent to this endpoint. Left out: it is sent as `[hidden]`. */
      readonly sensitive?: string | null | undefined
      /** Whose it is, in your own words; it changes nothing. Left out: none. */
      readonly metadata?: Readonly<Record<string, unknown>> | null | undefined
      readonly [name: string]: unknown
    })
    answer: SubscriptionMade
  }
  /** Keep a route’s work until it is resumed */
  pauseDefinition: {
    args: ({
      readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
      readonly name: string
    }) & ({
      readonly reason?: string | undefined
    })
    answer: {
      readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
      readonly name: string
      readonly description: string | null
      /** In force; null for what has none. */
      readonly status: 'active' | 'paused' | 'disabled' | null
      /** What the document says. */
      readonly declaredStatus: 'active' | 'paused' | 'disabled' | null
      /** Who said otherwise than the document. */
      readonly control: {
        readonly by: string
        readonly at: string
        readonly reason: string | null
      } | null
      readonly hash: string
      readonly managedBy: 'folder' | 'api' | 'demo'
      /** The version of the definitions that brought it. */
      readonly version: number
      readonly updatedAt: string
      /** Of routes. */
      readonly on?: readonly string[]
      /** Of sources. */
      readonly subject?: string
      /** Of routes. */
      readonly action?: 'http' | 'upsert' | 'function' | 'emit' | 'start' | 'schedule' | 'unschedule' | 'agent' | 'operation'
      /** Of schedules; null while it does not fire. */
      readonly nextFireAt?: string | null
      /** Of schedules: the newest slot that became an event. */
      readonly lastFiredAt?: string | null
      /** Of sources that take from NATS, as the node that answers sees it. */
      readonly consumer?: {
        /** Waiting: it is tried again by itself. */
        readonly state: 'consuming' | 'waiting' | 'stopped'
        readonly why: string | null
      }
    }
  }
  /** Keep what comes for later */
  pauseSubscription: {
    args: ({
      readonly name: string
    }) & ({
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
    })
    answer: Subscription
  }
  /** What applying would change, with the lines */
  planDefinitions: {
    args: {
      readonly files: readonly ({
        /** Its name, for the findings. */
        readonly path: string
        /** YAML, or JSON when the path ends so. */
        readonly text: string
      })[]
      /** Also remove what was applied by the API, or is gone from the folder, and is not in the files. */
      readonly prune?: boolean | undefined
      /** Functions of the same folder, which the node may not have yet: what a plan takes for granted. */
      readonly functions?: readonly ({
        readonly name: string
        readonly hash: string
        readonly timeoutMs?: number | undefined
        readonly emits?: readonly string[] | undefined
      })[] | undefined
    }
    answer: {
      readonly ok: boolean
      readonly findings: readonly ({
        readonly severity: 'error' | 'warning' | 'info'
        readonly rule: string
        readonly message: string
        readonly file: string
        readonly line: number
        readonly column: number
        readonly suggestion?: string
        readonly trace?: readonly ({
          /** A transition, or the place whose `onEnter` it is. */
          readonly fire: string | null
          readonly way: 'start' | 'done' | 'failed' | 'enterFailed' | 'undone'
          readonly marking: Readonly<Record<string, number>>
          readonly conditions?: readonly string[]
        })[]
        /** What follows this step of the trace happens again and again. */
        readonly repeatsAfter?: number
      })[]
      readonly base: number
      /** As what it was planned: `folder` where the folder of the node defines something of it, which that node applies by itself. */
      readonly managedBy: 'api' | 'folder'
      readonly changes: readonly ({
        readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
        readonly name: string
        readonly change: 'create' | 'update' | 'remove' | 'unchanged'
        readonly diff?: readonly ({
          readonly op: ' ' | '+' | '-'
          readonly text: string
        })[]
      })[]
      /** Values of `vars` that change on this node, and the definitions that depend on them. */
      readonly touched: readonly ({
        readonly var: string
        readonly readers: readonly ({
          readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
          readonly name: string
        })[]
      })[]
    }
  }
  /** Ask the vendor what became of a parked item’s effect */
  probeWork: {
    args: ({
      readonly id: string
    }) & ({
      readonly reason?: string | undefined
    })
    answer: Work
  }
  /** Put a secret’s pending value in use */
  promoteSecret: {
    args: ({
      /** Letters, digits, dots, hyphens and underscores, at most 128; the first is a letter or a digit. */
      readonly name: string
    }) & ({
      /** How long the former value stays valid beside the new one, from `0s` to `7d`. Left out: not at all, nor do those before it. */
      readonly overlap?: string | undefined
    })
    answer: {
      readonly name: string
      readonly version: number
    }
  }
  /** Publish events as CloudEvents */
  publishEvents: {
    args: Readonly<Record<never, never>>
    answer: Published
  }
  /** Make a connection, or change it: a definition of the kind Connection as JSON. It is pending until it passes a test */
  putConnection: {
    args: {
      readonly name: string
      /** For people; it changes nothing. Left out: none. */
      readonly description?: string | null | undefined
      /** One of `DEV`, `QA`, `PROD`. The one that it is for: a name may have a document for each, and a node takes that of its own `MILLRACE_ENV`. Left out: every one that has no document of its own. */
      readonly environment?: string | null | undefined
      /** Whose account it is: a `kind: Provider`, or one that comes with Millrace. */
      readonly provider?: string | undefined
      /** The name of a `kind: Credential` of the same provider. Left out: the provider takes none. */
      readonly credential?: string | null | undefined
      /** What the provider wants to know of the account; sees `vars`. No secrets. Left out: empty. */
      readonly config?: unknown | undefined
      /** Addresses in place of the provider’s; `default` is the base. Sees `vars` and `config`. Left out: the provider’s. */
      readonly endpoints?: Readonly<Record<string, unknown>> | null | undefined
      /** One of `active`, `retired`. `retired`: it runs nothing, for good. Left out: `active`. */
      readonly status?: string | null | undefined
      /** How often it is looked whether the other side is well; `none`: never. */
      readonly probe?: unknown | undefined
      /** In place of the provider’s, by name. Left out: the provider’s. */
      readonly buckets?: Readonly<Record<string, unknown>> | null | undefined
      /** When nothing is sent for a while because the other side fails; `off`: never. */
      readonly circuit?: unknown | undefined
      readonly [name: string]: unknown
    }
    answer: {
      readonly item: Connection
      readonly warnings: readonly ({
        readonly severity: string
        readonly rule: string
        readonly message: string
        readonly field: string
        readonly suggestion?: string
      })[]
      readonly version: number
    }
  }
  /** Make a credential, or change it: a definition of the kind Credential as JSON; the value is set as a secret */
  putCredential: {
    args: {
      readonly name: string
      /** For people; it changes nothing. Left out: none. */
      readonly description?: string | null | undefined
      /** One of `DEV`, `QA`, `PROD`. The one that it is for: a name may have a document for each, and a node takes that of its own `MILLRACE_ENV`. Left out: every one that has no document of its own. */
      readonly environment?: string | null | undefined
      /** At whom it is known. */
      readonly provider?: string | undefined
      /** One of `none`, `apiKey`, `basic`, `bearer`, `oauth2`, `githubApp`, `serviceAccount`, `hmac`. How: one of the provider’s models. Left out: the provider’s first. */
      readonly auth?: string | null | undefined
      /** Where the value is: the key, the token, the password, the client’s secret, the private key (PEM) or the key file (JSON). Never the value itself. It has `env`, `ref`, `file`. */
      readonly secret?: Readonly<Record<string, unknown>> | undefined
      /** Of `basic`. Left out: needed with `basic`. */
      readonly username?: string | null | undefined
      /** Of `oauth2`: who asks for tokens. It has `grant`, `clientId`, `scopes`, `audience`. Left out: needed with `oauth2`. */
      readonly oauth2?: Readonly<Record<string, unknown>> | null | undefined
      /** Of `githubApp`: which app, and where it is installed. It has `appId`, `installationId`. Left out: needed with `githubApp`. */
      readonly githubApp?: Readonly<Record<string, unknown>> | null | undefined
      /** Of `serviceAccount`. It has `scopes`, `subject`. */
      readonly serviceAccount?: Readonly<Record<string, unknown>> | null | undefined
      /** Of `hmac`. It has `algorithm`. */
      readonly hmac?: Readonly<Record<string, unknown>> | null | undefined
      /** When another value takes its place. It has `every`, `coolDown`, `overlap`. */
      readonly rotation?: Readonly<Record<string, unknown>> | null | undefined
      readonly [name: string]: unknown
    }
    answer: {
      readonly item: Credential
      readonly warnings: readonly ({
        readonly severity: string
        readonly rule: string
        readonly message: string
        readonly field: string
        readonly suggestion?: string
      })[]
      readonly version: number
    }
  }
  /** Create or replace a provider: a definition of the kind Provider as JSON */
  putProvider: {
    args: {
      readonly name: string
      /** For people; it changes nothing. Left out: none. */
      readonly description?: string | null | undefined
      /** What people read. Left out: its name. */
      readonly title?: string | null | undefined
      /** What kind of system it is. Left out: `other`. */
      readonly category?: string | null | undefined
      /** Where it is called; sees `config` of the connection. A connection may have another. */
      readonly baseUrl?: string | undefined
      /** What a credential of it may be; of several the first is the usual one. Left out: `none`. */
      readonly auth?: unknown | undefined
      /** How a value travels, where the model leaves it open: of `apiKey`, `bearer` and `hmac`. It has `header`, `prefix`, `query`. Left out: `x-api-key`, `authorization: Bearer`, `x-signature`. */
      readonly authentication?: Readonly<Record<string, unknown>> | null | undefined
      /** Where tokens come from. It has `authorizeUrl`, `tokenUrl`, `scopes`, `parameters`, `clientAuth`. Left out: needed with `auth: oauth2`. */
      readonly oauth2?: Readonly<Record<string, unknown>> | null | undefined
      /** Other addresses, by what operations call them in `endpoint`; see `config`. Left out: none. */
      readonly endpoints?: Readonly<Record<string, unknown>> | null | undefined
      /** A JSON Schema of a connection’s `config`. Left out: anything. */
      readonly config?: unknown | undefined
      /** What it can do, in words that people search by. Left out: none. */
      readonly capabilities?: unknown | undefined
      /** The bucket `default`. It has `perMinute`, `burst`. Left out: none. */
      readonly rate?: Readonly<Record<string, unknown>> | null | undefined
      /** How much the vendor bears, by name: shared by all that calls on one connection. Left out: as much as it says in its answers. */
      readonly buckets?: Readonly<Record<string, unknown>> | null | undefined
      /** A request that only reads: by it connections are tested and watched, and new secrets verified. Sees `config` and `vars`. It has `method`, `path`, `query`, `headers`, `timeout`. Left out: they cannot be. */
      readonly probe?: Readonly<Record<string, unknown>> | null | undefined
      /** What single statuses mean, instead of the table of failures. Left out: the table. */
      readonly classify?: Readonly<Record<string, unknown>> | null | undefined
      /** What an answer means where its status does not say it; the first that holds counts. Left out: the table. */
      readonly refine?: unknown | undefined
      /** What can be called, by name. Left out: none. */
      readonly operations?: Readonly<Record<string, unknown>> | null | undefined
      /** How a new secret is made at the vendor. It has `create`, `secret`, `revoke`. Left out: a person brings it. */
      readonly rotation?: Readonly<Record<string, unknown>> | null | undefined
      /** What comes in from it. It has `scheme`, `subjects`. Left out: nothing known. */
      readonly inbound?: Readonly<Record<string, unknown>> | null | undefined
      /** What to use in its place; whoever uses it is told. Left out: it is current. */
      readonly deprecated?: string | null | undefined
      readonly [name: string]: unknown
    }
    answer: {
      readonly item: ProviderDetail
      readonly warnings: readonly ({
        readonly severity: string
        readonly rule: string
        readonly message: string
        readonly field: string
        readonly suggestion?: string
      })[]
      readonly version: number
    }
  }
  /** Say that what was wrong is mended: it may be replayed */
  readyDeadLetter: {
    args: ({
      readonly id: string
    }) & ({
      readonly reason?: string | undefined
    })
    answer: DeadLetter
  }
  /** Send what an endpoint has missed since a time, or say what that would be */
  recoverSubscription: {
    args: ({
      readonly name: string
    }) & ({
      /** Of events received at this instant or later. */
      readonly since: string
      /** Received before this instant; left out: now. */
      readonly until?: string | undefined
      /** `failed`: what is dead. `missing`: what was never sent. `all`: both. `retrying`: what waits for another try is due now. */
      readonly what?: 'failed' | 'missing' | 'all' | 'retrying' | undefined
      /** Only say what would happen. */
      readonly dryRun?: boolean | undefined
      /** Also dead letters with three failed replays. */
      readonly force?: boolean | undefined
      /** No more than so many a second. Left out: as quickly as the nodes take them up. Letters of a route with a rate limit never go quicker than that. */
      readonly perSecond?: number | undefined
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
    })
    answer: RecoveryPreview | {
      readonly replayId: string
    }
  }
  /** Remove a secret with all its values */
  removeSecret: {
    args: {
      /** Letters, digits, dots, hyphens and underscores, at most 128; the first is a letter or a digit. */
      readonly name: string
    }
    answer: undefined
  }
  /** Replay a dead letter with the definition in force, under the same key */
  replayDeadLetter: {
    args: ({
      readonly id: string
    }) & ({
      /** Also dead letters with three failed replays. */
      readonly force?: boolean | undefined
      /** An effect that is there already is made once more, as another generation of its key. Needs a `reason`. */
      readonly again?: boolean | undefined
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
    })
    answer: {
      readonly replayId: string
      readonly accepted: number
      readonly workId: string
    }
  }
  /** Replay all dead letters that a filter finds, or say what that would do */
  replayDeadLetters: {
    args: {
      readonly filter: {
        /** These letters and no others; instead of everything below. */
        readonly ids?: readonly string[] | undefined
        /** `open` unless told. */
        readonly state?: 'open' | 'ready_to_replay' | undefined
        readonly consumer?: string | undefined
        readonly class?: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown' | undefined
        readonly reason?: 'cap_reached' | 'expired' | 'crash_loop' | 'unparseable' | 'rejected' | 'definition_missing' | 'config_missing' | 'ambiguous_routes' | 'too_many_elements' | 'rotation_failed' | 'over_rate_limit' | undefined
        /** As the groups of dead letters tell it. */
        readonly cause?: string | undefined
        /** Under this idempotency key. */
        readonly key?: string | undefined
        /** Of this chain of causes. */
        readonly correlationId?: string | undefined
        readonly severity?: string | undefined
        /** Died at this instant or later. */
        readonly from?: string | undefined
        /** Died before this instant. */
        readonly to?: string | undefined
      }
      /** Only say what would happen. */
      readonly dryRun?: boolean | undefined
      /** Also dead letters with three failed replays. */
      readonly force?: boolean | undefined
      /** An effect that is there already is made once more, as another generation of its key. Needs a `reason`. */
      readonly again?: boolean | undefined
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
      /** No more than so many a second. Left out: as quickly as the nodes take them up. Letters of a route with a rate limit never go quicker than that. */
      readonly perSecond?: number | undefined
    }
    answer: ReplayPreview | {
      readonly replayId: string
      readonly accepted: number
    }
  }
  /** Match events again by the definitions in force, or say what that would do */
  replayEvents: {
    args: {
      /** These events, in this order; instead of `filter`. */
      readonly ids?: readonly string[] | undefined
      readonly filter?: {
        readonly source?: string | undefined
        readonly subject?: string | undefined
        /** Received at this instant or later. */
        readonly from?: string | undefined
        /** Received before this instant. */
        readonly to?: string | undefined
        /** `true`: only unmatched events. */
        readonly unmatched?: boolean | undefined
        /** `true`: also the events about Millrace itself, which are left out otherwise. The source `millrace` asks for them too. */
        readonly system?: boolean | undefined
      } | undefined
      /** Only say what would happen. */
      readonly dryRun?: boolean | undefined
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
      /** No more than so many a second. Left out: as quickly as the nodes take them up. Letters of a route with a rate limit never go quicker than that. */
      readonly perSecond?: number | undefined
    }
    answer: EventReplayPreview | {
      readonly replayId: string
      readonly accepted: number
    }
  }
  /** Say what became of a parked item’s effect */
  resolveWork: {
    args: ({
      readonly id: string
    }) & ({
      readonly as: 'done' | 'released'
      readonly reason: string
      /** The effect that you looked at; a conflict if the item is about another one by now. */
      readonly key?: string | undefined
    })
    answer: Work
  }
  /** Let a route or source go on */
  resumeDefinition: {
    args: ({
      readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
      readonly name: string
    }) & ({
      readonly reason?: string | undefined
    })
    answer: {
      readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
      readonly name: string
      readonly description: string | null
      /** In force; null for what has none. */
      readonly status: 'active' | 'paused' | 'disabled' | null
      /** What the document says. */
      readonly declaredStatus: 'active' | 'paused' | 'disabled' | null
      /** Who said otherwise than the document. */
      readonly control: {
        readonly by: string
        readonly at: string
        readonly reason: string | null
      } | null
      readonly hash: string
      readonly managedBy: 'folder' | 'api' | 'demo'
      /** The version of the definitions that brought it. */
      readonly version: number
      readonly updatedAt: string
      /** Of routes. */
      readonly on?: readonly string[]
      /** Of sources. */
      readonly subject?: string
      /** Of routes. */
      readonly action?: 'http' | 'upsert' | 'function' | 'emit' | 'start' | 'schedule' | 'unschedule' | 'agent' | 'operation'
      /** Of schedules; null while it does not fire. */
      readonly nextFireAt?: string | null
      /** Of schedules: the newest slot that became an event. */
      readonly lastFiredAt?: string | null
      /** Of sources that take from NATS, as the node that answers sees it. */
      readonly consumer?: {
        /** Waiting: it is tried again by itself. */
        readonly state: 'consuming' | 'waiting' | 'stopped'
        readonly why: string | null
      }
    }
  }
  /** Let nothing run on a connection any more; work that names it becomes dead letters */
  retireConnection: {
    args: ({
      readonly id: string
    }) & ({
      readonly reason: string
    })
    answer: Connection
  }
  /** Replay the dead deliveries of a subscription that a filter finds, or say what that would do */
  retryDeliveries: {
    args: {
      readonly filter: {
        readonly subscription: string
        readonly class?: 'transient' | 'rate_limited' | 'auth' | 'config' | 'validation' | 'poison' | 'unknown' | undefined
        /** As the groups of dead letters tell it. */
        readonly cause?: string | undefined
        /** Died at this instant or later. */
        readonly since?: string | undefined
        /** Died before this instant. */
        readonly until?: string | undefined
      }
      /** Only say what would happen. */
      readonly dryRun?: boolean | undefined
      /** Also dead letters with three failed replays. */
      readonly force?: boolean | undefined
      /** No more than so many a second. Left out: as quickly as the nodes take them up. Letters of a route with a rate limit never go quicker than that. */
      readonly perSecond?: number | undefined
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
    }
    answer: ReplayPreview | {
      readonly replayId: string
      readonly accepted: number
    }
  }
  /** Send it now: one that waits at once, a dead one by its letter, any other once more */
  retryDelivery: {
    args: ({
      readonly id: string
    }) & ({
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
    })
    answer: {
      /** `hurried`: it is due now. `replayed`: its dead letter. `resent`: a new delivery of the same event. */
      readonly how: 'hurried' | 'replayed' | 'resent'
      /** The delivery that goes out: itself, or the new one. */
      readonly deliveryId: string
    }
  }
  /** Retry a failed step: its dead letter is replayed, or the step gets a new job */
  retryInstance: {
    args: ({
      readonly id: string
    }) & ({
      /** Which, where several failed. */
      readonly firing?: number | undefined
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
    })
    answer: {
      readonly firing: number
      readonly workId: string
    }
  }
  /** Look again for the instances of a workflow’s open orphans */
  retryOrphans: {
    args: {
      readonly workflow: string
    }
    answer: {
      /** Open orphans that were looked at again, a thousand at most. */
      readonly tried: number
      /** Those that found their instance. */
      readonly found: number
    }
  }
  /** Make a ready item due at once, or let a parked one look again */
  retryWork: {
    args: ({
      readonly id: string
    }) & ({
      readonly reason?: string | undefined
    })
    answer: Work
  }
  /** Show a generated secret once, if it was not shown before */
  revealSubscriptionSecret: {
    args: ({
      readonly name: string
    }) & (Readonly<Record<never, never>>)
    answer: {
      readonly secret: string
      readonly version: number
    }
  }
  /** End a key and the sessions that stand on it */
  revokeKey: {
    args: {
      readonly id: string
    }
    answer: undefined
  }
  /** Seal the tenant’s secrets with the current master key; values stay as they are */
  rewrapSecrets: {
    args: Readonly<Record<never, never>>
    answer: {
      /** How many another master key had sealed. */
      readonly rewrapped: number
      /** Names of those that no master key of this node opens; they are left as they are. */
      readonly unreadable: readonly string[]
    }
  }
  /** Put the definitions of an earlier version in force again, as a new version */
  rollbackDefinitions: {
    args: {
      readonly to: number
      readonly reason?: string | undefined
    }
    answer: {
      readonly version: number
      readonly hash: string
      readonly changes: readonly ({
        readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
        readonly name: string
        readonly change: 'create' | 'update' | 'remove' | 'unchanged'
      })[]
      readonly findings: readonly ({
        readonly severity: 'error' | 'warning' | 'info'
        readonly rule: string
        readonly message: string
        readonly file: string
        readonly line: number
        readonly column: number
        readonly suggestion?: string
        readonly trace?: readonly ({
          /** A transition, or the place whose `onEnter` it is. */
          readonly fire: string | null
          readonly way: 'start' | 'done' | 'failed' | 'enterFailed' | 'undone'
          readonly marking: Readonly<Record<string, number>>
          readonly conditions?: readonly string[]
        })[]
        /** What follows this step of the trace happens again and again. */
        readonly repeatsAfter?: number
      })[]
    }
  }
  /** Begin a rotation: the new value is verified before it takes the place of the one in use */
  rotateCredential: {
    args: {
      readonly credentialId: string
      /** Why; it is kept. Needed in the environment PROD. */
      readonly reason?: string | undefined
    }
    answer: {
      /** The work item; null: there is nothing to do. */
      readonly rotationId: string | null
      /** Whether this request began it. */
      readonly isNew: boolean
      readonly credential: Credential
    }
  }
  /** Sign with a new secret, and with the former one too for a while */
  rotateSubscriptionSecret: {
    args: ({
      readonly name: string
    }) & ({
      /** How long both sign: `0s` to `7d`; left out: `24h`. */
      readonly overlap?: string | undefined
      /** The new secret; left out: one is generated. */
      readonly secret?: string | undefined
    })
    answer: RotatedSecret
  }
  /** Send a stream of signed samples, while the demo definitions are in force */
  sendDemo: {
    args: {
      readonly count?: number | undefined
      readonly perSecond?: number | undefined
    }
    answer: {
      readonly sending: number
    }
  }
  /** Set a secret: in use at once, or pending until it is promoted, or verified by the rotation of a credential */
  setSecret: {
    args: {
      /** Letters, digits, dots, hyphens and underscores, at most 128; the first is a letter or a digit. */
      readonly name: string
      readonly value: string
      readonly pending?: boolean | undefined
      /** How long the former value stays valid beside the new one, from `0s` to `7d`. Left out: not at all, nor do those before it. */
      readonly overlap?: string | undefined
    }
    answer: {
      readonly name: string
      readonly version: number
    }
  }
  /** Set one value, as a new version of the definitions */
  setVar: {
    args: ({
      readonly name: string
    }) & ({
      /** null takes the value away. */
      readonly value: unknown
      /** Where the value holds. Left out: wherever an environment has no value of its own. */
      readonly environment?: 'DEV' | 'QA' | 'PROD' | undefined
      /** The document that gets a name which is not defined yet; `vars` if it is left out. */
      readonly definition?: string | undefined
      readonly reason?: string | undefined
    })
    answer: {
      readonly version: number
      readonly hash: string
      readonly changes: readonly ({
        readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
        readonly name: string
        readonly change: 'create' | 'update' | 'remove' | 'unchanged'
      })[]
      readonly findings: readonly ({
        readonly severity: 'error' | 'warning' | 'info'
        readonly rule: string
        readonly message: string
        readonly file: string
        readonly line: number
        readonly column: number
        readonly suggestion?: string
        readonly trace?: readonly ({
          /** A transition, or the place whose `onEnter` it is. */
          readonly fire: string | null
          readonly way: 'start' | 'done' | 'failed' | 'enterFailed' | 'undone'
          readonly marking: Readonly<Record<string, number>>
          readonly conditions?: readonly string[]
        })[]
        /** What follows this step of the trace happens again and again. */
        readonly repeatsAfter?: number
      })[]
    }
  }
  /** Set several values at once, as a new version of the definitions */
  setVars: {
    args: {
      /** By name; null takes a value away. */
      readonly values: Readonly<Record<string, unknown>>
      /** Where the value holds. Left out: wherever an environment has no value of its own. */
      readonly environment?: 'DEV' | 'QA' | 'PROD' | undefined
      /** The document that gets a name which is not defined yet; `vars` if it is left out. */
      readonly definition?: string | undefined
      readonly reason?: string | undefined
    }
    answer: {
      readonly version: number
      readonly hash: string
      readonly changes: readonly ({
        readonly kind: 'Source' | 'Poller' | 'Route' | 'Workflow' | 'Agent' | 'Subscription' | 'Profile' | 'Provider' | 'Connection' | 'Credential' | 'Vars'
        readonly name: string
        readonly change: 'create' | 'update' | 'remove' | 'unchanged'
      })[]
      readonly findings: readonly ({
        readonly severity: 'error' | 'warning' | 'info'
        readonly rule: string
        readonly message: string
        readonly file: string
        readonly line: number
        readonly column: number
        readonly suggestion?: string
        readonly trace?: readonly ({
          /** A transition, or the place whose `onEnter` it is. */
          readonly fire: string | null
          readonly way: 'start' | 'done' | 'failed' | 'enterFailed' | 'undone'
          readonly marking: Readonly<Record<string, number>>
          readonly conditions?: readonly string[]
        })[]
        /** What follows this step of the trace happens again and again. */
        readonly repeatsAfter?: number
      })[]
    }
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
      readonly permissions: readonly string[]
      readonly actor: string
      readonly expiresAt: string
    }
  }
  /** End the session */
  signOut: {
    args: Readonly<Record<never, never>>
    answer: undefined
  }
  /** Sign a refused bundle, so that its jobs go on */
  signRefusedCode: {
    args: ({
      readonly id: string
    }) & ({
      readonly reason: string
    })
    answer: {
      readonly codeHash: string
    }
  }
  /** Begin an instance by hand, through one of the workflow’s manual triggers */
  startInstance: {
    args: ({
      readonly name: string
    }) & ({
      /** What the trigger maps: any JSON value that fits its schema. */
      readonly input?: unknown | undefined
      /** Beside the data, such as who asked for it. */
      readonly metadata?: Readonly<Record<string, unknown>> | undefined
      /** Which of its manual triggers, by its id; left out: the first. */
      readonly trigger?: string | undefined
    })
    answer: {
      readonly instanceId: string
      readonly eventId: string
    }
  }
  /** End the stream */
  stopDemo: {
    args: Readonly<Record<never, never>>
    answer: {
      readonly available: boolean
      readonly isSending: boolean
      readonly sent: number
      readonly total: number
    }
  }
  /** Hold all calls of a connection back (`open`), let them go whatever fails (`closed`), or leave it to the circuit (`auto`) */
  switchConnectionCircuit: {
    args: ({
      readonly id: string
    }) & ({
      readonly is: 'open' | 'closed' | 'auto'
      readonly reason: string
      /** Left out: until it is taken back. */
      readonly until?: string | undefined
    })
    answer: Connection
  }
  /** Call the other side once, now; a test that passes makes the connection active */
  testConnection: {
    args: {
      readonly id: string
    }
    answer: {
      readonly ok: boolean
      readonly run: Run
      readonly connection: Connection
    }
  }
  /** Make one signed call with a test event now, whatever the status, and say what came back */
  testSubscription: {
    args: ({
      readonly name: string
    }) & (Readonly<Record<never, never>>)
    answer: SubscriptionTest
  }
  /** The value of an expression over an event */
  tryExpression: {
    args: {
      readonly expression: string
      /** An expression, a text with `{{ }}`, or a condition. */
      readonly as: 'pick' | 'send' | 'condition'
      /** The id of an accepted event, or one given in place. */
      readonly event: string | {
        readonly subject: string
        /** A source in force names its object and dedup key. */
        readonly source?: string | undefined
        readonly data: unknown
        readonly headers?: Readonly<Record<string, string>> | undefined
      }
    }
    answer: {
      readonly ok: boolean
      readonly value?: unknown
      readonly type?: string
      readonly message?: string
      /** Where in the text, from 0. */
      readonly at?: number
    }
  }
  /** What a route would do with an event; calls no external system and writes nothing */
  tryRoute: {
    args: {
      /** The name of a route in force. */
      readonly route?: string | undefined
      /** Or one that is not applied; for operators. */
      readonly yaml?: string | undefined
      /** The id of an accepted event, or one given in place. */
      readonly event: string | {
        readonly subject: string
        /** A source in force names its object and dedup key. */
        readonly source?: string | undefined
        readonly data: unknown
        readonly headers?: Readonly<Record<string, string>> | undefined
      }
    }
    answer: {
      readonly route: {
        readonly name: string
        readonly hash: string
        readonly status: string
      }
      readonly subjectFits: boolean
      readonly matched: boolean
      readonly why: readonly ({
        readonly part: string
        readonly holds: boolean
        /** What it looked at. */
        readonly saw?: string
      })[]
      /** How many items it makes, one per element; what follows is about the first. null: one, of the whole event. */
      readonly elements: number | null
      /** What `order.by`, `debounce.by` or `concurrency.by` gives. */
      readonly lane: string | null
      readonly key: string | null
      readonly action: {
        /** `http` also for an upsert: its first request is shown. */
        readonly type: 'http' | 'upsert' | 'function' | 'emit' | 'start' | 'schedule' | 'unschedule' | 'agent' | 'operation'
        readonly request?: {
          readonly method: string
          readonly url: string
          readonly headers: Readonly<Record<string, string>>
          readonly body: string | null
        }
        readonly function?: {
          readonly name: string
          readonly codeHash: string
          readonly input: unknown
        }
        readonly emit?: {
          readonly subject: string
          readonly data: unknown
        }
        readonly start?: {
          readonly workflow: string
          readonly input: unknown
        }
        readonly schedule?: {
          readonly name: string
          readonly cron: string
          readonly zone: string
          readonly subject: string
          readonly data: unknown
        }
        readonly unschedule?: {
          readonly name: string
        }
        readonly operation?: {
          readonly name: string
          readonly connection: string
          readonly input: unknown
        }
        readonly agent?: {
          readonly name: string
          readonly system: string | null
          readonly user: string
        }
      } | null
      readonly ledger: {
        readonly verdict: 'would-call' | 'would-skip' | 'would-wait' | 'would-park'
        readonly reason: string
        readonly entry?: LedgerEntry
      } | null
      readonly problem?: {
        readonly at: 'where' | 'each' | 'order' | 'key' | 'do'
        readonly message: string
        readonly path: string | null
        readonly type: string | null
      }
      readonly findings?: readonly ({
        readonly severity: 'error' | 'warning' | 'info'
        readonly rule: string
        readonly message: string
        readonly file: string
        readonly line: number
        readonly column: number
        readonly suggestion?: string
        readonly trace?: readonly ({
          /** A transition, or the place whose `onEnter` it is. */
          readonly fire: string | null
          readonly way: 'start' | 'done' | 'failed' | 'enterFailed' | 'undone'
          readonly marking: Readonly<Record<string, number>>
          readonly conditions?: readonly string[]
        })[]
        /** What follows this step of the trace happens again and again. */
        readonly repeatsAfter?: number
      })[]
    }
  }
}

/** Method, path, and which arguments go into the query; those in the path are marked there, the rest is the body. */
export const OPERATIONS = {
  acknowledgeEscalation: ['POST', '/v1/escalations/{id}/acknowledge', []],
  applyDefinitions: ['POST', '/v1/definitions/apply', []],
  authorizeCredential: ['POST', '/v1/integrations/credentials/{id}/authorize', []],
  cancelDelivery: ['POST', '/v1/webhooks/deliveries/{id}/cancel', []],
  cancelInstance: ['POST', '/v1/instances/{id}/cancel', []],
  cancelReplay: ['POST', '/v1/replays/{id}/cancel', []],
  cancelWork: ['POST', '/v1/work/{id}/cancel', []],
  checkDefinitions: ['POST', '/v1/definitions/check', []],
  closeCircuit: ['POST', '/v1/pace/{route}/close-circuit', []],
  closeWorkflowCircuit: ['POST', '/v1/pace/workflows/{workflow}/close-circuit', []],
  confirmCopy: ['POST', '/v1/node/confirm-copy', []],
  correlateOrphan: ['POST', '/v1/orphans/{id}/correlate', []],
  createKey: ['POST', '/v1/keys', []],
  createSubscription: ['POST', '/v1/webhooks/subscriptions', []],
  createTenant: ['POST', '/v1/tenants', []],
  deleteSubscription: ['DELETE', '/v1/webhooks/subscriptions/{name}', []],
  disableDefinition: ['POST', '/v1/definitions/{kind}/{name}/disable', []],
  disableSubscription: ['POST', '/v1/webhooks/subscriptions/{name}/disable', []],
  discardDeadLetter: ['POST', '/v1/dead-letters/{id}/discard', []],
  discardOrphan: ['POST', '/v1/orphans/{id}/discard', []],
  editDeadLetter: ['POST', '/v1/dead-letters/{id}/edit', []],
  editInstance: ['POST', '/v1/instances/{id}/edit', []],
  enableSubscription: ['POST', '/v1/webhooks/subscriptions/{name}/enable', []],
  explainEvent: ['GET', '/v1/events/{id}/explain', []],
  explainInstance: ['GET', '/v1/instances/{id}/why', ['transition']],
  finishAuthorization: ['GET', '/v1/integrations/oauth/callback', ['state', 'code', 'error']],
  fireTransition: ['POST', '/v1/instances/{id}/fire', []],
  getConnection: ['GET', '/v1/integrations/connections/{id}', []],
  getCredential: ['GET', '/v1/integrations/credentials/{id}', []],
  getDeadLetter: ['GET', '/v1/dead-letters/{id}', []],
  getDefinition: ['GET', '/v1/definitions/{kind}/{name}', []],
  getDelivery: ['GET', '/v1/webhooks/deliveries/{id}', []],
  getDemo: ['GET', '/v1/demo', []],
  getError: ['GET', '/errors/{code}', []],
  getEscalation: ['GET', '/v1/escalations/{id}', []],
  getEvent: ['GET', '/v1/events/{id}', []],
  getEventBody: ['GET', '/v1/events/{id}/body', []],
  getFailure: ['GET', '/v1/failures/{id}', []],
  getHealth: ['GET', '/healthz', []],
  getInstance: ['GET', '/v1/instances/{id}', ['at']],
  getMe: ['GET', '/v1/me', []],
  getMetrics: ['GET', '/metrics', []],
  getOpenApi: ['GET', '/openapi.json', []],
  getOrphan: ['GET', '/v1/orphans/{id}', []],
  getOverview: ['GET', '/v1/overview', []],
  getPace: ['GET', '/v1/pace/{route}', []],
  getProvider: ['GET', '/v1/integrations/providers/{id}', []],
  getReadiness: ['GET', '/readyz', []],
  getRefusedCode: ['GET', '/v1/code/refused/{id}', []],
  getReplay: ['GET', '/v1/replays/{id}', []],
  getRun: ['GET', '/v1/integrations/runs/{id}', []],
  getStats: ['GET', '/v1/stats', ['minutes']],
  getSubject: ['GET', '/v1/catalog/{subject}', []],
  getSubscription: ['GET', '/v1/webhooks/subscriptions/{name}', []],
  getVar: ['GET', '/v1/vars/{name}', []],
  getWork: ['GET', '/v1/work/{id}', []],
  getWorkflow: ['GET', '/v1/workflows/{name}', []],
  leaveLane: ['POST', '/v1/work/{id}/leave-lane', []],
  listCatalog: ['GET', '/v1/catalog', ['cursor', 'limit', 'source', 'q', 'wanted']],
  listConnectionHealth: ['GET', '/v1/integrations/connections/{id}/health', []],
  listConnections: ['GET', '/v1/integrations/connections', []],
  listCredentials: ['GET', '/v1/integrations/credentials', []],
  listDeadLetterGroups: ['GET', '/v1/dead-letters/groups', ['state']],
  listDeadLetters: ['GET', '/v1/dead-letters', ['cursor', 'limit', 'state', 'consumer', 'class', 'reason', 'cause', 'key', 'correlationId', 'severity', 'from', 'to']],
  listDefinitionVersions: ['GET', '/v1/definitions/versions', ['cursor', 'limit']],
  listDefinitions: ['GET', '/v1/definitions', ['kind']],
  listDeliveries: ['GET', '/v1/webhooks/deliveries', ['cursor', 'limit', 'subscription', 'state', 'eventId', 'from', 'to']],
  listEscalations: ['GET', '/v1/escalations', ['cursor', 'limit', 'state', 'consumer']],
  listEvents: ['GET', '/v1/events', ['cursor', 'limit', 'source', 'subject', 'objectId', 'correlationId', 'from', 'to', 'q', 'unmatched', 'system']],
  listFailures: ['GET', '/v1/failures', ['cursor', 'limit', 'state', 'consumer', 'class', 'cause']],
  listHeldLanes: ['GET', '/v1/lanes/held', ['cursor', 'limit']],
  listInstanceHistory: ['GET', '/v1/instances/{id}/history', ['after', 'limit']],
  listInstanceWork: ['GET', '/v1/instances/{id}/work', []],
  listInstances: ['GET', '/v1/workflows/{name}/instances', ['cursor', 'limit', 'state', 'place', 'attention', 'definition']],
  listKeys: ['GET', '/v1/keys', ['cursor', 'limit']],
  listLedger: ['GET', '/v1/ledger', ['cursor', 'limit', 'state', 'consumer', 'key']],
  listLedgerHistory: ['GET', '/v1/ledger/history', ['key']],
  listOrphans: ['GET', '/v1/orphans', ['cursor', 'limit', 'state', 'workflow']],
  listPace: ['GET', '/v1/pace', []],
  listProviders: ['GET', '/v1/integrations/providers', []],
  listRefusedCode: ['GET', '/v1/code/refused', []],
  listRejections: ['GET', '/v1/rejections', ['cursor', 'limit', 'source', 'reason']],
  listReplays: ['GET', '/v1/replays', ['cursor', 'limit']],
  listRuns: ['GET', '/v1/integrations/runs', ['cursor', 'limit', 'connection', 'state', 'purpose', 'via', 'workId']],
  listSecrets: ['GET', '/v1/secrets', ['cursor', 'limit']],
  listSubscriptions: ['GET', '/v1/webhooks/subscriptions', ['cursor', 'limit', 'status', 'q']],
  listTenants: ['GET', '/v1/tenants', ['cursor', 'limit']],
  listUnmatched: ['GET', '/v1/unmatched', ['cursor', 'limit', 'source', 'subject', 'objectId', 'correlationId', 'from', 'to', 'q']],
  listVars: ['GET', '/v1/vars', []],
  listWebhookKeys: ['GET', '/webhooks/{tenant}/{name}/keys', []],
  listWork: ['GET', '/v1/work', ['cursor', 'limit', 'state', 'consumer', 'class']],
  listWorkflows: ['GET', '/v1/workflows', []],
  makeSignInLink: ['POST', '/v1/session/links', []],
  migrateInstance: ['POST', '/v1/instances/{id}/migrate', []],
  migrateInstances: ['POST', '/v1/workflows/{name}/migrate', []],
  moveTokens: ['POST', '/v1/instances/{id}/move', []],
  patchSubscription: ['PATCH', '/v1/webhooks/subscriptions/{name}', []],
  pauseDefinition: ['POST', '/v1/definitions/{kind}/{name}/pause', []],
  pauseSubscription: ['POST', '/v1/webhooks/subscriptions/{name}/pause', []],
  planDefinitions: ['POST', '/v1/definitions/plan', []],
  probeWork: ['POST', '/v1/work/{id}/probe', []],
  promoteSecret: ['POST', '/v1/secrets/{name}/promote', []],
  publishEvents: ['POST', '/v1/events', []],
  putConnection: ['POST', '/v1/integrations/connections', []],
  putCredential: ['POST', '/v1/integrations/credentials', []],
  putProvider: ['POST', '/v1/integrations/providers', []],
  readyDeadLetter: ['POST', '/v1/dead-letters/{id}/ready', []],
  recoverSubscription: ['POST', '/v1/webhooks/subscriptions/{name}/recover', []],
  removeSecret: ['DELETE', '/v1/secrets/{name}', []],
  replayDeadLetter: ['POST', '/v1/dead-letters/{id}/replay', []],
  replayDeadLetters: ['POST', '/v1/dead-letters/replay', []],
  replayEvents: ['POST', '/v1/events/replay', []],
  resolveWork: ['POST', '/v1/work/{id}/resolve', []],
  resumeDefinition: ['POST', '/v1/definitions/{kind}/{name}/resume', []],
  retireConnection: ['POST', '/v1/integrations/connections/{id}/retire', []],
  retryDeliveries: ['POST', '/v1/webhooks/deliveries/retry', []],
  retryDelivery: ['POST', '/v1/webhooks/deliveries/{id}/retry', []],
  retryInstance: ['POST', '/v1/instances/{id}/retry', []],
  retryOrphans: ['POST', '/v1/orphans/retry', []],
  retryWork: ['POST', '/v1/work/{id}/retry', []],
  revealSubscriptionSecret: ['POST', '/v1/webhooks/subscriptions/{name}/reveal-secret', []],
  revokeKey: ['DELETE', '/v1/keys/{id}', []],
  rewrapSecrets: ['POST', '/v1/secrets/rewrap', []],
  rollbackDefinitions: ['POST', '/v1/definitions/rollback', []],
  rotateCredential: ['POST', '/v1/integrations/credentials/rotate', []],
  rotateSubscriptionSecret: ['POST', '/v1/webhooks/subscriptions/{name}/rotate-secret', []],
  sendDemo: ['POST', '/v1/demo', []],
  setSecret: ['POST', '/v1/secrets', []],
  setVar: ['PUT', '/v1/vars/{name}', []],
  setVars: ['PUT', '/v1/vars', []],
  signIn: ['POST', '/v1/session', []],
  signOut: ['DELETE', '/v1/session', []],
  signRefusedCode: ['POST', '/v1/code/refused/{id}/sign', []],
  startInstance: ['POST', '/v1/workflows/{name}/instances', []],
  stopDemo: ['POST', '/v1/demo/stop', []],
  switchConnectionCircuit: ['POST', '/v1/integrations/connections/{id}/circuit', []],
  testConnection: ['POST', '/v1/integrations/connections/{id}/test', []],
  testSubscription: ['POST', '/v1/webhooks/subscriptions/{name}/test', []],
  tryExpression: ['POST', '/v1/try/expression', []],
  tryRoute: ['POST', '/v1/try', []],
} as const satisfies Record<keyof Operations, readonly [string, string, readonly string[]]>
