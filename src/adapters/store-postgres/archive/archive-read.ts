// Reads everything in the schema in pages by key. It checks the hashes by which rows are found: a row under a wrong
// hash would appear in lists, and be found by nothing else.

import { joinKey } from '../../../core/foundation/text/index.ts'
import {
  type ArchiveRows,
  type ArchiveTable,
  COUNTER_NAMES,
  PAGE_LIMITS,
} from '../../../core/store/archive/index.ts'
import { StoreError } from '../../../ports/store.ts'
import { hashKey, laneKey } from '../commit/keys.ts'
import { readLedgerEntry } from '../commit/lock-rows.ts'
import { prepare, type Query } from '../connection.ts'
import { escapeText, makeArray } from '../parameters.ts'
import { readInstance } from '../reads/instance-reads.ts'
import { readRun } from '../runs.ts'
import {
  ATTEMPT,
  CORRELATION,
  DEAD_LETTER,
  ESCALATION,
  EVENT,
  eventList,
  FACT,
  FAILURE,
  HISTORY,
  INSTANCE,
  LANE,
  LEDGER,
  LEDGER_PAST,
  NEW_WORK,
  ORPHAN,
  OUTBOX,
  RECORD,
  RUN,
  selectList,
  type Table,
  toColumn,
} from '../tables.ts'

type Row = Readonly<Record<string, unknown>>

interface Walk<Name extends ArchiveTable> {
  readonly from: Table
  /** The properties they are ordered by. */
  readonly keys: readonly string[]
  /** Omitted: the columns. */
  list?(schema: string): string
  read(row: Row): ArchiveRows[Name]
}

const BY_ID = ['tenant', 'id']
const asItIs = (row: Row) => row as never

function checkHash(table: string, hash: unknown, joined: string): void {
  if (hashKey(joined).toString('hex') === String(hash).replaceAll('-', '')) return
  throw new StoreError('corrupt', `a row of ${table} lies under the hash of another key`)
}

const readEntry =
  (table: string, isLatest: boolean) =>
  (row: Row): ArchiveRows['ledger'] => {
    const entry = readLedgerEntry(row as Record<string, unknown>)
    checkHash(table, row.hash, joinKey(entry.tenant, entry.key))
    return { ...entry, isLatest }
  }

const IN_ORDER: Table = { name: ATTEMPT.name, columns: { ...ATTEMPT.columns, sequence: 'int8' } }

/** Tables that are not walked here are read by functions of their own, below. */
const WALKS: { readonly [Name in ArchiveTable]: readonly Walk<Name>[] } = {
  counters: [],
  dedup: [],
  incarnations: [
    {
      from: { name: 'incarnation', columns: { id: 'int8', node: 'text', until: 'int8', fenced: 'bool' } },
      keys: ['id'],
      read: ({ id, node, until, fenced }) => ({ owner: id, node, until, isFenced: fenced }) as never,
    },
  ],
  records: [{ from: RECORD, keys: ['tenant', 'kind', 'key'], read: asItIs }],
  events: [
    {
      from: EVENT,
      keys: BY_ID,
      list: (schema) => eventList(schema, 't'),
      read: asItIs,
    },
  ],
  lanes: [
    {
      from: LANE,
      keys: ['hash'],
      read({ hash, ...lane }) {
        const { tenant, consumer, key } = lane as unknown as ArchiveRows['lanes']
        checkHash(LANE.name, hash, laneKey(tenant, consumer, key))
        return lane as unknown as ArchiveRows['lanes']
      },
    },
  ],
  work: [
    {
      from: NEW_WORK,
      keys: BY_ID,
      read({ laneHash, ...row }) {
        const work = row as unknown as ArchiveRows['work']
        if (work.lane !== null) checkHash('work', laneHash, laneKey(work.tenant, work.consumer, work.lane))
        return work
      },
    },
  ],
  attempts: [
    {
      from: IN_ORDER,
      keys: ['tenant', 'work', 'number', 'sequence'],
      list: (schema) =>
        `${selectList('t', Object.keys(IN_ORDER.columns))}, (SELECT count(*) FROM ${schema}.attempt AS b WHERE b.tenant = t.tenant AND b.work = t.work ` +
        'AND b.number = t.number AND b.sequence < t.sequence) AS "turn"',
      read: ({ sequence: _, ...attempt }) => attempt as unknown as ArchiveRows['attempts'],
    },
  ],
  ledger: [
    { from: LEDGER, keys: ['hash'], read: readEntry(LEDGER.name, true) },
    { from: LEDGER_PAST, keys: ['hash', 'generation'], read: readEntry(LEDGER_PAST.name, false) },
  ],
  deadLetters: [{ from: DEAD_LETTER, keys: BY_ID, read: asItIs }],
  failures: [{ from: FAILURE, keys: BY_ID, read: asItIs }],
  escalations: [{ from: ESCALATION, keys: BY_ID, read: asItIs }],
  instances: [{ from: INSTANCE, keys: BY_ID, read: (row) => readInstance(row as never) }],
  history: [{ from: HISTORY, keys: ['tenant', 'instance', 'sequence'], read: asItIs }],
  correlations: [
    {
      from: CORRELATION,
      keys: ['hash'],
      read({ hash, ...row }) {
        const { tenant, key } = row as unknown as ArchiveRows['correlations']
        checkHash(CORRELATION.name, hash, joinKey(tenant, key))
        return row as unknown as ArchiveRows['correlations']
      },
    },
  ],
  orphans: [{ from: ORPHAN, keys: BY_ID, read: asItIs }],
  runs: [{ from: RUN, keys: BY_ID, read: readRun }],
  facts: [{ from: FACT, keys: BY_ID, read: asItIs }],
  outbox: [
    {
      from: { name: OUTBOX.name, columns: { ...OUTBOX.columns, position: 'int8' } },
      keys: ['position'],
      read: asItIs,
    },
  ],
}

