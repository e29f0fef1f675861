// A node that cannot start says why in one sentence, exits with code 1, and has changed nothing.

import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { makeFlows, settled } from '../support/account.ts'
import { makeDelivery } from '../support/load.ts'
import { buildDist, eventually, type NodeProcess, runToExit, startNode } from '../support/node-process.ts'
import { readRows } from '../support/sqlite-rows.ts'
import { startVendor } from '../support/vendor.ts'
import { makeWorkspace, type Workspace } from '../support/workspace.ts'

let workspace: Workspace
beforeAll(buildDist)
beforeEach(() => {
  workspace = makeWorkspace()
})
afterEach(async () => {
  await workspace[Symbol.asyncDispose]()
})

async function sendOne(node: NodeProcess): Promise<void> {
  const { body, headers } = makeDelivery()
  const answer = await fetch(`${node.url}/in/default/github`, { method: 'POST', body, headers })
  expect(answer.status).toBe(202)
}

const refuse = (sentence: string | RegExp) => ({
  code: 1,
  signal: null,
  stdout: '',
  stderr: typeof sentence === 'string' ? expect.stringContaining(sentence) : expect.stringMatching(sentence),
})

test('a second process on the same data folder', async () => {
  const first = await startNode({ workspace })
  await sendOne(first)
  await settled(first)
  const before = readRows(workspace.database)
  expect(await runToExit({ workspace })).toEqual(
    refuse(`${workspace.database} is in use by another process: stop that process`),
  )
  expect((await fetch(`${first.url}/readyz`)).status).toBe(200)
  expect(readRows(workspace.database)).toEqual(before)
})

test('a definition with a mistake is shown with its file, line and column', async () => {
  const flows = await workspace.writeFlows(
    'kind: Route\nname: broken\non: [a.b]\ndo: { emitt: a.c }\n',
    'b.yaml',
  )
  expect(await runToExit({ workspace, flows })).toEqual(
    refuse(/^millrace: the definitions in .* cannot be used:\n\nb\.yaml:4:7 error .*did you mean `emit`/),
  )
  expect(existsSync(workspace.data)).toBe(false)
})

test('a port that is taken: the waiting jobs in the file are not touched', async () => {
  await using vendor = await startVendor()
  const flows = await workspace.writeFlows(makeFlows(vendor.url))
  vendor.hold()
  const first = await startNode({ workspace, flows })
  await sendOne(first)
  await eventually('three answers are owed', () => vendor.held() === 3)
  first.kill('SIGKILL')
  await first.exited
  const before = readRows(workspace.database)

  const other = createServer().listen(0, '127.0.0.1')
  await eventually('the port is taken', () => other.listening)
  try {
    const { port } = other.address() as AddressInfo
    expect(await runToExit({ workspace, flows, env: { MILLRACE_PORT: String(port) } })).toEqual(
      refuse(
        `millrace: port ${port} is taken; set MILLRACE_PORT to a free port, or stop the process that uses it.\n`,
      ),
    )
  } finally {
    other.close()
  }
  expect(readRows(workspace.database)).toEqual(before)
  expect(vendor.records('keyed').values().next().value).toEqual({ requests: 1, effects: 1 })
})

test('a database of a newer version', async () => {
  const node = await startNode({ workspace })
  node.kill('SIGTERM')
  await node.exited
  const db = new DatabaseSync(workspace.database)
  db.exec("INSERT INTO migration VALUES (999, 'from the future', 'x'); PRAGMA wal_checkpoint(TRUNCATE)")
  db.close()
  const before = await readFile(workspace.database)
  expect(await runToExit({ workspace })).toEqual(
    refuse(/was written by a newer version .*nothing was changed\. Start the newer version/),
  )
  expect((await readFile(workspace.database)).equals(before)).toBe(true)
})

test('invalid settings, all at once', async () => {
  const env = { MILLRACE_PORT: 'abc', MILLRACE_LEASE: 'soon', MILLRACE_STORE: 'mysql://u:hidden@h/d' }
  const exit = await runToExit({ workspace, env })
  expect(exit).toEqual(refuse('millrace: the settings cannot be used:\n'))
  expect(exit.stderr.split('\n').slice(1, -1)).toEqual([
    expect.stringMatching(/^ {2}MILLRACE_STORE: what is set cannot be used\. /),
    '  MILLRACE_PORT: ‘abc’ cannot be used. Write a whole number from 0 to 65535.',
    '  MILLRACE_LEASE: ‘soon’ cannot be used. Write a duration such as 30s.',
  ])
  expect(exit.stderr).not.toContain('hidden')
  expect(existsSync(workspace.data)).toBe(false)
})

test('settings that this machine cannot satisfy name themselves', async () => {
  const missing = join(workspace.folder, 'missing')
  const file = join(workspace.folder, 'file')
  await writeFile(file, '')
  expect(await runToExit({ workspace, flows: missing })).toEqual(
    refuse(`  MILLRACE_FLOWS: ${missing} does not exist.`),
  )
  expect(await runToExit({ workspace, env: { MILLRACE_DATA: file } })).toEqual(
    refuse(`  MILLRACE_DATA: ${file} is not a folder.`),
  )
  // Below a file, because root may write anywhere else in tests; `mkdir` below /proc would try for ever.
  expect(await runToExit({ workspace, env: { MILLRACE_DATA: join(file, 'data') } })).toEqual(
    refuse(`  MILLRACE_DATA: ${join(file, 'data')} is not a folder.`),
  )
  expect(await runToExit({ workspace, env: { MILLRACE_DATA: '/proc/nope' } })).toEqual(
    refuse('  MILLRACE_DATA: /proc/nope '),
  )
  expect(existsSync(workspace.data)).toBe(false)
  const log = join(file, 'millrace.log')
  expect(await runToExit({ workspace, env: { MILLRACE_LOG: log } })).toEqual(
    refuse(`  MILLRACE_LOG: ${file} is not a folder.`),
  )
  // An address of a network that is reserved for documentation.
  expect(await runToExit({ workspace, env: { MILLRACE_HOST: '192.0.2.1' } })).toEqual(
    refuse('  MILLRACE_HOST: 192.0.2.1 is not an address of this machine.'),
  )
  const store = 'postgres://u:hidden@127.0.0.1:1/d'
  const exit = await runToExit({ workspace, env: { MILLRACE_STORE: store } })
  expect(exit).toEqual(refuse('PostgreSQL is not available'))
  expect(exit.stderr).not.toContain('hidden')
  // A refused start leaves nothing in the way.
  await mkdir(missing)
  const node = await startNode({ workspace, flows: missing })
  expect(node.stdout()).toContain(`definitions  ${missing} (0)`)
})
