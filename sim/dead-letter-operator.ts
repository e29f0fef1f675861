// A person who mends: marks dead letters ready, edits, discards and replays them by the many; asks for, hurries and ends
// work. Each act is one that the API offers, at a moment when it may be wrong.

import type { StoredEvent } from '../src/core/events/event/index.ts'
import type { DeadLetter } from '../src/core/failures/dead-letter/index.ts'
import { DEFAULT_TENANT } from '../src/core/foundation/ids/index.ts'
import { parseJson } from '../src/core/foundation/json/index.ts'
import type { WorkRow } from '../src/core/queue/work/index.ts'
import type { Engine, EventFilter } from '../src/engine/index.ts'
import type { StoreDump } from '../src/ports/store.ts'
import type { WorkAct } from './faults.ts'
import { short } from './node.ts'
import { ask, type Outside } from './node-access.ts'

const DEAD_LETTER_ACTS = { ready: 20, edit: 35, discard: 10, bulk: 25, few: 10 } as const
const WORK_ACTS: Readonly<Partial<Record<WorkAct, number>>> = { retry: 45, probe: 25, cancel: 30 }

export function mend(outside: Outside, engine: Engine, dump: StoreDump): void {
  const { rng } = outside
  // Also such as somebody is busy with: those are refused.
  const letters = dump.deadLetters.filter(({ state }) => state !== 'resolved' && state !== 'discarded')
  const waiting = dump.work.filter(
    ({ state }) => state === 'ready' || state === 'parked' || state === 'leased',
  )
  if (letters.length > 0 && rng.chance(500)) actOnDeadLetter(outside, engine, rng.pick(letters), dump)
  if (waiting.length > 0 && rng.chance(300)) actOnWork(outside, engine, rng.pick(waiting))
  if (rng.chance(50)) cancelBulk(outside, engine, dump)
  if (rng.chance(200)) replayEvents(outside, engine, dump)
}

/** What explodes is left alone: each replay of it would cost as many nodes as the first time. */
function isHarmless({ subject, headers }: StoredEvent): boolean {
  return subject !== 'order.exploded' && !headers.includes('exploded')
}

function replayEvents(outside: Outside, engine: Engine, { events }: StoreDump): void {
  const { rng, trace } = outside
  const few = events.filter((event) => isHarmless(event) && rng.chance(200)).map(({ id }) => id)
  const filter: EventFilter = rng.chance(300)
    ? rng.pick([{ subject: 'order.paid' }, { subject: 'order.unheard', unmatched: true }])
    : { ids: few }
  if (filter.ids?.length === 0) return
  trace('person', () => `replays events ${filter.ids?.map(short).join() ?? filter.subject}`)
  ask(outside, engine.replays.beginEvents(DEFAULT_TENANT, filter, {}))
}

function actOnDeadLetter(outside: Outside, engine: Engine, letter: DeadLetter, dump: StoreDump): void {
  const { rng, trace } = outside
  const act = rng.weighted(DEAD_LETTER_ACTS)
  trace('person', () => `${act} ${short(letter.id)}`)
  switch (act) {
    case 'ready':
      ask(outside, engine.ready(DEFAULT_TENANT, letter.id, { reason: 'mended' }))
      return
    case 'discard':
      ask(outside, engine.discard(DEFAULT_TENANT, letter.id, { reason: 'not needed' }))
      return
    case 'edit': {
      const event = dump.events.find(({ id }) => id === letter.eventId)
      if (event === undefined) return
      const payload = parseJson(event.data) as Record<string, string | number | null>
      const data = { ...payload, amount: rng.between(1, 100), vat: `vat-${rng.between(1, 3)}` }
      ask(outside, engine.edit(DEFAULT_TENANT, letter.id, { data, reason: 'mended' }))
      return
    }
    case 'bulk': {
      const filter = rng.chance(500) ? {} : { consumer: letter.consumer, class: letter.class }
      const paced = rng.chance(500) ? { perSecond: rng.between(1, 20) } : {}
      const again = rng.chance(100) ? { again: true, reason: 'once more' } : {}
      const options = { force: rng.chance(300), ...paced, ...again }
      ask(outside, engine.replays.begin(DEFAULT_TENANT, filter, options))
      return
    }
    case 'few': {
      const ids = dump.deadLetters.filter(() => rng.chance(300)).map(({ id }) => id)
      if (ids.length > 0) ask(outside, engine.replays.begin(DEFAULT_TENANT, { ids }, { force: false }))
      return
    }
  }
}

function actOnWork(outside: Outside, engine: Engine, { id }: WorkRow): void {
  const act = outside.rng.weighted(outside.profile.workActs ?? WORK_ACTS)
  outside.trace('person', () => `${act} ${short(id)}`)
  ask(outside, engine[act](DEFAULT_TENANT, id, { reason: 'because' }))
}

function cancelBulk(outside: Outside, engine: Engine, { records }: StoreDump): void {
  const ids = records
    .filter(({ kind, key }) => kind === 'replay' && key.startsWith('rpl_'))
    .map(({ key }) => key)
  if (ids.length > 0) ask(outside, engine.replays.cancel(DEFAULT_TENANT, outside.rng.pick(ids), {}))
}
