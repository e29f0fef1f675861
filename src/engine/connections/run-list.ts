// The list of all integration runs: those that are stored, of calls on a connection, and those of the other jobs that call out, which
// are derived from the jobs. Both are ordered by ids that carry the time of their job, so one list is merged from two.
//
// Invariant: RN6 every run is listed once, on one page, however the pages are cut.

import {
  type Run,
  type RunPurpose,
  type RunState,
  runIdOf,
} from '../../core/effects/integration-run/index.ts'
import type { DeadLetter } from '../../core/failures/dead-letter/index.ts'
import type { RunId, TenantId, WorkId } from '../../core/foundation/ids/index.ts'
import {
  hasRun,
  type JobCall,
  type ListedRun,
  type RunVia,
  runOfJob,
  runStateOf,
} from '../../core/queue/job-run/index.ts'
import {
  deadLetterOf,
  SUBSCRIPTION_PREFIX,
  type WorkKind,
  type WorkRow,
} from '../../core/queue/work/index.ts'
import type { Route } from '../../core/routing/index.ts'
import { type Page, type PageRequest, StoreError, type TenantReads } from '../../ports/store.ts'
import type { EngineBase } from '../commit/index.ts'
import { connectionOf, type Registry } from '../definitions/index.ts'

export interface RunQuery extends PageRequest {
  readonly connection?: string
  readonly state?: RunState
  readonly purpose?: RunPurpose
  readonly workId?: string
  readonly via?: RunVia
}

export interface RunList {
  /** null: there is none. */
  one(tenant: TenantId, id: string): Promise<ListedRun | null>
  /** A page may have fewer runs than asked for, and a cursor that continues after them. */
  list(tenant: TenantId, query: RunQuery): Promise<Page<ListedRun>>
}

/** How many jobs are looked at for one page. */
const SCAN_PAGE = 200
const SCAN_PAGES_MAX = 10
/** Their jobs make calls of their own. */
const KINDS: readonly WorkKind[] = ['route', 'batch', 'step', 'delivery', 'poll']

/** Where a list continues: a page of the store, and below which id on it. */
interface Position {
  readonly cursor: string | null
  readonly below: string | null
}

interface Cut {
  readonly stored: Position | null
  readonly derived: Position | null
}

interface Found<Row> {
  readonly id: RunId
  readonly row: Row
}

interface Stream<Row> {
  readonly found: readonly Found<Row>[]
  /** More may follow below this id; null: nothing does. */
  readonly seenTo: string | null
  /** Where each page that was read begins. */
  readonly pages: readonly { readonly cursor: string | null; readonly first: string }[]
}

const NONE: Stream<never> = { found: [], seenTo: null, pages: [] }
const START: Position = { cursor: null, below: null }

