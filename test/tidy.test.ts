// The repository's own rules that a compiler does not know, each failure with its fix. The second half plants every
// kind of violation and requires that it is found: a check that cannot fail proves nothing. The imports of this
// repository itself are a step of `npm test` (scripts/boundaries.mjs); here is shown that it finds violations.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { findBanned, formatFinding } from './support/tidy/bans.ts'
import { findLooseRules } from './support/tidy/rule-ids.ts'
import type { TextFile } from './support/tidy/source.ts'

const root = resolve(import.meta.dirname, '..')
const ignored = new Set(['node_modules', 'dist', 'data', '.cache', '.git', 'coverage'])

function readTree(folder: string, endings: readonly string[]): readonly TextFile[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (entry.isDirectory()) return ignored.has(entry.name) ? [] : readTree(path, endings)
    if (!endings.some((ending) => path.endsWith(ending))) return []
    return [{ path, text: readFileSync(join(root, path), 'utf8') }]
  })
}

interface ImportReport {
  readonly summary: {
    readonly violations: readonly {
      readonly from: string
      readonly to: string
      readonly rule: { readonly name: string }
    }[]
    readonly ruleSetUsed: {
      readonly forbidden: readonly { readonly name: string; readonly comment: string }[]
    }
  }
}

function checkImports(folder: string): Promise<ImportReport> {
  const args = [join(root, 'scripts/boundaries.mjs'), '--json', '--in', folder]
  return new Promise((done, failed) => {
    execFile(process.execPath, args, { maxBuffer: 256 * 1024 * 1024 }, (error, stdout) => {
      if (error !== null) failed(error)
      else done(JSON.parse(stdout))
    })
  })
}

const sources = readTree('', ['.ts', '.tsx', '.mjs', '.cjs'])

describe('this repository', () => {
  // It reads every source: its time grows with them, and says nothing about what it checks.
  test('contains nothing that is banned', { timeout: 120_000 }, () => {
    expect(sources.some(({ path }) => path.startsWith('src/core/'))).toBe(true)
    expect(findBanned(sources).map(formatFinding)).toEqual([])
  })

  test('ties every rule of docs/spec to a test, and every quoted rule to docs/spec', () => {
    expect(findLooseRules(readTree('docs', ['.md']).filter(isSpec), sources).map(formatFinding)).toEqual([])
  })
})

function isSpec({ path }: TextFile): boolean {
  return path.startsWith('docs/spec/')
}

const bannedLines: readonly (readonly [line: string, rule: string])[] = [
  ['export const a = Date.now()', 'Date.now'],
  ['export const a = globalThis.Date.now()', 'Date.now'],
  ['export const a = new Date()', 'new Date()'],
  ['export const a = Date()', 'new Date()'],
  ['export const a = performance.now()', 'performance.now'],
  ['export const a = Math.random()', 'Math.random'],
  ['export const a = crypto.randomUUID()', 'crypto.random*'],
  ['export const a = crypto.getRandomValues(new Uint8Array(1))', 'crypto.random*'],
  ["export const a = crypto.subtle.digest('SHA-256', b)", 'crypto.subtle'],
  ["import { randomBytes } from 'node:crypto'", 'Of node:crypto only'],
  ["import { generateKeyPairSync } from 'node:crypto'", 'Of node:crypto only'],
  ["import { randomUUID as createHash } from 'node:crypto'", 'Of node:crypto only'],
  ["import * as crypto from 'node:crypto'", 'Of node:crypto only'],
  ['setTimeout(() => {}, 1)', 'setTimeout'],
  ['globalThis.setTimeout(() => {}, 1)', 'setTimeout'],
  ['setInterval(() => {}, 1)', 'setInterval'],
  ['setImmediate(() => {})', 'setImmediate'],
  ['export const a = AbortSignal.timeout(1)', 'AbortSignal.timeout'],
  ["import { Readable } from 'node:stream'", 'Streams'],
  ['export const a = new ReadableStream()', 'Streams'],
  ["import { readFileSync } from 'node:fs'", 'Files'],
  ["import { readFile } from 'fs/promises'", 'Files'],
  ["export const a = fetch('https://example.com')", 'fetch'],
  ["export const a = import('./b.ts')", 'import()'],
  ['export const a = new WeakRef(b)', 'WeakRef'],
  ['export const a = b.toLocaleString()', 'The default locale'],
  ['export const a = b.toLocaleUpperCase(undefined)', 'The default locale'],
  ['export const a = new Intl.NumberFormat()', 'The default locale'],
  ["export const a = 'a'.localeCompare('b')", 'The default locale'],
  ["console.log('a')", 'console'],
  ['export const a = process.hrtime.bigint()', 'process is the machine'],
  ['export const a = process.env.PORT', 'process.env'],
  ["export * from './b.ts'", 'export *'],
  ["export * as b from './b.ts'", 'export *'],
  ['// a promise: TODO later', 'TODO'],
  ['export const a = `${/* FIXME */ b}`', 'FIXME'],
]

