// Documents are held to what they say: examples compile, links lead somewhere, and what stands in backticks as a file, a
// setting or a word of the code is one. Every failure names the document and the line.
//
// Examples are marked by the words behind the fence: `yaml` is a whole file of definitions, `yaml wrong` one with errors
// whose findings follow as `text`, `json` is JSON.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { makeControlLineWriter } from '../src/adapters/log-pino/control-line.ts'
import { CLIENT_SETTINGS, SETTINGS } from '../src/config/index.ts'
import { parseJson } from '../src/core/json/index.ts'
import { signRequest } from '../src/core/source/index.ts'
import { compileDefinitions, formatFindings } from '../src/definitions/index.ts'
import type { ControlLine } from '../src/ports/log.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

function listFiles(folder: string, ending: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`
      if (entry.isDirectory()) return listFiles(path, ending)
      return extname(entry.name) === ending ? [path] : []
    })
    .sort()
}

interface Block {
  readonly info: string
  readonly text: string
  readonly line: number
}

interface Doc {
  readonly path: string
  readonly blocks: readonly Block[]
  /** The lines outside of blocks; those inside are empty, so that numbers stay. */
  readonly prose: readonly string[]
}

function parseDoc(path: string): Doc {
  const blocks: Block[] = []
  const prose: string[] = []
  let open: { info: string; lines: string[]; line: number } | null = null
  for (const [index, line] of read(path).split('\n').entries()) {
    const fence = /^\s*```(.*)$/.exec(line)
    if (fence === null) open?.lines.push(line)
    else if (open === null) open = { info: String(fence[1]).trim(), lines: [], line: index + 1 }
    else {
      blocks.push({ info: open.info, text: `${open.lines.join('\n')}\n`, line: open.line })
      open = null
    }
    prose.push(open !== null || fence !== null ? '' : line)
  }
  expect(open, `${path} ends inside of a code block`).toBeNull()
  return { path, blocks, prose }
}

const docs = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', ...listFiles('docs', '.md')].map(parseDoc)

/** All code that users run, in one text. */
const shipped = listFiles('src', '.ts')
  .filter((path) => !/\.(test|conformance|fixture)\.ts$/.test(path))
  .map(read)
  .join('\n')

