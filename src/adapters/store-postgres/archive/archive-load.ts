// Inserts rows of an archive into their tables: one set-based statement a page, with the hashes that the store looks
// them up by.

import { joinKey } from '../../../core/foundation/text/index.ts'
import type { ArchiveRows, ArchiveTable } from '../../../core/store/archive/index.ts'
import { markingText } from '../../../core/workflows/instance/index.ts'
import { hashKey, laneKey } from '../commit/keys.ts'
import { prepare, type Statement } from '../connection.ts'
import { shapeRun } from '../runs.ts'
import {
  ATTEMPT,
  CORRELATION,
  DEAD_LETTER,
  DEDUP,
  ESCALATION,
  EVENT,
  EVENT_REPEAT,
  FACT,
  FAILURE,
  HISTORY,
  INSTANCE,
  insertSql,
  LANE,
  LEDGER,
  LEDGER_PAST,
  makeArrays,
  NEW_WORK,
  ORPHAN,
  OUTBOX,
  RECORD,
  RUN,
  type Table,
} from '../tables.ts'
import { COUNTED } from './archive-read.ts'

type Load<Name extends ArchiveTable> = (
  schema: string,
  rows: readonly ArchiveRows[Name][],
) => readonly Statement[]

/** No statement for no rows. */
function insert(schema: string, table: Table, rows: readonly object[]): readonly Statement[] {
  if (rows.length === 0) return []
  return [prepare(insertSql(schema, table), makeArrays(table.columns, rows))]
}

const into =
  <Name extends ArchiveTable>(
    table: Table,
    shape: (row: ArchiveRows[Name]) => object = (row) => row,
  ): Load<Name> =>
  (schema, rows) =>
    insert(schema, table, rows.map(shape))

const shapeEntry = ({ isLatest: _, ...entry }: ArchiveRows['ledger']) => ({
  ...entry,
  hash: hashKey(joinKey(entry.tenant, entry.key)),
  evidence: JSON.stringify(entry.evidence),
})

const LOADS: { readonly [Name in ArchiveTable]: Load<Name> } = {
  counters: (schema, rows) =>
    rows.map(({ name, last }) =>
      prepare(
        'SELECT setval(pg_get_serial_sequence($1::text, $2::text), greatest($3::int8, 1), $3::int8 > 0)',
        [`${schema}.${name}`, COUNTED[name], last],
      ),
    ),
  incarnations: (schema, rows) => [
    prepare(
      `INSERT INTO ${schema}.incarnation (id, node, until, fenced) OVERRIDING SYSTEM VALUE ` +
        'SELECT * FROM unnest($1::int8[], $2::text[], $3::int8[], $4::bool[])',
      makeArrays({ owner: 'int8', node: 'text', until: 'int8', isFenced: 'bool' }, rows),
    ),
  ],
  records: into(RECORD),
  events: (schema, rows) => [
    ...insert(schema, EVENT, rows),
    ...insert(
      schema,
      EVENT_REPEAT,
      rows
        .filter(({ lastDuplicateAt }) => lastDuplicateAt !== null)
        .map(({ id, duplicates, lastDuplicateAt }) => ({
          event: id,
          count: duplicates,
          lastAt: lastDuplicateAt,
        })),
    ),
  ],
  dedup: into(DEDUP, (row) => ({ ...row, hash: hashKey(joinKey(row.tenant, row.source, row.key)) })),
  lanes: into(LANE, (row) => ({ ...row, hash: hashKey(laneKey(row.tenant, row.consumer, row.key)) })),
  work: into(NEW_WORK, (row) => ({
    ...row,
    laneHash: row.lane === null ? null : hashKey(laneKey(row.tenant, row.consumer, row.lane)),
  })),
  attempts: into(ATTEMPT),
  ledger: (schema, rows) => [
    ...insert(schema, LEDGER, rows.filter(({ isLatest }) => isLatest).map(shapeEntry)),
    ...insert(schema, LEDGER_PAST, rows.filter(({ isLatest }) => !isLatest).map(shapeEntry)),
  ],
  deadLetters: into(DEAD_LETTER),
  failures: into(FAILURE),
  escalations: into(ESCALATION),
  instances: into(INSTANCE, (row) => ({ ...row, marking: markingText(row.marking) })),
  history: into(HISTORY),
  correlations: into(CORRELATION, (row) => ({ ...row, hash: hashKey(joinKey(row.tenant, row.key)) })),
  orphans: into(ORPHAN),
  runs: into(RUN, shapeRun),
  facts: into(FACT),
  outbox: (schema, rows) => [
    prepare(
      `INSERT INTO ${schema}.outbox (position, tenant, id, subject, about, event, body, created_at) ` +
        'OVERRIDING SYSTEM VALUE SELECT * FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::text[], ' +
        '$6::text[], $7::text[], $8::int8[])',
      makeArrays(
        {
          position: 'int8',
          tenant: 'text',
          id: 'text',
          subject: 'text',
          about: 'text',
          event: 'text',
          body: 'text',
          createdAt: 'int8',
        },
        rows,
      ),
    ),
  ],
}

export function loadStatements<Name extends ArchiveTable>(
  schema: string,
  table: Name,
  rows: readonly ArchiveRows[Name][],
): readonly Statement[] {
  return rows.length === 0 ? [] : (LOADS[table] as Load<Name>)(schema, rows)
}

/** Everything that a move fills, for a move that starts again. */
export const FILLED: readonly string[] = [
  ...['incarnation', EVENT_REPEAT.name, 'commit_group'],
  ...[
    RECORD,
    EVENT,
    DEDUP,
    LANE,
    NEW_WORK,
    ATTEMPT,
    LEDGER,
    LEDGER_PAST,
    DEAD_LETTER,
    FAILURE,
    ESCALATION,
  ].map(({ name }) => name),
  ...[INSTANCE, HISTORY, CORRELATION, ORPHAN, RUN, FACT, OUTBOX].map(({ name }) => name),
]
