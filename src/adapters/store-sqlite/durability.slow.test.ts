// Files that were damaged after a killed process: lost acknowledged writes are found, and a torn tail is not among
// them.

import { type ChildProcess, spawn } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { EventId, NodeId, TenantId } from '../../core/foundation/ids/index.ts'
import type { Commit, StoreError } from '../../ports/store.ts'
import { markPath, openMark, readMark } from './durable-mark.ts'
import { openSqliteArchive, openSqliteStore } from './index.ts'

const fixture = fileURLToPath(new URL('./writing-child.fixture.ts', import.meta.url))
const project = resolve(fileURLToPath(new URL('../../..', import.meta.url)))
const KILLS = 20

let folder: string
const children: ChildProcess[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-durability-'))
})

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

/** Writes until `count` events are acknowledged, and is killed. Returns the ids of the acknowledged events. */
async function writeAndKill(file: string, count: number): Promise<readonly EventId[]> {
  const child = spawn(process.execPath, ['--import', 'tsx', fixture, file, 'write'], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  let complaint = ''
  child.stderr.on('data', (text) => {
    complaint += text
  })
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (lines.length === count + 1) child.kill('SIGKILL')
  }
  expect(complaint).toBe('')
  expect(lines.shift()).toBe('open')
  expect(lines.length).toBeGreaterThanOrEqual(count)
  return lines as EventId[]
}

async function missing(file: string, ids: readonly EventId[], acceptLoss: number | null = null) {
  const store = await openSqliteStore({ file, acceptLoss })
  try {
    const reads = store.forTenant('acme' as TenantId)
    const rows = await Promise.all(ids.map((id) => reads.event(id)))
    return { count: rows.filter((row) => row === null).length, opening: store.opening }
  } finally {
    await store[Symbol.asyncDispose]()
  }
}

const flip = (path: string, at: number) => {
  const bytes = readFileSync(path)
  for (let index = at; index < at + 64; index += 1) bytes[index] = (bytes[index] ?? 0) ^ 0xff
  writeFileSync(path, bytes)
}
const FRAME_BYTES = 4_096 + 24