const innocentLines: readonly string[] = [
  '// Date.now, Math.random and setTimeout stand in a comment',
  "export const a = 'Date.now() setTimeout( process.env // TODO'",
  'export const a = `console.log ${b} Math.random()`',
  'export const a = /Date.now()/',
  'export const a = new Date(0)',
  'export const a = clock.setTimeout(b)',
  'export const a = { setTimeout: b, fetch: c }',
  'export interface A { readonly fetch: () => void }',
  "import { createHash, timingSafeEqual } from 'node:crypto'",
  "import { createPublicKey, type KeyObject, verify } from 'node:crypto'",
  "export const a = 'a'.localeCompare('b', 'en')",
  "export const a = new Intl.NumberFormat('en')",
  "export { b } from './b.ts'",
]

describe('the bans', () => {
  test.each(bannedLines)('find %s', (line, rule) => {
    const findings = findBanned([{ path: 'src/core/planted/a.ts', text: `\n${line}\n` }])
    expect(findings.map((finding) => finding.rule.startsWith(rule))).toEqual([true])
    expect(findings.map(formatFinding)[0]).toMatch(/^src\/core\/planted\/a\.ts:2 .+ Fix: .+/)
  })

  test.each(innocentLines)('leave alone %s', (text) => {
    expect(findBanned([{ path: 'src/engine/a.ts', text }])).toEqual([])
  })

  test('hold for core and engine, the environment for all shipped code, the rest everywhere', () => {
    const text = "console.log(Date.now(), process.env.A)\nexport * from './b.ts'\n"
    const rulesAt = (path: string): readonly (string | undefined)[] =>
      findBanned([{ path, text }]).map(({ rule }) => rule.split(' ')[0])
    expect(rulesAt('src/engine/a.ts')).toEqual(['console', 'Date.now', 'process.env', 'export'])
    expect(rulesAt('src/http/a.ts')).toEqual(['process.env', 'export'])
    expect(rulesAt('src/config/a.ts')).toEqual(['export'])
    expect(rulesAt('src/core/a.test.ts')).toEqual(['export'])
    expect(rulesAt('scripts/a.mjs')).toEqual(['export'])
  })
})

describe('outbound calls', () => {
  const findingsAt = (path: string, text: string) => findBanned([{ path, text }]).map(({ rule }) => rule)

  test.each([
    "export const a = fetch('https://example.com')",
    "export const a = globalThis.fetch('https://example.com')",
    "export const a = new WebSocket('wss://example.com')",
    "import { Agent } from 'undici'",
    "import { request } from 'node:https'",
    "import { createServer, request as createClient } from 'node:http'",
    "import * as net from 'node:net'",
    "import net from 'net'",
    "import { connect } from 'node:tls'",
    "import { lookup } from 'node:dns/promises'",
    "import { createSocket } from 'node:dgram'",
  ])('[OG11] %s dials past the guard', (text) => {
    for (const path of ['src/http/a.ts', 'src/adapters/vault-b/a.ts', 'src/app.ts', 'src/sdk/a.ts'])
      expect(findingsAt(path, text)).toEqual([expect.stringMatching(/^Only src\/adapters\/http-undici/)])
    for (const path of [
      'src/adapters/http-undici/a.ts',
      'src/adapters/vault-hashicorp/a.ts',
      'src/cli/commands/a.ts',
      'src/http/a.test.ts',
      'sim/a.ts',
    ])
      expect(findingsAt(path, text)).toEqual([])
  })

  test.each([
    "import type { Socket } from 'node:net'",
    "import { createServer, type Server } from 'node:http'",
    'export const a = { fetch: b }',
    'export const a = deps.fetch(b)',
  ])('[OG11] %s makes no call', (text) => {
    expect(findingsAt('src/http/a.ts', text)).toEqual([])
  })
})

describe('the rule ids', () => {
  const doc = (text: string): TextFile => ({ path: 'docs/spec/delivery.md', text })
  const suite = (text: string): TextFile => ({ path: 'src/core/delivery/delivery.test.ts', text })
  const loose = (docText: string, testText: string): readonly string[] =>
    findLooseRules([doc(docText)], [suite(testText)]).map(formatFinding)

  test('are satisfied by names, tables and suites', () => {
    const rules = '# Delivery\n\n**D1** grows.\n- **D2** ends.\n**D3** waits.\nSee **D9** later.\n'
    const names = "describe('[D1] x', f)\nit.each([['[D2] y', 1]])('%s', f)\ntest(`[D3] ${z}`, f)"
    expect(loose(rules, names)).toEqual([])
  })

  test('must exist, be tested and be unique', () => {
    expect(loose('**D1** a\n**D2** b\n**D2** c', "test('[D1] x', f)\ntest('[D7] y', f)")).toEqual([
      expect.stringMatching(/^docs\/spec\/delivery\.md:3 D2 is already a rule at .+:2\. Fix: /),
      expect.stringMatching(/^src\/core\/delivery\/delivery\.test\.ts:2 The test quotes D7.+ Fix: /),
      expect.stringMatching(/^docs\/spec\/delivery\.md:2 No test quotes D2\. Fix: /),
    ])
  })

  test('are free while no document defines any', () => {
    expect(loose('# Nothing yet', "test('[D1] x', f)")).toEqual([])
  })
})

