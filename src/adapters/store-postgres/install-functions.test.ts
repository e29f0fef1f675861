// The functions of the schema: one text of each, whatever the database was before, and whichever versions start on it.

import pg, { type PoolClient } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../test/support/postgres.ts'
import type { NodeId } from '../../core/foundation/ids/index.ts'
import { FUNCTIONS } from './functions.ts'
import { openPostgresStore } from './index.ts'
import { checksumOf, type LiveFunction } from './install-functions.ts'
import { type MigrateOptions, migrate } from './migrate.ts'
import { MIGRATIONS } from './migrations/index.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.close())

/** A released step never changes: databases store these checksums. */
const RELEASED_STEPS = [
  '13635fe1e13e0b5f5af6e2c68228bcd005ec18fe4a67c58d0dd0a47fa07f87f5',
  'a4f49dc654a34ce34ea9075ba94843cf71813f677301afcbb0cd49a4c2c9d289',
  'a91433f70475b03d25c679e6ffac9f78ceeac1a6eeef7faee0922f5fc173f492',
  '70ca033937fe577201884ecc7d7916b4c25a6c9b718ba55f71c03ba375dfd27d',
  '3233f9643a2b9553b917a207ba56635df26de4f995dccfd00eb8490b91e51dee',
  '9de71aff1c416cf979130ce4927bf6c212404dc4a8fb7853ec706de8e1d9a6c3',
  '983e307e65227d69fc366c6394dfbdad74fe19593204bfa7154087ff9c07a7c9',
  '0d518ceb4e6ce06afabf1e8b20597c435f27b6794ad3745ba5e5764d4e453b1e',
  '55558e8b44e10ca9dbad9363d1e124fc8af31eb1c6a89c19867ef8bdbdd43e5c',
  '4895ea656f908f5d8268f47f28217e9ed9d350cec7ba2f0df12d3fc7e3420f8b',
  '8e9daa0bb58fae2d0794ce29b9b46bf05cdf30e4440815dcda42f63a32fea5e5',
  'a7ded40ce0315fb2d49f67c4b67993b78f44579b340e51b1346f7cd87cadee71',
  '3378cc7da367fcd989b298e98213ef0261a0f826f12ee8d10173c8c6e9a0da85',
]

/**
 * Each released text of a function, the first revision first, and its signature. A change of a text raises its revision
 * and adds the checksum here; a signature never changes, because the previous version calls it: another one needs a new
 * name.
 */
const RELEASED_FUNCTIONS: Readonly<
  Record<string, { readonly takes: string; readonly answers: string; readonly texts: readonly string[] }>
