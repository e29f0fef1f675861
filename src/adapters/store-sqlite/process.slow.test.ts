// The store across processes: one at a time, and nothing acknowledged is lost when one is killed.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { EventId, NodeId, TenantId } from '../../core/foundation/ids/index.ts'
import { openSqliteStore } from './index.ts'

const fixture = fileURLToPath(new URL('./writing-child.fixture.ts', import.meta.url))
const project = resolve(fileURLToPath(new URL('../../..', import.meta.url)))
const run = promisify(execFile)

let folder: string
let file: string
const children: ChildProcess[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-sqlite-'))
  file = join(folder, 'data', 'test.db')
})

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

/** Starts a child on the file; `lines` are its output so far. */
function startChild(mode: 'write' | 'hold') {
  const child = spawn(process.execPath, ['--import', 'tsx', fixture, file, mode], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const lines: string[] = []
  const waiters: { count: number; resolve: () => void }[] = []
  const output = createInterface({ input: child.stdout })
  output.on('line', (line) => {
    lines.push(line)
    for (const waiter of waiters) if (lines.length >= waiter.count) waiter.resolve()
  })
  const ended = new Promise<void>((resolve) => output.on('close', resolve))
  return {
    lines,
    said: (count: number) =>
      new Promise<void>((resolve, reject) => {
        if (lines.length >= count) resolve()
        waiters.push({ count, resolve })
        child.on('exit', () => reject(new Error('the child ended too early')))
      }),
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

test('a second process is refused while the first lives, and admitted right after kill -9', async () => {
  const child = startChild('hold')
  await child.said(1)
  await expect(openSqliteStore({ file })).rejects.toMatchObject({
    name: 'StoreError',
    code: 'in_use',
    message: `the data file ${file} is in use by another process: stop that process, or give this one a data file of its own`,
  })
  const reader = new DatabaseSync(file, { readOnly: true })
  expect(reader.prepare('SELECT count(*) AS n FROM event').get()).toMatchObject({ n: 0 })
  reader.close()
  await child.kill()
  const store = await openSqliteStore({ file })
  expect((await store.join('node' as NodeId, 1_000)).owner).toBe(1)
  await store[Symbol.asyncDispose]()
})

test('a second store of the same process is refused too', async () => {
  const first = await openSqliteStore({ file })
  await expect(openSqliteStore({ file })).rejects.toMatchObject({ code: 'in_use' })
  await first[Symbol.asyncDispose]()
  const second = await openSqliteStore({ file })
  await second[Symbol.asyncDispose]()
})

test('[ST8] everything acknowledged is stored after kill -9, and the file is intact', async () => {
  const acknowledged: string[] = []
  for (const count of [50, 400, 1_500]) {
    const child = startChild('write')
    await child.said(count)
    await child.kill()
    const [open, ...ids] = child.lines
    expect(open).toBe('open')
    acknowledged.push(...ids)
  }
  const db = new DatabaseSync(file)
  expect(db.prepare('PRAGMA integrity_check').get()).toMatchObject({ integrity_check: 'ok' })
  db.close()
  const store = await openSqliteStore({ file })
  const reads = store.forTenant('acme' as TenantId)
  const rows = await Promise.all(acknowledged.map((id) => reads.event(id as EventId)))
  expect(rows.filter((row) => row === null)).toEqual([])
  const counted = await store.system('verification').dump()
  expect(counted.events.length).toBeGreaterThanOrEqual(acknowledged.length)
  await store[Symbol.asyncDispose]()
})

test('a file that is not a database is refused with a sentence', async () => {
  await mkdir(join(folder, 'data'))
  await writeFile(file, 'no database at all '.repeat(100))
  await expect(openSqliteStore({ file })).rejects.toMatchObject({
    code: 'corrupt',
    message: expect.stringContaining('not a database'),
  })
  // It holds nothing open: with a valid file at the same path the store opens.
  await rm(file)
  await (await openSqliteStore({ file }))[Symbol.asyncDispose]()
  await mkdir(join(folder, 'data', 'a-folder'))
  await expect(openSqliteStore({ file: join(folder, 'data', 'a-folder') })).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('cannot be opened'),
  })
})

test('the compiled store finds its compiled threads', async () => {
  const out = join(project, '.cache', `store-sqlite-build-${process.pid}`)
  await mkdir(out, { recursive: true })
  try {
    const config = join(out, 'tsconfig.json')
    const sources = ['index.ts', 'worker.ts'].map((name) => join(project, 'src/adapters/store-sqlite', name))
    const compilerOptions = {
      rootDir: join(project, 'src'),
      outDir: out,
      noCheck: true,
      incremental: false,
      tsBuildInfoFile: null,
      declaration: false,
    }
    const extended = {
      extends: join(project, 'tsconfig.build.json'),
      compilerOptions,
      files: sources,
      include: [],
    }
    await writeFile(config, JSON.stringify(extended))
    await run(process.execPath, [join(project, 'node_modules/typescript/bin/tsc'), '-p', config], {
      cwd: project,
    })
    const script = `
      const { openSqliteStore } = await import(${JSON.stringify(join(out, 'adapters/store-sqlite/index.js'))})
      const store = await openSqliteStore({ file: ${JSON.stringify(file)} })
      const { owner } = await store.join('node', 1000)
      const counts = await store.system('health').workCounts()
      await store[Symbol.asyncDispose]()
      console.log(JSON.stringify({ owner, done: counts.done }))`
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: folder })
    expect(JSON.parse(stdout)).toEqual({ owner: 1, done: 0 })
  } finally {
    await rm(out, { recursive: true, force: true })
  }
})
