// The changes of this node's commits, for watchers: a live tail, not a queue. Nothing is stored, and without watchers a commit
// costs one check.
//
// Invariant: FD1 a change is reported only after its commit is durable.

import type { DeadLetterState } from '../../core/failures/dead-letter/index.ts'
import type { FailureClass, FailureState } from '../../core/failures/failure/index.ts'
import type {
  DeadLetterId,
  EscalationId,
  EventId,
  FailureId,
  InstanceId,
  OrphanId,
  TenantId,
  WorkId,
} from '../../core/foundation/ids/index.ts'
import { isReplayId } from '../../core/foundation/ids/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { WorkState } from '../../core/queue/work/index.ts'
import type { SubscriptionRecord, SubscriptionStatus } from '../../core/webhooks/subscription/index.ts'
import type { Attention, InstanceState, Marking } from '../../core/workflows/instance/index.ts'
import type { OrphanState } from '../../core/workflows/orphan/index.ts'
import type { Commit, CommitResult } from '../../ports/store.ts'
import type { About } from '../commit/index.ts'

export type Change =
  | {
      readonly type: 'event'
      readonly id: EventId
      readonly subject: string
      readonly source: string
      readonly receivedAt: Instant
      readonly matched: number
      readonly objectId: string | null
    }
  | {
      readonly type: 'work'
      readonly id: WorkId
      /** null if the commit did not say. */
      readonly eventId: EventId | null
      readonly consumer: string | null
      readonly state: WorkState
      readonly attempts: number
      readonly class: FailureClass | null
    }
  | { readonly type: 'deadLetter'; readonly id: DeadLetterId; readonly state: DeadLetterState }
  | { readonly type: 'failure'; readonly id: FailureId; readonly state: FailureState }
  /** Raised, counted or acknowledged; a commit does not say which of a cause it counts on. */
  | { readonly type: 'escalation'; readonly id: EscalationId | null; readonly cause: string | null }
  /** Created, moved, or changed in its data. */
  | {
      readonly type: 'instance'
      readonly id: InstanceId
      readonly workflow: string
      readonly state: InstanceState
      readonly attention: Attention | null
      readonly marking: Marking
    }
  | {
      readonly type: 'orphan'
      readonly id: OrphanId
      readonly workflow: string
      readonly state: OrphanState
    }
  /** The output of an agent while it answers: the last part if it is long. */
  | {
      readonly type: 'agent'
      readonly agent: string
      readonly work: WorkId
      readonly instance: InstanceId | null
      readonly text: string
      readonly characters: number
    }
  | { readonly type: 'definitions'; readonly version: number }
  | { readonly type: 'replay'; readonly id: string }
  /** Created, changed, or changed in its status; null: removed, or as its definition declares. */
  | { readonly type: 'subscription'; readonly name: string; readonly status: SubscriptionStatus | null }

export interface Watcher {
  /** Must not throw and must not wait: it is called in the middle of accepting events. */
  changed(tenant: TenantId, change: Change): void
  /** Something unknown may have changed, of this tenant or of any. */
  lost(tenant?: TenantId): void
}

export const CHANGE_TYPES = [
  'event',
  'work',
  'deadLetter',
  'failure',
  'escalation',
  'instance',
  'orphan',
  'agent',
  'definitions',
  'replay',
  'subscription',
] as const satisfies readonly Change['type'][]

/** What a change is about: of several about the same only the latest is reported. */
export function changeName(change: Change): string {
  switch (change.type) {
    case 'definitions':
      return change.type
    case 'agent':
      return `${change.type} ${change.work}`
    case 'subscription':
      return `${change.type} ${change.name}`
    default:
      return `${change.type} ${change.id}`
  }
}

export interface Feed {
  /** Returns how to stop. */
  watch(watcher: Watcher): () => void
  applied(commit: Commit, result: Extract<CommitResult, { ok: true }>, about: About | null): void
  /** For changes that are not in the writes of a commit. */
  announce(tenant: TenantId, change: Change): void
  lost(): void
}

export function makeFeed(): Feed {
  // An array that is replaced, not changed: a watcher that stops in the middle of a round disturbs no other.
  let watchers: readonly Watcher[] = []
  const announce = (tenant: TenantId, change: Change) => {
    for (const watcher of watchers) watcher.changed(tenant, change)
  }
  return {
    watch(watcher) {
      watchers = [...watchers, watcher]
      return () => {
        watchers = watchers.filter((other) => other !== watcher)
      }
    },
    applied(commit, result, about) {
      if (watchers.length === 0) return
      for (const change of changesOf(commit, result, about)) announce(commit.tenant, change)
    },
    announce,
    lost() {
      for (const watcher of watchers) watcher.lost()
    },
  }
}

function changesOf(
  { writes }: Commit,
  { at, leased }: Extract<CommitResult, { ok: true }>,
  about: About | null,
): readonly Change[] {
  const changes: Change[] = []
  const work = (change: Omit<Extract<Change, { type: 'work' }>, 'type'>) => {
    changes.push({ type: 'work', ...change })
  }
  for (const write of writes) {
    switch (write.w) {
      case 'event.append': {
        const { id, subject, source, matched, objectId } = write.event
        changes.push({ type: 'event', id, subject, source, receivedAt: at, matched, objectId })
        break
      }
      case 'work.add': {
        const { id, eventId, consumer } = write.work
        const state = leased.includes(id) ? 'leased' : 'ready'
        work({ id, eventId, consumer, state, attempts: 0, class: null })
        break
      }
      case 'work.settle':
      case 'work.again': {
        const known = about?.work.id === write.work ? about.work : addedWork(writes, write.work)
        work({
          id: write.work,
          eventId: known?.eventId ?? null,
          consumer: known?.consumer ?? null,
          state: write.w === 'work.settle' ? write.to : 'ready',
          attempts: write.counters.attempts,
          class: write.note.class,
        })
        break
      }
      case 'deadLetter.put':
        changes.push({ type: 'deadLetter', id: write.row.id, state: write.row.state })
        break
      case 'failure.put':
        changes.push({ type: 'failure', id: write.row.id, state: write.row.state })
        break
      case 'escalation.raise':
        changes.push({ type: 'escalation', id: null, cause: write.row.cause })
        break
      case 'escalation.change':
        changes.push({ type: 'escalation', id: write.id, cause: null })
        break
      case 'instance.put': {
        const { id, workflow, state, attention, marking } = write.row
        changes.push({ type: 'instance', id, workflow, state, attention, marking })
        break
      }
      case 'orphan.put':
        changes.push({
          type: 'orphan',
          id: write.row.id,
          workflow: write.row.workflow,
          state: write.row.state,
        })
        break
      case 'record.put':
        // Beside a replay is its marker, which is internal.
        if (write.kind === 'replay' && isReplayId(write.key)) changes.push({ type: 'replay', id: write.key })
        if (write.kind === 'subscription') {
          changes.push({ type: 'subscription', name: write.key, status: statusIn(write.body) })
        }
        break
      case 'record.delete':
        if (write.kind === 'subscription') {
          changes.push({ type: 'subscription', name: write.key, status: null })
        }
        break
      default:
    }
  }
  return changes
}

function statusIn(body: string): SubscriptionStatus | null {
  const { state, document } = JSON.parse(body) as SubscriptionRecord
  return state.status ?? document?.status ?? null
}

/** A job that a commit adds and settles at once, for a route that is disabled. */
function addedWork(writes: Commit['writes'], id: WorkId): Pick<About['work'], 'eventId' | 'consumer'> | null {
  for (const write of writes) if (write.w === 'work.add' && write.work.id === id) return write.work
  return null
}
