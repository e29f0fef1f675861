// What the documents tell a reader to type is typed, in order, in a folder that looks like a fresh clone, and the
// output is what they show.

import { beforeAll, describe, expect, test } from 'vitest'
import { makeDocSession } from './support/doc-session.ts'
import { docs } from './support/docs.ts'
import { buildDist } from './support/node-process.ts'
import { makeWorkspace } from './support/workspace.ts'

beforeAll(buildDist)

const followed = docs.filter(({ blocks }) => blocks.some(({ language }) => language === 'console'))

describe('a reader who follows', () => {
  test('has documents to follow', () => {
    expect(followed.map(({ path }) => path)).toEqual(['README.md', 'docs/tutorial-first-function.md'])
  })

  test.each(followed)('$path sees what it says', async ({ blocks }) => {
    await using workspace = makeWorkspace()
    const session = makeDocSession(workspace)
    try {
      for (const block of blocks) {
        const isFile = (block.language === 'yaml' || block.language === 'ts') && block.rest.includes('.')
        if (isFile || block.language === 'console') await session.follow(block)
      }
    } finally {
      await session.close()
    }
  })
})