export function makeRunList(
  deps: Pick<EngineBase, 'store'> & { readonly registry: Pick<Registry, 'routeOf'> },
): RunList {
  const { store, registry } = deps

  /** null: it has no run of this kind. */
  const callOf = async (work: WorkRow): Promise<JobCall | null> => {
    if (!KINDS.includes(work.kind) || !hasRun(work)) return null
    if (work.kind === 'delivery')
      return { via: 'delivery', operation: `POST ${work.consumer.slice(SUBSCRIPTION_PREFIX.length)}` }
    const route = await registry.routeOf(work)
    return route === null ? null : callBy(route)
  }

  const derive = async (reads: TenantReads, work: WorkRow, call: JobCall): Promise<ListedRun> => {
    const letter = deadLetterOf(work)
    const [event, attempts, replayed] = await Promise.all([
      reads.event(work.eventId),
      reads.attempts(work.id),
      letter === null ? null : reads.deadLetter(letter),
    ])
    return runOfJob(work, call, event, attempts, replayed === null ? null : repeatedBy(work, replayed))
  }

  const derivedOfJob = async (tenant: TenantId, id: WorkId): Promise<ListedRun | null> => {
    const reads = store.forTenant(tenant)
    const work = await reads.work(id)
    const call = work === null ? null : await callOf(work)
    return work === null || call === null ? null : derive(reads, work, call)
  }

  const readStored = async (reads: TenantReads, query: RunQuery, from: Position): Promise<Stream<Run>> => {
    const { connection, state, purpose, workId, limit } = query
    const filter = {
      ...(connection === undefined ? {} : { connection }),
      ...(state === undefined ? {} : { state }),
      ...(purpose === undefined ? {} : { purpose }),
      ...(workId === undefined ? {} : { workId: workId as WorkId }),
    }
    return collect(
      from,
      limit,
      (cursor) => reads.runs({ ...filter, limit, cursor }),
      async (row) => row,
      ({ id }) => id,
    )
  }

  const readDerived = (
    reads: TenantReads,
    query: RunQuery,
    from: Position,
  ): Promise<Stream<() => Promise<ListedRun>>> =>
    collect(
      from,
      query.limit,
      (cursor) => reads.workList({ limit: SCAN_PAGE, cursor }),
      async (work) => {
        if (query.state !== undefined && runStateOf(work) !== query.state) return null
        const call = await callOf(work)
        if (call === null || (query.via !== undefined && call.via !== query.via)) return null
        return () => derive(reads, work, call)
      },
      ({ id }) => runIdOf(id),
    )

  const list: RunList['list'] = async (tenant, query) => {
    const reads = store.forTenant(tenant)
    const { connection, purpose, via, workId, limit } = query
    const isStoredOnly =
      via === 'connection' || connection !== undefined || (purpose !== undefined && purpose !== 'work')
    const isEmpty = isStoredOnly && via !== undefined && via !== 'connection'
    if (isEmpty) return { items: [], nextCursor: null }
    if (workId !== undefined && !isStoredOnly) return ofJob(tenant, reads, query, workId as WorkId)
    const cut: Cut = query.cursor === null ? { stored: START, derived: START } : readCursor(query.cursor)
    const hasStored = cut.stored !== null && (via === undefined || via === 'connection')
    const hasDerived = cut.derived !== null && !isStoredOnly
    const [stored, derived] = await Promise.all([
      hasStored ? readStored(reads, query, cut.stored ?? START) : NONE,
      hasDerived ? readDerived(reads, query, cut.derived ?? START) : NONE,
    ])
    // Below this nothing is known yet of one of them.
    const seenTo = [stored.seenTo, derived.seenTo].reduce((a, b) =>
      a === null || (b !== null && b > a) ? b : a,
    )
    const merged = [
      ...stored.found.map(({ id, row }) => ({ id, read: async () => listedOf(row) })),
      ...derived.found.map(({ id, row }) => ({ id, read: row })),
    ]
      .filter(({ id }) => seenTo === null || id >= seenTo)
      .sort((a, b) => (a.id < b.id ? 1 : -1))
    const taken = merged.slice(0, limit)
    const end = taken.length < merged.length ? (taken.at(-1)?.id ?? null) : seenTo
    const items = await Promise.all(taken.map(({ read }) => read()))
    if (end === null) return { items, nextCursor: null }
    const next: Cut = { stored: continued(stored, end), derived: continued(derived, end) }
    return { items, nextCursor: next.stored === null && next.derived === null ? null : writeCursor(next) }
  }

  /** All of one job: its stored runs, and its own if it has no row. */
  const ofJob = async (
    tenant: TenantId,
    reads: TenantReads,
    query: RunQuery,
    workId: WorkId,
  ): Promise<Page<ListedRun>> => {
    const { limit, cursor, state, purpose, via } = query
    if (via !== undefined && via !== 'connection') {
      const own = await derivedOfJob(tenant, workId)
      const isWanted = own !== null && own.via === via && (state === undefined || own.state === state)
      return { items: isWanted ? [own] : [], nextCursor: null }
    }
    const page = await reads.runs({
      limit,
      cursor,
      workId,
      ...(state === undefined ? {} : { state }),
      ...(purpose === undefined ? {} : { purpose }),
    })
    const items = page.items.map(listedOf)
    const own = cursor === null ? await derivedOfJob(tenant, workId) : null
    const isWanted = own !== null && (state === undefined || own.state === state)
    return { items: isWanted ? [own, ...items] : items, nextCursor: page.nextCursor }
  }

  return {
    list,
    async one(tenant, id) {
      const stored = await store.forTenant(tenant).run(id as RunId)
      if (stored !== null) return listedOf(stored)
      return id.startsWith('run_') ? derivedOfJob(tenant, `wrk_${id.slice('run_'.length)}` as WorkId) : null
    },
  }
}

