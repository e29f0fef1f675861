// N8 and what else is promised of instances, on every applied group: the row is what the history says, firings hold their tokens and
// have their items, keys lead to who lives, locks and places are never shared, and each step has its effect once.

import type { WorkflowDocument } from '../src/core/definitions/documents/index.ts'
import type { InstanceId, WorkId } from '../src/core/foundation/ids/index.ts'
import type { WorkRow } from '../src/core/queue/work/index.ts'
import { FINAL_WORK } from '../src/core/store/retention/index.ts'
import { readCorrelation } from '../src/core/workflows/correlation/index.ts'
import type { Instance, NewInstance } from '../src/core/workflows/instance/index.ts'
import {
  correlationKey,
  decodeHistory,
  decodeInstance,
  type PastEntry,
  parseStepName,
  rebuildInstance,
} from '../src/core/workflows/machine/index.ts'
import type { NewOrphan } from '../src/core/workflows/orphan/index.ts'
import type { Commit } from '../src/ports/store.ts'
import { type HistoryWalk, isInputs, walkHistory } from './check-history.ts'
import type { VirtualTime } from './clock.ts'
import type { Outcome } from './data.ts'
import { short } from './node.ts'
import type { Observations } from './run-observations.ts'
import { keyOfSent } from './scenario.ts'
import type { Effect } from './vendor.ts'

interface KnownInstance {
  readonly instance: Instance
  readonly document: WorkflowDocument
  readonly entries: readonly PastEntry[]
  readonly walk: HistoryWalk
}

/** What the commits so far say. */
export interface CaseModel {
  readonly instances: Map<InstanceId, KnownInstance>
  /** Bodies of rows, by key. */
  readonly correlations: Map<string, string>
  readonly orphans: Map<string, NewOrphan>
}

export interface WorkflowChecks {
  readonly model: CaseModel
  /** Of groups whose jobs are recorded already. */
  applied(commits: readonly Commit[], outcomes: readonly Outcome[]): void
  /** A commit that no store can take. */
  broken(commit: Commit): void
  took(effect: Effect): void
  /** Whether the firing of a step has failed, by the commits so far. */
  hasFailed(step: WorkRow): boolean
}

const STEP_KEY = /^(undo:)?[a-z]+:(ins_[^:]+):([a-z0-9]+):(\d+)$/

