// The writes of a commit, as data. docs/spec/store.md has every rule.

import type { NewRun } from '../../effects/integration-run/index.ts'
import type { LedgerProof, NewLedgerEntry } from '../../effects/ledger/index.ts'
import type { NewFact } from '../../events/canonical/index.ts'
import type { NewEvent } from '../../events/event/index.ts'
import type { NewDeadLetter } from '../../failures/dead-letter/index.ts'
import type { NewEscalation } from '../../failures/escalation/index.ts'
import type { NewFailure } from '../../failures/failure/index.ts'
import type { EscalationId, EventId, Incarnation, WorkId } from '../../foundation/ids/index.ts'
import type { Attempt, Counters, NewWork, Note, SettledState } from '../../queue/work/index.ts'
import type { NewHistory, NewInstance } from '../../workflows/instance/index.ts'
import type { NewOrphan } from '../../workflows/orphan/index.ts'
import type { NewOutboxRow } from '../outbox/index.ts'

/** Everything that changes rarely: stored as text under a key, with a version that guards name. */
export type RecordKind =
  | 'definition'
  | 'bundle'
  | 'setting'
  | 'authored'
  | 'code'
  | 'control'
  | 'key'
  | 'session'
  | 'tenant'
  | 'secret'
  | 'idempotency'
  | 'replay'
  | 'rejection'
  | 'schedule'
  | 'drain'
  | 'bucket'
  | 'rate'
  | 'circuit'
  | 'timetable'
  | 'subscription'
  | 'connection'
  | 'credential'
  | 'health'
  | 'relay'
  | 'edit'
  | 'hmac'
  /** The state of a poller. */
  | 'poller'
  /** What an object looked like when a poller stored it last. */
  | 'polled'

