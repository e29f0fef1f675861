// What the API answers, as far as the screens read it. Instants are ISO 8601 texts.

export interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextCursor: string | null
}

export type WorkState =
  | 'ready'
  | 'waiting'
  | 'leased'
  | 'done'
  | 'skipped'
  | 'merged'
  | 'parked'
  | 'dead'
  | 'cancelled'

export type LetterState = 'open' | 'ready_to_replay' | 'replaying' | 'resolved' | 'discarded'
export type Role = 'viewer' | 'operator' | 'admin'

export interface Me {
  readonly tenant: string
  readonly role: Role
  readonly actor: string
  readonly isNodeAdmin: boolean
  readonly environment: string
  readonly version: string
  readonly node: string
}

export interface ConsumerState {
  readonly kind: string
  readonly name: string
  readonly workId: string
  readonly state: WorkState
  readonly attempts: number
  readonly class?: string
}

export interface Envelope {
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
  readonly traceId: string | null
  readonly dedupKey: string | null
  readonly payloadHash: string
  readonly matched: number
}

export interface EventRow extends Envelope {
  readonly consumers: readonly ConsumerState[]
}

export interface Attempt {
  readonly number: number
  readonly startedAt: string
  readonly durationMs: number
  readonly outcome: 'done' | 'again' | 'waited' | 'unknown' | 'probed' | 'parked' | 'dead' | string
  readonly class?: string
  readonly httpStatus?: number
  readonly error?: string
}

export interface Work {
  readonly id: string
  readonly kind: string
  readonly consumer: string
  readonly eventId: string
  readonly state: WorkState
  readonly attempts: number
  readonly waits: number
  readonly losses: number
  readonly dueAt: string
  readonly createdAt: string
  readonly expiresAt: string
  readonly definition: string
  readonly class?: string
  readonly key?: string
  readonly processedAt?: string
  readonly effectRef?: string
  readonly lastError?: string
  readonly httpStatus?: number
  readonly durationMs?: number
  readonly replayOf?: string
}

