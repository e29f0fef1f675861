// Checks documents against the code: examples compile, links resolve, and a file, a setting or a code word in backticks
// exists. Every failure names the document and the line. test/support/docs.ts says how examples are marked; those that
// are to be typed are run by test/docs-run.slow.test.ts.

import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { makeControlLineEncoder } from '../src/adapters/log-pino/control-line.ts'
import { runFlowTests } from '../src/app/testing/index.ts'
import { makeTestCli } from '../src/cli/cli.fixture.ts'
import { makeProgram } from '../src/cli/program.ts'
import { CLIENT_SETTINGS, SECRET_NAMES, SETTINGS } from '../src/config/index.ts'
import { parseJson } from '../src/core/foundation/json/index.ts'
import { formatFindings } from '../src/definitions/index.ts'
import { compileDefinitions } from '../src/definitions/language.ts'
import type { ControlLine } from '../src/ports/log.ts'
import { type Block, type Doc, docs, listFiles, parseDoc, read, root } from './support/docs.ts'

/** All code that users run, in one text. */
const shipped = listFiles('src', '.ts')
  .filter((path) => !/\.(test|conformance|fixture)\.ts$/.test(path))
  .map(read)
  .join('\n')

/** A block that tests the definitions before it. */
const isTest = (rest: string) => rest.endsWith('.test.yaml')