> = {
  claim: {
    takes:
      'p_group uuid, p_owner bigint, p_tenants text[], p_consumers text[], p_slot_max bigint[], p_slot_limit bigint[], p_max bigint, p_max_alone bigint, p_codes text[]',
    answers: 'TABLE(item millrace.work, event millrace.event, next_due_at bigint, now bigint)',
    texts: ['929e0b4c4af11edaf8be03471c695bce56997e8620b5982ffc9f2ca390cc4b5b'],
  },
  claim_from: {
    takes:
      'p_group uuid, p_owner bigint, p_tenants text[], p_consumers text[], p_slot_max bigint[], p_slot_limit bigint[], p_max bigint, p_max_alone bigint, p_codes text[], p_from bigint[]',
    answers:
      'TABLE(item millrace.work, event millrace.event, next_due_at bigint, now bigint, next_from bigint[], read bigint)',
    texts: ['a93e9eb913772637a170fb0f8290bb60c508bf317c8fa21fe63ed395155b5cd3'],
  },
  commit_optimistic: {
    takes: [
      'p_group uuid, p_owners bigint[], e_tenant text[], e_id text[], e_source text[], e_subject text[]',
      'e_object_type text[], e_object_id text[], e_occurred_at bigint[], e_correlation_id text[]',
      'e_causation_id text[], e_trace_id text[], e_dedup_key text[], e_payload_hash text[]',
      'e_headers text[], e_data text[], e_matched bigint[], e_raw text[], e_dedup_hash uuid[]',
      'e_dedup_for bigint[], w_tenant text[], w_id text[], w_kind text[], w_consumer text[]',
      'w_definition text[], w_code_hash text[], w_event_id text[], w_owner bigint[], w_due_in bigint[]',
      'w_expires_in bigint[], w_replay_of text[], w_element bigint[], w_generation bigint[]',
      'w_instance text[], w_step text[], s_tenant text[], s_id text[], s_owner bigint[]',
      's_epoch bigint[], s_state text[], s_due_in bigint[], s_expires_in bigint[], s_attempts bigint[]',
      's_waits bigint[], s_losses bigint[], s_key text[], s_class text[], s_last_error text[]',
      's_effect_ref text[], s_http_status bigint[], s_duration_ms double precision[], g_tenant text[]',
      'g_id text[], g_owner bigint[], g_epoch bigint[], l_hash uuid[], l_tenant text[], l_key text[]',
      'l_work text[], l_epoch bigint[], l_consumer text[], l_event_id text[], l_object_id text[]',
      'l_payload_hash text[], l_correlation_id text[], l_generation bigint[], l_send_in bigint[]',
      'l_effect_ref text[], l_result text[], r_hash uuid[], r_tenant text[], r_key text[]',
      'r_work text[], r_epoch bigint[], r_before text[], r_state text[], r_proof text[]',
      'r_effect_ref text[], r_result text[], a_tenant text[], a_work text[], a_number bigint[]',
      'a_started_at bigint[], a_duration_ms double precision[], a_outcome text[], a_class text[]',
      'a_http_status bigint[], a_error text[], a_response text[], o_tenant text[], o_id text[]',
      'o_subject text[], o_about text[], o_event text[], o_body text[]',
    ].join(', '),
    answers: 'bigint',
    texts: ['8eab3a3a683d4edcf8d17f991843d41f84dd587eedd546127d602b7623486c47'],
  },
  commit_with_facts: {
    takes: [
      'p_group uuid, p_owners bigint[], e_tenant text[], e_id text[], e_source text[], e_subject text[]',
      'e_object_type text[], e_object_id text[], e_occurred_at bigint[], e_correlation_id text[]',
      'e_causation_id text[], e_trace_id text[], e_dedup_key text[], e_payload_hash text[]',
      'e_headers text[], e_data text[], e_matched bigint[], e_raw text[], e_dedup_hash uuid[]',
      'e_dedup_for bigint[], w_tenant text[], w_id text[], w_kind text[], w_consumer text[]',
      'w_definition text[], w_code_hash text[], w_event_id text[], w_owner bigint[], w_due_in bigint[]',
      'w_expires_in bigint[], w_replay_of text[], w_element bigint[], w_generation bigint[]',
      'w_instance text[], w_step text[], s_tenant text[], s_id text[], s_owner bigint[]',
      's_epoch bigint[], s_state text[], s_due_in bigint[], s_expires_in bigint[], s_attempts bigint[]',
      's_waits bigint[], s_losses bigint[], s_key text[], s_class text[], s_last_error text[]',
      's_effect_ref text[], s_http_status bigint[], s_duration_ms double precision[], g_tenant text[]',
      'g_id text[], g_owner bigint[], g_epoch bigint[], l_hash uuid[], l_tenant text[], l_key text[]',
      'l_work text[], l_epoch bigint[], l_consumer text[], l_event_id text[], l_object_id text[]',
      'l_payload_hash text[], l_correlation_id text[], l_generation bigint[], l_send_in bigint[]',
      'l_effect_ref text[], l_result text[], r_hash uuid[], r_tenant text[], r_key text[]',
      'r_work text[], r_epoch bigint[], r_before text[], r_state text[], r_proof text[]',
      'r_effect_ref text[], r_result text[], a_tenant text[], a_work text[], a_number bigint[]',
      'a_started_at bigint[], a_duration_ms double precision[], a_outcome text[], a_class text[]',
      'a_http_status bigint[], a_error text[], a_response text[], o_tenant text[], o_id text[]',
      'o_subject text[], o_about text[], o_event text[], o_body text[]',
      'f_tenant text[], f_id text[], f_body text[]',
    ].join(', '),
    answers: 'bigint',
    texts: ['c78522da8c05124717ccefd2c0e622eb926d8f2bd11335dcc41b405325dd6549'],
  },
  fence_incarnation: {
    takes: 'p_owner bigint',
    answers: 'void',
    texts: ['a3a35f645aacf1a39ed3ee0ab5a16e28be90f1d797070e7d18dfa53d059a6978'],
  },
  id_at: {
    takes: 'p_prefix text, p_at bigint',
    answers: 'text',
    texts: ['db811941e9772c7548b00c889adb367453b072e31f264867edc42856da4edad3'],
  },
  join_node: {
    takes: 'p_node text, p_ttl_ms bigint',
    answers: 'TABLE(owner bigint, until bigint, now bigint)',
    texts: ['e25406c0e939592032fcc2a2edadbf3514edcd56a2df55a46aec5922c03c1828'],
  },
  make_partitions: {
    takes: 'p_from bigint, p_weeks integer',
    answers: 'SETOF text',
    texts: ['00b9a88fb7e940d50c1fce9c6ff81803ff6820781f7e760e2e2dde78922d88b2'],
  },
  now_ms: {
    takes: '',
    answers: 'bigint',
    texts: ['3ad13de5a45354ed2a8336ced23bf1545f867b10b0a847113d8442efd12b0fd6'],
  },
  reclaim: {
    takes: 'p_limit bigint',
    answers: 'TABLE(id text)',
    texts: ['aff0ebe40bb67f4cb4a1610fa492bdb4fe80739c18fedccd7c2466862b07b14e'],
  },
  renew_incarnation: {
    takes: 'p_owner bigint, p_ttl_ms bigint',
    answers: 'TABLE(until bigint, now bigint)',
    texts: ['c2028e34035c396f4523203c851e88140ecdd68009ee9342fb1961d068cdc9c3'],
  },
  share_incarnations: {
    takes: 'p_owners bigint[]',
    answers: 'void',
    texts: ['35cfefefa04ec0125cac7204f98c30a038f4450791642241a369df494d0269bd'],
  },
  week_of: {
    takes: 'p_at bigint',
    answers: 'bigint',
    texts: ['017bee25228a1c09a65ddffa64e08e5fec61ba2dbf8316b113d9ad9017e292e6'],
  },
}