export type Write =
  /** Also notes the event's dedup key, for `dedupForMs` from now. */
  | {
      readonly w: 'event.append'
      readonly event: NewEvent
      readonly dedupForMs: number
      /** It was a fact, and is published as such. */
      readonly isPromoted?: true
    }
  /** Its dedup key was received `count` more times, the last time now. Nothing happens if the event is gone. */
  | { readonly w: 'event.repeat'; readonly event: EventId; readonly count: number }
  /** How many consumers matched, once that is known. Nothing happens if the event is gone. */
  | { readonly w: 'event.match'; readonly event: EventId; readonly matched: number }
  /**
   * Nothing happens if its event is gone. `lease` asks that the job is leased on insert by that owner, at epoch 1. The store grants it while
   * the owner is alive; otherwise the job is inserted as ready. It is due after `delayMs`.
   *
   * With a lane it takes a position while one is free and no other job waits for it; otherwise it is inserted as waiting, whatever `lease`
   * asks for. `inPlaceOf` names a job of the same lane: if that job has a position, this one takes it.
   */
  | {
      readonly w: 'work.add'
      readonly work: NewWork
      readonly lease: Incarnation | null
      readonly delayMs: number
      readonly inPlaceOf?: WorkId
    }
  /**
   * `processedAt` becomes the commit's instant; the owner is dropped. The job gives up its lane position, if it has one, and the
   * oldest waiting job gets it: ready, due at the later of now and its own time. `place: 'keep'`: the job holds on to it. `{ to }`:
   * that waiting job gets it, ready, due now and frozen.
   */
  | {
      readonly w: 'work.settle'
      readonly work: WorkId
      readonly to: SettledState
      readonly counters: Counters
      readonly note: Note
      readonly place?: 'keep' | { readonly to: WorkId }
      /** The lane remembers that it is at this version by now. */
      readonly laneVersion?: string
      /** With `merged`: the batch. */
      readonly into?: WorkId
    }
  /** Gives up its lane position, as settling does. Nothing happens if it has none. */
  | { readonly w: 'lane.leave'; readonly work: WorkId }
  /**
   * Back to ready, due after `delayMs`; the owner is dropped, and the job no longer counts as lost by a crash. It keeps its lane
   * position, and is no longer merged into another job. A job of a lane without a position enters the lane again: it takes a free
   * one if no other job waits, and waits otherwise.
   */
  | {
      readonly w: 'work.again'
      readonly work: WorkId
      readonly delayMs: number
      readonly counters: Counters
      readonly note: Note
      /** Its time begins again: it may be tried for this long from now. Left out: its expiry stays. */
      readonly expiresInMs?: number
    }
  /** Also a second one of the same number. */
  | { readonly w: 'attempt.append'; readonly work: WorkId; readonly attempt: Attempt }
  /**
   * A new entry, or one reserved again with the same generation: released, or unknown where a repeat is allowed. A guard must
   * check the entry's state; the write itself is unconditional.
   */
  | { readonly w: 'ledger.reserve'; readonly entry: NewLedgerEntry; readonly sendWithinMs: number }
  | {
      readonly w: 'ledger.settle'
      readonly key: string
      readonly to: 'done' | 'released' | 'unknown'
      readonly proof: LedgerProof
      readonly effectRef: string | null
      readonly result: string | null
    }
  /** For actions that stay inside the process: done and acknowledged without a prior reserve. */
  | {
      readonly w: 'ledger.done'
      readonly entry: NewLedgerEntry
      readonly effectRef: string | null
      readonly result: string | null
    }
  /** Evidence of a stale owner. Needs no lease and changes no state; nothing happens if the key has no entry. */
  | { readonly w: 'ledger.observe'; readonly key: string; readonly evidence: string }
  | { readonly w: 'deadLetter.put'; readonly row: NewDeadLetter }
  /** The failure of a job, new or updated. */
  | { readonly w: 'failure.put'; readonly row: NewFailure }
  /**
   * Counts one more on the raised escalation of the same cause, which takes over the details of the latest failure; or raises
   * one, at version 1. Counting does not change the version. May occur several times in a commit.
   */
  | { readonly w: 'escalation.raise'; readonly row: NewEscalation }
  /** Its version grows by one. Nothing happens if it is gone. */
  | {
      readonly w: 'escalation.change'
      readonly id: EscalationId
      readonly announced?: true
      readonly acknowledged?: { readonly by: string; readonly note: string | null }
    }
  /** New or updated; it has ended from the first time that its state is not `active`. */
  | { readonly w: 'instance.put'; readonly row: NewInstance }
  /** Sequence numbers of an instance only grow; a duplicate is a caller's bug. */
  | { readonly w: 'history.append'; readonly rows: readonly NewHistory[] }
  /** The keys by which events find their instance: looked up by hash, as ledger keys are. */
  | {
      readonly w: 'correlation.put'
      readonly key: string
      readonly version: number
      readonly body: string
    }
  /** Nothing happens if it is absent. */
  | { readonly w: 'correlation.delete'; readonly key: string }
  | { readonly w: 'orphan.put'; readonly row: NewOrphan }
  /** New or updated. Its connection, its purpose and its job never change. */
  | { readonly w: 'run.put'; readonly row: NewRun }
  | {
      readonly w: 'record.put'
      readonly kind: RecordKind
      readonly key: string
      readonly version: number
      readonly body: string
    }
  /** Nothing happens if it is absent. A caller that must not delete another caller's newer record guards its version. */
  | { readonly w: 'record.delete'; readonly kind: RecordKind; readonly key: string }
  /** An event of this system in compact form: without a dedup key, and never matched. Nothing happens if the id exists. */
  | { readonly w: 'fact.add'; readonly fact: NewFact }
  /** After everything that earlier commits added about the same rows. */
  | { readonly w: 'outbox.add'; readonly rows: readonly NewOutboxRow[] }
  /** Nothing happens for positions that are gone or belong to another tenant. */
  | { readonly w: 'outbox.delete'; readonly positions: readonly number[] }