describe('the import rules', () => {
  let folder: string | undefined

  afterEach(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
    folder = undefined
  })

  /** A repository of empty modules, each with the given imports; `type` before one imports only a type. */
  function plant(imports: Readonly<Record<string, readonly string[]>>): string {
    const planted = mkdtempSync(join(tmpdir(), 'millrace-tidy-'))
    folder = planted
    const write = (path: string, text: string): void => {
      mkdirSync(dirname(join(planted, path)), { recursive: true })
      writeFileSync(join(planted, path), text)
    }
    write(
      'package.json',
      '{ "dependencies": { "pg": "1.0.0", "re2js": "1.0.0" }, "devDependencies": { "oracle": "1.0.0" } }',
    )
    for (const name of ['pg', 're2js', 'oracle', 'stray']) {
      write(
        `node_modules/${name}/package.json`,
        `{ "name": "${name}", "version": "1.0.0", "main": "index.js" }`,
      )
      write(`node_modules/${name}/index.js`, '')
    }
    for (const [path, targets] of Object.entries(imports)) {
      const lines = targets.map((target) =>
        target.startsWith('type ') ? `import type { Name } from '${target.slice(5)}'` : `import '${target}'`,
      )
      write(path, `${lines.join('\n')}\nexport type Name = string\n`)
    }
    return planted
  }

  test('find a violation of each kind', async () => {
    const planted = plant({
      'src/core/foundation/time/index.ts': ['node:crypto', 're2js', './inner.ts'],
      'src/core/foundation/time/inner.ts': [],
      'src/core/queue/work/index.ts': [
        '../../foundation/time/inner.ts',
        '../lane/index.ts',
        '../lane/inner.ts',
        '../../../engine/worker.ts',
        'node:fs',
        'pg',
      ],
      'src/core/queue/work/a.ts': ['./b.ts', 'type ../../../ports/store.ts'],
      'src/core/queue/lane/index.ts': [],
      'src/core/queue/lane/inner.ts': ['../../webhooks/signing/index.ts'],
      'src/core/webhooks/signing/index.ts': [],
      'src/core/routing/route.ts': ['../queue/lane/inner.ts'],
      'src/core/elsewhere/a.ts': ['../foundation/time/index.ts'],
      'src/core/queue/work/b.ts': ['./a.ts', './missing.ts'],
      'src/ports/store.ts': ['../core/foundation/time/index.ts', '../engine/worker.ts'],
      'src/ports/store.conformance.ts': ['../engine/worker.ts', 'pg'],
      'src/engine/worker.ts': ['../core/foundation/time/inner.ts', 'node:timers', 'pg'],
      'src/engine/worker.test.ts': [
        '../adapters/store-a/index.ts',
        '../core/foundation/time/inner.ts',
        'oracle',
      ],
      'src/engine/config.ts': ['./queue/index.ts'],
      'src/engine/commit/commits.ts': ['../queue/index.ts', '../config.ts'],
      'src/engine/commit/index.ts': [],
      'src/engine/queue/index.ts': [],
      'src/engine/queue/claims.ts': ['../commit/index.ts', '../commit/commits.ts'],
      'src/engine/effects/call.ts': ['./agents/index.ts', './agents/inner.ts'],
      'src/engine/effects/agents/index.ts': [],
      'src/engine/effects/agents/inner.ts': [],
      'src/engine/effects/batches/index.ts': ['../agents/index.ts', '../agents/inner.ts'],
      'src/engine/elsewhere/a.ts': ['../commit/index.ts'],
      'src/adapters/store-a/index.ts': ['pg', 'node:fs', '../store-b/index.ts', '../../engine/worker.ts'],
      'src/adapters/store-b/index.ts': ['stray', '../../ports/store.conformance.ts'],
      'src/connectors/github/index.ts': ['../../engine/worker.ts'],
      'src/connectors/github/manifest.ts': [],
      'src/definitions/check.ts': ['../connectors/github/manifest.ts', '../connectors/github/index.ts'],
      'src/http/server.ts': ['../engine/worker.ts', '../adapters/store-a/index.ts'],
      'src/cli/main.ts': ['../app.ts', '../telemetry/log.ts'],
      'src/config/schema.ts': ['../engine/worker.ts'],
      'src/telemetry/log.ts': ['../engine/worker.ts', 'oracle'],
      'src/sdk/index.ts': ['../core/foundation/time/index.ts', '../engine/worker.ts'],
      'src/sdk/define.ts': ['type ../core/foundation/time/index.ts'],
      'src/sdk/client/index.ts': ['./stream.ts', '../define.ts', 'node:fs', 'pg'],
      'src/sdk/client/stream.ts': [],
      'src/app.ts': ['./adapters/store-a/index.ts', './cli/exit.ts'],
      'src/cli/exit.ts': [],
      'examples/first.ts': ['../src/engine/worker.ts'],
      'sim/main.ts': ['../src/core/foundation/time/inner.ts', '../src/adapters/store-a/index.ts'],
    })
    const { summary } = await checkImports(planted)
    expect(summary.ruleSetUsed.forbidden.filter(({ comment }) => !comment.includes('Fix: '))).toEqual([])
    expect(summary.violations.map(({ from, to, rule }) => `${rule.name}: ${from} -> ${to}`).sort()).toEqual([
      'adapter-to-adapter: src/adapters/store-a/index.ts -> src/adapters/store-b/index.ts',
      'adapters-imports: src/adapters/store-a/index.ts -> src/engine/worker.ts',
      'app-imports: src/app.ts -> src/cli/exit.ts',
      'cli-imports: src/cli/main.ts -> src/telemetry/log.ts',
      'client-alone: src/sdk/client/index.ts -> fs',
      'client-alone: src/sdk/client/index.ts -> node_modules/pg/index.js',
      'client-alone: src/sdk/client/index.ts -> src/sdk/define.ts',
      'config-imports: src/config/schema.ts -> src/engine/worker.ts',
      'connectors-imports: src/connectors/github/index.ts -> src/engine/worker.ts',
      'core-groups-known: src/core/elsewhere/a.ts -> src/core/foundation/time/index.ts',
      'core-imports: src/core/queue/work/a.ts -> src/ports/store.ts',
      'core-imports: src/core/queue/work/index.ts -> src/engine/worker.ts',
      'core-node: src/core/queue/work/index.ts -> fs',
      'core-packages: src/core/queue/work/index.ts -> node_modules/pg/index.js',
      'core-queue-imports: src/core/queue/lane/inner.ts -> src/core/webhooks/signing/index.ts',
      'definitions-imports: src/definitions/check.ts -> src/connectors/github/index.ts',
      'engine-commit-imports: src/engine/commit/commits.ts -> src/engine/queue/index.ts',
      'engine-config-imports: src/engine/config.ts -> src/engine/queue/index.ts',
      'engine-folders-known: src/engine/elsewhere/a.ts -> src/engine/commit/index.ts',
      'engine-node: src/engine/worker.ts -> timers',
      'engine-packages: src/engine/worker.ts -> node_modules/pg/index.js',
      'folder-surface-between-folders: src/core/queue/work/index.ts -> src/core/foundation/time/inner.ts',
      'folder-surface-between-folders: src/core/queue/work/index.ts -> src/core/queue/lane/inner.ts',
      'folder-surface-between-folders: src/engine/queue/claims.ts -> src/engine/commit/commits.ts',
      'folder-surface-between-groups: src/core/routing/route.ts -> src/core/queue/lane/inner.ts',
      'folder-surface-between-inner-folders: src/engine/effects/batches/index.ts -> src/engine/effects/agents/inner.ts',
      'folder-surface-inside: src/engine/effects/call.ts -> src/engine/effects/agents/inner.ts',
      'folder-surface: src/engine/worker.ts -> src/core/foundation/time/inner.ts',
      'http-imports: src/http/server.ts -> src/adapters/store-a/index.ts',
      'no-cycles: src/core/queue/work/a.ts -> src/core/queue/work/b.ts',
      'no-development-packages: src/telemetry/log.ts -> node_modules/oracle/index.js',
      'no-test-code: src/adapters/store-b/index.ts -> src/ports/store.conformance.ts',
      'no-undeclared-packages: src/adapters/store-b/index.ts -> node_modules/stray/index.js',
      'no-unresolved: src/core/queue/work/b.ts -> ./missing.ts',
      'ports-imports: src/ports/store.ts -> src/engine/worker.ts',
      'public-exports-only: examples/first.ts -> src/engine/worker.ts',
      'sdk-core-types-only: src/sdk/index.ts -> src/core/foundation/time/index.ts',
      'sdk-imports: src/sdk/index.ts -> src/engine/worker.ts',
      'telemetry-imports: src/telemetry/log.ts -> src/engine/worker.ts',
    ])
  })
})