const CLAIM = FUNCTIONS.find(({ name }) => name === 'claim') as LiveFunction
const MARK = '-- of the next version'

/** As a later version would have it. */
const nextClaim = (mark = MARK): readonly LiveFunction[] =>
  FUNCTIONS.map((own) =>
    own === CLAIM
      ? { ...own, revision: own.revision + 1, sql: own.sql.replace('DECLARE', `${mark}\nDECLARE`) }
      : own,
  )

async function start(url: string, options: MigrateOptions = {}, schema = 'millrace'): Promise<void> {
  const pool = new pg.Pool({ connectionString: url })
  try {
    const client = await pool.connect()
    try {
      await migrate(client, schema, options)
    } finally {
      client.release()
    }
  } finally {
    await pool.end()
  }
}

/** As left by the last release in which the steps created the functions. */
const stepsAlone: MigrateOptions = { migrations: [...MIGRATIONS] }

/** `row`: changes whenever the function is written, even with the same text. */
async function functionsOf(url: string, schema = 'millrace') {
  const rows = await server.query(
    url,
    `SELECT proname AS name, pg_get_function_identity_arguments(oid) AS takes, pg_get_function_result(oid) AS answers,
       provolatile AS volatility, prosrc AS body, xmin::text AS row
     FROM pg_proc WHERE pronamespace = '${schema}'::regnamespace ORDER BY proname`,
  )
  return rows as { name: string; takes: string; answers: string; body: string; row: string }[]
}

const installedIn = (url: string) =>
  server.query(
    url,
    'SELECT name, revision, checksum, xmin::text AS row FROM millrace.live_function ORDER BY name',
  )

async function bodyOfClaim(url: string): Promise<string> {
  return (await functionsOf(url)).find(({ name }) => name === 'claim')?.body ?? ''
}