/** The text in backticks, with its position. */
function quotes(doc: Doc): readonly { readonly text: string; readonly place: string }[] {
  return doc.prose.flatMap((line, index) =>
    [...line.matchAll(/`([^`]+)`/g)].map((match) => ({
      text: String(match[1]),
      place: `${doc.path}:${index + 1}`,
    })),
  )
}

function blocksOf(
  language: string,
  isWanted = (rest: string) => rest !== 'wrong' && !isTest(rest),
): readonly (Block & { readonly doc: Doc; readonly name: string })[] {
  return docs.flatMap((doc) =>
    doc.blocks
      .filter((block) => block.language === language && isWanted(block.rest))
      .map((block) => ({ ...block, doc, name: `${doc.path}:${block.line}` })),
  )
}

function check(text: string) {
  const files = [{ path: 'orders.yaml', text }]
  const compiled = compileDefinitions(files, { functions: () => `sha256:${'0'.repeat(64)}` })
  return { ...compiled, shown: formatFindings(compiled.findings, files) }
}

describe('examples', () => {
  test.each(blocksOf('yaml'))('$name can be deployed', ({ text }) => {
    const { documents, findings, shown } = check(text)
    expect(findings, shown).toEqual([])
    expect(documents.length).toBeGreaterThan(0)
  })

  test.each(blocksOf('yaml', (rest) => rest === 'wrong'))(
    '$name is refused as the document shows',
    ({ text, doc, line }) => {
      const next = doc.blocks.find((block) => block.line > line)
      expect(next?.language).toBe('text')
      expect(next?.text.trim()).toBe(check(text).shown.trim())
    },
  )

  test.each(blocksOf('yaml', isTest))('$name passes against the definitions before it', async (block) => {
    const before = block.doc.blocks.filter(({ line, language, rest }) => {
      return language === 'yaml' && rest.endsWith('.yaml') && !isTest(rest) && line < block.line
    })
    const folder = mkdtempSync(join(tmpdir(), 'millrace-docs-'))
    try {
      for (const { rest, text } of [...before, block]) writeFileSync(join(folder, basename(rest)), text)
      const { ok, findings, tests } = await runFlowTests({ folder })
      expect({ ok, findings, failed: tests.filter((one) => !one.ok) }).toEqual({
        ok: true,
        findings: [],
        failed: [],
      })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test.each(blocksOf('json'))('$name is JSON', ({ text }) => {
    expect(() => parseJson(text)).not.toThrow()
  })

  test('exist, and have known marks', () => {
    expect(blocksOf('yaml').length).toBeGreaterThan(5)
    const known = ['yaml', 'json', 'sh', 'text', 'markdown', 'ts', 'console']
    const unknown = docs.flatMap((doc) =>
      doc.blocks
        .filter(({ language, rest }) => !known.includes(language) || (rest !== '' && !isMark(language, rest)))
        .map(({ language, rest, line }) => `${doc.path}:${line} ${language} ${rest}`),
    )
    expect(unknown).toEqual([])
  })
})

/** A file that the reader writes, a terminal that stays open, or an example of mistakes. */
function isMark(language: string, rest: string): boolean {
  if (language === 'console') return /^[a-z]+$/.test(rest)
  return rest === 'wrong' ? language === 'yaml' : /^[\w./-]+\.(yaml|ts)$/.test(rest)
}

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
      [...line.matchAll(/\]\(([^)\s]+)\)|\b(?:src|srcset)="([^"]+)"/g)].map((match) => ({
        doc,
        index,
        target: String(match[1] ?? match[2]),
      })),
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

test('README.md links to every document', () => {
  const text = read('README.md')
  const own = docs.map(({ path }) => path).filter((path) => /^docs\/[^/]+\.md$/.test(path))
  expect(own.length).toBeGreaterThan(10)
  expect(own.filter((path) => !text.includes(`](${path})`))).toEqual([])
})

test('every document has one title', () => {
  const counts = docs.map(({ path, prose }) => [path, prose.filter((line) => /^# /.test(line)).length])
  expect(counts.filter(([, count]) => count !== 1)).toEqual([])
})

describe('text in backticks', () => {
  const all = docs.flatMap(quotes)

  test('exists, if it is a file', () => {
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

  test('exists, if it is a setting', () => {
    const known = [...Object.values(SETTINGS), ...Object.values(CLIENT_SETTINGS)]
    const files = SECRET_NAMES.map((name) => `${name}_FILE`)
    // The streams that a node creates on NATS, under the usual prefix.
    const streams = ['MILLRACE_EVENTS', 'MILLRACE_TOKENS']
    const settings = new Set<string>([...known.map(({ env }) => env), ...files, ...streams])
    const named = all.flatMap(({ text, place }) =>
      [...text.matchAll(/\bMILLRACE_\w*[A-Z0-9]\b/g)].map(([name]) => ({ name, place })),
    )
    expect(named.length).toBeGreaterThan(15)
    const unknown = named.filter(({ name }) => !settings.has(name) && !name.startsWith('MILLRACE_TEST_'))
    expect(unknown.map(({ name, place }) => `${place} there is no setting ${name}`)).toEqual([])
  })

  // Error codes, classes, states and reasons: words in snake_case that the code has, or names from examples.
  test('exists, if it is an error code or another word of the code', () => {
    const examples = [
      ...blocksOf('yaml').map(({ text }) => text),
      ...['.yaml', '.ts'].flatMap((ending) => listFiles('examples', ending)).map(read),
    ]
    const known = new Set([shipped, ...examples].join('\n').match(/[A-Za-z0-9]+(_[A-Za-z0-9]+)+/g))
    const words = all.filter(({ text }) => /^[a-z0-9]+(_[a-z0-9]+)+$/.test(text))
    expect(words.length).toBeGreaterThan(20)
    const unknown = words.filter(({ text }) => !known.has(text))
    expect(unknown.map(({ place, text }) => `${place} the code has no ${text}`)).toEqual([])
  })
})

test('shown commands exist, with their options', () => {
  const program = makeProgram(makeTestCli().cli)
  const typed = docs.flatMap((doc) => [
    ...quotes(doc),
    ...doc.blocks
      .filter(({ language }) => language === 'sh' || language === 'console')
      .flatMap(({ text, line }) =>
        text.split('\n').map((one) => ({ text: one, place: `${doc.path}:${line}` })),
      ),
  ])
  const lines = typed.flatMap(({ text, place }) => {
    const command = /(?:^|[|$] *)(?:npx )?millrace ([a-z-].*)$/.exec(text.trim())?.[1]
    return command === undefined ? [] : [{ command, place }]
  })
  expect(lines.length).toBeGreaterThan(30)
  const faults = lines.flatMap(({ command, place }) => {
    const fault = commandFault(program, command.split(/\s+/))
    return fault === null ? [] : [`${place} millrace ${command}: ${fault}`]
  })
  expect(faults).toEqual([])
})

function commandFault(command: Command, words: readonly string[]): string | null {
  const [word = ''] = words
  if (word === 'help') return null
  const below = command.commands.find((one) => one.name() === word)
  if (below !== undefined) return commandFault(below, words.slice(1))
  if (command.parent === null && !word.startsWith('-')) return `there is no command ${word}`
  const known = [...command.options, ...(command.parent?.options ?? [])]
  const names = ['--help', ...known.flatMap(({ long, short }) => [long, short])]
  const unknown = words.find((one) => /^--?[a-z]/.test(one) && !names.includes(one))
  return unknown === undefined ? null : `it has no option ${unknown}`
}

describe('docs/logs.md', () => {
  const rows = parseDoc('docs/logs.md').prose.filter(
    (line) => line.startsWith('| `') || /^\| [a-z-]+ \| `/.test(line),
  )
  const cell = (row: string, index: number) =>
    [...String(row.split('|')[index + 1]).matchAll(/`([^`]+)`/g)].map((match) => String(match[1]))

  test('lists the fields of a control line, in order', () => {
    const sample = JSON.parse(String(blocksOf('json').find(({ doc }) => doc.path === 'docs/logs.md')?.text))
    const fields = rows.flatMap((row) => cell(row, 0)).filter((name) => name in sample)
    const page = Buffer.alloc(4_096)
    const end = makeControlLineEncoder('DEV', () => 0).encode(page, 0, sample as ControlLine)
    const written = Object.keys(JSON.parse(page.toString('utf8', 0, end)))
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
