// Workflows, instances and orphans as clients see them. Data is returned digit for digit as it is stored: responses with data are
// written by `stringifyJson`.

import type { TransitionDocument, WorkflowDocument } from '../core/definitions/documents/index.ts'
import { netOf } from '../core/workflows/analysis/index.ts'
import type { DoneStep, Firing, HistoryEntry, InstanceRow } from '../core/workflows/instance/index.ts'
import type { Workflow } from '../core/workflows/machine/index.ts'
import type { Orphan } from '../core/workflows/orphan/index.ts'
import type { ReadEntry, ReadInstance, ReadPast } from '../engine/index.ts'
import type { TenantReads } from '../ports/store.ts'
import { iso, isoOrNull } from './shapes.ts'

type Counts = Awaited<ReturnType<TenantReads['instanceCounts']>>

export function showWorkflow({ document, hash, status }: Workflow, counts: Counts) {
  return {
    name: document.name,
    version: document.version,
    definition: hash,
    status,
    description: document.description,
    counts: {
      active: counts.definitions.reduce((sum, { count }) => sum + count, 0),
      attention: counts.attention,
    },
    versions: counts.definitions,
  }
}

export function showWorkflowDetail(workflow: Workflow, counts: Counts) {
  const { document } = workflow
  return {
    ...showWorkflow(workflow, counts),
    document,
    net: showNet(document, (place) => tokensOf(counts, place)),
    triggers: document.triggers.map(({ id, on = [], schedule, manual, action, fire }) => ({
      id,
      on,
      schedule: schedule === undefined ? null : `${schedule.cron} (${schedule.zone})`,
      manual: manual !== undefined,
      permission: manual?.permission ?? null,
      action,
      fire: fire ?? null,
      input: manual?.input ?? null,
    })),
  }
}

function tokensOf({ markings }: Counts, place: string): number {
  return markings.reduce((sum, { marking, count }) => sum + (marking[place] ?? 0) * count, 0)
}

/** As a drawing needs it; `tokens` are those of the instances that it is drawn for. */
function showNet(document: WorkflowDocument, tokens: (place: string) => number) {
  const { places, transitions, arcs } = netOf(document)
  return {
    start: document.start,
    places: document.places.map(({ name, type, description = null, timeout = null }, index) => ({
      name,
      type,
      description,
      tokens: tokens(name),
      timeout,
      onEnter: places[index]?.onEnter ?? null,
    })),
    transitions: document.transitions.map((one, index) => ({
      name: one.name,
      description: one.description ?? null,
      from: one.from,
      fromAny: one.fromAny ?? [],
      to: targetsOf(one),
      on: one.on,
      isAutomatic: transitions[index]?.isAutomatic ?? false,
      when: transitions[index]?.when ?? null,
      action: one.do?.type ?? null,
      undo: one.undo !== undefined,
      permission: one.permission ?? null,
      input: one.input ?? null,
    })),
    arcs,
  }
}

/** Where a token may come out, whichever branch holds. */
function targetsOf({ to, choose = [] }: TransitionDocument): readonly string[] {
  return [...new Set([...to, ...choose.flatMap((branch) => branch.to)])]
}

export function showInstance(row: InstanceRow) {
  return {
    id: row.id,
    workflow: row.workflow,
    version: row.version,
    definition: row.definition,
    state: row.state,
    attention: row.attention,
    marking: row.marking,
    eventId: row.eventId,
    correlationId: row.correlationId,
    parent: row.parent,
    createdAt: iso(row.createdAt),
    updatedAt: iso(row.updatedAt),
    endedAt: isoOrNull(row.endedAt),
  }
}

interface Beside {
  readonly history: readonly ReadEntry[]
  readonly children: readonly string[]
}

export function showInstanceDetail({ row, workflow, instance }: ReadInstance, { history, children }: Beside) {
  const { data, metadata, correlations, firings, done, failure, rollBack, admission } = instance
  return {
    ...showInstance(row),
    data,
    metadata,
    correlations,
    firings: firings.map(showFiring),
    steps: done.map(showStep),
    failure: failure === null ? null : { ...failure, at: iso(failure.at) },
    rollBack,
    waitsFor: admission.waitsFor,
    children,
    history: history.map(showEntry),
    encrypted: workflow.document.security?.encrypt ?? [],
    net: showNet(workflow.document, (place) => instance.marking[place] ?? 0),
  }
}

