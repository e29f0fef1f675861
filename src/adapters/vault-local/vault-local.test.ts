import { describe, expect, test } from 'vitest'
import { AppError } from '../../core/foundation/errors/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import { fingerprintOf, makeMasterKeys } from '../../core/secrets/index.ts'
import { combineVaults } from '../../engine/secrets/combined-vault.ts'
import type { Clock } from '../../ports/clock.ts'
import { secretVaultConformance, vaultConformance } from '../../ports/vault.conformance.ts'
import { makeMemoryLog } from '../log-memory/index.ts'
import { makeSystemRandom } from '../random-system/index.ts'
import { makeMemoryStore } from '../store-memory/index.ts'
import { makeEnvVault } from '../vault-env/index.ts'
import { makeLocalVault } from './index.ts'

const keyOf = (fill: number) => new Uint8Array(32).fill(fill)
const ACME = 'acme' as TenantId
const VALUE = 'a value that nobody may see'
const by = 'ada'
const set = { isPending: false, by }

function makeWorld() {
  let now = 1_000_000
  const clock: Clock = { now: () => now, monotonic: () => now, after: () => () => {}, defer: queueMicrotask }
  const memory = makeMemoryStore({ now: () => now, defer: (callback) => queueMicrotask(callback) })
  let reads = 0
  const store: typeof memory = {
    ...memory,
    forTenant(tenant) {
      const all = memory.forTenant(tenant)
      return {
        ...all,
        record(kind, key) {
          reads += 1
          return all.record(kind, key)
        },
      }
    },
  }
  const log = makeMemoryLog()
  const makeNode = (current = keyOf(1), ...old: Uint8Array[]) =>
    makeLocalVault({ store, clock, log, random: makeSystemRandom(), keys: makeMasterKeys(current, old) })
  const body = async (name = 'crm', tenant = DEFAULT_TENANT) =>
    JSON.parse((await memory.forTenant(tenant).record('secret', name))?.body ?? 'null')
  const overwrite = async (record: unknown, name = 'crm', tenant = DEFAULT_TENANT) => {
    const row = await memory.forTenant(tenant).record('secret', name)
    const version = (row?.version ?? 0) + 1
    const write = {
      w: 'record.put',
      kind: 'secret',
      key: name,
      version,
      body: JSON.stringify(record),
    } as const
    await memory.commit({ tenant, guards: [], writes: [write] })
  }
  return {
    store,
    log,
    makeNode,
    vault: makeNode(),
    body,
    overwrite,
    reads: () => reads,
    pass: (ms: number) => {
      now += ms
    },
  }
}

const values = (vault: ReturnType<typeof makeLocalVault>, name = 'crm', tenant = DEFAULT_TENANT) =>
  vault.resolve(tenant, [{ ref: name }])

async function refusal(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof AppError)) throw new Error('it was not refused', { cause: error })
  return `${error.code}: ${error.message}`
}

vaultConformance('local', async () => {
  const { vault } = makeWorld()
  let count = 0
  return {
    vault,
    set: async (value) => {
      count += 1
      await vault.set(DEFAULT_TENANT, `secret-${count}`, value, set)
      return { ref: `secret-${count}` }
    },
    missing: () => ({ ref: 'not-set' }),
  }
})

secretVaultConformance('local', async () => {
  const { vault, makeNode, pass } = makeWorld()
  return { vault, another: () => makeNode(), pass }
})

vaultConformance('combined', async () => {
  const { vault } = makeWorld()
  const env: Record<string, string> = {}
  let count = 0
  return {
    vault: combineVaults({ env: makeEnvVault({ env }), file: makeEnvVault({ env }), ref: vault }),
    // Alternating between both, so that the order of their values is that of the references.
    set: async (value) => {
      count += 1
      env[`SECRET_${count}`] = value
      await vault.set(DEFAULT_TENANT, `secret-${count}`, value, set)
      return count % 2 === 0 ? { env: `SECRET_${count}` } : { ref: `secret-${count}` }
    },
    missing: () => ({ ref: 'not-set' }),
  }
})

