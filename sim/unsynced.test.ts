// A disk that forgets what was not flushed: the simulator finds answers that came before their flush, and nothing else.

import { expect, test } from 'vitest'
import type { Bug } from './bug.ts'
import { findBug } from './bugs.ts'
import { huntBug } from './find-bug.ts'
import { forgetUnsynced } from './unsynced.ts'
import { simulate } from './world.ts'

const oneNode: Bug['profile'] = (profile) => ({ ...profile, nodes: 1, isRemote: false })

test('[DU6] an answer before its flush is found', { timeout: 180_000 }, async () => {
  const bug = findBug('acknowledged-before-flush')
  const found = await huntBug(bug, 'memory')
  expect(bug.breaks).toContain(found?.rule)
})

test('[DU6] a disk that forgets loses nothing of what was flushed before its answer', {
  timeout: 180_000,
}, async () => {
  const flushed: Bug = {
    name: 'flushed-before-answer',
    about: 'no bug: the disk forgets what was not flushed, and all was',
    breaks: [],
    stores: ['memory'],
    profile: oneNode,
    data: (data) => forgetUnsynced(data, 'before-answer'),
  }
  for (const seed of [1, 2, 3, 4]) {
    const { violations, counts } = await simulate({ seed, store: 'memory', bug: flushed })
    expect(violations).toEqual([])
    expect(counts.crashes).toBeGreaterThan(0)
  }
})
