import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
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

/** A folder whose system reports changes when the test says so. */
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
      watch: (path, told) => {
        if (path === folder) listener = told
        return { on: () => {}, close: () => {} }
      },
    },
  )
  return {
    watch,
    runs: () => runs,
    async report(path: string | null, event = 'change', thenMs = 150) {
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
])('[DV25] %s (%s) is ignored', async (path, event) => {
  const { report, runs } = start()
  await report(path, event)
  await report(path, event, 5_000)
  expect(runs()).toBe(0)
})

test.each([
  ['a.yaml', 'change'],
  ['sub/b.json', 'rename'],
  ['lib/help.mts', 'change'],
  ['database.yaml', 'change'],
  [null, 'change'],
])('[DV25] %s (%s) is not', async (path, event) => {
  const { report, runs } = start()
  await report(path, event)
  expect(runs()).toBe(1)
})

test('[DV25] changes that come together are read once, and those that never end within two seconds', async () => {
  const { watch, report, runs } = start()
  await report('a.yaml', 'change', 50)
  await report('b.yaml', 'change', 50)
  expect(runs()).toBe(0)
  await report('a.yaml')
  expect(runs()).toBe(1)
  for (let count = 0; count < 41; count += 1) await report('a.yaml', 'change', 50)
  expect(runs()).toBe(2)
  await report('a.yaml', 'change', 10)
  await watch.close()
  await vi.advanceTimersByTimeAsync(5_000)
  expect(runs()).toBe(2)
})

describe('a real folder', () => {
  const write = (path: string, text: string) => writeFileSync(join(folder, path), text)
  /** As vim, sed -i and many editors save. */
  const saveOver = (path: string, text: string) => {
    write(`${path}.tmp`, text)
    renameSync(join(folder, `${path}.tmp`), join(folder, path))
  }
  const noticed = async (steps: readonly (() => void)[], options: { since?: number } = {}) => {
    vi.useRealTimers()
    let told = () => {}
    const next = () =>
      new Promise<void>((resolve) => {
        told = resolve
      })
    let change = next()
    const watch = watchFolder(
      folder,
      async () => told(),
      (error) => {
        throw error
      },
      options,
    )
    try {
      if (options.since !== undefined) await change
      for (const step of steps) {
        change = next()
        step()
        await change
      }
    } finally {
      await watch.close()
    }
  }

  test('[DV27] every save is noticed, however the editor saves', async () => {
    write('a.yaml', '0')
    await noticed([
      () => saveOver('a.yaml', '1'),
      () => saveOver('a.yaml', '22'),
      () => write('a.yaml', '333'),
      () => {
        rmSync(join(folder, 'a.yaml'))
        write('a.yaml', '4444')
      },
      () => write('a.yaml', '55555'),
    ])
  })

  test('[DV27] folders may come, go and be renamed', async () => {
    mkdirSync(join(folder, 'old'))
    write('old/a.yaml', '0')
    await noticed([
      () => {
        mkdirSync(join(folder, 'v1.2'))
        write('v1.2/b.yaml', '1')
      },
      () => write('v1.2/b.yaml', '22'),
      () => renameSync(join(folder, 'old'), join(folder, 'new')),
      () => write('new/a.yaml', '333'),
      () => rmSync(join(folder, 'v1.2'), { recursive: true }),
      () => {
        rmSync(folder, { recursive: true })
        mkdirSync(folder)
        write('c.yaml', '4')
      },
      () => write('c.yaml', '55'),
    ])
  })

  test('[DV27] what was saved between reading the folder and watching it is noticed', async () => {
    const since = Date.now() - 10_000
    write('a.yaml', '0')
    await noticed([], { since })
  })
})