describe('values', () => {
  test('[VA1] are encrypted in the store, each time differently, and are in no list and no log', async () => {
    const { vault, store, log, body } = makeWorld()
    await vault.set(DEFAULT_TENANT, 'crm', VALUE, set)
    const first = await body()
    await vault.set(DEFAULT_TENANT, 'crm', VALUE, set)
    const second = await body()
    expect(first.current.envelope.sealed).not.toBe(second.current.envelope.sealed)
    const list = await vault.list(DEFAULT_TENANT, { cursor: null, limit: 10 })
    expect(list.items).toEqual([
      {
        name: 'crm',
        version: 2,
        fingerprint: fingerprintOf(DEFAULT_TENANT, 'crm', VALUE),
        hasPending: false,
        pendingFingerprint: null,
        oldUntil: [],
        updatedAt: 1_000_000,
        updatedBy: by,
      },
    ])
    const everywhere = JSON.stringify([await store.system('verification').dump(), log.messages, list])
    expect(everywhere).not.toContain(VALUE)
    expect(everywhere).not.toContain(Buffer.from(VALUE).toString('base64').slice(0, 20))
  })

  test('[VA11] have a fingerprint in lists; one of an earlier release is computed from the value, one that does not decrypt has none', async () => {
    const { vault, makeNode, body, overwrite, log } = makeWorld()
    await vault.set(DEFAULT_TENANT, 'crm', VALUE, set)
    await vault.set(DEFAULT_TENANT, 'crm', 'next', { isPending: true, by })
    const row = await vault.find(DEFAULT_TENANT, 'crm')
    expect(row).toMatchObject({
      fingerprint: fingerprintOf(DEFAULT_TENANT, 'crm', VALUE),
      pendingFingerprint: fingerprintOf(DEFAULT_TENANT, 'crm', 'next'),
    })
    const { current, pending, ...rest } = await body()
    const bare = ({ fingerprint: _, ...version }: { fingerprint: string }) => version
    await overwrite({ ...rest, current: bare(current), pending: bare(pending) })
    expect(await vault.find(DEFAULT_TENANT, 'crm')).toEqual(row)
    const lost = await makeNode(keyOf(2)).find(DEFAULT_TENANT, 'crm')
    expect(lost).toEqual({ ...row, fingerprint: null, pendingFingerprint: null })
    expect(log.messages.filter(({ level }) => level === 'error')).toEqual([])
    const expectedPendingFingerprint = row?.pendingFingerprint ?? ''
    expect(await vault.promote(DEFAULT_TENANT, 'crm', by, 0, { expectedPendingFingerprint })).toEqual({
      version: 2,
    })
  })

  test('[VA2] belong to one tenant each', async () => {
    const { vault } = makeWorld()
    await vault.set(ACME, 'crm', VALUE, set)
    expect(await values(vault, 'crm', ACME)).toEqual([VALUE])
    expect(await values(vault)).toEqual([])
    expect((await vault.list(DEFAULT_TENANT, { cursor: null, limit: 10 })).items).toEqual([])
    expect(await refusal(vault.remove(DEFAULT_TENANT, 'crm', by))).toMatch(/^not_found/)
  })

  test('[VA5] a pending value waits, and replaces the one in use when it is promoted', async () => {
    const { vault } = makeWorld()
    await vault.set(DEFAULT_TENANT, 'crm', 'prior', set)
    expect(await vault.set(DEFAULT_TENANT, 'crm', 'next', { isPending: true, by })).toEqual({ version: 2 })
    expect(await values(vault)).toEqual(['prior'])
    expect((await vault.list(DEFAULT_TENANT, { cursor: null, limit: 1 })).items).toMatchObject([
      { version: 1, hasPending: true },
    ])
    expect(await vault.promote(DEFAULT_TENANT, 'crm', by)).toEqual({ version: 2 })
    expect(await values(vault)).toEqual(['next'])
    expect(await refusal(vault.promote(DEFAULT_TENANT, 'crm', by))).toMatch(/^not_found/)
  })

  test('[VA5] a secret with only a pending value is not set yet; setting one directly drops the pending one', async () => {
    const { vault } = makeWorld()
    await vault.set(DEFAULT_TENANT, 'crm', 'next', { isPending: true, by })
    expect([await values(vault), [...(await vault.names(DEFAULT_TENANT))]]).toEqual([[], []])
    await vault.set(DEFAULT_TENANT, 'crm', 'other', set)
    expect([await values(vault), [...(await vault.names(DEFAULT_TENANT))]]).toEqual([['other'], ['crm']])
    expect(await refusal(vault.promote(DEFAULT_TENANT, 'crm', by))).toMatch(/^not_found/)
  })

  test('[VA6] are cached for seconds, set or not; a change here is seen here at once', async () => {
    const { vault, makeNode, reads, pass } = makeWorld()
    const other = makeNode()
    for (let index = 0; index < 20; index += 1) expect(await values(vault)).toEqual([])
    expect(reads()).toBe(1)
    await vault.set(DEFAULT_TENANT, 'crm', 'one', set)
    expect([await values(vault), await values(other)]).toEqual([['one'], ['one']])
    await vault.set(DEFAULT_TENANT, 'crm', 'two', set)
    expect(await values(vault)).toEqual(['two'])
    pass(5_000)
    expect(await values(other)).toEqual(['two'])
    await vault.remove(DEFAULT_TENANT, 'crm', by)
    expect(await values(vault)).toEqual([])
  })

  test('[VA6] many concurrent callers are one read; a caller after a change gets the new value', async () => {
    const { vault, reads } = makeWorld()
    await vault.set(DEFAULT_TENANT, 'crm', 'one', set)
    const before = reads()
    const all = await Promise.all(Array.from({ length: 20 }, () => values(vault)))
    expect(all).toEqual(all.map(() => ['one']))
    expect(reads()).toBe(before + 1)
    await vault.set(DEFAULT_TENANT, 'crm', 'two', set)
    const early = values(vault)
    await vault.set(DEFAULT_TENANT, 'crm', 'three', set)
    expect(await values(vault)).toEqual(['three'])
    await early
    expect(await values(vault)).toEqual(['three'])
  })

  test('[VA6] a later version that does not exist is looked for once in a while, not for every call', async () => {
    const { vault, reads, pass } = makeWorld()
    await vault.set(DEFAULT_TENANT, 'crm', 'again', set)
    const current = () => vault.current(DEFAULT_TENANT, 'crm', { atLeast: 5 })
    await current()
    const before = reads()
    for (let index = 0; index < 20; index += 1) expect((await current())?.value).toBe('again')
    expect(reads()).toBe(before)
    pass(5_000)
    await current()
    expect(reads()).toBeGreaterThan(before)
    for (let version = 2; version <= 6; version += 1)
      await vault.set(DEFAULT_TENANT, 'crm', `v${version}`, set)
    expect((await vault.current(DEFAULT_TENANT, 'crm', { atLeast: 6 }))?.value).toBe('v6')
  })

  test('[VA7] of two concurrent changes one is refused', async () => {
    const { vault, makeNode } = makeWorld()
    const tries = await Promise.allSettled([
      vault.set(DEFAULT_TENANT, 'crm', 'one', set),
      makeNode().set(DEFAULT_TENANT, 'crm', 'two', set),
    ])
    const lost = tries.find((one) => one.status === 'rejected')
    expect(lost?.reason).toMatchObject({ code: 'conflict' })
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })
})

