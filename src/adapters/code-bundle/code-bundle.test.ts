import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { codeConformance } from '../../ports/code.conformance.ts'
import type { FunctionContext } from '../../ports/code.ts'
import * as sdk from '../../sdk/index.ts'
import { makeStaticCode } from '../code-static/index.ts'
import { loadTestFolder, makeTestCode, makeTestFolder, type TestFolder } from './folder.fixture.ts'
import { makeBundleCode } from './index.ts'

const folders: TestFolder[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) folder[Symbol.dispose]()
})

function make(files: Readonly<Record<string, string>> = {}): TestFolder {
  const folder = makeTestFolder(files)
  folders.push(folder)
  return folder
}

type Body = (input: JsonValue, context: FunctionContext) => unknown
const BODIES = Symbol.for('millrace.test.bodies')
const bodies = new Map<string, Body>()
Object.assign(globalThis, { [BODIES]: bodies })

// The suite's functions close over its values, which a file cannot hold: the file has their text, and calls them.
codeConformance('bundle', () => ({
  async make(functions) {
    const lines = Object.entries(functions).map(([name, body]) => {
      const id = JSON.stringify(`${name} ${body}`)
      bodies.set(JSON.parse(id), body)
      return `defineFunction({ name: '${name}', run: (input, ctx) => globalThis[Symbol.for('millrace.test.bodies')].get(${id})(input, ctx) })`
    })
    const sorted = lines.sort().join(',\n')
    const folder = make({
      'all.js': `import { defineFunction } from 'millrace'\nexport const all = [${sorted}]\n`,
    })
    const code = makeTestCode(folder)
    await code.keep((await loadTestFolder(folder, code)).code)
    return code
  },
}))

const FUNCTION = `import { defineFunction } from 'millrace'
export const double = defineFunction({ name: 'double', run: (input: number) => input * 2 })
`

async function hashOf(files: Readonly<Record<string, string>>, name = 'double') {
  const folder = make(files)
  const code = makeTestCode(folder)
  const { code: read, findings } = await loadTestFolder(folder, code)
  expect(findings).toEqual([])
  await code.keep(read)
  return code.find(name, DEFAULT_TENANT)
}

