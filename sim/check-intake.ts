// N1 and N2 where an event is matched, at ingest or later, IN20 and IN21: what an event is matched to, what its source
// dispatches of it, under which keys its routes work, however often it is replayed, and what becomes of edited copies.

import { isLockKey } from '../src/core/effects/action/index.ts'
import type { NewLedgerEntry } from '../src/core/effects/ledger/index.ts'
import { isCanonicalSource } from '../src/core/events/canonical/index.ts'
import type { StoredEvent } from '../src/core/events/event/index.ts'
import { DEFAULT_TENANT, type EventId, type WorkId } from '../src/core/foundation/ids/index.ts'
import type { Commit, Write } from '../src/ports/store.ts'
import type { Data } from './data.ts'
import { short } from './node.ts'
import { addTo, type Observations } from './run-observations.ts'
import { dispatchOf, isEffectKey, parsePayload } from './scenario.ts'

type Appended = Extract<Write, { w: 'event.append' }>['event']

export interface IntakeChecks {
  /** An event that is new, with the commit that keeps it. */
  appended(commit: Commit, event: Appended): void
  /** After all of them: intake items that this commit ends. */
  ended(commit: Commit): void
  keyed(entry: NewLedgerEntry): void
}

export function makeIntakeChecks({
  observations,
  data,
}: {
  readonly observations: Observations
  readonly data: Data
}): IntakeChecks {
  /** Which consumers get jobs of the event by this commit, and whether one of the deployed bundles says so. */
  const isMatched = (commit: Commit, event: Pick<Appended, 'id' | 'subject' | 'data'>): number | null => {
    const given = consumersOf(commit, event.id)
    // One that is disabled takes no part in the choice between them: it is skipped, and the other runs whatever it wants (FO2).
    const isOpen = FIRST.some((consumer) => isSkipped(commit, event.id, consumer))
    const choiceOf = (consumers: readonly string[]) =>
      [...new Set(consumers.map((one) => (isOpen && FIRST.includes(one) ? FIRST.join('|') : one)))]
        .sort()
        .join()
    const payload = parsePayload(event.data)
    // Other tenants have no routes.
    const bundles = commit.tenant === DEFAULT_TENANT ? observations.bundles : [[]]
    const isRight = bundles.some((routes) => {
      const wanted = routes
        .filter((route) => route.wants(event.subject, payload))
        .map(({ document }) => `route:${document.name}`)
      return choiceOf(wanted) === choiceOf(given)
    })
    checkTriggers(commit, event)
    return isRight ? given.length : null
  }

  /** One job for each trigger that selects it; a requested start names its own. */
  const checkTriggers = (commit: Commit, event: Pick<Appended, 'id' | 'subject'>) => {
    const isAsked = /^workflow\.[^.]+\.requested$/.test(event.subject)
    const cases = commit.tenant === DEFAULT_TENANT ? observations.cases : null
    const wanted = isAsked ? null : [...(cases?.wanting(event.subject) ?? [])].sort().join()
    const given = triggersOf(commit, event.id).join()
    if (wanted !== null && given !== wanted)
      complain(event, `has the triggers ${given || 'none'}, not ${wanted || 'none'}`)
  }

  const dispatchedOf = (event: Appended): readonly string[] | null =>
    dispatchOf(event.source, kindOf(event), parsePayload(event.data))

  const complain = (event: Pick<Appended, 'id' | 'subject'>, what: string) =>
    observations.violate('N2', `event ${short(event.id)} ${event.subject} ${what}`)

  /** It is stored unmatched: by a source that may be paused, or dead at once because it cannot be parsed. */
  const keptAside = (commit: Commit, event: Appended, item: WorkId) => {
    if (event.matched !== 1) complain(event, 'waits, and does not count its intake')
    const isDead = commit.writes.some((write) => write.w === 'work.settle' && write.work === item)
    if (!isDead) {
      observations.counts.kept += 1
      if (!observations.everPaused.has(event.source))
        complain(event, 'is held back, and its source is not paused')
      return
    }
    observations.counts.quarantined += 1
    const isHubs = event.source === 'hub' && !((dispatchedOf(event)?.length ?? 0) > 0)
    const isDue = isHubs || isUnread(event)
    if (!isDue) complain(event, 'is quarantined for nothing')
    if (!commit.writes.some((write) => write.w === 'deadLetter.put'))
      complain(event, 'is dead without a letter')
  }

  const noteDispatched = (event: Appended) => {
    const parent = event.causationId as EventId
    observations.counts.dispatched += 1
    const before = observations.dispatched.get(parent) ?? []
    if (before.includes(event.subject)) complain(event, 'is dispatched a second time')
    addTo(observations.dispatched, parent, event.subject)
  }

  /** All that the rules say is there, and no more than they could have said. */
  const checkDispatched = (event: Appended) => {
    const wanted = dispatchedOf(event)
    const given = observations.dispatched.get(event.id) ?? []
    if (wanted === null) complain(event, 'is matched although a rule of its dispatch fails')
    else if ([...wanted].sort().join() !== [...given].sort().join())
      complain(event, `dispatches ${given.join() || 'nothing'}, not ${wanted.join() || 'nothing'}`)
  }

  /** A copy that was edited for one route is nothing to the others, who had the original. */
  const checkCopy = ({ id, dedupKey }: StoredEvent) => {
    if (!dedupKey.startsWith('edit:')) return
    const isIntakes = [...observations.works.values()].some(
      ({ kind, eventId, replayOf }) => kind === 'intake' && eventId === id && replayOf?.startsWith('dlq_'),
    )
    if (!isIntakes)
      observations.violate('IN21', `${short(id)} is a copy for one route, and is matched by all`)
  }

  return {
    appended(commit, event) {
      if (event.source.startsWith('source:')) noteDispatched(event)
      const intake = commit.writes.find(
        (write) => write.w === 'work.add' && write.work.kind === 'intake' && write.work.eventId === event.id,
      )
      if (intake?.w === 'work.add') {
        keptAside(commit, event, intake.work.id)
        return
      }
      const count = isMatched(commit, event)
      if (count === null)
        complain(event, `is matched to ${consumersOf(commit, event.id).join() || 'no consumer'}`)
      const triggers = triggersOf(commit, event.id).length + deliveriesOf(commit, event.id)
      if (event.source !== 'hub') {
        // Canonical events that no route selects are not shown as unmatched.
        const least = isCanonicalSource(event.source) ? 1 : 0
        if (count !== null && Math.max(least, count + triggers) !== event.matched)
          complain(event, 'counts others than it has')
        return
      }
      // Those that it dispatches stand behind it in the commit.
      const children = commit.writes.filter(
        (write) => write.w === 'event.append' && write.event.causationId === event.id,
      )
      const wanted = dispatchedOf(event)
      // An event that cannot be parsed is dead at once, unless a route selects it as it is.
      const isWanted = wanted !== null && (wanted.length > 0 || triggers > 0)
      if (!isWanted || children.length !== wanted.length)
        complain(event, `dispatches ${children.length} events`)
      if (event.matched !== (count ?? 0) + triggers + children.length)
        complain(event, 'counts others than it has')
    },

    ended(commit) {
      for (const write of commit.writes) {
        if (write.w !== 'work.settle' || write.to !== 'done') continue
        const item = observations.works.get(write.work)
        const event = item?.kind === 'intake' ? data.event(commit.tenant, item.eventId) : null
        if (event === null) continue
        observations.counts.matchedLater += 1
        if (item?.replayOf === event.id) checkCopy(event)
        // What is read of it after all is an event of its own.
        const isRight = isUnread(event)
          ? consumersOf(commit, event.id).length === 0
          : isMatched(commit, event) !== null
        if (!isRight)
          complain(event, `is matched later to ${consumersOf(commit, event.id).join() || 'no consumer'}`)
        checkDispatched(event)
      }
    },

    /** The same event gives the same key forever, however it is replayed. */
    keyed(entry) {
      const item = observations.works.get(entry.work)
      // A dead letter stores its own key, which an edit of the payload does not change.
      if (isLockKey(entry.key) || item?.kind === 'batch' || item?.kind === 'rotation') return
      if (isEffectKey(entry.key) || item === undefined || item.replayOf?.startsWith('dlq_')) return
      // A step is of its firing, an event may begin many.
      const whose = item.instance === null ? (item.element ?? '') : `${item.instance} ${item.step}`
      const name = `${item.eventId} ${item.consumer} ${whose}`
      const before = observations.keys.get(name)
      if (before !== undefined && before !== entry.key)
        observations.violate('IN20', `${item.consumer} works on one event under ${before} and ${entry.key}`)
      observations.keys.set(name, entry.key)
    },
  }
}