test('[PG18] a released step has the checksum that databases store', () => {
  expect(MIGRATIONS.map(({ sql }) => checksumOf(sql)).slice(0, RELEASED_STEPS.length)).toEqual(RELEASED_STEPS)
})

test('[PG20] a released function keeps its signature, and a changed text has a new revision', async () => {
  const { url } = await server.makeDatabase()
  const found = Object.fromEntries(
    (await functionsOf(url)).map(({ name, takes, answers }) => {
      const live = FUNCTIONS.find((one) => one.name === name)
      const texts = RELEASED_FUNCTIONS[name]?.texts.slice(0, (live?.revision ?? 0) - 1) ?? []
      return [name, { takes, answers, texts: [...texts, checksumOf(live?.sql ?? '')] }]
    }),
  )
  expect(found).toEqual(RELEASED_FUNCTIONS)
})

test('[PG18] a new database and one of any earlier step have the same functions, each with the text of its file', async () => {
  const { url, drop } = await server.makeDatabase({ empty: true })
  await start(url, {}, 'fresh')
  const plain = async (schema: string) =>
    (await functionsOf(url, schema)).map(({ row: _, ...one }) =>
      JSON.parse(JSON.stringify(one).replaceAll(`${schema}.`, '{s}.')),
    )
  const fresh = await plain('fresh')
  expect(fresh.map(({ name }) => name)).toEqual(FUNCTIONS.map(({ name }) => name).sort())
  for (const { name, body } of fresh)
    expect(FUNCTIONS.find((one) => one.name === name)?.sql).toContain(`$$${body}$$`)
  for (const { number } of MIGRATIONS) {
    const schema = `from_${number}`
    await start(url, { migrations: MIGRATIONS.slice(0, number) }, schema)
    await start(url, {}, schema)
    expect({ number, functions: await plain(schema) }).toEqual({ number, functions: fresh })
  }
  await drop()
})

test('[PG19] a start that finds its own functions writes none of them', async () => {
  const { url } = await server.makeDatabase()
  const before = { functions: await functionsOf(url), installed: await installedIn(url) }
  await start(url)
  const store = await openPostgresStore({ connection: url })
  await store[Symbol.asyncDispose]()
  expect({ functions: await functionsOf(url), installed: await installedIn(url) }).toEqual(before)
  // What the comparison detects: the same text, written once more.
  await server.query(url, CLAIM.sql.replaceAll('{s}', 'millrace'))
  expect(await functionsOf(url)).not.toEqual(before.functions)
})

test('[PG19] nodes that start at once install them once, on a database of the previous version, while that one goes on', async () => {
  const { url, drop } = await server.makeDatabase({ empty: true })
  await start(url, stepsAlone)
  const older = new pg.Client({ connectionString: url })
  await older.connect()
  await older.query("SELECT * FROM millrace.join_node('older', 600000)")
  await server.query(url, COUNT_FUNCTIONS)
  let isOver = false
  const claiming = (async () => {
    let claims = 0
    for (; !isOver; claims += 1) await claimAs(older)
    return claims
  })()
  const stores = await Promise.all([1, 2, 3, 4].map(() => openPostgresStore({ connection: url })))
  isOver = true
  expect(await claiming).toBeGreaterThan(0)
  expect(await claimAs(older)).toHaveLength(1)
  const installed = await installedIn(url)
  expect(installed.map(({ name, checksum }) => ({ name, checksum }))).toEqual(
    [...FUNCTIONS]
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, sql }) => ({ name, checksum: checksumOf(sql) })),
  )
  const written = await server.query(url, 'SELECT name, count(*)::int AS times FROM written GROUP BY name')
  expect(written.length).toBe(FUNCTIONS.length)
  expect(written.filter(({ times }) => times !== 1)).toEqual([])
  for (const store of stores) await store[Symbol.asyncDispose]()
  await older.end()
  await drop()
})

/** Records each function that is created or replaced from now on. */
const COUNT_FUNCTIONS = `
  CREATE TABLE written (name text NOT NULL);
  CREATE FUNCTION note_written() RETURNS event_trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO public.written SELECT object_identity FROM pg_event_trigger_ddl_commands();
  END $$;
  CREATE EVENT TRIGGER note_written ON ddl_command_end WHEN TAG IN ('CREATE FUNCTION') EXECUTE FUNCTION note_written()`

