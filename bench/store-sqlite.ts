// How many events per second the SQLite store accepts and completes, durably, two commits each:
//   accept = dedup guard + event of 1 KiB + job leased on insert; finish = lease guard + job settled + ledger entry
//   done.
//
//   node --import tsx bench/store-sqlite.ts [--rows 300000] [--seconds 4] [--only executor|store]
//
// Other programs on the machine slow everything down, so each figure is the best and the median of short windows.

import { randomFillSync } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openForWriting } from '../src/adapters/store-sqlite/connection.ts'
import { makeExecutor, openSqliteStore } from '../src/adapters/store-sqlite/index.ts'
import { migrate } from '../src/adapters/store-sqlite/migrate.ts'
import { DEFAULT_TENANT, type Incarnation, makeIds, type NodeId } from '../src/core/foundation/ids/index.ts'
import { DAY } from '../src/core/foundation/time/index.ts'
import { EMPTY_NOTE } from '../src/core/queue/work/index.ts'
import type { Commit, CommitResult } from '../src/ports/store.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '300000' },
    seconds: { type: 'string', default: '4' },
    window: { type: 'string', default: '250' },
    group: { type: 'string', default: '24' },
    clients: { type: 'string', default: '128' },
    only: { type: 'string' },
    pragma: { type: 'string', multiple: true, default: [] },
  },
})
const GROUP = Number(values.group)
const WINDOW_MS = Number(values.window)
const RUN_MS = Number(values.seconds) * 1_000
const ROWS = Number(values.rows)
const CLIENTS = Number(values.clients)
const BODY = JSON.stringify({ order: 4711, text: 'x'.repeat(1_024 - 25) })
const HASH = 'a'.repeat(64)

const ids = makeIds({ now: Date.now, bytes: (length) => randomFillSync(new Uint8Array(length)) })

interface Pair {
  readonly accept: Commit
  readonly finish: Commit
}

function makePair(owner: Incarnation): Pair {
  const tenant = DEFAULT_TENANT
  const eventId = ids.event()
  const work = ids.work()
  const correlationId = ids.uuid()
  const dedupKey = `order-${ids.uuid().slice(24)}${ids.uuid().slice(24)}`
  const consumer = 'route:crm'
  const key = `crm:${dedupKey}`
  return {
    accept: {
      tenant,
      guards: [{ g: 'dedup', source: 'shop', key: dedupKey }],
      writes: [
        {
          w: 'event.append',
          dedupForMs: DAY,
          event: {
            id: eventId,
            tenant,
            source: 'shop',
            subject: 'shop.order.created',
            objectType: 'order',
            objectId: '4711',
            occurredAt: null,
            correlationId,
            causationId: null,
            traceId: correlationId,
            dedupKey,
            payloadHash: HASH,
            headers: '{"content-type":"application/json","user-agent":"bench"}',
            data: BODY,
            raw: null,
            sensitive: [],
            matched: 1,
          },
        },
        {
          w: 'work.add',
          lease: owner,
          delayMs: 0,
          work: {
            id: work,
            kind: 'route',
            consumer,
            definition: HASH,
            codeHash: HASH,
            eventId,
            expiresInMs: DAY,
            replayOf: null,
          },
        },
      ],
    },
    finish: {
      tenant,
      guards: [{ g: 'lease', work, owner, epoch: 1 }],
      writes: [
        {
          w: 'work.settle',
          work,
          to: 'done',
          counters: { attempts: 1, waits: 0, losses: 0 },
          note: { ...EMPTY_NOTE, key, durationMs: 3 },
        },
        {
          w: 'ledger.done',
          entry: {
            key,
            work,
            epoch: 1,
            consumer,
            eventId,
            objectId: '4711',
            payloadHash: HASH,
            correlationId,
          },
          effectRef: null,
          result: null,
        },
      ],
    },
  }
}

function requireApplied(result: { ok: unknown }): asserts result is Extract<CommitResult, { ok: true }> {
  if (result.ok !== true) throw new Error(`a commit was not applied: ${JSON.stringify(result)}`)
}

interface Figure {
  readonly best: number
  readonly median: number
  readonly slowestMs: number
}

function summarise(rates: number[], slowestMs: number): Figure {
  const sorted = rates.sort((a, b) => b - a)
  return { best: sorted[0] ?? 0, median: sorted[sorted.length >> 1] ?? 0, slowestMs }
}

