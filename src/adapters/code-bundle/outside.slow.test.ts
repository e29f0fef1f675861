// Tests that need other programs: other versions of Node, and the type checker in a user's folder.

import { execFile } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { requireNode22 } from '../../../test/support/needs.ts'
import { makeTestFolder, type TestFolder } from './folder.fixture.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))

let folder: TestFolder
beforeEach(() => {
  folder = makeTestFolder()
  cpSync(join(root, 'examples/functions'), folder.path, { recursive: true })
  folder.link('zod')
})
afterEach(() => folder[Symbol.dispose]())

async function hashesBy(node: string, path: string): Promise<unknown> {
  const script = fileURLToPath(new URL('./hash.fixture.ts', import.meta.url))
  const { stdout } = await run(node, ['--import', 'tsx', script, path, 'tickets.ts'], { cwd: root })
  return JSON.parse(stdout)
}

test('[FN12] every version of Node, and every folder, gives the same hash', async () => {
  const here = await hashesBy(process.execPath, folder.path)
  expect(here).toMatchObject({
    problems: [],
    hashes: [expect.stringMatching(/^[0-9a-f]{64}$/), expect.anything()],
  })
  expect(await hashesBy(requireNode22(), folder.path)).toEqual(here)
  expect(await hashesBy(process.execPath, join(root, 'examples/functions'))).toEqual(here)
})

/** The type checker's output for the folder of a user who has installed the package. */
async function checkTypes(): Promise<string> {
  const settings = {
    target: 'ES2023',
    module: 'NodeNext',
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    allowImportingTsExtensions: true,
  }
  writeFileSync(
    join(folder.path, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: { ...settings, types: ['node'], typeRoots: [join(root, 'node_modules/@types')] },
    }),
  )
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  return run(process.execPath, [tsc, '-p', folder.path]).then(
    () => '',
    (error: { stdout: string }) => error.stdout,
  )
}

test('an editor knows `millrace` in a user’s folder by the package’s own declarations', async () => {
  symlinkSync(root, join(folder.path, 'node_modules', 'millrace'))
  expect(await checkTypes()).toBe('')
  const file = join(folder.path, 'tickets.ts')
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace("issue: '{{ payload.issue.number }}'", "issue: 'forty-one'"),
  )
  expect(await checkTypes()).toMatch(
    /tickets\.ts\(\d+,\d+\): error TS2322: Type '"forty-one"' is not assignable/,
  )
})