describe('an overlap', () => {
  const rotate = (overlapMs: number) => ({ isPending: false, by, overlapMs })
  const row = async (vault: ReturnType<typeof makeLocalVault>) =>
    (await vault.list(DEFAULT_TENANT, { cursor: null, limit: 1 })).items[0]

  test('[OV1] the former value is resolved after the new one, until its time is over', async () => {
    const { vault, makeNode, pass, body } = makeWorld()
    const other = makeNode()
    await vault.set(DEFAULT_TENANT, 'crm', 'one', set)
    await vault.set(DEFAULT_TENANT, 'crm', 'two', rotate(60_000))
    expect([await values(vault), await values(other)]).toEqual([
      ['two', 'one'],
      ['two', 'one'],
    ])
    pass(1_000)
    await vault.set(DEFAULT_TENANT, 'crm', 'three', rotate(1_000))
    expect(await values(vault)).toEqual(['three', 'two', 'one'])
    expect(await row(vault)).toMatchObject({ version: 3, oldUntil: [1_002_000, 1_060_000] })
    expect(await vault.find(DEFAULT_TENANT, 'crm')).toEqual(await row(vault))
    pass(999)
    expect(await values(vault)).toEqual(['three', 'two', 'one'])
    pass(1)
    expect(await values(vault)).toEqual(['three', 'one'])
    expect((await row(vault))?.oldUntil).toEqual([1_060_000])
    pass(58_000)
    expect([await values(vault), await values(makeNode())]).toEqual([['three'], ['three']])
    // An expired value is still stored, encrypted, until the next change.
    expect((await body()).former).toHaveLength(2)
    await vault.set(DEFAULT_TENANT, 'crm', 'next', { isPending: true, by })
    expect(await body()).not.toHaveProperty('former')
  })

  test('[OV1] a cached former value ends on time, without a read of the store', async () => {
    const { vault, reads, pass } = makeWorld()
    await vault.set(DEFAULT_TENANT, 'crm', 'one', set)
    await vault.set(DEFAULT_TENANT, 'crm', 'two', rotate(2_000))
    expect(await values(vault)).toEqual(['two', 'one'])
    const before = reads()
    pass(2_000)
    expect(await values(vault)).toEqual(['two'])
    expect(reads()).toBe(before)
  })

  test('[OV2] without an overlap the new value is the only one at once', async () => {
    const { vault, body } = makeWorld()
    await vault.set(DEFAULT_TENANT, 'crm', 'one', set)
    await vault.set(DEFAULT_TENANT, 'crm', 'two', rotate(60_000))
    await vault.set(DEFAULT_TENANT, 'crm', 'three', rotate(0))
    expect(await values(vault)).toEqual(['three'])
    await vault.set(DEFAULT_TENANT, 'crm', 'four', rotate(60_000))
    await vault.set(DEFAULT_TENANT, 'crm', 'five', set)
    expect([await values(vault), (await row(vault))?.oldUntil]).toEqual([['five'], []])
    expect(await body()).not.toHaveProperty('former')
  })

  test('[OV2] the first value has no former one, and a removed secret leaves none', async () => {
    const { vault } = makeWorld()
    await vault.set(DEFAULT_TENANT, 'crm', 'one', rotate(60_000))
    expect(await values(vault)).toEqual(['one'])
    await vault.set(DEFAULT_TENANT, 'crm', 'two', rotate(60_000))
    await vault.remove(DEFAULT_TENANT, 'crm', by)
    expect(await values(vault)).toEqual([])
    await vault.set(DEFAULT_TENANT, 'crm', 'three', rotate(60_000))
    expect(await values(vault)).toEqual(['three'])
  })

  test('[OV3] the five latest former values are stored', async () => {
    const { vault, pass } = makeWorld()
    for (let number = 1; number <= 8; number += 1) {
      await vault.set(DEFAULT_TENANT, 'crm', `value ${number}`, rotate(60_000))
      pass(1)
    }
    expect(await values(vault)).toEqual([8, 7, 6, 5, 4, 3].map((number) => `value ${number}`))
  })

  test('[OV4] a pending value changes nothing, and takes over with an overlap if it is promoted with one', async () => {
    const { vault } = makeWorld()
    await vault.set(DEFAULT_TENANT, 'crm', 'one', set)
    await vault.set(DEFAULT_TENANT, 'crm', 'two', rotate(60_000))
    await vault.set(DEFAULT_TENANT, 'crm', 'next', { isPending: true, by })
    expect(await values(vault)).toEqual(['two', 'one'])
    expect(await vault.promote(DEFAULT_TENANT, 'crm', by, 30_000)).toEqual({ version: 3 })
    expect(await values(vault)).toEqual(['next', 'two', 'one'])
    await vault.set(DEFAULT_TENANT, 'crm', 'last', { isPending: true, by })
    await vault.promote(DEFAULT_TENANT, 'crm', by)
    expect(await values(vault)).toEqual(['last'])
  })

  test('[OV5] former values are encrypted like others, and a new master key encrypts them again', async () => {
    const { vault, makeNode, store, log, body } = makeWorld()
    await vault.set(DEFAULT_TENANT, 'crm', VALUE, set)
    await vault.set(DEFAULT_TENANT, 'crm', 'two', rotate(60_000))
    expect(JSON.stringify([await store.system('verification').dump(), log.messages])).not.toContain(VALUE)
    const moving = makeNode(keyOf(2), keyOf(1))
    expect(await moving.rewrap([DEFAULT_TENANT])).toEqual({ rewrapped: 1, unreadable: [] })
    expect(await moving.rewrap([DEFAULT_TENANT])).toEqual({ rewrapped: 0, unreadable: [] })
    expect(await values(makeNode(keyOf(2)))).toEqual(['two', VALUE])
    expect((await body()).former).toMatchObject([{ version: 1, until: 1_060_000 }])
  })

  test('[OV5] a former value that does not decrypt is named in the log, and the others are resolved', async () => {
    const { vault, makeNode, body, overwrite, log } = makeWorld()
    await vault.set(DEFAULT_TENANT, 'crm', 'one', set)
    await vault.set(DEFAULT_TENANT, 'crm', 'two', rotate(60_000))
    await vault.set(DEFAULT_TENANT, 'crm', 'three', rotate(60_000))
    const whole = await body()
    // Another's version: the binding does not match.
    const [last, first] = whole.former
    await overwrite({ ...whole, former: [{ ...last, version: 7 }, first] })
    expect(await values(makeNode())).toEqual(['three', 'one'])
    expect(log.messages.at(-1)).toMatchObject({ level: 'error', name: 'vault.unreadable' })
  })
})