export interface LedgerEntry {
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

export interface DeadLetter {
  readonly id: string
  readonly state: LetterState
  readonly class: string
  readonly reason: string
  readonly reportedAs: string
  readonly severity: string
  readonly consumer: { readonly kind: string; readonly name: string }
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

export interface WorkStory extends Work {
  readonly history: readonly Attempt[]
  readonly ledger: LedgerEntry | null
  /** What the item did in one go, one entry per effect of a function. */
  readonly effects?: readonly LedgerEntry[]
  readonly deadLetter: DeadLetter | null
}

export interface EventDetails extends EventRow {
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly data: unknown
  readonly story: readonly WorkStory[]
  readonly followUps?: readonly EventRow[]
}

export interface DeadLetterDetails extends DeadLetter {
  readonly event: (Envelope & { readonly data: unknown }) | null
  readonly history: readonly Attempt[]
}

export interface DeadLetterGroup {
  readonly class: string
  readonly reason: string
  readonly reportedAs: string
  readonly consumer: { readonly kind: string; readonly name: string }
  readonly cause: string
  readonly count: number
  readonly firstAt: string
  readonly latestAt: string
  readonly sampleId: string
}

export interface WhyPart {
  readonly part: string
  readonly holds: boolean | null
  readonly saw?: unknown
}

export interface Explanation {
  readonly eventId: string
  readonly subject: string
  readonly consumers: readonly {
    readonly kind: string
    readonly name: string
    readonly verdict: 'matched' | 'subject' | 'condition' | 'error'
    readonly status: string
    readonly patterns: readonly string[]
    readonly why: readonly WhyPart[]
    readonly workId?: string
  }[]
}

export interface ReplayFilter {
  readonly ids?: readonly string[]
  readonly state?: string
  readonly consumer?: string
  readonly class?: string
  readonly reason?: string
  readonly cause?: string
}

export type ReplayVerdict = 'would-skip' | 'would-call' | 'would-differ'

export interface ReplayPreview {
  readonly items: readonly {
    readonly id: string
    readonly verdict: ReplayVerdict
    readonly reason: string
    readonly diff?: unknown
  }[]
  readonly totals: Readonly<Record<string, number>>
  readonly calls: Readonly<Record<string, number>>
}

export interface Replay {
  readonly id: string
  readonly state: 'running' | 'done' | 'cancelled'
  readonly total: number
  readonly replayed: number
  readonly refused: number
  readonly createdAt: string
  readonly finishedAt: string | null
  readonly by: string
}

export interface Overview {
  readonly now: string
  readonly counts: {
    readonly ready: number
    readonly leased: number
    readonly parked: number
    readonly openDeadLetters: number
    readonly unmatched: number
  }
  readonly isCapped: Readonly<Record<string, boolean>>
  readonly oldestReadyAt: string | null
  readonly definitions: { readonly sources: number; readonly routes: number; readonly paused: number }
  readonly rates: {
    readonly acceptedPerMinute: number
    readonly donePerMinute: number
    readonly failedPerMinute: number
  }
}

export interface Stats {
  readonly stepMs: number
  readonly from: string
  readonly accepted: readonly number[]
  readonly done: readonly number[]
  readonly retried: readonly number[]
  readonly dead: readonly number[]
  readonly latencyP50Ms: readonly (number | null)[]
  readonly latencyP95Ms: readonly (number | null)[]
  readonly queueAgeMs: readonly (number | null)[]
  readonly consumers: readonly {
    readonly consumer: string
    readonly perMinute: number
    readonly done: number
    readonly retried: number
    readonly dead: number
  }[]
  readonly sources: readonly {
    readonly source: string
    readonly perMinute: number
    readonly accepted: number
  }[]
}

export interface Demo {
  readonly available: boolean
  readonly isSending: boolean
  readonly sent: number
  readonly total: number
}

export interface Definition {
  readonly kind: string
  readonly name: string
  readonly description: string | null
  readonly status: 'active' | 'paused' | 'disabled' | string
  readonly declaredStatus: string
  readonly hash: string
  readonly managedBy: 'folder' | 'api' | 'demo'
  readonly on?: readonly string[]
  readonly subject?: string
  readonly action?: string
  readonly updatedAt: string
}

export interface DefinitionDetails extends Definition {
  readonly document: unknown
  readonly yaml: string
  readonly history: readonly {
    readonly hash: string
    readonly appliedAt: string
    readonly by: string
    readonly version: number
  }[]
}

export interface DefinitionVersion {
  readonly version: number
  readonly hash: string
  readonly appliedAt: string
  readonly by: string
  readonly changes: number
}

export interface Finding {
  readonly severity: 'error' | 'warning' | string
  readonly rule: string
  readonly message: string
  readonly file?: string
  readonly line?: number
  readonly column?: number
  readonly suggestion?: string
}

export interface DefinitionChange {
  readonly kind: string
  readonly name: string
  readonly change: 'create' | 'update' | 'remove' | 'unchanged'
  readonly diff?: readonly { readonly op: ' ' | '+' | '-'; readonly text: string }[]
}

export interface Plan {
  readonly ok: boolean
  readonly findings: readonly Finding[]
  readonly base: number | null
  readonly changes: readonly DefinitionChange[]
}

export interface Trial {
  readonly route: string
  readonly subjectFits: boolean
  readonly matched: boolean
  readonly why: readonly WhyPart[]
  readonly key: string | null
  readonly action: {
    readonly type: string
    readonly request?: unknown
    readonly function?: unknown
    readonly emit?: unknown
  } | null
  readonly ledger: { readonly verdict: string; readonly entry?: LedgerEntry } | null
  readonly problem?: unknown
  readonly findings?: readonly Finding[]
}

export type ExpressionResult =
  | { readonly ok: true; readonly value: unknown; readonly type: string }
  | { readonly ok: false; readonly message: string; readonly at?: number | { readonly offset?: number } }

export interface Key {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly tenant?: string
  readonly createdAt: string
  readonly createdBy: string
  readonly expiresAt: string | null
  readonly lastUsedAt: string | null
  readonly isExpired: boolean
}

export interface Secret {
  readonly name: string
  readonly version: number
  readonly hasPending: boolean
  readonly updatedAt: string
  readonly updatedBy: string
}

export interface Tenant {
  readonly name: string
  readonly description: string | null
  readonly createdAt?: string
}

export type Change =
  | {
      readonly type: 'event'
      readonly id: string
      readonly subject: string
      readonly source: string
      readonly receivedAt: string
      readonly matched: number
      readonly objectId: string | null
    }
  | {
      readonly type: 'work'
      readonly id: string
      readonly eventId: string
      readonly consumer: string
      readonly state: WorkState
      readonly attempts: number
      readonly class: string | null
    }
  | { readonly type: 'deadLetter'; readonly id: string; readonly state: LetterState }
  | { readonly type: 'definitions'; readonly version: number }
  | { readonly type: 'replay'; readonly id: string }
