// An instance while one input is processed. The draft belongs to the machine: the original is never written to, and lists are
// replaced, not changed, so that unchanged parts need no copy.

import type { Scope } from '../../expression/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import type { DataChange, Firing, HistoryEntry, Instance } from '../instance/index.ts'
import type { InstanceEffect, StepEnv, Workflow } from './machine-types.ts'
import { liveScope } from './workflow-scope.ts'

type Open<Value> = { -readonly [Name in keyof Value]: Value[Name] }

export interface Draft {
  /** A migration puts the new one here. */
  workflow: Workflow
  readonly env: StepEnv
  /** `marking` is a copy; everything else is replaced. */
  readonly now: Open<Omit<Instance, 'marking'>> & { marking: Record<string, number> }
  readonly next: Open<Instance['next']>
  readonly scope: Scope
  readonly history: HistoryEntry[]
  readonly effects: InstanceEffect[]
  fires: number
  /** Why it cannot continue although it has tokens: a part of its definition cannot be decided. */
  trouble: string | null
  hasLockExpired: boolean
}

export function openDraft(workflow: Workflow, instance: Instance, env: StepEnv): Draft {
  const now = { ...instance, marking: { ...instance.marking } }
  return {
    workflow,
    env,
    now,
    next: { ...instance.next },
    scope: liveScope(() => now, env.scope),
    history: [],
    effects: [],
    fires: 0,
    trouble: null,
    hasLockExpired: false,
  }
}

/** The subject is without the tenant; the content never includes data of the instance. */
export function announce(
  draft: Draft,
  what: string,
  about: { readonly [name: string]: JsonValue } = {},
): void {
  const { id, workflow, version, state } = draft.now
  const subject = `workflow.${workflow}.${what}`
  draft.effects.push({
    type: 'announce',
    subject,
    data: { instance: id, workflow, version, state, ...about },
  })
}

export function findFiring(draft: Draft, number: number): Firing | undefined {
  return draft.now.firings.find((firing) => firing.number === number)
}

export function replaceFiring(draft: Draft, number: number, change: (firing: Firing) => Firing): void {
  draft.now.firings = draft.now.firings.map((firing) => (firing.number === number ? change(firing) : firing))
}

export function removeFiring(draft: Draft, number: number): void {
  draft.now.firings = draft.now.firings.filter((firing) => firing.number !== number)
}

/** Identifies a firing in an entry of the history. */
export function entryOf({
  number,
  type,
  name,
}: Pick<Firing, 'number' | 'type' | 'name'>): Pick<HistoryEntry, 'name' | 'firing' | 'part'> {
  return type === 'fire' ? { name, firing: number } : { name, part: type, firing: number }
}

/** Whether the history stores values, or only what changed. */
export function keepsValues({ workflow }: Pick<Draft, 'workflow'>): boolean {
  const { security } = workflow.document
  return security === undefined || security.audit === 'full'
}

/** The entries that the history stores. */
export function recordedEntries({
  workflow,
  history,
}: Pick<Draft, 'workflow' | 'history'>): readonly HistoryEntry[] {
  const audit = workflow.document.security?.audit
  if (audit === 'basic') return history.filter(({ type }) => type !== 'learned').map(withoutPaths)
  if (audit === 'none')
    return history
      .filter(({ type, state, actor }) => type === 'created' || state !== undefined || actor !== undefined)
      .map(withoutPaths)
  return history
}

/** That something changed remains: the data cannot be rebuilt. */
const CHANGED: readonly DataChange[] = [{ path: 'data', hidden: true }]

function withoutPaths(entry: HistoryEntry): HistoryEntry {
  return entry.changes === undefined ? entry : { ...entry, changes: CHANGED }
}
