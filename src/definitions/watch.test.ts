import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { watchFolder } from './watch.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-watch-'))
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true, force: true })
})

/** A folder whose system tells of changes when the test says so. */
function start() {
  let listener: (event: string, path: string | null) => void = () => {}
  let runs = 0
  const watch = watchFolder(
    folder,
    async () => {
      runs += 1
    },
    (error) => {
      throw error
    },
    {
      except: [join(folder, 'data'), join(folder, '..', 'elsewhere')],
      watch: (_folder, _options, told) => {
        listener = told
        return { on: () => {}, close: () => {} }
      },
    },
  )
  return {
    watch,
    runs: () => runs,
    async tell(path: string | null, event = 'change', thenMs = 150) {
      listener(event, path)
      await vi.advanceTimersByTimeAsync(thenMs)
    },
  }
}

test.each([
  ['data/millrace.db-wal', 'change'],
  ['data/code/0a.mjs', 'rename'],
  ['data', 'rename'],
  ['node_modules/pkg/package.json', 'change'],
  ['sub/node_modules/a.ts', 'change'],
  ['.git/index', 'rename'],
  ['.a.yaml.swp', 'rename'],
  ['sub/.cache/b.yaml', 'change'],
  ['millrace.log', 'change'],
  ['notes.md', 'rename'],
])('[DV25] %s (%s) is not looked at', async (path, event) => {
  const { tell, runs } = start()
  await tell(path, event)
  await tell(path, event, 5_000)
  expect(runs()).toBe(0)
})

test.each([
  ['a.yaml', 'change'],
  ['sub/b.json', 'rename'],
  ['lib/help.mts', 'change'],
  ['sub', 'rename'],
  ['v1.2', 'rename'],
  ['database.yaml', 'change'],
  [null, 'change'],
])('[DV25] %s (%s) is', async (path, event) => {
  mkdirSync(join(folder, 'v1.2'))
  const { tell, runs } = start()
  await tell(path, event)
  expect(runs()).toBe(1)
})

test('[DV25] changes that come together are looked at once, and those that never end within two seconds', async () => {
  const { watch, tell, runs } = start()
  await tell('a.yaml', 'change', 50)
  await tell('b.yaml', 'change', 50)
  expect(runs()).toBe(0)
  await tell('a.yaml')
  expect(runs()).toBe(1)
  for (let count = 0; count < 41; count += 1) await tell('a.yaml', 'change', 50)
  expect(runs()).toBe(2)
  await tell('a.yaml', 'change', 10)
  await watch.close()
  await vi.advanceTimersByTimeAsync(5_000)
  expect(runs()).toBe(2)
})