function listedOf(run: Run): ListedRun {
  return { ...run, via: 'connection' }
}

/** The run of the job that died. A dead letter that is replayed names the replay; its failure names the job that died first. */
function repeatedBy({ id }: WorkRow, { workId, failureId }: DeadLetter): RunId | null {
  const died =
    workId !== id || failureId === null ? workId : (`wrk_${failureId.slice('fail_'.length)}` as WorkId)
  return died === id ? null : runIdOf(died)
}

/** null: it makes no call, or its runs are stored. */
function callBy({ document, action }: Route): JobCall | null {
  const { do: written } = document
  if (connectionOf(written) !== null) return null
  switch (action.type) {
    case 'http':
      return {
        via: 'http',
        operation: written.type === 'http' ? short(`${written.method} ${written.url}`) : 'http',
      }
    case 'upsert':
      return { via: 'upsert', operation: written.type === 'upsert' ? short(written.baseUrl) : 'upsert' }
    case 'function':
      return { via: 'function', operation: written.type === 'function' ? written.name : 'function' }
    case 'agent':
      return { via: 'agent', operation: written.type === 'agent' ? written.agent.name : 'agent' }
    default:
      return null
  }
}

const OPERATION_LENGTH_MAX = 200

/** As it is written: what its templates stand for is not shown. */
function short(text: string): string {
  return text.slice(0, OPERATION_LENGTH_MAX)
}

/** Reads until it has as many as asked for, or has looked at enough. */
async function collect<Item, Row>(
  { cursor: from, below }: Position,
  wanted: number,
  read: (cursor: string | null) => Promise<Page<Item>>,
  select: (item: Item) => Promise<Row | null>,
  idOf: (item: Item) => RunId,
): Promise<Stream<Row>> {
  const found: Found<Row>[] = []
  const pages: { cursor: string | null; first: string }[] = []
  let cursor = from
  let seenTo: string | null = below
  for (let count = 0; count < SCAN_PAGES_MAX; count += 1) {
    const page = await read(cursor)
    const [first] = page.items
    if (first !== undefined) pages.push({ cursor, first: idOf(first) })
    for (const item of page.items) {
      const id = idOf(item)
      if (below !== null && id >= below) continue
      const row = await select(item)
      if (row !== null) found.push({ id, row })
      seenTo = id
      if (found.length > wanted) return { found, seenTo, pages }
    }
    if (page.nextCursor === null) return { found, seenTo: null, pages }
    cursor = page.nextCursor
  }
  return { found, seenTo, pages }
}

/** Where it goes on below `end`; null: it has nothing more. */
function continued<Row>({ found, seenTo, pages }: Stream<Row>, end: string): Position | null {
  const isOver = seenTo === null && found.every(({ id }) => id >= end)
  if (isOver) return null
  const page = pages.findLast(({ first }) => first >= end) ?? pages[0]
  return { cursor: page?.cursor ?? null, below: end }
}

function writeCursor({ stored, derived }: Cut): string {
  return Buffer.from(JSON.stringify(['r2', stored, derived])).toString('base64url')
}

function readCursor(cursor: string): Cut {
  try {
    const read: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(read) && read.length === 3 && read[0] === 'r2') {
      const [, stored, derived] = read as [string, unknown, unknown]
      if (isPosition(stored) && isPosition(derived) && writeCursor({ stored, derived }) === cursor)
        return { stored, derived }
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new StoreError('invalid_cursor', 'the cursor is not one of this list')
}

function isPosition(value: unknown): value is Position | null {
  if (value === null) return true
  if (typeof value !== 'object') return false
  const { cursor, below } = value as Partial<Record<keyof Position, unknown>>
  return (cursor === null || typeof cursor === 'string') && (below === null || typeof below === 'string')
}