/** Of these the first that wants an event runs. */
const FIRST = ['route:north', 'route:south']

/** It is disabled: a job for it ends when it is inserted. */
function isSkipped({ writes }: Commit, id: EventId, consumer: string): boolean {
  const born = writes.flatMap((write) =>
    write.w === 'work.add' && write.work.eventId === id && write.work.consumer === consumer
      ? [write.work.id]
      : [],
  )
  return writes.some(
    (write) => write.w === 'work.settle' && write.to === 'skipped' && born.includes(write.work),
  )
}

/** Each once, however many items it has. */
function consumersOf(commit: Commit, id: EventId): readonly string[] {
  const consumers = commit.writes.flatMap((write) =>
    write.w === 'work.add' && write.work.eventId === id && write.work.kind === 'route'
      ? [write.work.consumer]
      : [],
  )
  return [...new Set(consumers)].sort()
}

/** How many subscriptions get it. */
function deliveriesOf({ writes }: Commit, id: EventId): number {
  return writes.filter(
    (write) => write.w === 'work.add' && write.work.eventId === id && write.work.kind === 'delivery',
  ).length
}

/** `workflow:chain/0`, each once. */
function triggersOf(commit: Commit, id: EventId): readonly string[] {
  const triggers = commit.writes.flatMap((write) =>
    write.w === 'work.add' && write.work.eventId === id && write.work.kind === 'trigger'
      ? [`${write.work.consumer}/${write.work.step}`]
      : [],
  )
  return [...new Set(triggers)].sort()
}

/** A bus message that cannot be parsed. */
function isUnread({ headers }: Pick<StoredEvent, 'headers'>): boolean {
  return 'millrace-unread' in (JSON.parse(headers) as object)
}

function kindOf({ headers }: Pick<StoredEvent, 'headers'>): string {
  return (JSON.parse(headers) as Readonly<Record<string, string>>)['x-kind'] ?? ''
}