/** The past state; what the history does not contain is left empty. */
export function showPast({ row, workflow, past, entries }: ReadPast, shown: number) {
  const { state, version, marking, data, metadata, correlations, sequence, at, isWhole } = past
  return {
    ...showInstance(row),
    state,
    version,
    marking,
    attention: null,
    updatedAt: iso(at),
    endedAt: state === 'active' ? null : iso(at),
    data,
    metadata,
    correlations,
    firings: openThen(entries),
    steps: doneThen(entries),
    failure: null,
    rollBack: null,
    waitsFor: null,
    children: entries.flatMap(({ entry }) => entry.child ?? []),
    history: entries.slice(-shown).map(showEntry),
    encrypted: workflow.document.security?.encrypt ?? [],
    net: showNet(workflow.document, (place) => marking[place] ?? 0),
    at: { sequence, time: iso(at), isWhole },
  }
}

const OVER: readonly HistoryEntry['type'][] = ['ended', 'undone', 'interrupted', 'late']

function openThen(entries: readonly ReadEntry[]) {
  const open = new Map<number, ReturnType<typeof showFiring>>()
  for (const { entry, at } of entries) {
    const { type, firing: number, name = '', took, actor, input, child } = entry
    if (number === undefined) continue
    const known = open.get(number)
    if (type === 'began') {
      const began = { number, type: 'fire', name, held: took ?? [], state: 'running', beganAt: at } as const
      const by = { ...(actor === undefined ? {} : { actor }), ...(input === undefined ? {} : { input }) }
      open.set(number, showFiring({ ...began, ...by, ...(child === undefined ? {} : { child }) }))
    } else if (OVER.includes(type)) open.delete(number)
    else if (known !== undefined && (type === 'failed' || type === 'retried'))
      open.set(number, { ...known, state: type === 'failed' ? 'failed' : 'running' })
  }
  return [...open.values()]
}

function doneThen(entries: readonly ReadEntry[]) {
  const undone = new Set(
    entries.filter(({ entry }) => entry.type === 'undone').map(({ entry }) => entry.firing),
  )
  return entries.flatMap(({ entry, at }) => {
    const { type, firing: number, name = '', result = null } = entry
    if (type !== 'ended' || number === undefined) return []
    const isUndone = undone.has(number)
    return [showStep({ number, type: 'fire', name, key: null, endedAt: at, result, undone: isUndone })]
  })
}

function showFiring(firing: Omit<Firing, 'stays'>) {
  const { number, type, name, held, state, beganAt, of, actor, input, child, inDoubt } = firing
  return {
    number,
    type,
    name,
    held,
    state,
    beganAt: iso(beganAt),
    ...(of === undefined ? {} : { of }),
    ...(actor === undefined ? {} : { actor }),
    ...(input === undefined ? {} : { input }),
    ...(child === undefined ? {} : { child }),
    ...(inDoubt === undefined ? {} : { inDoubt }),
  }
}

function showStep({ number, type, name, key, endedAt, result, undone }: DoneStep) {
  return { number, type, name, key, endedAt: iso(endedAt), result, undone }
}

export function showEntry({ sequence, at, entry }: ReadEntry) {
  return { sequence, at: iso(at), ...entry }
}

export function showOrphan(orphan: Orphan) {
  return {
    id: orphan.id,
    state: orphan.state,
    reason: orphan.reason,
    workflow: orphan.workflow,
    trigger: orphan.trigger,
    eventId: orphan.eventId,
    workId: orphan.workId,
    keys: orphan.keys,
    expiresAt: isoOrNull(orphan.expiresAt),
    instance: orphan.instance,
    by: orphan.by,
    note: orphan.note,
    createdAt: iso(orphan.createdAt),
    updatedAt: iso(orphan.updatedAt),
  }
}
