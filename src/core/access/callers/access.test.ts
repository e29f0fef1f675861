import { describe, expect, test } from 'vitest'
import type { TenantId } from '../../foundation/ids/index.ts'
import {
  formatToken,
  hashSecret,
  hasPermission,
  isAllowed,
  isPermissionName,
  isTenantName,
  matchesHash,
  missingPermission,
  parseToken,
  ROLES,
} from './index.ts'

const SECRET = `${'A_-9'.repeat(10)}abc`
const ID = '0123456789abcdef'

describe('tokens', () => {
  test('[AC1] round-trip, with hyphens in the tenant and underscores in the secret', () => {
    for (const kind of ['key', 'session', 'link'] as const) {
      const token = { kind, tenant: 'a-b-1' as TenantId, id: ID, secret: SECRET }
      expect(parseToken(kind, formatToken(token))).toEqual(token)
    }
    expect(formatToken({ kind: 'key', tenant: 'acme' as TenantId, id: ID, secret: SECRET })).toBe(
      `mrk_acme_${ID}_${SECRET}`,
    )
  })

  test.each([
    ['another kind', `mrs_acme_${ID}_${SECRET}`],
    ['no tenant', `mrk__${ID}_${SECRET}`],
    ['a tenant that cannot be', `mrk_-acme_${ID}_${SECRET}`],
    ['a short id', `mrk_acme_012_${SECRET}`],
    ['a short secret', `mrk_acme_${ID}_${SECRET.slice(1)}`],
    ['a long secret', `mrk_acme_${ID}_${SECRET}x`],
    ['a line end', `mrk_acme_${ID}_${SECRET}\n`],
    ['a path', `mrk_../acme_${ID}_${SECRET}`],
    ['nothing', ''],
  ])('[AC1] with %s are rejected', (_what, text) => {
    expect(parseToken('key', text)).toBeNull()
  })

  test('[AC2] only the exact secret with its bound value matches the hash', () => {
    const hash = hashSecret(SECRET)
    expect(hash).not.toContain(SECRET)
    expect(matchesHash(SECRET, hash)).toBe(true)
    expect(matchesHash(`${SECRET.slice(0, -1)}d`, hash)).toBe(false)
    expect(matchesHash(SECRET, '')).toBe(false)
    expect(matchesHash(SECRET, hashSecret(SECRET, 'bound'), 'bound')).toBe(true)
    expect(matchesHash(SECRET, hashSecret(SECRET, 'bound'), 'other')).toBe(false)
    expect(matchesHash(SECRET, hashSecret(SECRET, 'bound'))).toBe(false)
  })
})

test('[AC5] a role includes the lesser roles; only the node’s own admin administers the node', () => {
  const table = ROLES.map((role) =>
    (['viewer', 'operator', 'admin', 'node'] as const).map((needed) =>
      isAllowed({ role, isNodeAdmin: false }, needed),
    ),
  )
  expect(table).toEqual([
    [true, false, false, false],
    [true, true, false, false],
    [true, true, true, false],
  ])
  expect(isAllowed({ role: 'admin', isNodeAdmin: true }, 'node')).toBe(true)
})

test('[AC10] tenant names consist of lowercase letters, digits and inner hyphens', () => {
  for (const name of ['default', 'a', '0', 'a-b', 'a-', 'x'.repeat(63)])
    expect(isTenantName(name), name).toBe(true)
  for (const name of ['', '-a', 'A', 'a_b', 'a.b', 'a b', 'a\n', 'ä', 'x'.repeat(64)])
    expect(isTenantName(name), name).toBe(false)
})

describe('permissions', () => {
  test('[HD1] are granted by name; an admin has all of them', () => {
    const some = { role: 'operator', permissions: ['triage.start'] } as const
    expect(hasPermission(some, 'triage.start')).toBe(true)
    expect(hasPermission(some, 'triage')).toBe(false)
    expect(missingPermission(some, ['triage.start', 'triage.approve', 'other'])).toBe('triage.approve')
    expect(missingPermission(some, [])).toBeNull()
    expect(missingPermission({ role: 'admin', permissions: [] }, ['triage.approve'])).toBeNull()
  })

  test('[HD1] are named with letters, digits and a few punctuation characters', () => {
    for (const name of ['a', 'triage.approve', 'A-1_b:c', '9', 'x'.repeat(100)])
      expect(isPermissionName(name), name).toBe(true)
    for (const name of ['', '.a', 'a b', 'a*', 'ä', 'x'.repeat(101), 'a\n'])
      expect(isPermissionName(name), name).toBe(false)
  })
})