describe('after kill -9 with acknowledged events', () => {
  let original: string
  let ids: readonly EventId[]
  let file: string
  let copies = 0

  beforeAll(async () => {
    original = join(folder, 'original', 'test.db')
    ids = await writeAndKill(original, 300)
    expect(statSync(`${original}-wal`).size).toBeGreaterThan(10 * FRAME_BYTES)
  })
  beforeEach(() => {
    copies += 1
    file = join(folder, `copy-${copies}`, 'test.db')
    cpSync(dirname(original), dirname(file), { recursive: true })
  })

  const log = () => `${file}-wal`
  /** The end of what the process wrote: after it come frames of an earlier round of the log, or nothing. */
  const DAMAGES: readonly [name: string, damage: () => void][] = [
    ['the log is deleted', () => rmSync(log())],
    ['the log is emptied', () => truncateSync(log())],
    ['the log is halved', () => truncateSync(log(), statSync(log()).size >> 1)],
    ['the header of the log is flipped', () => flip(log(), 0)],
    ['a page in the first frame of the log is flipped', () => flip(log(), 32 + 24 + 2_000)],
    ['a frame header of the log is flipped', () => flip(log(), 32 + 5 * FRAME_BYTES)],
    [
      'the log and its shared memory are deleted',
      () => {
        rmSync(log())
        rmSync(`${file}-shm`)
      },
    ],
    [
      'the log and the mark are deleted',
      () => {
        rmSync(log())
        rmSync(markPath(file))
      },
    ],
    [
      'all but the database file is deleted',
      () => {
        for (const name of readdirSync(dirname(file)))
          if (name !== basename(file)) rmSync(join(dirname(file), name))
      },
    ],
    [
      'the log is halved and the mark is emptied',
      () => {
        truncateSync(log(), statSync(log()).size >> 1)
        truncateSync(markPath(file))
      },
    ],
  ]

  test.each(DAMAGES)(
    '[DU1] %s: refused, nothing is changed, and opening needs the group number',
    async (_, damage) => {
      damage()
      const before = readFileSync(file)
      const error = await openSqliteStore({ file }).catch((thrown: Error) => thrown)
      expect(error).toMatchObject({ name: 'StoreError', code: 'corrupt' })
      expect((error as Error).message).toMatch(/ (has|may have) lost acknowledged writes: /)
      const accept = Number(/--accept-loss (\d+)/.exec((error as Error).message)?.[1])
      expect(readFileSync(file)).toEqual(before)
      await expect(openSqliteStore({ file, acceptLoss: accept + 1 })).rejects.toMatchObject({
        code: 'corrupt',
      })
      await expect(openSqliteArchive(file)).rejects.toMatchObject({ code: 'corrupt' })

      const { count, opening } = await missing(file, ids, accept)
      expect(count).toBeGreaterThan(0)
      expect(opening.loss).toMatchObject({ found: accept })
      // An accepted loss is not reported again.
      expect((await missing(file, [])).opening).toMatchObject({ loss: null, wasUnclean: false })
    },
  )

  test('[DU1] the database file is deleted, cut or damaged', async () => {
    // All pages are in the file and none in the log.
    expect((await missing(file, ids)).count).toBe(0)
    const whole = readFileSync(file)

    truncateSync(file, whole.length >> 1)
    await expect(openSqliteStore({ file })).rejects.toMatchObject({ code: 'corrupt' })
    rmSync(file)
    await expect(openSqliteStore({ file })).rejects.toMatchObject({
      code: 'corrupt',
      message: expect.stringContaining('--accept-loss 0'),
    })
    await expect(missing(file, ids, 0)).resolves.toMatchObject({ count: ids.length })
  })

  test('[DU1] an emptied database file is refused, and its log stays as it is', async () => {
    truncateSync(file)
    const before = readFileSync(log())
    await expect(openSqliteStore({ file })).rejects.toMatchObject({
      code: 'corrupt',
      message: expect.stringContaining('is empty or was deleted'),
    })
    expect(readFileSync(log())).toEqual(before)
    rmSync(markPath(file))
    await expect(openSqliteStore({ file })).rejects.toMatchObject({ code: 'corrupt' })
    expect(readFileSync(log())).toEqual(before)
  })

  test('[DU12] without the mark, a store that was not closed cleanly is refused although its log is valid', async () => {
    rmSync(markPath(file))
    const error: Error = await openSqliteStore({ file }).then(
      () => expect.unreachable(),
      (thrown) => thrown,
    )
    expect(error.message).toContain(`${markPath(file)} is missing`)
    const accept = Number(/--accept-loss (\d+)/.exec(error.message)?.[1])
    const { count, opening } = await missing(file, ids, accept)
    expect(count).toBe(0)
    expect(opening).toMatchObject({ wasUnclean: true, isChecked: true, loss: { acknowledged: null } })
  })

  test('[DU12] the database file alone is enough after a clean stop, and not after the next start', async () => {
    expect((await missing(file, ids)).count).toBe(0)
    const alone = join(folder, `alone-${copies}`, 'test.db')
    mkdirSync(dirname(alone))
    cpSync(file, alone)
    const { count, opening } = await missing(alone, ids)
    expect(count).toBe(0)
    expect(opening).toMatchObject({ wasUnclean: false, loss: null })

    // A copy of the file alone, made while the store is open, and before anything was written to it.
    const store = await openSqliteStore({ file: alone })
    const early = join(folder, `early-${copies}`, 'test.db')
    mkdirSync(dirname(early))
    cpSync(alone, early)
    await store[Symbol.asyncDispose]()
    await expect(openSqliteStore({ file: early })).rejects.toMatchObject({ code: 'corrupt' })
  })

  test('[DU12] a file of a version that wrote no mark is not refused', async () => {
    expect((await missing(file, ids)).count).toBe(0)
    const db = new DatabaseSync(file)
    db.exec('PRAGMA user_version = 0')
    db.close()
    rmSync(markPath(file))
    const { count, opening } = await missing(file, ids)
    expect(count).toBe(0)
    expect(opening).toMatchObject({ loss: null })
  })

  test('[DU5] flipped pages of the database file are found after an unclean stop', async () => {
    // All pages are in the file, and the next process is killed right after it has opened it.
    expect((await missing(file, ids)).count).toBe(0)
    openMark(file, readMark(file)?.group ?? 0)
    const bytes = statSync(file).size
    for (let at = 4_096 * 8; at < bytes; at += 4_096 * 8) flip(file, at)
    const error = await openSqliteStore({ file }).catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ name: 'StoreError', code: 'corrupt' })
    expect((error as Error).message).toMatch(/backup/)
  })

  test('[DU2] a torn last transaction is not a loss', async () => {
    // The last write was in progress: part of a frame, then frames whose pages arrived and whose commit did not.
    const whole = readFileSync(log())
    writeFileSync(log(), Buffer.concat([whole, whole.subarray(32, 32 + 3 * FRAME_BYTES + 100)]))
    const { count, opening } = await missing(file, ids)
    expect(count).toBe(0)
    expect(opening).toMatchObject({ wasUnclean: true, loss: null, isChecked: true })
  })

  test('[DU3] after an unclean stop the file contains everything of the log, before it is used', async () => {
    const store = await openSqliteStore({ file })
    const alone = join(dirname(file), 'alone.db')
    cpSync(file, alone)
    await store[Symbol.asyncDispose]()
    const db = new DatabaseSync(alone, { readOnly: true })
    const { n } = db.prepare('SELECT count(*) AS n FROM event').get() as { n: number }
    db.close()
    expect(n).toBeGreaterThanOrEqual(ids.length)
  })

  test('[DU1] without the mark, commits after a damaged frame are found all the same', async () => {
    rmSync(markPath(file))
    flip(log(), 32 + 24 + 2_000)
    await expect(openSqliteStore({ file })).rejects.toMatchObject({
      code: 'corrupt',
      message: expect.stringContaining('damaged in frame 1'),
    })
  })
})

