// An event that found no instance, or more than one, as rows of a commit: stored for operators, escalated, and emitted
// as an event.

import { isCanonical } from '../../../core/events/canonical/index.ts'
import type { StoredEvent } from '../../../core/events/event/index.ts'
import { hashText } from '../../../core/foundation/hash/index.ts'
import type { OrphanId, WorkId } from '../../../core/foundation/ids/index.ts'
import type { Trigger, Workflow } from '../../../core/workflows/machine/index.ts'
import type { NewOrphan, Orphan, OrphanReason } from '../../../core/workflows/orphan/index.ts'
import type { Write } from '../../../ports/store.ts'
import type { Registry } from '../../definitions/index.ts'
import { type NoteDeps, type Noted, noteEvent } from '../../events/index.ts'
import type { Keys } from '../instances/index.ts'

export interface OrphanAbout {
  readonly workflow: Workflow
  readonly trigger: Trigger
  readonly event: StoredEvent
  /** The job that it is about from now on. */
  readonly work: WorkId
  readonly keys: Keys
}

const KEYS_LENGTH_MAX = 1_000

export function newOrphan(
  id: OrphanId,
  { workflow, trigger, event, work, keys }: OrphanAbout,
  reason: OrphanReason,
  waitsMs: number | null,
): NewOrphan {
  return {
    id,
    version: 1,
    state: waitsMs === null ? 'open' : 'waiting',
    reason,
    workflow: workflow.document.name,
    trigger: trigger.document.id,
    eventId: event.id,
    workId: work,
    keys: keysText(event, keys),
    expiresInMs: waitsMs,
    instance: null,
    by: null,
    note: null,
  }
}

/** The current row with the change, to be written. */
export function changeOrphan(orphan: Orphan, change: Partial<NewOrphan>): NewOrphan {
  const { tenant: _tenant, createdAt: _created, updatedAt: _updated, expiresAt: _expires, ...row } = orphan
  return { ...row, version: row.version + 1, expiresInMs: null, ...change }
}

/** For a sensitive event only the names: a value may be confidential. */
function keysText({ sensitive }: StoredEvent, keys: Keys): string {
  const text = keys.map(({ name, value }) => (sensitive.length > 0 ? name : `${name}=${value}`)).join(' ')
  return text.slice(0, KEYS_LENGTH_MAX)
}

const WHY: Readonly<Record<OrphanReason, string>> = {
  nobody: 'an event is for an instance that is not there; say which one it is for, or discard it',
  several: 'an event fits several instances; say which one it is for, or discard it',
}

/** The escalation and the event about it. The caller settles the plan's leases on insert. */
export function orphanEvent(
  deps: NoteDeps & { readonly registry: Registry },
  { workflow, trigger, event, work }: OrphanAbout,
  orphan: Pick<NewOrphan, 'id' | 'reason'>,
): Noted {
  const { document, consumer } = workflow
  const { severity, runbook } = document.deadLetter
  const raise: Write = {
    w: 'escalation.raise',
    row: {
      id: deps.ids.escalation(),
      cause: hashText(JSON.stringify([consumer, 'orphaned', trigger.document.id, orphan.reason])),
      consumer,
      class: 'validation',
      reason: 'orphaned',
      severity,
      runbook,
      lastError: WHY[orphan.reason],
      workId: work,
    },
  }
  const subject = `workflow.${document.name}.orphaned` as const
  if (isCanonical(event)) return { writes: [raise], plans: [] }
  const draft = {
    tenant: event.tenant,
    subject,
    data: {
      orphan: orphan.id,
      workflow: document.name,
      trigger: trigger.document.id,
      reason: orphan.reason,
      eventId: event.id,
    },
    key: orphan.id,
    parent: event,
  }
  const { writes, plans } = noteEvent(deps, draft, deps.registry.isWanted(event.tenant, subject))
  return { writes: [raise, ...writes], plans }
}
