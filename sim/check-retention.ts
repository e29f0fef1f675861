// N2 and N1 when retention takes something: only what is over goes, whole, and in its time. It is then remembered, so that the
// checks at the end see a store in which nothing is missing.

import {
  CLOSED_DEAD_LETTERS,
  FINAL_WORK,
  OPEN_ENTRIES,
  type Pruned,
  type PruneRequest,
} from '../src/core/store/retention/index.ts'
import type { StoreDump } from '../src/ports/store.ts'
import { isCopy } from './check-dead-letters.ts'
import type { VirtualTime } from './clock.ts'
import type { Data, Prunable } from './data.ts'
import { short } from './node.ts'
import type { Observations } from './run-observations.ts'
import { SOURCES } from './scenario.ts'
import { TWIN } from './twin-tenant.ts'

const WINDOWS = new Map(SOURCES.map(({ name, dedup }) => [name, dedup.windowMs]))

export function makeRetentionChecks({
  observations,
  data,
  time,
}: {
  readonly observations: Observations
  readonly data: Data
  readonly time: VirtualTime
}): { pruning(request: PruneRequest, prune: () => Pruned): Pruned } {
  return {
    pruning(request, prune) {
      const before = data.prunable()
      try {
        return prune()
      } finally {
        // Also when it failed: what it answers says nothing of what it did.
        const after = data.prunable()
        if (!isSame(before, after)) checkGone(observations, before, after, request, time.now())
      }
    },
  }
}

/** Retention adds nothing: where there are as many, they are the same. */
function isSame(before: Prunable, after: Prunable): boolean {
  return (Object.keys(before) as (keyof Prunable)[]).every(
    (name) => before[name].length === after[name].length,
  )
}

function checkGone(
  observations: Observations,
  before: Prunable,
  after: Prunable,
  request: PruneRequest,
  now: number,
): void {
  const left = new Set<string>([...after.events, ...after.work, ...after.deadLetters].map(({ id }) => id))
  const events = before.events.filter(({ id }) => !left.has(id))
  const work = before.work.filter(({ id }) => !left.has(id))
  const letters = before.deadLetters.filter(({ id }) => !left.has(id))
  const gone = new Set<string>(events.map(({ id }) => id))
  observations.counts.pruned += events.length

  const untold = new Set<string | null>(before.outbox.map(({ event }) => event))

  for (const { id, source, causationId, dedupKey, receivedAt } of events) {
    if (untold.has(id)) observations.violate('N13', `event ${short(id)} is deleted before it was published`)
    if (source.startsWith('source:') && causationId !== null && left.has(causationId))
      observations.violate('N2', `event ${short(id)} goes before the one that it was made of`)
    if (receivedAt + request.otherwiseMs > now)
      observations.violate('N2', `event ${short(id)} goes before its time`)
    const isLast = !before.events.some(
      (other) => other.source === source && other.dedupKey === dedupKey && other.receivedAt > receivedAt,
    )
    // A copy that an operator made has a key of its own, and no sender can repeat it.
    if (isLast && !isCopy({ dedupKey }) && receivedAt + (WINDOWS.get(source) ?? 0) > now) {
      observations.violate('N1', `event ${short(id)} goes while its dedup window is open`)
    }
  }
  // Whatever hung on the event, gone or not, must have been over.
  for (const { id, eventId, state } of before.work) {
    if (!gone.has(eventId)) continue
    if (!FINAL_WORK.includes(state))
      observations.violate('N2', `retention takes work ${short(id)}, which is ${state}`)
    if (left.has(id)) observations.violate('N2', `work ${short(id)} is left without its event`)
    const open = before.ledger.find((entry) => entry.work === id && OPEN_ENTRIES.includes(entry.state))
    if (open !== undefined)
      observations.violate('N2', `retention takes work ${short(id)} of ${open.key}: ${open.state}`)
  }
  for (const { id, eventId, state } of before.deadLetters) {
    if (!gone.has(eventId)) continue
    if (!CLOSED_DEAD_LETTERS.includes(state)) {
      observations.violate('N2', `retention takes dead letter ${short(id)}, which is ${state}`)
    }
    if (left.has(id)) observations.violate('N2', `dead letter ${short(id)} is left without its event`)
  }
  for (const { id, eventId } of [...work, ...letters]) {
    if (!gone.has(eventId)) observations.violate('N2', `retention takes ${short(id)} and leaves its event`)
  }
  if (after.ledger.length !== before.ledger.length)
    observations.violate('N2', 'retention takes from the ledger')
  if (after.records.length !== before.records.length) observations.violate('N2', 'retention takes records')

  for (const event of events) observations.gone.events.set(event.id, event)
  for (const row of work) observations.gone.work.set(row.id, row)
  for (const letter of letters) observations.gone.deadLetters.set(letter.id, letter)
}

/** As if nothing had gone. */
export function withGone({ gone }: Observations, dump: StoreDump): StoreDump {
  const events = [...gone.events.values()].filter(({ tenant }) => tenant !== TWIN)
  return {
    ...dump,
    events: [...dump.events, ...events],
    work: [...dump.work, ...gone.work.values()],
    deadLetters: [...dump.deadLetters, ...gone.deadLetters.values()],
  }
}
