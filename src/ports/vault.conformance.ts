// What every vault must do, and what a vault must do whose secrets can be set here (docs/spec/ports.md).

import { describe, expect, test } from 'vitest'
import type { SecretRef } from '../core/definitions/documents/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../core/foundation/ids/index.ts'
import type { SecretVault, Vault } from './vault.ts'

export interface VaultHarness {
  readonly vault: Vault
  /** A reference that has this value. */
  set(value: string): Promise<SecretRef>
  /** A reference of the same kind without a value. */
  missing(): SecretRef
}

const VALUES = [
  [' ü\n"\\ 💧 $HOME\t'],
  [
    '{"type":"service_account","private_key":"-----BEGIN PRIVATE KEY-----\\nAAAA\\n-----END PRIVATE KEY-----\\n"}',
  ],
  ['\u0000\u0001\u007f\u0085\u2028\ufeff\ud83d\ude00'],
  ['x'.repeat(65_536)],
  ['💧'.repeat(16_384)],
] as const

export function vaultConformance(name: string, makeHarness: () => Promise<VaultHarness>): void {
  describe(`vault: ${name}`, () => {
    test('[P9] values come in the order of their references', async () => {
      const { vault, set } = await makeHarness()
      const next = await set('next')
      const prior = await set('prior')
      expect(await vault.resolve(DEFAULT_TENANT, [next, prior])).toEqual(['next', 'prior'])
      expect(await vault.resolve(DEFAULT_TENANT, [prior, next])).toEqual(['prior', 'next'])
    })

    test('[P10] an unset value is left out, never an empty text and never an exception', async () => {
      const { vault, set, missing } = await makeHarness()
      const there = await set('there')
      expect(await vault.resolve(DEFAULT_TENANT, [missing(), there])).toEqual(['there'])
      expect(await vault.resolve(DEFAULT_TENANT, [missing()])).toEqual([])
      expect(await vault.resolve(DEFAULT_TENANT, [])).toEqual([])
    })

    test.each(VALUES)('[P11] a value is returned unchanged, byte for byte: %j', async (value) => {
      const { vault, set } = await makeHarness()
      expect((await vault.resolve(DEFAULT_TENANT, [await set(value)]))[0] === value).toBe(true)
    })
  })
}

export interface SecretVaultHarness {
  readonly vault: SecretVault
  /** Another node on the same secrets. */
  another(): SecretVault
  /** Time passes, for all nodes. */
  pass(ms: number): void
}

const ACME = 'acme' as TenantId
const by = 'ada'
const SET = { isPending: false, by }
const PENDING = { isPending: true, by }
const T = DEFAULT_TENANT

