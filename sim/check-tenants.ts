// N10 where rows are looked up: at the end of a run somebody who has nothing asks the store for everything that others have, by id, by key
// and by list, and holds guards against their rows. Nothing may be found, and no guard may hold.

import type { TenantId } from '../src/core/foundation/ids/index.ts'
import type { Commit, StoreDump, TenantReads } from '../src/ports/store.ts'
import type { Data } from './data.ts'
import type { Observations } from './run-observations.ts'

const STRANGER = 'stranger' as TenantId

/** Of each kind of row, so many are asked for. */
const SAMPLE = 2
const PAGE = { cursor: null, limit: 5 } as const

/** `whole`: all that there is. `data`: what nodes ask. */
export async function checkTenants(observations: Observations, whole: Data, data: Data): Promise<void> {
  const dump = whole.dump()
  const reads = data.reads(STRANGER)
  const found: string[] = []
  for (const [name, read] of asked(reads, dump)) {
    const answer = await read()
    if (!isNothing(answer)) found.push(name)
  }
  for (const [name, guard] of guards(dump)) {
    const [outcome] = data.commit(0, [{ tenant: STRANGER, guards: [guard], writes: [] }])
    if (outcome?.ok === true) found.push(`the guard ${name}`)
  }
  if (found.length > 0) observations.violate('N10', `a stranger finds rows of others by ${found.join(', ')}`)
}

function isNothing(answer: unknown): boolean {
  if (answer === null) return true
  if (Array.isArray(answer)) return answer.length === 0
  return (answer as { readonly items?: readonly unknown[] }).items?.length === 0
}

function asked(reads: TenantReads, dump: StoreDump): readonly (readonly [string, () => Promise<unknown>])[] {
  const events = dump.events.slice(-SAMPLE)
  const work = dump.work.slice(-SAMPLE)
  const consumers = [...new Set(dump.work.map(({ consumer }) => consumer))]
  const laned = dump.work.filter(({ lane }) => lane !== null).slice(-SAMPLE)
  return [
    ['events', () => reads.events(PAGE)],
    ['workList', () => reads.workList(PAGE)],
    ['laneHolders', () => reads.laneHolders(PAGE)],
    ['ledgerList', () => reads.ledgerList(PAGE)],
    ['deadLetters', () => reads.deadLetters(PAGE)],
    ['failures', () => reads.failures(PAGE)],
    ['escalations', () => reads.escalations(PAGE)],
    ['instances', () => reads.instances(PAGE)],
    ['orphans', () => reads.orphans(PAGE)],
    ['runs', () => reads.runs(PAGE)],
    ['records', () => reads.records({ ...PAGE, kind: 'definition' })],
    [
      'openCounts',
      async () =>
        (await reads.openCounts(consumers, 5)).filter((one) => one.ready + one.waiting + one.leased > 0),
    ],
    ['openTotal', async () => ((await reads.openTotal(5)) === 0 ? [] : ['open'])],
    ['workOfEvents', () => reads.workOfEvents(events.map(({ id }) => id))],
    ...events.flatMap(
      ({ id }) =>
        [
          ['event', () => reads.event(id)],
          ['workOfEvent', () => reads.workOfEvent(id)],
          ['causedBy', () => reads.causedBy(id, 5)],
        ] as const,
    ),
    ...work.flatMap(
      ({ id }) =>
        [
          ['work', () => reads.work(id)],
          ['attempts', () => reads.attempts(id)],
          ['ledgerOfWork', () => reads.ledgerOfWork(id)],
          ['workMerged', () => reads.workMerged(id)],
        ] as const,
    ),
    ...laned.map(
      ({ consumer, lane }) => ['laneWaiting', () => reads.laneWaiting(consumer, lane ?? '', 5)] as const,
    ),
    ...dump.lanes
      .slice(-SAMPLE)
      .map(({ consumer, key }) => ['lane', () => reads.lane(consumer, key)] as const),
    ...dump.ledger.slice(-SAMPLE).map(({ key }) => ['ledger', () => reads.ledger(key)] as const),
    ...dump.deadLetters.slice(-SAMPLE).map(({ id }) => ['deadLetter', () => reads.deadLetter(id)] as const),
    ...dump.failures.slice(-SAMPLE).map(({ id }) => ['failure', () => reads.failure(id)] as const),
    ...dump.escalations.slice(-SAMPLE).map(({ id }) => ['escalation', () => reads.escalation(id)] as const),
    ...dump.orphans.slice(-SAMPLE).map(({ id }) => ['orphan', () => reads.orphan(id)] as const),
    ...dump.runs.slice(-SAMPLE).map(({ id }) => ['run', () => reads.run(id)] as const),
    ...dump.records.slice(-SAMPLE).map(({ kind, key }) => ['record', () => reads.record(kind, key)] as const),
    ...dump.instances.slice(-SAMPLE).flatMap(
      ({ id }) =>
        [
          ['instance', () => reads.instance(id)],
          ['instanceHistory', () => reads.instanceHistory(id, { after: 0, limit: 5 })],
          ['workOfInstance', () => reads.workOfInstance(id, { all: true })],
        ] as const,
    ),
  ]
}

function guards(dump: StoreDump): readonly (readonly [string, Commit['guards'][number]])[] {
  return [
    ...dump.work
      .slice(-SAMPLE)
      .map(({ id, state, epoch }) => ['work', { g: 'work', work: id, state, epoch }] as const),
    ...dump.work.flatMap(({ id, state, owner, epoch }) =>
      state === 'leased' && owner !== null
        ? [['lease', { g: 'lease', work: id, owner, epoch }] as const]
        : [],
    ),
    ...dump.ledger
      .slice(-SAMPLE)
      .map(({ key, state, work, epoch }) => ['ledger', { g: 'ledger', key, state, work, epoch }] as const),
    ...dump.deadLetters
      .slice(-SAMPLE)
      .map(({ id, version }) => ['version', { g: 'version', of: 'deadLetter', key: id, version }] as const),
  ]
}
