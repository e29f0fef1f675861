// Several nodes on one PostgreSQL, each with its own data folder, and the account after a load.

import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import {
  type Account,
  formatAccount,
  makeFlows,
  report,
  resolveParked,
  settled,
  takeAccount,
} from './account.ts'
import type { ClusterLoad } from './cluster.ts'
import { sendAgain } from './load.ts'
import { type NodeProcess, startNode } from './node-process.ts'
import type { PostgresServer, TestDatabase } from './postgres.ts'
import type { Vendor } from './vendor.ts'
import { makeWorkspace } from './workspace.ts'

/** Of one load. */
export const EVENTS = 600

/** What nodes of one cluster have in common. */
const SHARED = {
  MILLRACE_LEASE: '2s',
  MILLRACE_LOG: 'stdout',
  MILLRACE_ADMIN_KEY: 'the-key-of-both-nodes',
  MILLRACE_MASTER_KEY: randomBytes(32).toString('base64'),
}

export interface ClusterOptions {
  /** Of calls to the vendor. */
  readonly timeout?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Disposing ends its nodes. */
export interface Cluster extends AsyncDisposable {
  readonly database: TestDatabase
  /** `args` are what Node runs; omitted: the built command line. */
  start(name: string, args?: readonly string[]): Promise<NodeProcess>
}

export async function makeCluster(
  postgres: PostgresServer,
  vendor: Vendor,
  { timeout, env: more = {} }: ClusterOptions = {},
): Promise<Cluster> {
  const database = await postgres.makeDatabase()
  const home = makeWorkspace()
  const folders = [home]
  const flows = await home.writeFlows(makeFlows(vendor.url, timeout))
  return {
    database,
    start(name, args) {
      const workspace = makeWorkspace()
      folders.push(workspace)
      const env = { ...SHARED, ...more, MILLRACE_STORE: database.url, MILLRACE_NODE: name }
      return startNode({ workspace, flows, env, ...(args !== undefined && { args }) })
    },
    async [Symbol.asyncDispose]() {
      for (const folder of folders) await folder[Symbol.asyncDispose]()
    },
  }
}

/** Prints the table of what was acknowledged, effected, lost and repeated, and fails if it is not clean. */
export async function isClean(
  title: string,
  node: NodeProcess,
  vendor: Vendor,
  load: ClusterLoad,
): Promise<Account> {
  const { acknowledged } = load
  await settled(node)
  const account = await takeAccount(node, vendor, acknowledged)
  report(formatAccount(title, load, account))
  expect(acknowledged.size).toBe(EVENTS)
  expect(account).toMatchObject({ missing: [], stored: EVENTS, deliveries: EVENTS })
  const { keyed, probed, plain, chain } = account.byConsumer
  for (const exact of [keyed, probed, chain])
    expect(exact).toMatchObject({ done: EVENTS, effects: EVENTS, lost: 0, repeated: 0 })
  expect(plain).toMatchObject({ otherwise: 0, lost: 0, repeated: 0 })
  expect(await sendAgain(node, acknowledged, 50)).toEqual([])
  expect(await resolveParked(node, vendor, acknowledged, account)).toEqual({ notOnce: [], parked: [] })
  return account
}
