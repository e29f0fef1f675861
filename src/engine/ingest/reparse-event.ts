// Reparses an event that could not be read when it was received: its current source reads it again, and the result is a
// new event, in the commit that ends the job.

import { sensitivePathsOf } from '../../core/events/sensitive/index.ts'
import type { Ids } from '../../core/foundation/ids/index.ts'
import { stringifyJson } from '../../core/foundation/json/index.ts'
import { readAgain } from '../../core/ingest/bus-message/index.ts'
import type { Source } from '../../core/ingest/source/index.ts'
import { EMPTY_NOTE } from '../../core/queue/work/index.ts'
import type { Draft } from '../commit/index.ts'
import type { EngineDeps } from '../config.ts'
import { countersOf, type DeadLetterRouteJob } from '../effects/index.ts'
import type { Item } from '../leases/index.ts'
import { lineOf } from '../observe/index.ts'
import { type PlanDeps, planAcceptance } from '../planning/index.ts'
import { done, type Settler } from '../settlement/index.ts'

type Read = Extract<ReturnType<typeof readAgain>, { ok: true }>

export interface Reparse {
  /** Throws StoreError. */
  run(item: Item, source: Source | null): Promise<void>
}

export function makeReparse(
  deps: Pick<EngineDeps, 'log'> & {
    readonly planning: PlanDeps
    readonly settler: Settler
    readonly deadLetterJob: DeadLetterRouteJob
  },
): Reparse {
  const { log, planning, settler, deadLetterJob } = deps

  const settle = (item: Item, more: Pick<Parameters<Settler['settle']>[2], 'guards' | 'writes' | 'plans'>) =>
    settler.settle(
      item,
      null,
      done({
        counters: { ...countersOf(item), attempts: item.work.attempts + 1 },
        note: EMPTY_NOTE,
        ...more,
      }),
    )

  const keep = async (item: Item, source: Source, read: Read): Promise<void> => {
    const draft = draftOf(planning.ids, item, source, read)
    const { windowMs } = source.document.dedup
    const acceptance = planAcceptance(planning, source, draft, read.body.payload, read.header, windowMs)
    const { event, writes, plans } = acceptance
    const guards = [{ g: 'dedup', source: event.source, key: event.dedupKey } as const]
    const settlement = await settle(item, { guards, writes, plans })
    if (settlement.ok) {
      log.control(lineOf('ingest', acceptance.action, event, { work: item.work.id }))
      return
    }
    // The event was published or replayed meanwhile: it exists, and nothing else is needed.
    if (settlement.why === 'guard') await settle(item, { guards: [], writes: [] })
  }

  return {
    async run(item, source) {
      if (source === null)
        return deadLetterJob(
          item,
          null,
          null,
          'config',
          'definition_missing',
          'its source is no longer defined, so it cannot be read',
        )
      const read = readAgain(source, item.event, item.header() as Readonly<Record<string, string>>)
      if (read?.ok !== true)
        return deadLetterJob(item, null, null, 'poison', 'unparseable', read?.problem ?? 'it cannot be read')
      return keep(item, source, read)
    },
  }
}

function draftOf(ids: Ids, { event }: Item, source: Source, read: Read): Draft {
  const { names, header, body, payloadHash } = read
  return {
    id: ids.event(),
    tenant: event.tenant,
    source: event.source,
    ...names,
    correlationId: event.correlationId,
    causationId: event.id,
    traceId: event.traceId,
    payloadHash,
    headers: stringifyJson(header),
    data: body.data,
    raw: body.raw,
    sensitive: [...new Set([...event.sensitive, ...(sensitivePathsOf(source.document) ?? [])])],
  }
}
