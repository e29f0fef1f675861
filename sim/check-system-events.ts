// FA1: each end of a delivery, of a run and of an instance, and each of its steps, is noted exactly once, in its commit: as an event
// or as a fact; and nothing is noted twice in a run.

import { CANONICAL_SOURCE, isCanonical, unpackFact } from '../src/core/events/canonical/index.ts'
import type { TenantId } from '../src/core/foundation/ids/index.ts'
import type { Commit } from '../src/ports/store.ts'
import type { Data, Outcome } from './data.ts'
import { short } from './node.ts'
import type { Observations } from './run-observations.ts'

export interface SystemEventChecks {
  applied(commits: readonly Commit[], outcomes: readonly Outcome[]): void
}

interface Note {
  readonly subject: string
  readonly data: Readonly<Record<string, unknown>>
  readonly dedupKey: string
}

export function makeSystemEventChecks({
  observations,
  data,
}: {
  readonly observations: Observations
  readonly data: Pick<Data, 'work' | 'event'>
}): SystemEventChecks {
  const seen = new Set<string>()

  const notesOf = ({ tenant, writes }: Commit): readonly Note[] =>
    writes.flatMap((write) => {
      const event =
        write.w === 'fact.add'
          ? unpackFact({ ...write.fact, tenant, createdAt: 0 })
          : write.w === 'event.append' && write.event.source === CANONICAL_SOURCE
            ? write.event
            : null
      if (event === null) return []
      return [{ subject: event.subject, data: JSON.parse(event.data), dedupKey: event.dedupKey }]
    })

  /** What the commit ends: the subject of its event, and the field and the id that it has. */
  const endsOf = ({ tenant, writes }: Commit): (readonly [string, string, string])[] => {
    const isSilent = (event: Parameters<Data['event']>[1] | null) => {
      const found = event === null ? null : data.event(tenant, event)
      return found === null || isCanonical(found)
    }
    return writes.flatMap((write): (readonly [string, string, string])[] => {
      if (write.w === 'work.settle' && (write.to === 'done' || write.to === 'dead')) {
        const work = data.work(tenant, write.work)
        if (work?.kind !== 'delivery' || isSilent(work.eventId)) return []
        return [[write.to === 'done' ? 'webhook.delivered' : 'webhook.dead', 'deliveryId', work.id]]
      }
      const isRun = write.w === 'run.put' && write.row.state === 'completed' && write.row.purpose === 'work'
      if (!isRun || isSilent(write.row.eventId)) return []
      return [['integration.run.completed', 'runId', write.row.id]]
    })
  }

  const check = (tenant: TenantId, commit: Commit) => {
    const notes = notesOf(commit)
    for (const [subject, field, id] of endsOf(commit)) {
      const count = notes.filter((note) => note.subject === subject && note.data[field] === id).length
      if (count !== 1) observations.violate('FA1', `${short(id)} has ended with ${count} ${subject}`)
    }
    for (const { dedupKey } of notes) {
      const name = `${tenant} ${dedupKey}`
      if (seen.has(name)) observations.violate('FA1', `${dedupKey} was noted twice`)
      seen.add(name)
    }
  }

  return {
    applied(commits, outcomes) {
      for (const [index, commit] of commits.entries())
        if (outcomes[index]?.ok === true) check(commit.tenant, commit)
    },
  }
}