function print(name: string, { best, median, slowestMs }: Figure): void {
  const rate = (value: number) => Math.round(value).toLocaleString('en').padStart(7)
  const line = `best ${rate(best)}/s   median ${rate(median)}/s   slowest answer ${slowestMs.toFixed(1)} ms`
  process.stdout.write(`${name.padEnd(34)} ${line}\n`)
}

/** Half accepts, half finishes of the previous group, as in a running engine. */
function* makeGroups(owner: Incarnation, size: number): Generator<readonly Commit[]> {
  let finishes: Commit[] = []
  for (;;) {
    const pairs = Array.from({ length: size >> 1 }, () => makePair(owner))
    yield [...pairs.map(({ accept }) => accept), ...finishes]
    finishes = pairs.map(({ finish }) => finish)
  }
}

function fill(file: string, rows: number): void {
  const db = openForWriting(file)
  for (const pragma of values.pragma) db.exec(`PRAGMA ${pragma}`)
  migrate(db, file)
  // Not durable while filling: only the rows matter.
  db.exec('PRAGMA synchronous = OFF')
  db.exec('PRAGMA wal_autocheckpoint = 50000')
  const executor = makeExecutor(db)
  const { owner } = executor.join(Date.now(), 'fill' as NodeId, DAY)
  const groups = makeGroups(owner, 2_000)
  for (let done = 0; done < rows; done += 1_000) {
    executor.commit(Date.now(), groups.next().value).forEach(requireApplied)
  }
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}

function measureExecutor(file: string): Figure {
  const db = openForWriting(file)
  for (const pragma of values.pragma) db.exec(`PRAGMA ${pragma}`)
  const executor = makeExecutor(db)
  const { owner } = executor.join(Date.now(), 'bench' as NodeId, DAY)
  const groups = makeGroups(owner, GROUP)
  const rates: number[] = []
  let slowest = 0
  let events = 0
  let spent = 0
  let sinceCheckpoint = 0
  const end = performance.now() + RUN_MS + 500
  const warm = performance.now() + 500
  while (performance.now() < end) {
    const group = groups.next().value
    const start = performance.now()
    executor.commit(Date.now(), group).forEach(requireApplied)
    // A separate thread does this in the store; here its whole cost counts.
    if (++sinceCheckpoint >= Number(process.env.CK ?? 200)) {
      db.exec('PRAGMA wal_checkpoint(PASSIVE)')
      sinceCheckpoint = 0
    }
    const took = performance.now() - start
    spent += took
    events += GROUP / 2
    if (performance.now() < warm) {
      spent = 0
      events = 0
      continue
    }
    slowest = Math.max(slowest, took)
    if (spent >= WINDOW_MS) {
      rates.push((events / spent) * 1_000)
      spent = 0
      events = 0
    }
  }
  db.close()
  return summarise(rates, slowest)
}

async function measureStore(file: string): Promise<Figure> {
  const store = await openSqliteStore({ file, groupMax: GROUP })
  const { owner } = await store.join('bench' as NodeId, DAY)
  const rates: number[] = []
  let slowest = 0
  let events = 0
  let isOver = false
  const client = async () => {
    while (!isOver) {
      const { accept, finish } = makePair(owner)
      const start = performance.now()
      requireApplied(await store.commit(accept))
      slowest = Math.max(slowest, performance.now() - start)
      requireApplied(await store.commit(finish))
      events += 1
    }
  }
  const clients = Array.from({ length: CLIENTS }, client)
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  await wait(700)
  slowest = 0
  for (let left = RUN_MS; left > 0; left -= WINDOW_MS) {
    const from = performance.now()
    events = 0
    await wait(WINDOW_MS)
    rates.push((events / (performance.now() - from)) * 1_000)
  }
  isOver = true
  await Promise.all(clients)
  await store[Symbol.asyncDispose]()
  return summarise(rates, slowest)
}

for (const rows of ROWS > 0 ? [0, ROWS] : [0]) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
  const file = join(folder, 'bench.db')
  try {
    fill(file, rows)
    const size = `${rows.toLocaleString('en')} rows, ${(statSync(file).size / 2 ** 20).toFixed(0)} MiB`
    if (values.only !== 'store') print(`executor, ${size}`, measureExecutor(file))
    if (values.only !== 'executor') print(`store, ${size}`, await measureStore(file))
  } finally {
    rmSync(folder, { recursive: true })
  }
}
