import { describe, expect, test } from 'vitest'
import { ROUTE, SOURCE } from '../../../engine/engine.fixture.ts'
import {
  compareEntries,
  controlDefinition,
  declaredStatus,
  definitionId,
  type Entry,
  type ManagedBy,
  mergeEntries,
  type SubscriptionDocument,
} from './index.ts'

const entry = (name: string, hash: string, managedBy: ManagedBy): Entry => ({
  kind: 'Route',
  name,
  hash,
  managedBy,
})
const doc = (name: string, hash: string) => ({ kind: 'Route', name, hash }) as const

function merge(
  current: readonly Entry[],
  managedBy: ManagedBy,
  documents: readonly { kind: 'Route'; name: string; hash: string }[],
  options: { prune?: boolean; folder?: readonly string[] } = {},
) {
  const merged = mergeEntries(current, {
    documents,
    managedBy,
    prune: options.prune ?? false,
    isInFolder: (id) => options.folder?.includes(id) ?? false,
  })
  if (!merged.ok) return { held: merged.held }
  return {
    entries: merged.entries.map((one) => `${one.name} ${one.hash} ${one.managedBy}`),
    changes: merged.changes.map(({ name, change }) => `${name} ${change}`),
  }
}

describe('merging', () => {
  test('[DV2] replaces the same kind and name, keeps the rest and its order', () => {
    const current = [entry('a', '1', 'api'), entry('b', '1', 'api')]
    expect(merge(current, 'api', [doc('a', '2'), doc('c', '1')])).toEqual({
      entries: ['a 2 api', 'b 1 api', 'c 1 api'],
      changes: ['a update', 'c create'],
    })
    const source = { kind: 'Source', name: 'a', hash: '9', managedBy: 'api' } as const
    expect(merge([source], 'api', [doc('a', '2')]).entries).toEqual(['a 9 api', 'a 2 api'])
  })

  const table: readonly [string, Entry, ManagedBy, string, readonly string[], string | 'held'][] = [
    [
      '[DV4] the API is refused what the folder has',
      entry('a', '1', 'folder'),
      'api',
      '2',
      ['Route/a'],
      'held',
    ],
    ['[DV4] unless it says the same', entry('a', '1', 'folder'), 'api', '1', ['Route/a'], 'a 1 folder'],
    ['[DV5] what is gone from the folder may be taken', entry('a', '1', 'folder'), 'api', '2', [], 'a 2 api'],
    ['[DV4] the folder takes over', entry('a', '1', 'api'), 'folder', '2', [], 'a 2 folder'],
    ['[DV4] also what is the same', entry('a', '1', 'api'), 'folder', '1', [], 'a 1 folder'],
    ['[DV6] the demo takes nothing from the API', entry('a', '1', 'api'), 'demo', '2', [], 'a 1 api'],
    ['[DV6] nor from the folder', entry('a', '1', 'folder'), 'demo', '2', [], 'a 1 folder'],
    ['[DV6] the API may change the demo', entry('a', '1', 'demo'), 'api', '2', [], 'a 2 api'],
    ['[DV24] and takes over what it says again', entry('a', '1', 'demo'), 'api', '1', [], 'a 1 api'],
    ['[DV24] of what the folder lost, too', entry('a', '1', 'folder'), 'api', '1', [], 'a 1 api'],
  ]
  test.each(table)('%s', (_name, current, managedBy, hash, folder, expected) => {
    const merged = merge([current], managedBy, [doc('a', hash)], { folder })
    expect(merged).toEqual(
      expected === 'held'
        ? { held: ['Route/a'] }
        : {
            entries: [expected],
            changes: [expected === `a ${current.hash} ${current.managedBy}` ? 'a unchanged' : 'a update'],
          },
    )
  })

  const all = [
    entry('f', '1', 'folder'),
    entry('g', '1', 'folder'),
    entry('p', '1', 'api'),
    entry('d', '1', 'demo'),
  ]
  const prunes: readonly [string, ManagedBy, boolean, readonly string[]][] = [
    ['[DV5] nothing goes by itself', 'api', false, []],
    ['[DV5] the API prunes its own and what the folder lost', 'api', true, ['g remove', 'p remove']],
    ['[DV6] the folder ends the demo', 'folder', false, ['d remove']],
    ['[DV5] the folder prunes its own', 'folder', true, ['f remove', 'g remove', 'd remove']],
    ['[DV6] the demo replaces the demo alone', 'demo', true, ['d remove']],
  ]
  test.each(prunes)('%s', (_name, managedBy, prune, removed) => {
    const merged = merge(all, managedBy, [doc('new', '1')], { prune, folder: ['Route/f'] })
    expect(merged.changes).toEqual([...removed, 'new create'])
  })
})

test('[DV7] two sets are compared by kind, name and hash', () => {
  const before = [doc('a', '1'), doc('b', '1'), doc('c', '1')]
  const after = [doc('a', '1'), doc('b', '2'), doc('d', '1')]
  expect(compareEntries(before, after).map(({ name, change }) => `${name} ${change}`)).toEqual([
    'a unchanged',
    'b update',
    'd create',
    'c remove',
  ])
})

describe('an operator’s switch', () => {
  test('[DV12] is stored only where the document does not say so itself', () => {
    expect(controlDefinition(ROUTE, 'pause')).toEqual({ ok: true, status: 'paused', override: 'paused' })
    expect(controlDefinition(ROUTE, 'resume')).toEqual({ ok: true, status: 'active', override: null })
    const paused = { ...ROUTE, status: 'paused' } as const
    expect(controlDefinition(paused, 'pause')).toEqual({ ok: true, status: 'paused', override: null })
    expect(controlDefinition(paused, 'resume')).toEqual({ ok: true, status: 'active', override: 'active' })
    expect(controlDefinition(SOURCE, 'disable')).toEqual({
      ok: true,
      status: 'disabled',
      override: 'disabled',
    })
  })

  test('[DV16] a profile is neither paused nor disabled', () => {
    expect(controlDefinition(SOURCE, 'pause')).toEqual({ ok: true, status: 'paused', override: 'paused' })
    const profile = { kind: 'Profile', name: 'p', description: null, retry: ROUTE.retry } as const
    expect(controlDefinition(profile, 'disable')).toMatchObject({
      ok: false,
      why: expect.stringContaining('routes that use it'),
    })
  })

  test('[SL17] a subscription is paused in its own state record', () => {
    const subscription = { kind: 'Subscription', name: 'crm', status: 'paused' } as SubscriptionDocument
    expect(controlDefinition(subscription, 'pause')).toMatchObject({
      ok: false,
      why: expect.stringContaining('/v1/webhooks/subscriptions/crm/pause'),
    })
    expect(controlDefinition(subscription, 'resume')).toMatchObject({
      ok: false,
      why: expect.stringContaining('/v1/webhooks/subscriptions/crm/enable'),
    })
    expect(declaredStatus(subscription)).toBe('paused')
    expect(definitionId(subscription)).toBe('Subscription/crm')
  })
})