describe('altered data', () => {
  const flip = (text: string, at: number) => {
    const bytes = Buffer.from(text, 'base64')
    bytes[at] = (bytes[at] as number) ^ 1
    return bytes.toString('base64')
  }

  test.each(['wrapped', 'sealed'])(
    '[VA3] in any byte of `%s` does not decrypt, and says so',
    async (part) => {
      const { vault, makeNode, body, overwrite, log } = makeWorld()
      await vault.set(DEFAULT_TENANT, 'crm', VALUE, set)
      const whole = await body()
      const { length } = Buffer.from(whole.current.envelope[part], 'base64')
      for (let at = 0; at < length; at += 1) {
        const altered = structuredClone(whole)
        altered.current.envelope[part] = flip(whole.current.envelope[part], at)
        await overwrite(altered)
        expect(await refusal(values(makeNode()))).toMatch(/^secret_unreadable: .*‘crm’.*altered/)
      }
      expect(log.messages.at(-1)).toMatchObject({ level: 'error', name: 'vault.unreadable' })
      for (const text of ['', 'AAAA', whole.current.envelope[part].slice(0, 20)]) {
        const cut = structuredClone(whole)
        cut.current.envelope[part] = text
        await overwrite(cut)
        expect(await refusal(values(makeNode()))).toMatch(/^secret_unreadable/)
      }
      await overwrite(whole)
      expect(await values(makeNode())).toEqual([VALUE])
    },
  )

  test('[VA3] that was moved does not decrypt: another name, tenant or version', async () => {
    const { vault, makeNode, body, overwrite } = makeWorld()
    await vault.set(DEFAULT_TENANT, 'crm', VALUE, set)
    const whole = await body()
    await overwrite(whole, 'erp')
    await overwrite(whole, 'crm', ACME)
    expect(await refusal(values(makeNode(), 'erp'))).toMatch(/^secret_unreadable/)
    expect(await refusal(values(makeNode(), 'crm', ACME))).toMatch(/^secret_unreadable/)
    await overwrite({ ...whole, current: { ...whole.current, version: 2 } })
    expect(await refusal(values(makeNode()))).toMatch(/^secret_unreadable/)
  })
})

