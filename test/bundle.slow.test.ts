// What users run is the bundle. The end-to-end tests run it; this checks what makes it small.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { buildDist, project } from './support/node-process.ts'

beforeAll(buildDist)

const folder = join(project, 'dist', 'bundle')
const read = (name: string) => readFileSync(join(folder, name), 'utf8')

/** The files that importing this one loads, without those that are imported when they are used. */
function loadedBy(name: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(name)) return seen
  seen.add(name)
  for (const [, next] of read(name).matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g))
    loadedBy(next as string, seen)
  return seen
}

/** The innermost one of a path. */
const PACKAGE = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)/
const sourcesOf = (name: string) => (JSON.parse(read(`${name}.map`)) as { sources: string[] }).sources

/** What every command may load; the latter two read settings, durations and filters. */
const LIGHT = new Set(['commander', 'picocolors', 'ipaddr.js', 're2js'])

const packagesOf = (name: string) => {
  const sources = [...loadedBy(name)].flatMap(sourcesOf)
  return new Set(
    sources.map((source) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? 'millrace'),
  )
}

test('a node loads drivers and tools when it uses them', () => {
  const packages = packagesOf('app.js')
  expect(packages).toContain('fastify')
  const later = [
    'pg',
    'nodemailer',
    'commander',
    '@nats-io/nats-core',
    '@nats-io/jetstream',
    '@nats-io/transport-node',
    // Declarations of definitions and of the API: a folder or a check through the API loads them.
    'zod',
  ]
  expect(later.filter((name) => packages.has(name))).toEqual([])
})

test('a command loads nothing of the node', () => {
  expect([...packagesOf('main.js')].sort()).toEqual(['millrace'])
})

/** A hook that writes the address of every module that the process loads. */
const RECORDER = `
  import { appendFileSync } from 'node:fs'
  let path
  export async function initialize(data) { path = data.path }
  export async function load(url, context, next) {
    appendFileSync(path, url + '\\n')
    return next(url, context)
  }`

test.each([
  ['a request to a node', ['events', '--url', 'http://127.0.0.1:1', '--key', 'k'], 4],
  ['the list of commands', ['--help'], 0],
  ['the version', ['version'], 0],
  ['the log', ['logs'], 6],
])('[CL22] %s loads no driver, server or compiler', (_, args, code) => {
  const work = mkdtempSync(join(tmpdir(), 'millrace-loaded-'))
  try {
    const path = join(work, 'loaded')
    const hook = join(work, 'hook.mjs')
    writeFileSync(join(work, 'recorder.mjs'), RECORDER)
    writeFileSync(
      hook,
      `import { register } from 'node:module'; register('./recorder.mjs', { parentURL: import.meta.url, data: { path: ${JSON.stringify(path)} } })`,
    )
    const { status, stderr } = spawnSync(
      process.execPath,
      ['--import', hook, join(folder, 'main.js'), ...args],
      { cwd: work, encoding: 'utf8', env: { PATH: process.env.PATH, MILLRACE_DATA: join(work, 'none') } },
    )
    expect([status, stderr]).toEqual([code, expect.any(String)])
    const loaded = readFileSync(path, 'utf8').split('\n')
    const files = loaded.filter((url) => url.startsWith('file:')).map((url) => fileURLToPath(url))
    const ours = files.filter((file) => !file.startsWith(work))
    expect(ours.filter((file) => !file.startsWith(folder))).toEqual([])
    const packages = new Set(
      ours.flatMap((file) => sourcesOf(basename(file)).flatMap((source) => PACKAGE.exec(source)?.[1] ?? [])),
    )
    expect([...packages].filter((name) => !LIGHT.has(name))).toEqual([])
    expect(ours.length).toBeGreaterThan(0)
  } finally {
    rmSync(work, { recursive: true })
  }
})

test('a thread of the store loads the store alone', () => {
  expect([...packagesOf('worker.js')].sort()).toEqual(['millrace'])
})

test('the licence of every bundled package goes with it', () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.js'))
  const packages = new Set(files.flatMap(sourcesOf).flatMap((source) => PACKAGE.exec(source)?.[1] ?? []))
  expect(packages).toContain('fastify')
  // Bundled within glob's own file.
  expect(packages).toContain('minimatch')
  const sections = read('LICENSES.txt').split(/\n-{80}\n\n/)
  const named = sections.flatMap(
    (text) => /^(\S+) \d+\.\d+\.\d+\S* \(.+\)\n\n[\s\S]{40,}/.exec(text)?.[1] ?? [],
  )
  expect(named.length).toBe(sections.length)
  expect([...packages].filter((name) => !named.includes(name))).toEqual([])
})

/** One character beyond Latin-1 doubles the memory of the whole file. */
test('large files are held with one byte per character', () => {
  const large = readdirSync(folder).filter((name) => name.endsWith('.js') && read(name).length > 20_000)
  expect(large.length).toBeGreaterThan(0)
  expect(large.filter((name) => /[^\0-\xff]/.test(read(name)))).toEqual([])
})
