import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { makeLocalEncryption } from '../../adapters/encryption-local/index.ts'
import { makeMemoryLog } from '../../adapters/log-memory/index.ts'
import { makeSystemRandom } from '../../adapters/random-system/index.ts'
import { makeMemoryHarness } from '../../adapters/store-memory/harness.fixture.ts'
import { openSqliteStore } from '../../adapters/store-sqlite/index.ts'
import type { NewEvent, StoredEvent } from '../../core/events/event/index.ts'
import { isEncrypted } from '../../core/events/sensitive/index.ts'
import { makeMasterKeys, mayHoldLiteral } from '../../core/secrets/index.ts'
import { storeConformance } from '../../ports/store.conformance.ts'
import type { Store } from '../../ports/store.ts'
import { type Kit, openKit, TENANT } from '../../ports/store-conformance/kit.conformance.ts'
import { makeEncryptedStore, rewrapRecords } from './encrypted-store.ts'

const random = makeSystemRandom()
const makeEncryption = (fill: number, ...old: number[]) =>
  makeLocalEncryption({
    keys: makeMasterKeys(
      new Uint8Array(32).fill(fill),
      old.map((one) => new Uint8Array(32).fill(one)),
    ),
    random,
  })
const encryption = makeEncryption(1)
const log = makeMemoryLog()

/** Marks every event as sensitive when it is written. The suite knows no paths, so they are removed when it reads. */
function makeAllSensitive(store: Store): Store {
  const encrypted = makeEncryptedStore(store, { encryption, log })
  const plain = (event: StoredEvent): StoredEvent => {
    expect(event.sensitive).toEqual(['payload.id', 'header.content-type'])
    return { ...event, sensitive: [] }
  }
  return {
    ...encrypted,
    commit: (commit) =>
      encrypted.commit({
        ...commit,
        writes: commit.writes.map((write) =>
          write.w === 'event.append'
            ? { ...write, event: { ...write.event, sensitive: ['payload.id', 'header.content-type'] } }
            : write,
        ),
      }),
    async claim(request) {
      const result = await encrypted.claim(request)
      return { ...result, items: result.items.map(({ work, event }) => ({ work, event: plain(event) })) }
    },
    forTenant(tenant) {
      const reads = encrypted.forTenant(tenant)
      return {
        ...reads,
        async event(id) {
          const event = await reads.event(id)
          return event === null ? null : plain(event)
        },
      }
    },
    system(reason) {
      const reads = encrypted.system(reason)
      return {
        ...reads,
        async outbox(limit, after) {
          const { rows, events } = await reads.outbox(limit, after)
          return { rows, events: events.map(plain) }
        },
        async dump() {
          const dump = await reads.dump()
          return { ...dump, events: dump.events.map(plain) }
        },
      }
    },
  }
}

// [SE8] every rule of a store holds for one whose events are all encrypted.
storeConformance('sealed, around memory', async () => {
  const inner = await makeMemoryHarness()
  return {
    ...inner,
    store: makeAllSensitive(inner.store),
    reopen: async () => makeAllSensitive(await inner.reopen()),
    capabilities: { ...inner.capabilities, searchesPayloads: false },
  }
})

