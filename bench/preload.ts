// A store with history: 300,000 events, each with its settled work item and ledger entry, random keys. Made once by the
// store itself and kept in the cache; each run gets a copy.

import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openSqliteStore } from '../src/adapters/store-sqlite/index.ts'
import { DEFAULT_TENANT, makeIds, type NodeId } from '../src/core/ids/index.ts'
import { EMPTY_NOTE } from '../src/core/work/index.ts'
import { sampleBody } from './sample.ts'

const PRELOADED_EVENTS = 300_000
const BATCH = 2_000

export async function preloadedCopy(to: string, progress: (text: string) => void): Promise<void> {
  const cached = await cachedFile(progress)
  await mkdir(dirname(to), { recursive: true })
  await copyFile(cached, to)
}

async function cachedFile(progress: (text: string) => void): Promise<string> {
  const migrations = new URL('../src/adapters/store-sqlite/migrations.ts', import.meta.url)
  const version = createHash('sha256')
    .update(await readFile(migrations))
    .digest('hex')
    .slice(0, 12)
  const file = fileURLToPath(new URL(`../.cache/bench/preloaded-${version}.db`, import.meta.url))
  if (existsSync(file)) return file
  const making = `${file}.making-${process.pid}`
  await mkdir(dirname(file), { recursive: true })
  try {
    await fill(making, progress)
    await rename(making, file)
  } finally {
    for (const suffix of ['', '-wal', '-shm', '.lock']) await rm(making + suffix, { force: true })
  }
  return file
}

async function fill(file: string, progress: (text: string) => void): Promise<void> {
  const store = await openSqliteStore({ file, groupMax: BATCH })
  const ids = makeIds({ now: () => Date.now(), bytes: (length) => randomBytes(length) })
  const { owner } = await store.join('preload' as NodeId, 600_000)
  const data = sampleBody()
  for (let count = 0; count < PRELOADED_EVENTS; count += BATCH) {
    if (count % 50_000 === 0) progress(`filling a store: ${count} of ${PRELOADED_EVENTS} events`)
    await Promise.all(Array.from({ length: BATCH }, () => addOne()))
  }
  await store[Symbol.asyncDispose]()

  async function addOne(): Promise<void> {
    const key = randomBytes(12).toString('hex')
    const event = { id: ids.event(), work: ids.work(), correlationId: ids.uuid() }
    const common = {
      payloadHash: `sha256:${'0'.repeat(64)}`,
      correlationId: event.correlationId,
      objectId: '42',
    }
    await store.commit({
      tenant: DEFAULT_TENANT,
      guards: [],
      writes: [
        {
          w: 'event.append',
          dedupForMs: 604_800_000,
          event: {
            ...common,
            id: event.id,
            tenant: DEFAULT_TENANT,
            source: 'github',
            subject: 'github.events.issues.opened',
            objectType: 'repository',
            occurredAt: null,
            causationId: null,
            traceId: event.correlationId.replaceAll('-', ''),
            dedupKey: key,
            headers: '{"content-type":"application/json","x-github-event":"issues"}',
            data,
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
            id: event.work,
            kind: 'route',
            consumer: 'route:count',
            definition: `sha256:${'0'.repeat(64)}`,
            codeHash: null,
            eventId: event.id,
            expiresInMs: 86_400_000,
            replayOf: null,
          },
        },
      ],
    })
    await store.commit({
      tenant: DEFAULT_TENANT,
      guards: [],
      writes: [
        {
          w: 'work.settle',
          work: event.work,
          to: 'done',
          counters: { attempts: 1, waits: 0, losses: 0 },
          note: { ...EMPTY_NOTE, key: `COUNT:${key}`, durationMs: 0 },
        },
        {
          w: 'ledger.done',
          effectRef: null,
          result: '1',
          entry: {
            ...common,
            key: `COUNT:${key}`,
            work: event.work,
            epoch: 1,
            consumer: 'route:count',
            eventId: event.id,
          },
        },
      ],
    })
  }
}

export function dataFile(folder: string): string {
  return join(folder, 'millrace.db')
}