/** Pages by key. The rows of a page are chosen by their size before any of their texts is sent. */
async function* walk<Name extends ArchiveTable>(
  query: Query,
  schema: string,
  { from, keys, list, read }: Walk<Name>,
): AsyncGenerator<readonly ArchiveRows[Name][]> {
  const { columns } = from
  const order = keys.map((name) => `t."${toColumn(name)}"`).join(', ')
  const given = keys.map((name, index) => `$${index + 1}::${columns[name]}`).join(', ')
  const size = Object.entries(columns)
    .filter(([, type]) => type === 'text')
    .map(([name]) => `coalesce(octet_length(t."${toColumn(name)}"), 0)`)
    .concat('0')
    .join(' + ')
  const fields = list?.(schema) ?? selectList('t', Object.keys(columns))
  const page = (where: string) =>
    `SELECT ${fields} FROM (SELECT t.*, row_number() OVER w AS row_no, sum(${size}) OVER w AS size_sum FROM ` +
    `(SELECT * FROM ${schema}.${from.name} AS t ${where} ORDER BY ${order} LIMIT ${PAGE_LIMITS.rowsMax}) AS t ` +
    `WINDOW w AS (ORDER BY ${order})) AS t ` +
    `WHERE t.row_no = 1 OR t.size_sum <= ${PAGE_LIMITS.charactersMax} ORDER BY ${order}`
  for (let after: unknown[] | null = null; ; ) {
    const rows: Row[] =
      after === null
        ? await query(prepare(page('')))
        : await query(prepare(page(`WHERE (${order}) > (${given})`), after))
    const last = rows.at(-1)
    if (last === undefined) return
    after = keys.map((name) => (columns[name] === 'text' ? escapeText(last[name] as string) : last[name]))
    yield rows.map(read)
  }
}

const nameOf = (hash: string, event: string) => `${hash} ${event}`

/** By the events that took them: a window's own row has only a hash. */
async function* walkDedup(query: Query, schema: string): AsyncGenerator<readonly ArchiveRows['dedup'][]> {
  const events: Walk<'events'> = {
    from: {
      name: EVENT.name,
      columns: { tenant: 'text', id: 'text', source: 'text', dedupKey: 'text' },
    },
    keys: BY_ID,
    read: asItIs,
  }
  for await (const page of walk(query, schema, events)) {
    const byHash = new Map(
      page.map((event) => {
        const hash = hashKey(joinKey(event.tenant, event.source, event.dedupKey))
        return [nameOf(hash.toString('hex'), event.id), { event, hash }]
      }),
    )
    const hashes = [...byHash.values()].map(({ hash }) => hash)
    const windows = await query(
      prepare(
        `SELECT d.hash, d.event, d.until FROM unnest($1::uuid[]) AS k(hash) JOIN ${schema}.dedup AS d ON d.hash = k.hash`,
        [makeArray('uuid', hashes)],
      ),
    )
    // Two events of one page may have had the same key, one after the other.
    const found = new Map<string, ArchiveRows['dedup']>()
    for (const { hash, event: id, until } of windows) {
      const name = nameOf(hash.replaceAll('-', ''), id)
      const event = byHash.get(name)?.event
      if (event === undefined) continue
      found.set(name, { tenant: event.tenant, source: event.source, key: event.dedupKey, event: id, until })
    }
    if (found.size > 0) yield [...found.values()]
  }
}

/** The column of its table that a counter numbers. */
export const COUNTED: Readonly<Record<ArchiveRows['counters']['name'], string>> = {
  incarnation: 'id',
  outbox: 'position',
}

async function* readCounters(
  query: Query,
  schema: string,
): AsyncGenerator<readonly ArchiveRows['counters'][]> {
  const counters: ArchiveRows['counters'][] = []
  for (const name of COUNTER_NAMES) {
    const [sequence] = await query(
      prepare('SELECT pg_get_serial_sequence($1::text, $2::text) AS name', [
        `${schema}.${name}`,
        COUNTED[name],
      ]),
    )
    const [row] = await query(
      prepare(
        `SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS last FROM ${sequence.name}`,
      ),
    )
    counters.push({ name, last: row.last })
  }
  yield counters
}

export function readPages<Name extends ArchiveTable>(
  query: Query,
  schema: string,
  table: Name,
): AsyncIterable<readonly ArchiveRows[Name][]> {
  if (table === 'counters') return readCounters(query, schema) as never
  if (table === 'dedup') return walkDedup(query, schema) as never
  return chain((WALKS[table] as readonly Walk<Name>[]).map((one) => walk(query, schema, one)))
}

async function* chain<Item>(parts: readonly AsyncIterable<Item>[]): AsyncGenerator<Item> {
  for (const part of parts) yield* part
}

export async function countRows(query: Query, schema: string, table: ArchiveTable): Promise<number> {
  if (table === 'counters') return COUNTER_NAMES.length
  const names = table === 'dedup' ? ['dedup'] : WALKS[table].map(({ from }) => from.name)
  const counts = await Promise.all(
    names.map((name) => query(prepare(`SELECT count(*) AS n FROM ${schema}.${name}`))),
  )
  return counts.reduce((sum, [row]) => sum + row.n, 0)
}
