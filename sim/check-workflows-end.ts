// What must be true of workflows when a run is over: every event that a trigger selected has reached a visible end (N2), and
// every instance has ended, waits for a user by its own net, or needs an operator (N8, N12).

import type { TransitionDocument, WorkflowDocument } from '../src/core/definitions/documents/index.ts'
import type { WorkRow } from '../src/core/queue/work/index.ts'
import { FINAL_WORK } from '../src/core/store/retention/index.ts'
import type { Instance } from '../src/core/workflows/instance/index.ts'
import type { StoreDump } from '../src/ports/store.ts'
import { asText, type CaseModel } from './check-workflows.ts'
import { short } from './node.ts'
import type { Observations } from './run-observations.ts'

/** Why an item of a trigger may have been skipped. */
const SKIPPED: ReadonlySet<string> = new Set(['EXISTS', 'LOCK_HELD'])
/** It names the orphan that stands for it. */
const ORPHANED: ReadonlySet<string> = new Set(['BUFFERED', 'ORPHAN', 'DISCARDED', 'CORRELATED'])

/** As if nothing had gone; `kept`: what is there. */
export function checkCasesEnd(
  observations: Observations,
  model: CaseModel,
  dump: StoreDump,
  kept: StoreDump,
): void {
  if (observations.cases === null) return
  checkStored(observations, model, kept)
  for (const row of dump.work) if (row.kind === 'trigger') checkTrigger(observations, model, row)
  checkDeadLetterEvents(observations, dump)
  for (const { instance, document } of model.instances.values()) {
    const why = instance.state === 'active' ? idleReason(observations, model, instance, document) : 'ended'
    if (why === null)
      observations.violate(
        'N12',
        `instance ${short(instance.id)} at ${asText(instance.marking)} waits for no job`,
      )
  }
}

/** The store has what the commits said. What has ended may be gone. */
function checkStored(observations: Observations, model: CaseModel, kept: StoreDump): void {
  const rows = new Map(kept.instances.map((row) => [row.id, row]))
  const entries = new Map<string, number>()
  for (const { instance } of kept.history) entries.set(instance, (entries.get(instance) ?? 0) + 1)
  for (const { instance, entries: known } of model.instances.values()) {
    const row = rows.get(instance.id)
    if (row === undefined) {
      if (instance.state === 'active') observations.violate('N8', `instance ${short(instance.id)} is gone`)
      continue
    }
    const isSame = row.revision === instance.revision && asText(row.marking) === asText(instance.marking)
    if (!isSame || entries.get(instance.id) !== known.length)
      observations.violate('N8', `instance ${short(instance.id)} is not what its commits said`)
  }
  for (const { key, body } of kept.correlations)
    if (model.correlations.get(key) !== body)
      observations.violate('N8', `the key ${key} is not what commits said`)
  if (kept.correlations.length !== model.correlations.size) observations.violate('N8', 'keys are missing')
}

function checkTrigger(observations: Observations, model: CaseModel, row: WorkRow) {
  const { id, state, lastError, effectRef } = row
  const complain = (what: string) => observations.violate('N2', `trigger item ${short(id)} ${what}`)
  if (!FINAL_WORK.includes(state)) return complain(`is ${state}`)
  if (state === 'done') {
    if (!model.instances.has(effectRef as Instance['id'])) complain('is done, and did nothing')
    return
  }
  if (state !== 'skipped') return
  const isOrphans = ORPHANED.has(lastError ?? '')
  if (!isOrphans && !SKIPPED.has(lastError ?? '')) return complain(`is skipped: ${lastError}`)
  if (lastError === 'EXISTS' && !model.instances.has(effectRef as Instance['id']))
    complain('gives way to no instance')
  if (isOrphans && !model.orphans.has(effectRef ?? '')) complain('is an orphan that is in no list')
}

/** A trigger that names a subject for its dead letters has emitted one event about each. */
function checkDeadLetterEvents({ cases, violate }: Observations, dump: StoreDump) {
  const told = new Map<string, number>()
  for (const { dedupKey } of dump.events) told.set(dedupKey, (told.get(dedupKey) ?? 0) + 1)
  for (const { id, kind, state, definition, step } of dump.work) {
    if (kind !== 'trigger' || state !== 'dead') continue
    const trigger = cases?.byHash(definition)?.triggers.find((one) => one.id === step)
    const wanted = trigger?.deadLetter === undefined ? 0 : 1
    const count = told.get(`dead-letter:${id}`) ?? 0
    if (count !== wanted) violate('N2', `dead trigger item ${short(id)} has ${count} events of ${wanted}`)
  }
}

/** null: it should have gone on by itself. */
function idleReason(
  observations: Observations,
  model: CaseModel,
  instance: Instance,
  document: WorkflowDocument,
): string | null {
  const { attention, firings, stays, admission } = instance
  if (attention !== null) return attention
  if (admission.waitsFor !== null)
    return hasHolder(observations, model, admission[admission.waitsFor]) ? 'behind' : null
  const waiting = firings.filter(({ state }) => state === 'waiting')
  if (waiting.length > 0)
    return waiting.every(({ child }) => child !== undefined && isActive(model, child)) ? 'child' : null
  if (firings.length > 0 || stays.length > 0 || instance.rollBack !== null) return null
  const fires = new Set(document.triggers.map(({ fire }) => fire))
  const isAwaited = ({ on, name, when }: TransitionDocument) =>
    on === 'manual' || on === 'event' || fires.has(name) || (on === 'auto' && when !== null)
  const canFire = ({ from, fromAny }: TransitionDocument) =>
    [...new Set(from)].every((place) => (instance.marking[place] ?? 0) > 0) &&
    (fromAny === undefined || fromAny.some((place) => (instance.marking[place] ?? 0) > 0))
  return document.transitions.some((one) => isAwaited(one) && canFire(one)) ? 'awaits' : null
}

function isActive(model: CaseModel, id: Instance['id']): boolean {
  return model.instances.get(id)?.instance.state === 'active'
}

/** A live job has the lane position that this one waits for. */
function hasHolder(observations: Observations, model: CaseModel, item: WorkRow['id'] | null): boolean {
  const row = item === null ? undefined : observations.works.get(item)
  return row !== undefined && waitsForAdmission(observations, model, row)
}

/** Waits for a lock or a place that an instance has which lives. */
export function waitsForAdmission(observations: Observations, model: CaseModel, row: WorkRow): boolean {
  if (row.kind !== 'admit' || row.state !== 'waiting') return false
  for (const other of observations.works.values()) {
    const isHolder = other.hasPlace && other.consumer === row.consumer && other.lane === row.lane
    if (isHolder && other.state === 'done' && other.instance !== null && isActive(model, other.instance))
      return true
  }
  return false
}