describe('another master key', () => {
  test('[VA4] decrypts nothing alone; beside the old one everything, and then encrypts it again', async () => {
    const { vault, makeNode, body, log } = makeWorld()
    await vault.set(DEFAULT_TENANT, 'crm', VALUE, set)
    await vault.set(DEFAULT_TENANT, 'crm', 'next', { isPending: true, by })
    await vault.set(ACME, 'erp', 'theirs', set)
    expect(await refusal(values(makeNode(keyOf(2))))).toMatch(/^secret_unreadable: .*master key/)

    const moving = makeNode(keyOf(2), keyOf(9), keyOf(1))
    expect(await values(moving)).toEqual([VALUE])
    const before = await body()
    const tenants = [DEFAULT_TENANT, ACME]
    expect(await moving.rewrap(tenants)).toEqual({ rewrapped: 2, unreadable: [] })
    expect(await moving.rewrap(tenants)).toEqual({ rewrapped: 0, unreadable: [] })
    // The value itself was not touched.
    expect((await body()).current.envelope.sealed).toBe(before.current.envelope.sealed)

    const moved = makeNode(keyOf(2))
    expect([await values(moved), await values(moved, 'erp', ACME)]).toEqual([[VALUE], ['theirs']])
    await moved.promote(DEFAULT_TENANT, 'crm', by)
    expect(await values(moved)).toEqual(['next'])
    expect(await refusal(values(makeNode(keyOf(1))))).toMatch(/^secret_unreadable/)
    expect(log.messages.find(({ name }) => name === 'vault.rewrapped')?.fields).toMatchObject({ count: 2 })
  })

  test('[VA4] names what it cannot decrypt, and leaves it', async () => {
    const { vault, makeNode, body } = makeWorld()
    await vault.set(DEFAULT_TENANT, 'crm', VALUE, set)
    const before = await body()
    const lost = { tenant: DEFAULT_TENANT, name: 'crm' }
    expect(await makeNode(keyOf(2)).rewrap([DEFAULT_TENANT])).toEqual({ rewrapped: 0, unreadable: [lost] })
    expect(await body()).toEqual(before)
  })

  test('[VA4] processes more secrets than one page has', async () => {
    const { vault, makeNode } = makeWorld()
    for (let index = 0; index < 201; index += 1) await vault.set(DEFAULT_TENANT, `s-${index}`, VALUE, set)
    expect((await makeNode(keyOf(2), keyOf(1)).rewrap([DEFAULT_TENANT])).rewrapped).toBe(201)
  })
})

test('[VA6] a failed look-up of one secret hides no new secret', async () => {
  const { vault, makeNode } = makeWorld()
  const other = makeNode()
  await vault.current(DEFAULT_TENANT, 'gone', { atLeast: 7 })
  expect(await vault.current(DEFAULT_TENANT, 'crm')).toBeNull()
  await other.set(DEFAULT_TENANT, 'crm', VALUE, set)
  expect(await vault.current(DEFAULT_TENANT, 'crm', { atLeast: 1 })).toMatchObject({ value: VALUE })
})
