// Republishes where the tokens of active instances are: when the bus's stream of them was recreated, and from time to time,
// because the bus expires old messages, and with them that tokens left.
//
// It goes through the outbox, under the revision of its instance, so that no old position is published after a move. Which
// stream has it, and since when, is in a record: other nodes go by it.

import { publishesData, type WorkflowDocument } from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type InstanceId, type TenantId } from '../../core/foundation/ids/index.ts'
import { parseJson } from '../../core/foundation/json/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import {
  type NewOutboxRow,
  republishTokens,
  TOKENS_REPUBLISHED_EVERY_MS,
} from '../../core/store/outbox/index.ts'
import type { Data, InstanceRow } from '../../core/workflows/instance/index.ts'
import { decodeInstance } from '../../core/workflows/machine/index.ts'
import type { Bus } from '../../ports/bus.ts'
import { type EngineBase, retrying } from '../commit/index.ts'

export interface Republisher {
  /** Puts a few of them into the outbox, if they are to be republished. Returns whether there are more. */
  some(): Promise<boolean>
  /** Another node relays: what is known here is dropped. */
  forget(): void
}

interface Republished {
  readonly birth: string
  readonly at: Instant
}

interface Walk {
  readonly birth: string
  readonly at: Instant
  /** Those that are left, the first of them from the cursor on. */
  readonly tenants: TenantId[]
  cursor: string | null
  tokens: number
}

const KEY = 'tokens'
/** Few enough that new rows are not held up behind them. */
const PAGE = 100
/** An instance that moves all the time is published by its moves; its other tokens are tried this often. */
const TRIES = 20
const DEFINITIONS_MAX = 1_000

export function makeRepublisher(
  deps: Pick<EngineBase, 'store' | 'log' | 'time'> & {
    readonly bus: Pick<Bus, 'status'>
  },
): Republisher {
  const { store, bus, log, time } = deps
  let known: { readonly version: number; readonly republished: Republished | null } | null = null
  let walk: Walk | null = null

  const read = async () => {
    const found = await store.forTenant(DEFAULT_TENANT).record('relay', KEY)
    return { version: found?.version ?? 0, republished: found === null ? null : parseRepublished(found.body) }
  }

  const publishing = new Map<string, boolean>()

  /** By the definition that the instance is on. */
  const mayPublish = async (tenant: TenantId, definition: string): Promise<boolean> => {
    const name = `${tenant}/${definition}`
    const there = publishing.get(name)
    if (there !== undefined) return there
    const record = await store.forTenant(tenant).record('definition', definition)
    const document = record === null ? null : (parseJson(record.body) as unknown as WorkflowDocument)
    const may = document !== null && publishesData(document)
    if (publishing.size >= DEFINITIONS_MAX) publishing.clear()
    publishing.set(name, may)
    return may
  }

  const dataOf = async (tenant: TenantId, row: InstanceRow): Promise<Data | undefined> => {
    if (row.state !== 'active' || !(await mayPublish(tenant, row.definition))) return undefined
    const event = await store.forTenant(tenant).event(row.eventId)
    return event === null || event.sensitive.length > 0 ? undefined : decodeInstance(row).data
  }

  const add = async (tenant: TenantId, instances: readonly InstanceRow[], round: Walk): Promise<boolean> => {
    const rows: NewOutboxRow[] = []
    for (const one of instances)
      rows.push(...republishTokens(tenant, one, `${round.at}`, await dataOf(tenant, one)))
    if (rows.length === 0) return true
    const { ok } = await store.commit({
      tenant,
      guards: instances.map(({ id, revision }) => ({
        ...{ g: 'version', of: 'instance', key: id, version: revision },
      })),
      writes: [{ w: 'outbox.add', rows }],
    })
    if (ok) round.tokens += rows.length
    return ok
  }

  /** One of them moved meanwhile: each is published by itself, in its current state. */
  const addOne = (tenant: TenantId, id: InstanceId, round: Walk): Promise<void> => {
    const addOnce = async (retry: () => Promise<void>): Promise<void> => {
      const instance = await store.forTenant(tenant).instance(id)
      if (instance !== null && !(await add(tenant, [instance], round))) await retry()
    }
    return retrying(TRIES, addOnce, () => log.warn('relay.not-retold', { tenant, instance: id }))
  }

  const goOn = async (tenant: TenantId, round: Walk): Promise<void> => {
    const page = await store
      .forTenant(tenant)
      .instances({ state: 'active', cursor: round.cursor, limit: PAGE })
    if (!(await add(tenant, page.items, round)))
      for (const { id } of page.items) await addOne(tenant, id, round)
    round.cursor = page.nextCursor
    if (page.nextCursor === null) round.tenants.shift()
  }

  const end = async ({ birth, at, tokens }: Walk, version: number): Promise<void> => {
    const republished: Republished = { birth, at }
    await store.commit({
      tenant: DEFAULT_TENANT,
      guards: [{ g: 'version', of: 'relay', key: KEY, version }],
      writes: [
        {
          w: 'record.put',
          kind: 'relay',
          key: KEY,
          version: version + 1,
          body: JSON.stringify(republished),
        },
      ],
    })
    // If another node was quicker its record counts.
    known = await read()
    if (tokens > 0) log.info('relay.retold', { tokens })
  }

  return {
    async some() {
      const { tokensBirth: birth } = bus.status()
      if (birth === null) return false
      known ??= await read()
      if (walk?.birth !== birth) {
        const { republished } = known
        if (republished?.birth === birth && time.now() - republished.at < TOKENS_REPUBLISHED_EVERY_MS)
          return false
        const tenants = [...(await store.system('definitions').tenants())]
        walk = { birth, at: time.now(), tenants, cursor: null, tokens: 0 }
      }
      const [tenant] = walk.tenants
      if (tenant !== undefined) {
        await goOn(tenant, walk)
        return true
      }
      const ended = walk
      walk = null
      await end(ended, known.version)
      return false
    },
    forget() {
      known = null
      walk = null
    },
  }
}

function parseRepublished(body: string): Republished | null {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  const { birth, at } = value as Record<string, unknown>
  return typeof birth === 'string' && typeof at === 'number' ? { birth, at } : null
}
