// Builds of a checkout while its nodes run.

import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, expect, test } from 'vitest'

const library = pathToFileURL(resolve('scripts/lib/running-builds.mjs')).href
const { filesOfRunningBuilds, noteRunningBuild } = (await import(library)) as {
  filesOfRunningBuilds(root: string): readonly string[]
  noteRunningBuild(root: string, files: readonly string[]): void
}
const bundler = pathToFileURL(resolve('scripts/lib/bundle.mjs')).href
const { removeOldBundles } = (await import(bundler)) as {
  removeOldBundles(root: string, kept: readonly string[]): void
}

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function makeCheckout() {
  const root = mkdtempSync(join(tmpdir(), 'millrace-builds-'))
  folders.push(root)
  const bundle = join(root, 'dist', 'bundle')
  mkdirSync(bundle, { recursive: true })
  let before: readonly string[] = []
  /** As a build does: its files, those of the build before, and those of builds that run. */
  const build = (...names: readonly string[]) => {
    for (const name of names) writeFileSync(join(bundle, name), '')
    const own = names.map((name) => `bundle/${name}`)
    removeOldBundles(root, [...own, ...before, ...filesOfRunningBuilds(root)])
    before = own
  }
  return { root, build, files: () => readdirSync(bundle).sort() }
}

test('a running node keeps the parts of its build through any number of builds', () => {
  const { root, build, files } = makeCheckout()
  build('main.js', 'pg-1.js')
  noteRunningBuild(root, ['bundle/main.js', 'bundle/pg-1.js'])
  build('main.js', 'pg-2.js')
  build('main.js', 'pg-3.js')
  build('main.js', 'pg-4.js')
  expect(files()).toEqual(['main.js', 'pg-1.js', 'pg-3.js', 'pg-4.js'])
})

test('a process that has ended, cleanly or not, keeps nothing', () => {
  const { root, build, files } = makeCheckout()
  const run = (more: string) => {
    const code = `import { noteRunningBuild } from '${library}'; noteRunningBuild('${root}', ['bundle/pg-1.js']); ${more}`
    return spawnSync(process.execPath, ['--input-type=module', '-e', code])
  }
  build('main.js', 'pg-1.js')
  expect(run('').status).toBe(0)
  expect(readdirSync(join(root, '.cache', 'running'))).toEqual([])
  expect(run("process.kill(process.pid, 'SIGKILL')").signal).toBe('SIGKILL')
  expect(readdirSync(join(root, '.cache', 'running'))).toHaveLength(1)
  build('main.js', 'pg-2.js')
  build('main.js', 'pg-3.js')
  expect(files()).toEqual(['main.js', 'pg-2.js', 'pg-3.js'])
  expect(readdirSync(join(root, '.cache', 'running'))).toEqual([])
})