let claimsMade = 0
function claimAs(client: Pick<PoolClient, 'query'>): Promise<unknown[]> {
  claimsMade += 1
  const group = `00000000-0000-4000-8000-${String(claimsMade).padStart(12, '0')}`
  const values = [group, 1, ['acme'], ['route:count'], [1], [null], 1, 1, []]
  const sql = 'SELECT * FROM millrace.claim($1, $2, $3, $4, $5, $6, $7, $8, $9)'
  return client.query(sql, values).then(({ rows }) => rows)
}

test('[PG19] [ND20] a newer text replaces an older one; an older node leaves it, starts on it and works with it', async () => {
  const { url, drop } = await server.makeDatabase()
  const older = await openPostgresStore({ connection: url })
  await start(url, { functions: nextClaim() })
  expect(await bodyOfClaim(url)).toContain(MARK)
  const again = await openPostgresStore({ connection: url })
  expect(await bodyOfClaim(url)).toContain(MARK)
  for (const [index, store] of [older, again].entries()) {
    const { owner } = await store.join(`node-${index}` as NodeId, 30_000)
    const slots = [{ tenant: 'acme' as never, consumer: 'route:count', max: 1 }]
    const claimed = await store.claim({ owner, slots, max: 1, maxIsolated: 1, codeHashes: [] })
    expect(claimed).toMatchObject({ items: [], nextDueAt: null })
    expect(await store.renew(owner, 30_000)).toMatchObject({ until: expect.any(Number) })
    expect(await store.reclaim(10)).toEqual([])
    expect(await store.leave(owner)).toEqual([])
    await store[Symbol.asyncDispose]()
  }
  // A text that was never released may change with every start.
  await start(url, { functions: nextClaim('-- another try') })
  expect(await bodyOfClaim(url)).toContain('-- another try')
  await drop()
})

test('[ND20] an older node changes no function of a schema that a newer one migrated', async () => {
  const { url, drop } = await server.makeDatabase()
  const number = MIGRATIONS.length + 1
  const step = { number, name: 'later', worksFrom: MIGRATIONS.length, sql: 'SELECT 1' }
  await start(url, { migrations: [...MIGRATIONS, step], functions: FUNCTIONS })
  const before = await functionsOf(url)
  await server.query(url, "DELETE FROM millrace.live_function WHERE name = 'claim'")
  await start(url)
  expect(await functionsOf(url)).toEqual(before)
  await drop()
})

test('[PG18] a function that a step drops is installed again after it, although its text is the same', async () => {
  const { url, drop } = await server.makeDatabase()
  const number = MIGRATIONS.length + 1
  const signature = RELEASED_FUNCTIONS.claim?.takes.replaceAll(/p_\w+ /g, '')
  const step = { number, name: 'drops', sql: `DROP FUNCTION {s}.claim(${signature})` }
  await start(url, { migrations: [...MIGRATIONS, step], functions: FUNCTIONS })
  expect(CLAIM.sql.replaceAll('{s}', 'millrace')).toContain(`$$${await bodyOfClaim(url)}$$`)
  await drop()
})

test('[PG18] a text that PostgreSQL refuses leaves the schema as it was, steps included', async () => {
  const { url, drop } = await server.makeDatabase()
  const before = { functions: await functionsOf(url), installed: await installedIn(url) }
  const number = MIGRATIONS.length + 1
  const step = { number, name: 'later', sql: 'CREATE TABLE {s}.later (id int)' }
  const broken = nextClaim().map((one) =>
    one.name === 'now_ms' ? { ...one, sql: 'CREATE OR nothing' } : one,
  )
  const options = { migrations: [...MIGRATIONS, step], functions: [...broken].reverse() }
  await expect(start(url, options)).rejects.toThrow('syntax error')
  expect({ functions: await functionsOf(url), installed: await installedIn(url) }).toEqual(before)
  expect(await server.query(url, "SELECT to_regclass('millrace.later') AS there")).toEqual([{ there: null }])
  await drop()
})
