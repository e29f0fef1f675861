// Reparses an event that could not be read when it was received or polled: its current source or poller reads it again, and
// the result is a new event, in the commit that ends the job.

import { sensitivePathsOf } from '../../core/events/sensitive/index.ts'
import { hashText } from '../../core/foundation/hash/index.ts'
import type { Ids } from '../../core/foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../../core/foundation/json/index.ts'
import { readAgain } from '../../core/ingest/bus-message/index.ts'
import type { EventNames, Source } from '../../core/ingest/source/index.ts'
import { itemHeader, POLLER_PREFIX } from '../../core/polling/poller/index.ts'
import { EMPTY_NOTE } from '../../core/queue/work/index.ts'
import type { Draft } from '../commit/index.ts'
import type { EngineDeps } from '../config.ts'
import { countersOf, type DeadLetterRouteJob } from '../effects/index.ts'
import type { Item } from '../leases/index.ts'
import { lineOf } from '../observe/index.ts'
import { type PlanDeps, planAcceptance } from '../planning/index.ts'
import { done, type Settler } from '../settlement/index.ts'

interface Read {
  readonly names: EventNames
  readonly header: Readonly<Record<string, string>>
  readonly body: { readonly payload: JsonValue; readonly data: string; readonly raw: string | null }
  readonly payloadHash: string
}

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

  const keep = async (
    item: Item,
    source: Source,
    read: Read,
    sensitive: readonly string[],
  ): Promise<void> => {
    const draft = { ...draftOf(planning.ids, item, read), sensitive }
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

  const missing = (item: Item, message: string) =>
    deadLetterJob(item, null, null, 'config', 'definition_missing', message)
  const unread = (item: Item, problem: string) =>
    deadLetterJob(item, null, null, 'poison', 'unparseable', problem)

  const runPolled = async (item: Item): Promise<void> => {
    const { event } = item
    const name = event.source.slice(POLLER_PREFIX.length)
    const poller = planning.registry.poller(event.tenant, name)
    if (poller === null)
      return missing(item, `the poller ${name} is no longer deployed, so its item cannot be read`)
    const read = poller.readItem(item.payload(), event.tenant)
    if (!read.ok) return unread(item, read.problem)
    const { names, data: payload } = read.event
    const data = stringifyJson(payload)
    const header = itemHeader(read.event)
    // The item is hidden as a whole; of the event, what the poller says.
    const sensitive = sensitivePathsOf(poller.source.document) ?? event.sensitive
    const body = { payload, data, raw: null }
    return keep(item, poller.source, { names, header, body, payloadHash: hashText(data) }, sensitive)
  }

  return {
    async run(item, source) {
      if (item.event.source.startsWith(POLLER_PREFIX)) return runPolled(item)
      if (source === null) return missing(item, 'its source is no longer defined, so it cannot be read')
      const { event } = item
      const read = readAgain(source, event, item.header() as Readonly<Record<string, string>>)
      if (read?.ok !== true) return unread(item, read?.problem ?? 'it cannot be read')
      const own = sensitivePathsOf(source.document) ?? []
      return keep(item, source, read, [...new Set([...event.sensitive, ...own])])
    },
  }
}

function draftOf(ids: Ids, { event }: Item, read: Read): Omit<Draft, 'sensitive'> {
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
  }
}