describe('the hash of a bundle', () => {
  test('[FN12] is the same in another folder, beside other files, and inside another project', async () => {
    const hash = await hashOf({ 'a.ts': FUNCTION })
    expect(hash).toMatch(/^[0-9a-f]{64}$/)
    expect(await hashOf({ 'a.ts': FUNCTION })).toBe(hash)
    expect(await hashOf({ 'a.ts': FUNCTION, 'b.ts': FUNCTION.replaceAll('double', 'twice') })).toBe(hash)
    const settings = { compilerOptions: { target: 'ES5', useDefineForClassFields: false, jsx: 'react' } }
    expect(await hashOf({ 'a.ts': FUNCTION, 'tsconfig.json.bak': '', 'lib/tsconfig.json.txt': '' })).toBe(
      hash,
    )
    const folder = make({ 'a.ts': FUNCTION })
    writeFileSync(join(folder.path, '..', 'tsconfig.json'), JSON.stringify(settings))
    const code = makeTestCode(folder)
    await code.keep((await loadTestFolder(folder, code)).code)
    expect(code.find('double', DEFAULT_TENANT)).toBe(hash)
  })

  test('[FN12] changes with the code and its imports, not with types and comments', async () => {
    const helper = { 'lib/helper.ts': 'export const factor = 2\n' }
    const using = FUNCTION.replace('\n', "\nimport { factor } from './lib/helper.ts'\n").replace(
      '* 2',
      '* factor',
    )
    const hash = await hashOf({ 'a.ts': using, ...helper })
    expect(await hashOf({ 'a.ts': using, 'lib/helper.ts': 'export const factor = 3\n' })).not.toBe(hash)
    expect(await hashOf({ 'a.ts': using.replace('* factor', '+ factor'), ...helper })).not.toBe(hash)
    expect(await hashOf({ 'a.ts': `// A comment.\n${using.replace(': number', ': any')}`, ...helper })).toBe(
      hash,
    )
  })

  test('[FN12] the text contains no path, with packages of either kind', async () => {
    const folder = make({
      'node_modules/old/index.js': "const os = require('os')\nmodule.exports = () => os.EOL.length\n",
      'a.ts': `import { defineFunction } from 'millrace'
import { z } from 'zod'
import old from 'old'
export const f = defineFunction({ name: 'f', input: z.object({ id: z.string() }), run: ({ id }) => ({ id, old: old() }) })
`,
    })
    folder.link('zod')
    const code = makeTestCode(folder)
    const loaded = await loadTestFolder(folder, code)
    expect(loaded.findings).toEqual([])
    await code.keep(loaded.code)
    const file = readdirSync(folder.copies).find((name) => name.endsWith('.mjs'))
    const text = readFileSync(join(folder.copies, String(file)), 'utf8').replace(
      /\n\/\/# sourceMappingURL.*/,
      '',
    )
    expect(text).toMatch(/^\/\/ node_modules\/zod\//m)
    expect(text).not.toMatch(/\.\.\/|\/flows|\/work/)
    expect(await run(code, 'f', { id: 'x' })).toEqual({ kind: 'returned', value: { id: 'x', old: 1 } })
  })

  test('[FN12] unused exports of millrace do not count', async () => {
    const folder = make({ 'a.ts': FUNCTION })
    const hashes = await Promise.all(
      [sdk, { ...sdk, another: 1 }].map(async (module) => {
        const code = makeBundleCode({ sdk: module, copies: folder.copies })
        await code.keep((await loadTestFolder(folder, code)).code)
        return code.find('double', DEFAULT_TENANT)
      }),
    )
    expect(hashes[0]).toBe(hashes[1])
  })
})

const context = { key: 'k', attempt: 1, signal: new AbortController().signal } as unknown as FunctionContext

function run(code: ReturnType<typeof makeTestCode>, name: string, input: JsonValue) {
  return code.run(code.find(name, DEFAULT_TENANT) as string, name, input, context)
}

async function open(files: Readonly<Record<string, string>>, packages: readonly string[] = []) {
  const folder = make(files)
  for (const name of packages) folder.link(name)
  const code = makeTestCode(folder)
  const loaded = await loadTestFolder(folder, code)
  if (loaded.findings.length === 0) await code.keep(loaded.code)
  return { folder, code, loaded }
}

describe('running', () => {
  test('[FN13] millrace is the process’s own, also for copies inside a package of that name', async () => {
    const folder = make({ 'a.ts': FUNCTION })
    const manifest = { name: 'millrace', type: 'module', exports: './gone.js' }
    writeFileSync(join(folder.path, '..', 'package.json'), JSON.stringify(manifest))
    expect((await loadTestFolder(folder)).findings).toEqual([])
  })

  test('[FN13] millrace is the process’s own: its errors are recognised', async () => {
    const { code } = await open({
      'a.ts': `import { defineFunction, TerminalError } from 'millrace'
export const f = defineFunction({ name: 'f', run() { throw new TerminalError('gone') } })`,
    })
    expect(await run(code, 'f', null)).toEqual({
      kind: 'failed',
      how: 'terminal',
      afterMs: null,
      message: 'gone',
    })
  })

  test('[FN17] an invalid input is a terminal failure that names the field; a valid one is passed as the schema returns it', async () => {
    const { code } = await open(
      {
        'a.ts': `import { defineFunction } from 'millrace'
import { z } from 'zod'
const input = z.object({ id: z.string().trim(), lines: z.array(z.object({ hours: z.number() })) })
export const f = defineFunction({ name: 'f', input, run: (given) => given })
export const later = defineFunction({ name: 'later', input: input.refine(async ({ id }) => id !== 'no', 'not this one'), run: (given) => given })`,
      },
      ['zod'],
    )
    expect(await run(code, 'f', { id: ' x ', lines: [{ hours: 1 }] })).toEqual({
      kind: 'returned',
      value: { id: 'x', lines: [{ hours: 1 }] },
    })
    const wrong = await run(code, 'f', { id: 1, lines: [{ hours: 'many' }] })
    expect(wrong).toMatchObject({ kind: 'failed', how: 'terminal' })
    expect(wrong).toHaveProperty(
      'message',
      expect.stringMatching(/input\.id: .+; input\.lines\[0\]\.hours: /),
    )
    expect(await run(code, 'later', { id: 'no', lines: [] })).toMatchObject({
      how: 'terminal',
      message: 'the input of later does not fit: input: not this one',
    })
    expect(await run(code, 'later', { id: 'yes', lines: [] })).toMatchObject({ kind: 'returned' })
  })

  test('[FN18] an error is reported with the line of the user’s file, also from an imported file', async () => {
    const { code } = await open({
      'orders/a.ts': `import { defineFunction } from 'millrace'
import { help } from '../lib/help.ts'

interface Order { readonly id: string }
export const here = defineFunction({
  name: 'here',
  async run(order: Order) {
    await null
    throw new Error('broken ' + order.id)
  },
})
export const there = defineFunction({ name: 'there', run: () => help() })`,
      'lib/help.ts': `type Unused = string
export function help(): never {
  throw new Error('helpless')
}`,
    })
    expect(await run(code, 'here', { id: 'o1' })).toMatchObject({
      message: 'broken o1',
      at: 'orders/a.ts:9:11',
    })
    expect(await run(code, 'there', null)).toMatchObject({ message: 'helpless', at: 'lib/help.ts:3:9' })
  })

  test('[FN24] the maps of some fifty bundles are in memory, older ones in the copies', async () => {
    const text = (name: string) => `import { defineFunction } from 'millrace'
export const ${name} = defineFunction({ name: '${name}', run: () => {
  throw new Error('broken')
} })`
    const names = Array.from({ length: 52 }, (_, index) => `f${String(index).padStart(2, '0')}`)
    const { folder, code } = await open(Object.fromEntries(names.map((name) => [`${name}.ts`, text(name)])))
    expect(await run(code, 'f00', null)).toMatchObject({ at: 'f00.ts:3:9' })
    rmSync(join(folder.copies, `${code.find('f01', DEFAULT_TENANT)}.mjs`))
    const untold = await run(code, 'f01', null)
    expect(untold).toMatchObject({ message: 'broken' })
    expect(untold).not.toHaveProperty('at')
    expect(await run(code, 'f51', null)).toMatchObject({ at: 'f51.ts:3:9' })
  })

  test('a changed copy is not run', async () => {
    const { folder, code } = await open({ 'a.ts': FUNCTION })
    const file = readdirSync(folder.copies).find((name) => name.endsWith('.mjs'))
    writeFileSync(join(folder.copies, String(file)), 'throw new Error("changed")')
    const again = makeTestCode(folder)
    const { code: read, findings } = await loadTestFolder(folder, again)
    expect(findings).toEqual([])
    await again.keep(read)
    expect(again.find('double', DEFAULT_TENANT)).toBe(code.find('double', DEFAULT_TENANT))
    expect(readFileSync(join(folder.copies, String(file)), 'utf8')).not.toContain('changed')
    expect(await run(again, 'double', 4)).toEqual({ kind: 'returned', value: 8 })
  })

  test('functions of the folder take precedence over those of the process', async () => {
    const folder = make({ 'a.ts': FUNCTION })
    const builtIn = makeStaticCode({ double: () => 'built in', other: () => 'other' })
    const code = makeBundleCode({ sdk, copies: folder.copies, builtIn })
    expect(await run(code, 'double', 1)).toEqual({ kind: 'returned', value: 'built in' })
    const pinned = code.find('double', DEFAULT_TENANT) as string
    await code.keep((await loadTestFolder(folder, code)).code)
    expect(await run(code, 'double', 1)).toEqual({ kind: 'returned', value: 2 })
    expect(await run(code, 'other', 1)).toEqual({ kind: 'returned', value: 'other' })
    expect(await code.run(pinned, 'double', 1, context)).toEqual({ kind: 'returned', value: 'built in' })
    expect(code.hashes()).toEqual([code.find('double', DEFAULT_TENANT), pinned])
  })

  test('[FN11] a function’s timeout is known while it is deployed', async () => {
    const { code } = await open({ 'a.ts': FUNCTION.replace("'double',", "'double', timeout: '2m',") })
    expect([code.timeoutMs('double', DEFAULT_TENANT), code.timeoutMs('other', DEFAULT_TENANT)]).toEqual([
      120_000,
      null,
    ])
  })

  describe('[FN19] a function belongs to the node’s own tenant', () => {
    const ACME = 'acme' as TenantId
    const opened = (tenants: string) =>
      FUNCTION.replace("'double',", `'double', timeout: '2m', tenants: ${tenants},`)

    test.each([
      ['', false],
      ["tenants: ['other'],", false],
      ["tenants: ['other', 'acme'],", true],
      ["tenants: 'all',", true],
    ])('and is open to others as it declares: %s', async (written, isOpen) => {
      const { code } = await open({
        'a.ts': FUNCTION.replace("'double',", `'double', timeout: '2m', ${written}`),
      })
      const hash = code.find('double', DEFAULT_TENANT) as string
      expect(hash).toMatch(/^[0-9a-f]{64}$/)
      expect(code.find('double', ACME)).toBe(isOpen ? hash : null)
      expect(code.timeoutMs('double', ACME)).toBe(isOpen ? 120_000 : null)
      expect(await code.isOpen(hash, 'double', ACME)).toBe(isOpen)
      expect(await code.isOpen(hash, 'double', DEFAULT_TENANT)).toBe(true)
    })

    test('[FN20] the current declaration counts for older code too; once the function is gone, its code’s own counts', async () => {
      const { code, folder } = await open({ 'a.ts': opened("'all'") })
      const pinned = code.find('double', ACME) as string
      folder.write({ 'a.ts': opened("['other']") })
      await code.keep((await loadTestFolder(folder, code)).code)
      expect(await code.isOpen(pinned, 'double', ACME)).toBe(false)
      folder.write({ 'a.ts': FUNCTION.replace("'double'", "'twice'") })
      await code.keep((await loadTestFolder(folder, code)).code)
      expect(await code.isOpen(pinned, 'double', ACME)).toBe(true)
      expect(await code.isOpen('0'.repeat(64), 'double', ACME)).toBe(false)
    })

    test('[CA16] so do the events it declares to emit, for the check and for the tenants it is open to', async () => {
      const source = 'kind: Source\nname: s\nverify: { scheme: none }\nsubject: s.happened\n'
      const route = (on: string) =>
        `---\nkind: Route\nname: ${on.replace('.', '_')}\non: ${on}\ndo: { function: double }\n`
      const { code, loaded } = await open({
        'a.ts': FUNCTION.replace("'double',", "'double', emits: ['billing.checked'],"),
        'a.yaml': `${source}${route('billing.checked')}${route('billing.chekced')}`,
      })
      await code.keep(loaded.code)
      expect(code.emits(DEFAULT_TENANT)).toEqual([{ name: 'double', subjects: ['billing.checked'] }])
      expect(code.emits(ACME)).toEqual([])
      expect(loaded.findings).toMatchObject([
        { rule: 'CA16', severity: 'warning', suggestion: 'billing.checked' },
      ])
    })

    test('so do the functions of the process', async () => {
      const builtIn = makeStaticCode({ inside: () => 1 })
      const code = makeBundleCode({ sdk, copies: make().copies, builtIn })
      const hash = code.find('inside', DEFAULT_TENANT) as string
      expect(code.find('inside', ACME)).toBeNull()
      expect(await code.isOpen(hash, 'inside', ACME)).toBe(false)
    })
  })

  test('[FN16] reading deploys nothing', async () => {
    const folder = make({ 'a.ts': FUNCTION })
    const code = makeTestCode(folder)
    await loadTestFolder(folder, code)
    expect([code.hashes(), code.find('double', DEFAULT_TENANT)]).toEqual([[], null])
  })
})
