// The log's reader against logs that SQLite wrote.

import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openForWriting } from './connection.ts'
import { readWal, rewriteWal } from './wal.ts'

const FRAME_BYTES = 4_096 + 24

let folder: string
let log: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-wal-'))
  log = join(folder, 'copy-wal')
})

afterEach(() => rmSync(folder, { recursive: true }))

/** A log of this many transactions, as a killed process leaves it; `rounds`: how often the log was restarted before. */
function writeLog(transactions: number, rounds = 0): void {
  const file = join(folder, 'test.db')
  const db = openForWriting(file)
  db.exec('CREATE TABLE IF NOT EXISTS t (a INTEGER PRIMARY KEY, b TEXT)')
  const insert = db.prepare('INSERT INTO t (b) VALUES (?)')
  for (let round = 0; round < rounds; round += 1) {
    for (let at = 0; at < transactions * 3; at += 1) insert.run('y'.repeat(5_000))
    db.exec('PRAGMA wal_checkpoint(RESTART)')
  }
  for (let at = 0; at < transactions; at += 1) insert.run('x'.repeat(5_000))
  copyFileSync(`${file}-wal`, log)
  db.close()
}

function change(at: number): void {
  const bytes = readFileSync(log)
  bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(log, bytes)
}

test('[DU2] an intact log is accepted, also with frames of an earlier round behind it', () => {
  writeLog(20)
  expect(readWal(log)).toMatchObject({ damage: null, validBytes: readFileSync(log).length })
  writeLog(5, 2)
  const report = readWal(log)
  expect(report?.damage).toBeNull()
  expect(report?.validBytes).toBeLessThan(readFileSync(log).length)
})

test('[DU1] one changed bit in any part of any frame except those of the last transaction is damage', () => {
  writeLog(6)
  const sound = readFileSync(log)
  const frames = (sound.length - 32) / FRAME_BYTES
  const isCommit = (frame: number) => sound.readUInt32BE(32 + frame * FRAME_BYTES + 4) !== 0
  let commits = 0
  let lastButOne = frames - 1
  for (; commits < 2; lastButOne -= 1) if (isCommit(lastButOne)) commits += 1
  for (let frame = 0; frame <= lastButOne; frame += 1) {
    for (const offset of [1, 9, 17, 24, 2_000]) {
      writeFileSync(log, sound)
      change(32 + frame * FRAME_BYTES + offset)
      expect(readWal(log)?.damage, `frame ${frame}, byte ${offset}`).toContain(`in frame ${frame + 1},`)
    }
  }
  writeFileSync(log, sound)
  change(5)
  expect(readWal(log)?.damage).toContain('damaged header')
})

test('[DU2] a torn last transaction is not damage, wherever it is torn', () => {
  writeLog(6)
  const sound = readFileSync(log)
  for (let bytes = sound.length; bytes > sound.length - 2 * FRAME_BYTES; bytes -= 500) {
    writeFileSync(log, sound.subarray(0, bytes))
    expect(readWal(log)?.damage).toBeNull()
  }
  change(sound.length - 3_000)
  expect(readWal(log)?.damage).toBeNull()
})

test('[DU3] a log that is written again is the same', () => {
  writeLog(6)
  const sound = readFileSync(log)
  rewriteWal(log, readWal(log)?.validBytes ?? 0)
  expect(readFileSync(log)).toEqual(sound)
})

test('no log is no report', () => {
  expect(readWal(join(folder, 'none'))).toBeNull()
  writeFileSync(log, '')
  expect(readWal(log)).toBeNull()
})