export function makeWorkflowChecks({
  observations,
  time,
}: {
  readonly observations: Observations
  readonly time: VirtualTime
}): WorkflowChecks {
  const model: CaseModel = { instances: new Map(), correlations: new Map(), orphans: new Map() }
  const { instances, correlations } = model
  /** Firings of which the vendor did something, by instance and transition. */
  const effects = new Map<string, Set<string>>()

  const complain = (id: InstanceId, what: string) => {
    observations.violate('N8', `instance ${short(id)}: ${what}`)
  }

  const put = (row: NewInstance, commit: Commit) => {
    const before = instances.get(row.id)
    const document = observations.cases?.byHash(row.definition)
    if (document === undefined) return complain(row.id, 'its definition is of no version')
    const instance = decodeInstance(row)
    const rows = commit.writes.flatMap((write) => (write.w === 'history.append' ? write.rows : []))
    const entries = rows
      .filter((one) => one.instance === row.id)
      .map((one) => ({ ...decodeHistory(one), sequence: one.sequence, at: time.now() }))
    const walk = before?.walk ?? walkHistory(document)
    const known = { instance, document, entries: [...(before?.entries ?? []), ...entries], walk }
    instances.set(row.id, known)
    checkRevision(before, known, entries)
    for (const entry of entries) {
      count(entry)
      for (const wrong of walk.next(entry)) complain(row.id, wrong)
    }
    checkRow(known)
    checkHeld(known)
    for (const { successor, predecessor } of entries) checkReplaced(known, commit, successor, predecessor)
    if (instance.state === 'active')
      for (const name of walk.lateLeft()) complain(row.id, `${name} came late and is never undone`)
  }

  /** Of the two instances of a replacement one commit has both, with the same tokens and keys. */
  const checkReplaced = (
    { instance: { id, marking, correlations: keys } }: KnownInstance,
    commit: Commit,
    successor: InstanceId | undefined,
    predecessor: InstanceId | undefined,
  ) => {
    const other = successor ?? predecessor
    if (other === undefined) return
    const row = commit.writes.flatMap((write) =>
      write.w === 'instance.put' && write.row.id === other ? [write.row] : [],
    )[0]
    if (row === undefined) return complain(id, `${short(other)} is not in the commit that replaces`)
    if (successor === undefined) return
    const next = decodeInstance(row)
    if (next.revision !== 1 || asText([...keys]) !== asText([...next.correlations]))
      complain(id, `${short(other)} does not take over its keys`)
    if (
      next.firings.length === 0 &&
      next.admission.waitsFor !== null &&
      asText(marking) !== asText(next.marking)
    )
      complain(id, `${short(other)} does not take over its tokens`)
    observations.counts.replaced += 1
  }

  const count = ({ type, actor, part }: PastEntry) => {
    const { counts } = observations
    if (type === 'created') counts.instances += 1
    if (type === 'began') counts.firings += 1
    if (type === 'interrupted') counts.interrupts += 1
    if (type === 'late') counts.lateSteps += 1
    if (type === 'undone') counts.undone += 1
    if (type === 'rolling_back') counts.rolledBack += 1
    if (type === 'migrated') counts.migrated += 1
    if (type === 'timed_out') counts.timedOut += 1
    if (type === 'updated') counts.updates += 1
    if (type === 'admitted') counts.admitted += 1
    if (type === 'retried') counts.resumed += 1
    if (actor !== undefined && part === undefined) counts.handMade += 1
  }

  /** One more with every change; what was called off in the same commit is a change of its own. */
  const checkRevision = (
    before: KnownInstance | undefined,
    { instance, entries }: KnownInstance,
    added: readonly PastEntry[],
  ) => {
    const { id, revision, next } = instance
    const grown = revision - (before?.instance.revision ?? 0)
    const calledOff = added.filter(({ type, comment }) => type === 'noted' && comment === 'called off').length
    if (grown < 1 || grown > 1 + calledOff) complain(id, `its revision grows by ${grown}`)
    const isInOrder = entries.every(({ sequence }, index) => sequence === index + 1)
    if (!isInOrder || next.history !== entries.length + 1) complain(id, 'its history has a gap')
    if (
      before !== undefined &&
      before.instance.state !== 'active' &&
      before.instance.state !== instance.state
    )
      complain(id, `it was ${before.instance.state}, and is ${instance.state}`)
  }

  const checkRow = ({ instance, document, entries, walk }: KnownInstance) => {
    const { id, marking, data, metadata, state, version, correlations: keys } = instance
    const past = rebuildInstance(entries, { sequence: entries.length })
    const said = asText([marking, data, metadata, state, version, keys])
    const rebuilt = asText([
      past?.marking ?? null,
      past?.data ?? null,
      past?.metadata ?? null,
      past?.state ?? null,
      past?.version ?? null,
      past?.correlations ?? null,
    ])
    if (said !== rebuilt) complain(id, `it is ${said}, its history says ${rebuilt}`)
    if (asText(Object.fromEntries(walk.marking)) !== asText(marking))
      complain(
        id,
        `its tokens are ${asText(marking)}, took and put give ${asText(Object.fromEntries(walk.marking))}`,
      )
    if (state !== 'completed' && state !== 'failed') return
    const taken = new Set(document.transitions.flatMap(({ from, fromAny = [] }) => [...from, ...fromAny]))
    const types = new Map(document.places.map(({ name, type }) => [name, type]))
    const places = Object.keys(marking)
    const isEnd = (place: string) =>
      types.get(place) === 'final' || (types.get(place) === 'error' && !taken.has(place))
    const hasError = places.some((place) => types.get(place) === 'error')
    if (!places.every(isEnd) || instance.firings.length > 0 || instance.rollBack !== null)
      complain(id, `it is ${state}, and something can still happen`)
    if (hasError !== (state === 'failed')) complain(id, `it is ${state} at ${places.join()}`)
  }

  /** Held tokens exist, and nothing waits for a token that has left. */
  const checkHeld = ({ instance, document, walk }: KnownInstance) => {
    const { id, firings, marking, stays } = instance
    const undoing = firings.filter(({ type }) => type === 'undo').length
    if (instance.state === 'active' && undoing !== walk.undoing())
      complain(id, `${walk.undoing()} undos have begun, ${undoing} are open`)
    const held = new Map<string, number>()
    for (const firing of firings) {
      for (const place of firing.held) held.set(place, (held.get(place) ?? 0) + 1)
      const transition = document.transitions.find(({ name }) => name === firing.name)
      const isFree = firing.state === 'interrupted' || firing.type === 'undo'
      const isRight = isFree
        ? firing.held.length === 0
        : firing.type === 'enter'
          ? firing.held.join() === firing.name
          : transition !== undefined && isInputs(transition, firing.held)
      if (!isRight)
        complain(id, `firing ${firing.number} ${firing.name} holds ${firing.held.join() || 'nothing'}`)
    }
    for (const [place, count] of held)
      if (count > (marking[place] ?? 0)) complain(id, `${count} tokens are held in ${place}`)
    for (const { place } of stays)
      if (stays.filter((one) => one.place === place).length > (marking[place] ?? 0))
        complain(id, `time runs for a token that has left ${place}`)
  }

  const itemsOf = (id: InstanceId): readonly WorkRow[] =>
    [...observations.works.values()].filter((row) => row.instance === id && !FINAL_WORK.includes(row.state))

  /** Every firing that is open has the one item that ends it, and nothing of an instance that has ended is under way. */
  const checkItems = ({ instance }: KnownInstance) => {
    const { id, state, firings, stays, admission } = instance
    const items = itemsOf(id)
    const own = items.filter(({ kind }) => kind === 'step' || kind === 'timer' || kind === 'admit')
    if (state !== 'active' && own.length > 0)
      complain(id, `it is ${state}, and ${own[0]?.step} is ${own[0]?.state}`)
    if (state !== 'active') return
    for (const firing of firings) {
      const steps = items.filter(
        ({ kind, step }) => kind === 'step' && parseStepName(step ?? '')?.number === firing.number,
      )
      const isChilds = firing.child !== undefined && ['waiting', 'interrupted'].includes(firing.state)
      const isRight =
        isChilds || (firing.state === 'failed' && steps.length === 0)
          ? steps.length === 0
          : steps.length === 1 && (firing.state !== 'parked' || steps[0]?.state === 'parked')
      const states = steps.map((one) => one.state).join() || 'no item'
      if (!isRight) complain(id, `firing ${firing.number} ${firing.name} is ${firing.state} with ${states}`)
      if (isChilds) checkChild(id, firing, items)
    }
    const timers = new Set<WorkId>(items.filter(({ kind }) => kind === 'timer').map((row) => row.id))
    for (const { timer, place } of stays) if (!timers.has(timer)) complain(id, `no timer exists in ${place}`)
    const waits = admission.waitsFor === null ? null : admission[admission.waitsFor]
    if (waits !== null && !items.some((row) => row.id === waits)) complain(id, 'it waits for no job')
  }

  const checkChild = (id: InstanceId, firing: Instance['firings'][number], items: readonly WorkRow[]) => {
    const child = firing.child === undefined ? undefined : instances.get(firing.child)
    if (child === undefined) return complain(id, `firing ${firing.number} waits for no instance`)
    const isTold = items.some(
      ({ kind, step }) => kind === 'signal' && parseStepName(step ?? '')?.number === firing.number,
    )
    if (child.instance.state !== 'active' && !isTold)
      complain(id, `firing ${firing.number} waits for an instance that is ${child.instance.state}`)
  }

  /** Rows of keys name exactly those that live, of whom there may be only one. */
  const checkKeys = () => {
    const expected = new Map<string, InstanceId[]>()
    for (const { instance } of instances.values()) {
      if (instance.state !== 'active') continue
      for (const { name, value } of instance.correlations) {
        const key = correlationKey(instance.workflow, name, value)
        expected.set(key, [...(expected.get(key) ?? []), instance.id])
      }
    }
    for (const key of new Set([...expected.keys(), ...correlations.keys()])) {
      const live = [...(expected.get(key) ?? [])].sort()
      const named = [...readCorrelation(correlations.get(key) ?? null).live].sort()
      if (live.join() !== named.join())
        observations.violate(
          'N8',
          `the key ${key} names ${named.length} instances, ${live.length} live with it`,
        )
      const [first] = live
      const document = first === undefined ? undefined : instances.get(first)?.document
      const isOne = document?.triggers.some(({ unique }) => unique === 'live') === true
      if (isOne && live.length > 1) observations.violate('N8', `two instances live with the key ${key}`)
    }
  }

  const checkAdmission = () => {
    const inside = new Map<string, number>()
    for (const { instance, document, entries } of instances.values()) {
      const { state, admission, workflow } = instance
      if (state !== 'active') continue
      const add = (name: string, max: number) => {
        const now = (inside.get(name) ?? 0) + 1
        inside.set(name, now)
        if (now > max) observations.violate('N8', `${now} instances are inside ${name}`)
      }
      if (document.lock !== undefined && admission.lock !== null && admission.waitsFor !== 'lock')
        add(`the lock ${workflow} ${lockOf(document, entries)}`, 1)
      if (document.maxConcurrent !== undefined && admission.slot !== null && admission.waitsFor !== 'slot')
        add(`the places of ${workflow}`, document.maxConcurrent)
    }
  }

  /** A waiting orphan has a job that will handle it. */
  const checkOrphans = () => {
    for (const { id, state, workId } of model.orphans.values()) {
      const item = observations.works.get(workId)
      if (state === 'waiting' && (item === undefined || FINAL_WORK.includes(item.state)))
        observations.violate('N2', `orphan ${short(id)} waits, and its item is ${item?.state ?? 'absent'}`)
    }
  }

  const walk = (commit: Commit, touched: Set<InstanceId>) => {
    for (const write of commit.writes) {
      if (write.w === 'instance.put') {
        touched.add(write.row.id)
        put(write.row, commit)
        if (write.row.parent !== null && write.row.revision === 1) observations.counts.children += 1
      } else if (write.w === 'correlation.put') correlations.set(write.key, write.body)
      else if (write.w === 'correlation.delete') correlations.delete(write.key)
      else if (write.w === 'orphan.put') {
        if (!model.orphans.has(write.row.id))
          observations.counts[write.row.state === 'waiting' ? 'buffered' : 'orphans'] += 1
        model.orphans.set(write.row.id, write.row)
      } else if (write.w === 'work.settle' || write.w === 'work.again') {
        const instance = observations.works.get(write.work)?.instance ?? null
        if (instance !== null) touched.add(instance)
      }
    }
  }

  return {
    model,
    hasFailed({ instance: id, step }) {
      const known = id === null ? undefined : instances.get(id)
      const number = parseStepName(step ?? '')?.number
      return known?.instance.firings.find((one) => one.number === number)?.state === 'failed'
    },
    applied(commits, outcomes) {
      if (observations.cases === null) return
      const touched = new Set<InstanceId>()
      for (const [index, commit] of commits.entries()) if (outcomes[index]?.ok === true) walk(commit, touched)
      if (touched.size === 0) return
      for (const id of touched) {
        const known = instances.get(id)
        if (known !== undefined) checkItems(known)
      }
      checkKeys()
      checkAdmission()
      checkOrphans()
    },

    broken({ writes }) {
      for (const write of writes) {
        const known = write.w === 'instance.put' ? instances.get(write.row.id) : undefined
        if (
          write.w === 'instance.put' &&
          known !== undefined &&
          write.row.revision <= known.instance.revision
        )
          complain(
            write.row.id,
            `it is at revision ${known.instance.revision}, and ${write.row.revision} is written`,
          )
      }
    },

    took({ send }) {
      const match = send.operation.consumer.startsWith('workflow:')
        ? STEP_KEY.exec(keyOfSent(send.key).key)
        : null
      if (match === null) return
      const [, undo, id, transition, number] = match as unknown as [
        string,
        string | undefined,
        InstanceId,
        string,
        string,
      ]
      const known = instances.get(id)
      if (known === undefined) return complain(id, 'its step has an effect, and it is not there')
      if (undo !== undefined) {
        if (!known.walk.ended.has(Number(number)) && !isPlain(known, transition))
          complain(id, `${transition} is undone at the vendor, and was not done`)
        return
      }
      // A chain has no way back: a step that is made once more is one whose result was forgotten.
      const name = `${id} ${transition}`
      const firings = (effects.get(name) ?? new Set<string>()).add(number)
      effects.set(name, firings)
      if (known.document.name === 'chain' && firings.size > 1)
        observations.violate('N3', `${name} has the effects of firings ${[...firings].join()}`)
    },
  }
}

/** Its value is that of the data with which the instance began. */
function lockOf({ name }: WorkflowDocument, entries: readonly PastEntry[]): string {
  const past = rebuildInstance(entries, { sequence: 1 })
  return String(name === 'chain' ? Number(past?.data.n) % 3 : past?.data.order)
}

/** It has no action: firing it is having done it. */
function isPlain({ document }: KnownInstance, name: string): boolean {
  return document.transitions.find((one) => one.name === name)?.do === undefined
}

/** The same for equal values, whatever the order of their fields. */
export function asText(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  )
}