export function secretVaultConformance(name: string, makeHarness: () => Promise<SecretVaultHarness>): void {
  const values = (vault: SecretVault, tenant = T) => vault.resolve(tenant, [{ ref: 'crm' }])

  describe(`vault of secrets: ${name}`, () => {
    test('[P34] a secret that is set is listed by name, found, named and resolved; its value is in no row', async () => {
      const { vault } = await makeHarness()
      for (const one of ['b', 'a', 'c.d-e_1']) await vault.set(T, one, `value of ${one}`, SET)
      await vault.set(T, 'waiting', 'value of waiting', PENDING)
      const { items, nextCursor } = await vault.list(T, { cursor: null, limit: 10 })
      expect([items.map((row) => row.name), nextCursor]).toEqual([['a', 'b', 'c.d-e_1', 'waiting'], null])
      expect(items[0]).toEqual(await vault.find(T, 'a'))
      expect(items[0]).toMatchObject({ version: 1, hasPending: false, oldUntil: [], updatedBy: by })
      expect(items[3]).toMatchObject({ version: null, fingerprint: null, hasPending: true })
      expect(JSON.stringify(items)).not.toContain('value of')
      expect([...(await vault.names(T))].sort()).toEqual(['a', 'b', 'c.d-e_1'])
      expect(await vault.find(T, 'not-set')).toBeNull()
    })

    test('[P34] lists continue where a page ends', async () => {
      const { vault } = await makeHarness()
      for (let index = 0; index < 7; index += 1) await vault.set(T, `s-${index}`, 'x', SET)
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const page = await vault.list(T, { cursor, limit: 3 })
        expect(page.items.length).toBeLessThanOrEqual(3)
        seen.push(...page.items.map((row) => row.name))
        cursor = page.nextCursor
      } while (cursor !== null)
      expect(seen).toEqual(Array.from({ length: 7 }, (_, index) => `s-${index}`))
    })

    test('[P35] the value in use has its version and its fingerprint, which distinguishes values, names and tenants', async () => {
      const { vault } = await makeHarness()
      expect([await vault.current(T, 'crm'), await vault.pending(T, 'crm')]).toEqual([null, null])
      await vault.set(T, 'crm', 'one', SET)
      await vault.set(T, 'erp', 'one', SET)
      await vault.set(ACME, 'crm', 'one', SET)
      const [crm, erp, theirs] = [
        await vault.current(T, 'crm'),
        await vault.current(T, 'erp'),
        await vault.current(ACME, 'crm'),
      ]
      expect(crm).toMatchObject({
        version: 1,
        value: 'one',
        fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
      })
      expect(new Set([crm, erp, theirs].map((one) => one?.fingerprint)).size).toBe(3)
      expect((await vault.find(T, 'crm'))?.fingerprint).toBe(crm?.fingerprint)
      await vault.set(T, 'crm', 'two', SET)
      const two = await vault.current(T, 'crm')
      expect([two?.version, two?.value, two?.fingerprint === crm?.fingerprint]).toEqual([2, 'two', false])
      await vault.set(T, 'crm', 'one', SET)
      expect(await vault.current(T, 'crm')).toEqual({ ...crm, version: 3 })
    })

    test('[P35] a pending value waits, has its own version, and takes over when it is promoted', async () => {
      const { vault } = await makeHarness()
      await vault.set(T, 'crm', 'prior', SET)
      expect(await vault.set(T, 'crm', 'next', PENDING)).toEqual({ version: 2 })
      expect([await values(vault), (await vault.current(T, 'crm'))?.version]).toEqual([['prior'], 1])
      const pending = await vault.pending(T, 'crm')
      expect(pending).toMatchObject({ version: 2, value: 'next' })
      const row = await vault.find(T, 'crm')
      expect(row).toMatchObject({ version: 1, hasPending: true, pendingFingerprint: pending?.fingerprint })
      expect(await vault.promote(T, 'crm', by)).toEqual({ version: 2 })
      expect([await values(vault), await vault.current(T, 'crm')]).toEqual([['next'], pending])
      expect([await vault.pending(T, 'crm'), (await vault.find(T, 'crm'))?.hasPending]).toEqual([null, false])
      expect(await refusal(vault.promote(T, 'crm', by))).toBe('not_found')
      expect(await refusal(vault.promote(T, 'unknown', by))).toBe('not_found')
    })

    test('[P35] only a pending value does not count as set, and setting one directly drops it', async () => {
      const { vault } = await makeHarness()
      await vault.set(T, 'crm', 'next', PENDING)
      expect([await values(vault), await vault.current(T, 'crm'), (await vault.names(T)).size]).toEqual([
        [],
        null,
        0,
      ])
      expect(await vault.set(T, 'crm', 'other', SET)).toEqual({ version: 2 })
      expect([await values(vault), await vault.pending(T, 'crm')]).toEqual([['other'], null])
    })

    test('[P36] a change made from another version than the one in use changes nothing', async () => {
      const { vault } = await makeHarness()
      const from = (expectedVersion: number | null) => ({ ...SET, expectedVersion })
      expect(await refusal(vault.set(T, 'crm', 'one', from(1)))).toBe('conflict')
      expect(await vault.find(T, 'crm')).toBeNull()
      await vault.set(T, 'crm', 'one', from(null))
      expect(await refusal(vault.set(T, 'crm', 'two', from(null)))).toBe('conflict')
      await vault.set(T, 'crm', 'two', from(1))
      expect(await refusal(vault.set(T, 'crm', 'three', { ...PENDING, expectedVersion: 1 }))).toBe('conflict')
      expect([await values(vault), await vault.pending(T, 'crm')]).toEqual([['two'], null])
      await vault.set(T, 'crm', 'three', { ...PENDING, expectedVersion: 2 })
      expect((await vault.pending(T, 'crm'))?.value).toBe('three')
    })

    test('[P36] of any number of nodes that promote one value one succeeds, and another value is not promoted instead', async () => {
      const { vault, another } = await makeHarness()
      await vault.set(T, 'crm', 'one', SET)
      await vault.set(T, 'crm', 'two', PENDING)
      const expectedPendingFingerprint = (await vault.pending(T, 'crm'))?.fingerprint ?? ''
      const nodes = [vault, another(), another(), another()]
      const tries = await Promise.all(
        nodes.map((node) => refusal(node.promote(T, 'crm', by, 60_000, { expectedPendingFingerprint }))),
      )
      expect(tries.sort()).toEqual(['conflict', 'conflict', 'conflict', 'done'])
      expect(await values(another())).toEqual(['two', 'one'])
      const late = { expectedPendingFingerprint }
      expect(await refusal(vault.promote(T, 'crm', by, 0, late))).toBe('conflict')
      await vault.set(T, 'crm', 'three', PENDING)
      expect(await refusal(vault.promote(T, 'crm', by, 0, late))).toBe('conflict')
      expect(await values(another())).toEqual(['two', 'one'])
    })

    test('[P36] of many concurrent changes as many succeed as there are versions', async () => {
      const { vault, another } = await makeHarness()
      const nodes = Array.from({ length: 8 }, (_, index) => (index === 0 ? vault : another()))
      const tries = await Promise.all(
        nodes.map(async (node, index) => ({
          index,
          got: await refusal(node.set(T, 'crm', `value ${index}`, SET)),
        })),
      )
      const done = tries.filter(({ got }) => got === 'done')
      expect(tries.every(({ got }) => got === 'done' || got === 'conflict')).toBe(true)
      expect(done.length).toBeGreaterThan(0)
      const current = await another().current(T, 'crm')
      expect(current?.version).toBe(done.length)
      expect(done.map(({ index }) => `value ${index}`)).toContain(current?.value)
    })

    test('[P37] a former value is resolved after the new one for its overlap, five of them at most', async () => {
      const { vault, another, pass } = await makeHarness()
      const rotate = (overlapMs: number) => ({ ...SET, overlapMs })
      await vault.set(T, 'crm', 'one', rotate(60_000))
      await vault.set(T, 'crm', 'two', rotate(60_000))
      expect([await values(vault), await values(another())]).toEqual([
        ['two', 'one'],
        ['two', 'one'],
      ])
      await vault.set(T, 'crm', 'next', PENDING)
      expect(await values(vault)).toEqual(['two', 'one'])
      await vault.promote(T, 'crm', by, 10_000)
      expect(await values(vault)).toEqual(['next', 'two', 'one'])
      expect((await vault.find(T, 'crm'))?.oldUntil).toHaveLength(2)
      pass(10_000)
      expect(await values(vault)).toEqual(['next', 'one'])
      pass(50_000)
      expect([await values(vault), (await vault.find(T, 'crm'))?.oldUntil]).toEqual([['next'], []])
      for (let index = 0; index < 8; index += 1) await vault.set(T, 'crm', `v${index}`, rotate(60_000))
      expect(await values(vault)).toEqual(['v7', 'v6', 'v5', 'v4', 'v3', 'v2'])
      await vault.set(T, 'crm', 'alone', SET)
      expect([await values(vault), await values(another())]).toEqual([['alone'], ['alone']])
    })

    test('[P38] a removed secret is gone with all its values, and can be set again', async () => {
      const { vault, another } = await makeHarness()
      expect(await refusal(vault.remove(T, 'crm', by))).toBe('not_found')
      await vault.set(T, 'crm', 'one', SET)
      await vault.set(T, 'crm', 'two', { ...SET, overlapMs: 60_000 })
      await vault.set(T, 'crm', 'next', PENDING)
      await vault.remove(T, 'crm', by)
      for (const node of [vault, another()]) {
        expect([await values(node), await node.current(T, 'crm'), await node.pending(T, 'crm')]).toEqual([
          [],
          null,
          null,
        ])
        expect([await node.find(T, 'crm'), (await node.names(T)).size]).toEqual([null, 0])
        expect((await node.list(T, { cursor: null, limit: 10 })).items).toEqual([])
      }
      expect(await refusal(vault.remove(T, 'crm', by))).toBe('not_found')
      await vault.set(T, 'crm', 'again', { ...SET, overlapMs: 60_000 })
      expect(await values(vault)).toEqual(['again'])
    })

    test('[P38] tenants are isolated', async () => {
      const { vault } = await makeHarness()
      await vault.set(ACME, 'crm', 'theirs', SET)
      await vault.set(ACME, 'crm', 'their next', PENDING)
      expect([await values(vault), await vault.current(T, 'crm'), await vault.pending(T, 'crm')]).toEqual([
        [],
        null,
        null,
      ])
      expect([await vault.find(T, 'crm'), (await vault.names(T)).size]).toEqual([null, 0])
      expect((await vault.list(T, { cursor: null, limit: 10 })).items).toEqual([])
      expect(await refusal(vault.remove(T, 'crm', by))).toBe('not_found')
      expect(await refusal(vault.promote(T, 'crm', by))).toBe('not_found')
      await vault.set(T, 'crm', 'ours', SET)
      expect([await values(vault), await values(vault, ACME)]).toEqual([['ours'], ['theirs']])
    })

    test.each(VALUES)('[P39] pending and former values come back unchanged: %j', async (value) => {
      const { vault, another } = await makeHarness()
      await vault.set(T, 'crm', value, PENDING)
      expect((await another().pending(T, 'crm'))?.value === value).toBe(true)
      await vault.promote(T, 'crm', by)
      expect((await another().current(T, 'crm'))?.value === value).toBe(true)
      await vault.set(T, 'crm', 'next', { ...SET, overlapMs: 60_000 })
      const [next, former] = await values(another())
      expect([next, former === value]).toEqual(['next', true])
    })

    test('[P40] a caller that knows of a later version gets it, whatever was cached; others within five seconds', async () => {
      const { vault, another, pass } = await makeHarness()
      const other = another()
      await vault.set(T, 'crm', 'one', SET)
      expect((await other.current(T, 'crm'))?.value).toBe('one')
      await vault.set(T, 'crm', 'two', SET)
      expect((await vault.current(T, 'crm'))?.value).toBe('two')
      expect((await other.current(T, 'crm', { atLeast: 2 }))?.value).toBe('two')
      expect(await values(other)).toEqual(['two'])
      await vault.set(T, 'crm', 'three', SET)
      pass(5_000)
      expect((await other.current(T, 'crm'))?.value).toBe('three')
    })
  })
}

async function refusal(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'done'
  } catch (error) {
    if (error instanceof AppError) return error.code
    throw error
  }
}
