// Several nodes on one PostgreSQL, as users run them: under a load of events, a node is killed, PostgreSQL is
// restarted, a node is suspended for longer than its lease. Everything acknowledged is stored, and each effect happened
// once. The vendor's own log decides.

import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runClusterLoad } from '../support/cluster.ts'
import { EVENTS, isClean, makeCluster } from '../support/cluster-nodes.ts'
import { startNats } from '../support/nats.ts'
import { buildDist, eventually, type NodeProcess } from '../support/node-process.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { startVendor } from '../support/vendor.ts'

let postgres: PostgresServer
beforeAll(async () => {
  await buildDist()
  postgres = await startPostgres({ isDurable: true })
})
afterAll(() => postgres?.close())

test('[ND40] two nodes under load, one killed and PostgreSQL restarted: nothing lost, nothing twice', async () => {
  await using vendor = await startVendor()
  await using cluster = await makeCluster(postgres, vendor)
  const first = await cluster.start('first')
  let second: NodeProcess | null = await cluster.start('second')
  const load = await runClusterLoad(EVENTS, () => (second === null ? [first] : [first, second]), [
    {
      afterAcknowledged: 60 + randomInt(60),
      async disturb() {
        const killed = second
        second = null
        killed?.kill('SIGKILL')
        await killed?.exited
      },
    },
    { afterAcknowledged: 150 + randomInt(60), disturb: () => postgres.restart() },
    { afterAcknowledged: 230 + randomInt(60), disturb: () => postgres.restart() },
    {
      afterAcknowledged: 300 + randomInt(60),
      async disturb() {
        second = await cluster.start('second')
      },
    },
    { afterAcknowledged: 380 + randomInt(60), disturb: () => postgres.restart() },
    { afterAcknowledged: 450 + randomInt(60), disturb: () => postgres.restart() },
    { afterAcknowledged: 520 + randomInt(60), disturb: () => postgres.restart() },
  ])
  await isClean('PostgreSQL, two nodes, one killed, five restarts of the database', first, vendor, load)
  for (const node of [first, second]) {
    node?.kill('SIGTERM')
    expect(await node?.exited).toMatchObject({ code: 0, signal: null, stderr: '' })
  }
})

test('[ND41] a node that was suspended for longer than its lease changes nothing that others took over', async () => {
  await using vendor = await startVendor()
  await using cluster = await makeCluster(postgres, vendor, { timeout: '1s' })
  const first = await cluster.start('first')
  const second = await cluster.start('second')
  const isFenced = async () => {
    const sql = `SELECT 1 FROM millrace.incarnation WHERE node = 'second' AND NOT fenced AND until > millrace.now_ms()`
    return (await postgres.query(cluster.database.url, sql)).length === 0
  }
  const leasedBySecond = async () => {
    const sql = `SELECT count(*)::int AS count FROM millrace.work w JOIN millrace.incarnation i ON i.id = w.owner
      WHERE i.node = 'second' AND NOT i.fenced AND w.state = 'leased'`
    const [row] = await postgres.query(cluster.database.url, sql)
    return row?.count as number
  }
  let isStopped = false
  const load = await runClusterLoad(EVENTS, () => (isStopped ? [first] : [first, second]), [
    {
      afterAcknowledged: 150,
      async disturb() {
        vendor.hold()
        await eventually('answers are owed', () => vendor.held() >= 5)
        await eventually('the second has work in its hands', async () => (await leasedBySecond()) > 0)
        isStopped = true
        second.kill('SIGSTOP')
        // Its last actions have reached the store: it cannot settle its leased jobs before others take them over.
        expect(await leasedBySecond()).toBeGreaterThan(0)
        vendor.release()
        await eventually('the lease is over', isFenced)
        second.kill('SIGCONT')
        await second.said(/"name":"node\.fenced"[^\n]*\n(?:[^\n]*\n)*?[^\n]*"name":"node\.joined"/)
        isStopped = false
      },
    },
  ])
  await isClean('PostgreSQL, two nodes, one stopped past its lease', first, vendor, load)
})

test('[ND42] with NATS killed, and back without its data, nothing is lost, and everything is published later', async () => {
  await using vendor = await startVendor()
  const nats = await startNats()
  try {
    await using cluster = await makeCluster(postgres, vendor, {
      env: { MILLRACE_NATS_URL: nats.url },
    })
    const nodes = [await cluster.start('first'), await cluster.start('second')]
    const [first] = nodes as [NodeProcess, NodeProcess]
    const untold = async () => {
      const [row] = await postgres.query(
        cluster.database.url,
        'SELECT count(*)::int AS count FROM millrace.outbox',
      )
      return row?.count as number
    }
    let whileAway = 0
    const load = await runClusterLoad(EVENTS, () => nodes, [
      { afterAcknowledged: 150 + randomInt(50), disturb: () => nats.kill() },
      {
        afterAcknowledged: 400 + randomInt(50),
        async disturb() {
          whileAway = await untold()
          await nats.start({ isEmpty: true })
        },
      },
    ])
    await isClean('PostgreSQL and NATS, two nodes, NATS killed and emptied', first, vendor, load)
    expect(whileAway).toBeGreaterThan(0)
    await eventually('everything is told', async () => (await untold()) === 0)
    for (const node of nodes) {
      node.kill('SIGTERM')
      expect(await node.exited).toMatchObject({ code: 0, signal: null, stderr: '' })
    }
  } finally {
    await nats.close()
  }
})
