// What users run is the bundle. The end-to-end tests run it; this checks what makes it small.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
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
  ]
  expect(later.filter((name) => packages.has(name))).toEqual([])
})

test('a command loads nothing of the node', () => {
  expect([...packagesOf('main.js')].sort()).toEqual(['millrace'])
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