const EVENTLESS: Commit = {
  tenant: 'acme' as TenantId,
  guards: [],
  writes: [{ w: 'record.put', kind: 'setting', key: 'a', version: 1, body: '{}' }],
}

test('[DU4] a failed flush stops the store until it is opened again', async () => {
  const file = join(folder, 'flush', 'test.db')
  const flushFault = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const store = await openSqliteStore({ file, flushFault })
  expect(await store.commit(EVENTLESS)).toMatchObject({ ok: true })
  Atomics.store(flushFault, 0, 1_034)
  await expect(store.commit(EVENTLESS)).rejects.toMatchObject({
    code: 'sync_failed',
    applied: 'indeterminate',
  })
  // The disk works again, and the store does not know what it lost.
  Atomics.store(flushFault, 0, 0)
  await expect(store.commit(EVENTLESS)).rejects.toMatchObject({ code: 'sync_failed', applied: 'no' })
  await expect(store.join('node' as NodeId, 1_000)).rejects.toMatchObject({ code: 'sync_failed' })
  expect(await store.broken).toContain('flushing to the disk failed')
  await expect(store[Symbol.asyncDispose]()).rejects.toMatchObject({ code: 'sync_failed' })

  const again = await openSqliteStore({ file })
  expect(again.opening).toMatchObject({ wasUnclean: true, loss: null })
  expect(await again.forTenant('acme' as TenantId).record('setting', 'a')).toMatchObject({ version: 1 })
  await again[Symbol.asyncDispose]()
})

test('a commit that could not be written is rejected and reported; the store continues', async () => {
  const file = join(folder, 'refused', 'test.db')
  const flushFault = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const store = await openSqliteStore({ file, flushFault })
  const reports: unknown[] = []
  store.watchCommits?.({
    settled: (_, { ok }) => reports.push(ok),
    failed: (error) => reports.push((error as StoreError).code),
  })
  const IOERR = 10
  Atomics.store(flushFault, 0, IOERR)
  await expect(store.commit(EVENTLESS)).rejects.toMatchObject({
    name: 'StoreError',
    code: 'unavailable',
    applied: 'no',
  })
  Atomics.store(flushFault, 0, 0)
  expect(await store.commit(EVENTLESS)).toMatchObject({ ok: true })
  await store[Symbol.asyncDispose]()
  // A promise, not an exception.
  const refused = store.commit(EVENTLESS)
  await expect(refused).rejects.toMatchObject({ name: 'StoreError', code: 'closed', applied: 'no' })
  expect(reports).toEqual(['unavailable', true, 'closed'])
})

test('[DU6] the connection that writes reports that every commit is flushed', async () => {
  const store = await openSqliteStore({ file: join(folder, 'settings', 'test.db') })
  expect(store.opening.settings).toEqual({
    journalMode: 'wal',
    synchronous: 2,
    fullfsync: 1,
    checkpointFullfsync: 1,
  })
  await store[Symbol.asyncDispose]()
})

test(`[DU2] ${KILLS} times kill -9: never refused, and nothing acknowledged is missing`, async () => {
  const file = join(folder, 'killed', 'test.db')
  const ids: EventId[] = []
  for (let turn = 0; turn < KILLS; turn += 1) ids.push(...(await writeAndKill(file, 1 + turn * 37)))
  expect((await missing(file, ids)).count).toBe(0)
})