describe('an encrypting store', () => {
  const opened: Kit[] = []
  afterEach(async () => {
    for (const kit of opened.splice(0)) await kit.harness.close()
  })
  const open = async () => {
    const kit = await openKit(makeMemoryHarness)
    opened.push(kit)
    return kit
  }
  const append = (store: Store, event: NewEvent) =>
    store.commit({ tenant: event.tenant, guards: [], writes: [{ w: 'event.append', event, dedupForMs: 0 }] })
  const SENSITIVE = {
    data: '{"user":{"email":"ada@example.com"},"n":12345678901234567890}',
    headers: '{"x-user":"lovelace","accept":"*/*"}',
    raw: 'email=ada%40example.com',
  }

  test('[SE8] encrypts payload, body and sensitive headers, and returns them byte for byte', async () => {
    const kit = await open()
    const store = makeEncryptedStore(kit.store, { encryption, log })
    const event = kit.event({ ...SENSITIVE, sensitive: ['payload.user.email', 'header.X-User'] })
    await append(store, event)
    const kept = await kit.store.forTenant(TENANT).event(event.id)
    expect([kept?.data, kept?.raw, kept?.headers].map((text) => isEncrypted(text ?? ''))).toEqual([
      true,
      true,
      true,
    ])
    expect(kept).toMatchObject({ subject: event.subject, payloadHash: event.payloadHash, sensitive: [] })
    expect(await store.forTenant(TENANT).event(event.id)).toMatchObject(event)
    const [dumped] = (await store.system('verification').dump()).events
    expect(dumped).toMatchObject(event)
  })

  test('[SE50] encrypts definitions with a credential in clear text under their keys, and leaves others as they are', async () => {
    const kit = await open()
    const store = makeEncryptedStore(kit.store, { encryption, log })
    const body = '{"kind":"Route","do":{"headers":{"authorization":"Bearer abc123"}}}'
    const text = JSON.stringify({ path: 'a.yaml', text: 'headers: { x-api-key: abc123 }' })
    const plain = '{"kind":"Route","do":{"headers":{"accept":"text/plain"}}}'
    const put = (kind: 'definition' | 'authored' | 'subscription', key: string, one: string) =>
      ({ w: 'record.put', kind, key, version: 1, body: one }) as const
    await store.commit({
      tenant: TENANT,
      guards: [],
      writes: [
        put('definition', 'sha256:1', body),
        put('authored', 'sha256:1', text),
        put('subscription', 'crm', body),
        put('definition', 'sha256:2', plain),
      ],
    })
    const behind = kit.store.forTenant(TENANT)
    const reads = store.forTenant(TENANT)
    for (const [kind, key, one] of [
      ['definition', 'sha256:1', body],
      ['authored', 'sha256:1', text],
      ['subscription', 'crm', body],
    ] as const) {
      expect((await behind.record(kind, key))?.body).not.toContain('abc123')
      expect(await reads.record(kind, key)).toEqual({ version: 1, body: one })
    }
    expect((await behind.record('definition', 'sha256:2'))?.body).toBe(plain)
    const page = await reads.records({ kind: 'subscription', limit: 10, cursor: null })
    expect(page.items.map((one) => one.body)).toEqual([body])
    const other = makeEncryptedStore(kit.store, { encryption: makeEncryption(9), log })
    await expect(other.forTenant(TENANT).record('definition', 'sha256:1')).rejects.toThrow('cannot be read')
  })

  test('[SE50] the text of an encrypted definition is encrypted with it, in every notation', async () => {
    const kit = await open()
    const text = JSON.stringify({ path: 'a.yaml', text: 'headers: { "author\\x69zation": Bearer abc123 }' })
    expect(mayHoldLiteral(text)).toBe(false)
    const body = '{"headers":{"authorization":"Bearer abc123"}}'
    await makeEncryptedStore(kit.store, { encryption, log }).commit({
      tenant: TENANT,
      guards: [],
      writes: [
        { w: 'record.put', kind: 'authored', key: 'sha256:1', version: 1, body: text },
        { w: 'record.put', kind: 'definition', key: 'sha256:1', version: 1, body },
        { w: 'record.put', kind: 'authored', key: 'sha256:2', version: 1, body: text },
      ],
    })
    const behind = kit.store.forTenant(TENANT)
    expect(isEncrypted((await behind.record('authored', 'sha256:1'))?.body ?? '')).toBe(true)
    expect((await behind.record('authored', 'sha256:2'))?.body).toBe(text)
  })

  test('[SE50] after a change of the master key such records are encrypted with the new one, and the old one may be removed', async () => {
    const kit = await open()
    const body = '{"headers":{"authorization":"Bearer abc123"}}'
    const kinds = ['definition', 'authored', 'subscription'] as const
    const put = (kind: (typeof kinds)[number], key: string) =>
      ({ w: 'record.put', kind, key, version: 7, body }) as const
    await makeEncryptedStore(kit.store, { encryption, log }).commit({
      tenant: TENANT,
      guards: [],
      writes: kinds.map((kind) => put(kind, 'one')),
    })
    await makeEncryptedStore(kit.store, { encryption: makeEncryption(9), log }).commit({
      tenant: TENANT,
      guards: [],
      writes: [put('definition', 'lost')],
    })
    const keyId = makeMasterKeys(new Uint8Array(32).fill(2), []).current.id
    const rewrap = () => rewrapRecords(kit.store, { encryption: makeEncryption(2, 1), log, keyId }, [TENANT])
    const unreadable = [{ tenant: TENANT, name: 'definition/lost' }]
    expect(await rewrap()).toEqual({ rewrapped: 3, unreadable })
    expect(await rewrap()).toEqual({ rewrapped: 0, unreadable })

    const after = makeEncryptedStore(kit.store, { encryption: makeEncryption(2), log }).forTenant(TENANT)
    for (const kind of kinds) {
      expect(await after.record(kind, 'one')).toEqual({ version: 7, body })
      expect((await kit.store.forTenant(TENANT).record(kind, 'one'))?.body).not.toContain('abc123')
    }
    // In a list, a record that cannot be decrypted does not affect the others.
    const { items } = await after.records({ kind: 'definition', limit: 10, cursor: null })
    expect(items.map((one) => [one.key, isEncrypted(one.body)])).toEqual([
      ['lost', true],
      ['one', false],
    ])
  })

  test('[SE8] leaves other events and other headers as they are', async () => {
    const kit = await open()
    const store = makeEncryptedStore(kit.store, { encryption, log })
    // A body that a sender made to look encrypted is an ordinary body.
    const usual = kit.event({ ...SENSITIVE, raw: 'mrs1.ab12.W10.AAAA' })
    const partly = kit.event({ ...SENSITIVE, raw: null, sensitive: ['payload'] })
    await append(store, usual)
    await append(store, partly)
    expect(await kit.store.forTenant(TENANT).event(usual.id)).toMatchObject(usual)
    expect(await store.forTenant(TENANT).event(usual.id)).toMatchObject(usual)
    expect(await kit.store.forTenant(TENANT).event(partly.id)).toMatchObject({
      headers: SENSITIVE.headers,
      raw: null,
    })
  })

  test('[SE7] data encrypted with an earlier master key can still be decrypted', async () => {
    const kit = await open()
    const event = kit.event({ ...SENSITIVE, sensitive: ['payload'] })
    await append(makeEncryptedStore(kit.store, { encryption, log }), event)
    const later = makeEncryptedStore(kit.store, { encryption: makeEncryption(2, 1), log })
    expect(await later.forTenant(TENANT).event(event.id)).toMatchObject(event)
  })

  test('[SE9] an event that cannot be decrypted does not affect the others', async () => {
    const kit = await open()
    const owner = await kit.join()
    const lost = await kit.add({ event: { data: 'mrs1.ab12.W10.AAAA' } })
    const store = makeEncryptedStore(kit.store, { encryption: makeEncryption(3), log })
    const before = makeEncryptedStore(kit.store, { encryption, log })
    const foreign = kit.event({ ...SENSITIVE, sensitive: ['payload', 'header'], matched: 1 })
    const work = kit.work(foreign.id)
    await before.commit({
      tenant: TENANT,
      guards: [],
      writes: [
        { w: 'event.append', event: foreign, dedupForMs: 0 },
        { w: 'work.add', work, lease: null, delayMs: 0 },
      ],
    })
    const whole = await kit.add()
    const { items } = await store.claim({
      owner,
      slots: [{ tenant: TENANT, consumer: whole.work.consumer, max: 9 }],
      max: 9,
      maxIsolated: 9,
      codeHashes: [],
    })
    const byId = new Map(items.map(({ event }) => [event.id, event]))
    expect(byId.get(whole.event.id)?.data).toBe(whole.event.data)
    for (const id of [lost.event.id, foreign.id]) {
      const event = byId.get(id)
      expect(isEncrypted(event?.data ?? '')).toBe(true)
      expect(event).toMatchObject({ headers: '{}', raw: null, sensitive: ['payload', 'header'] })
    }
    expect((await store.system('verification').dump()).events).toHaveLength(3)
    expect(log.messages.map(({ name }) => name)).toContain('seal.unreadable')
    expect(JSON.stringify(log.messages)).not.toContain('ada@')
  })

  test('[SE8] the files of a database contain none of it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-sealed-'))
    try {
      const file = join(folder, 'sealed.db')
      const kit = await open()
      const store = makeEncryptedStore(await openSqliteStore({ file }), { encryption, log })
      const sensitive = kit.event({ ...SENSITIVE, sensitive: ['payload.user.email', 'header.x-user'] })
      await append(store, sensitive)
      await append(store, kit.event({ data: '{"plain":"in-clear-4711"}' }))
      const bytes = async () => {
        const names = await readdir(folder)
        return Buffer.concat(await Promise.all(names.map((name) => readFile(join(folder, name))))).toString(
          'latin1',
        )
      }
      const whileOpen = await bytes()
      await store[Symbol.asyncDispose]()
      for (const text of [whileOpen, await bytes()]) {
        // The check looks where the data is.
        expect(text).toContain('in-clear-4711')
        for (const value of ['ada@example.com', 'ada%40', 'lovelace', '"user"', '12345678901234567890']) {
          expect(text).not.toContain(value)
        }
      }
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