/** What stands in backticks, with its place. */
function quotes(doc: Doc): readonly { readonly text: string; readonly place: string }[] {
  return doc.prose.flatMap((line, index) =>
    [...line.matchAll(/`([^`]+)`/g)].map((match) => ({
      text: String(match[1]),
      place: `${doc.path}:${index + 1}`,
    })),
  )
}

function blocksOf(info: string): readonly (Block & { readonly doc: Doc; readonly name: string })[] {
  return docs.flatMap((doc) =>
    doc.blocks
      .filter((block) => block.info === info)
      .map((block) => ({ ...block, doc, name: `${doc.path}:${block.line}` })),
  )
}

function check(text: string) {
  const files = [{ path: 'orders.yaml', text }]
  const compiled = compileDefinitions(files, { functions: () => `sha256:${'0'.repeat(64)}` })
  return { ...compiled, shown: formatFindings(compiled.findings, files) }
}

describe('examples', () => {
  test.each(blocksOf('yaml'))('$name can be put in force', ({ text }) => {
    const { documents, findings, shown } = check(text)
    expect(findings, shown).toEqual([])
    expect(documents.length).toBeGreaterThan(0)
  })

  test.each(blocksOf('yaml wrong'))('$name is refused as the document shows', ({ text, doc, line }) => {
    const next = doc.blocks.find((block) => block.line > line)
    expect(next?.info).toBe('text')
    expect(next?.text.trim()).toBe(check(text).shown.trim())
  })

  test.each(blocksOf('json'))('$name is JSON', ({ text }) => {
    expect(() => parseJson(text)).not.toThrow()
  })

  test('README.md shows a request whose signature is right', () => {
    const line = blocksOf('sh').find(({ text }) => text.includes('x-hub-signature-256'))?.text ?? ''
    const body = new TextEncoder().encode(/-d '(.+)'/.exec(line)?.[1])
    const signed = signRequest({ scheme: 'github', secret: [] }, { body, secret: 'dev-secret' })
    expect(line).toContain(`x-hub-signature-256: ${signed['x-hub-signature-256']}`)
  })

  test('are there, and marked by words that are known', () => {
    expect(blocksOf('yaml').length).toBeGreaterThan(5)
    const known = ['yaml', 'yaml wrong', 'json', 'sh', 'text', 'markdown', 'ts']
    const unknown = docs.flatMap((doc) =>
      doc.blocks
        .filter(({ info }) => !known.includes(info))
        .map(({ info, line }) => `${doc.path}:${line} ${info}`),
    )
    expect(unknown).toEqual([])
  })
})

/** As GitHub names the anchors of headings. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
}

function linkFault(doc: Doc, target: string): string | null {
  const [file = '', anchor] = target.split('#')
  const path = file === '' ? doc.path : join(dirname(doc.path), file).replaceAll('\\', '/')
  if (!existsSync(join(root, path))) return `${path} is not there`
  if (anchor === undefined || !path.endsWith('.md')) return null
  const headings = parseDoc(path).prose.filter((line) => /^#+ /.test(line))
  const anchors = headings.map((line) => anchorOf(line.replace(/^#+ /, '')))
  return anchors.includes(anchor) ? null : `${path} has no heading #${anchor}`
}

test('links between documents lead to files and headings that exist', () => {
  const links = docs.flatMap((doc) =>
    doc.prose.flatMap((line, index) =>
      [...line.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => ({ doc, index, target: String(match[1]) })),
    ),
  )
  const inside = links.filter(({ target }) => !/^[a-z]+:/.test(target))
  expect(inside.length).toBeGreaterThan(20)
  const broken = inside.flatMap(({ doc, index, target }) => {
    const fault = linkFault(doc, target)
    return fault === null ? [] : [`${doc.path}:${index + 1} ${fault}`]
  })
  expect(broken).toEqual([])
})

test('every document has one title', () => {
  const counts = docs.map(({ path, prose }) => [path, prose.filter((line) => /^# /.test(line)).length])
  expect(counts.filter(([, count]) => count !== 1)).toEqual([])
})

describe('what stands in backticks', () => {
  const all = docs.flatMap(quotes)

  test('exists, where it is a file', () => {
    const paths = all.filter(({ text }) =>
      /^(src|sim|bench|docs|test|scripts|examples)(\/[\w.-]+)*$/.test(text),
    )
    expect(paths.length).toBeGreaterThan(50)
    const gone = paths.filter(({ text }) => {
      const path = resolve(root, text)
      // `src/connectors` and `src/telemetry` are layers with rules of their own before they have files.
      const isLayer = /^src\/[a-z]+$/.test(text)
      return !isLayer && statSync(path, { throwIfNoEntry: false }) === undefined
    })
    expect(gone.map(({ place, text }) => `${place} ${text} is not there`)).toEqual([])
  })

  test('exists, where it is a setting', () => {
    const known = [...Object.values(SETTINGS), ...Object.values(CLIENT_SETTINGS)]
    const settings = new Set<string>(known.map(({ env }) => env))
    const named = all.flatMap(({ text, place }) =>
      [...text.matchAll(/\bMILLRACE_\w*[A-Z0-9]\b/g)].map(([name]) => ({ name, place })),
    )
    expect(named.length).toBeGreaterThan(15)
    const unknown = named.filter(({ name }) => !settings.has(name) && !name.startsWith('MILLRACE_TEST_'))
    expect(unknown.map(({ name, place }) => `${place} there is no setting ${name}`)).toEqual([])
  })

  // Error codes, classes, states and reasons: words in snake_case that the code has, or names from examples.
  test('exists, where it is an error code or another word of the code', () => {
    const examples = [
      ...blocksOf('yaml').map(({ text }) => text),
      ...listFiles('examples', '.yaml').map(read),
    ]
    const known = new Set([shipped, ...examples].join('\n').match(/[A-Za-z0-9]+(_[A-Za-z0-9]+)+/g))
    const words = all.filter(({ text }) => /^[a-z0-9]+(_[a-z0-9]+)+$/.test(text))
    expect(words.length).toBeGreaterThan(20)
    const unknown = words.filter(({ text }) => !known.has(text))
    expect(unknown.map(({ place, text }) => `${place} the code has no ${text}`)).toEqual([])
  })
})

describe('docs/logs.md', () => {
  const rows = parseDoc('docs/logs.md').prose.filter(
    (line) => line.startsWith('| `') || /^\| [a-z-]+ \| `/.test(line),
  )
  const cell = (row: string, index: number) =>
    [...String(row.split('|')[index + 1]).matchAll(/`([^`]+)`/g)].map((match) => String(match[1]))

  test('lists the fields of a control line, in their order', () => {
    const sample = JSON.parse(String(blocksOf('json').find(({ doc }) => doc.path === 'docs/logs.md')?.text))
    const fields = rows.flatMap((row) => cell(row, 0)).filter((name) => name in sample)
    const written = Object.keys(JSON.parse(makeControlLineWriter('DEV').write(sample as ControlLine, 0)))
    expect(fields).toEqual(written)
    expect(Object.keys(sample)).toEqual(written)
  })

  test('names actions and messages that the code writes', () => {
    const actions = rows.flatMap((row) => cell(row, 1)).filter((name) => /^[A-Z_]+$/.test(name))
    const messages = rows.flatMap((row) => cell(row, 0)).filter((name) => name.includes('.'))
    expect(actions.length).toBeGreaterThan(10)
    expect(messages.length).toBeGreaterThan(10)
    expect([...actions, ...messages].filter((name) => !shipped.includes(`'${name}'`))).toEqual([])
    const written = new Set(shipped.match(/(?<=log\.(?:info|warn|error)\(')[a-z.-]+/g))
    expect([...written].filter((name) => !messages.includes(name))).toEqual([])
  })
})
