// Two versions at once on one PostgreSQL, under load: the next one migrates the schema and joins, this one continues,
// is restarted beside it, leaves alone what only the next one understands, and stops. Nothing is lost or done twice.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { settled } from '../support/account.ts'
import { runClusterLoad } from '../support/cluster.ts'
import { EVENTS, isClean, makeCluster } from '../support/cluster-nodes.ts'
import { CLAIMS, makeNextVersion, NEXT_CLAIM } from '../support/next-version.ts'
import { buildDist, eventually, type NodeProcess } from '../support/node-process.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { startVendor } from '../support/vendor.ts'
import { makeWorkspace } from '../support/workspace.ts'

let postgres: PostgresServer
beforeAll(async () => {
  await buildDist()
  postgres = await startPostgres()
})
afterAll(() => postgres?.close())

test('[ND20] [ND22] [ND24] this version beside the next one, under load: nothing lost, nothing twice, and newer jobs stay with the newer version', async () => {
  await using vendor = await startVendor()
  await using workspace = makeWorkspace()
  const nextVersion = [await makeNextVersion(workspace), 'start']
  await using cluster = await makeCluster(postgres, vendor)
  const query = async (sql: string) => (await postgres.query(cluster.database.url, sql))[0]
  const heldBy = async (name: string) => {
    const row = await query(`SELECT count(*)::int AS count FROM millrace.work w
      JOIN millrace.incarnation i ON i.id = w.owner WHERE i.node = '${name}' AND w.state = 'leased'`)
    return row?.count as number
  }
  const stop = async (node: NodeProcess): Promise<string> => {
    node.kill('SIGTERM')
    const { stdout, ...exit } = await node.exited
    expect(exit).toEqual({ code: 0, signal: null, stderr: '' })
    return stdout
  }
  /** The routes whose jobs a node completed, by its log. */
  const routesOf = (log: string) =>
    new Set([...log.matchAll(/"routeName":"(\w+)"[^\n]*"action":"DONE"/g)].map(([, route]) => route))

  let older = await cluster.start('older')
  const nodes: NodeProcess[] = [older]
  let next: NodeProcess | null = null
  let [before, beside] = ['', '']
  const load = await runClusterLoad(EVENTS, () => nodes, [
    {
      afterAcknowledged: 80,
      async disturb() {
        next = await cluster.start('next', nextVersion)
        nodes.push(next)
      },
    },
    {
      afterAcknowledged: 200,
      async disturb() {
        nodes.shift()
        before = await stop(older)
        older = await cluster.start('older')
        nodes.unshift(older)
      },
    },
    {
      afterAcknowledged: 320,
      async disturb() {
        // It works on a schema that is newer than it.
        await older.said(/"action":"DONE"/)
        const text = `
kind: Route
name: later
on: [mill.step.two]
key: "'later:' + event.id"
do: { http: { url: "${vendor.url}/keyed", body: { ref: "{{ key }}" }, keyTtl: 1h } }`
        await next?.post('/v1/definitions/apply', { files: [{ path: 'later.yaml', text }] })
        await older.said(/"name":"definitions\.unusable"[^\n]*Route\/later/)
        await eventually('the older one has ended what it had', async () => (await heldBy('older')) === 0)
      },
    },
    {
      afterAcknowledged: 480,
      async disturb() {
        expect(await heldBy('older')).toBe(0)
        beside = await stop(older)
        nodes.shift()
      },
    },
  ])
  const sql =
    'SELECT name, works_from < number AS shared FROM millrace.migration ORDER BY number DESC LIMIT 1'
  expect(await query(sql)).toEqual({ name: 'of the next version', shared: true })
  for (const name of CLAIMS) {
    const claim = await query(`SELECT prosrc FROM pg_proc WHERE oid = 'millrace.${name}'::regproc`)
    expect(claim?.prosrc).toContain(NEXT_CLAIM)
  }
  const last = next as NodeProcess | null
  if (last === null) throw new Error('the next version was started')
  await isClean('PostgreSQL, this version and the next one, replaced one after the other', last, vendor, load)
  await settled(last)
  const later = [...vendor.records('keyed')].filter(([key]) => key.startsWith('later:'))
  expect(later.length).toBeGreaterThan(0)
  expect(later.filter(([, { effects }]) => effects !== 1)).toEqual([])
  // All three took part, and the older one only in what it understands.
  const after = await stop(last)
  for (const log of [before, beside]) {
    expect(routesOf(log)).toContain('keyed')
    expect(routesOf(log)).not.toContain('later')
    expect(log).not.toMatch(/"name":"work\.broken"|"action":"DEAD_LETTERED"/)
  }
  expect([...routesOf(after)]).toEqual(expect.arrayContaining(['keyed', 'probed', 'plain', 'later']))
})
