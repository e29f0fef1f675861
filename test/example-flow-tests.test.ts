// The tests beside the examples, run by the command as a user runs it.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCli } from '../src/cli/cli.fixture.ts'
import { root } from './support/docs.ts'

/** Receivers of webhooks, which are no definitions. */
const OTHERS = new Set(['receivers'])

const folders = readdirSync(join(root, 'examples'), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() && !OTHERS.has(entry.name) ? [entry.name] : [],
)

test('every example is here', () => {
  expect(folders.length).toBeGreaterThanOrEqual(9)
})

test.each(folders)('the tests of examples/%s pass', async (name) => {
  const { code, stdout, stderr } = await runCli(['test', join(root, 'examples', name)])
  expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(/^\d+ tests?, all passed$/m), ''])
})
