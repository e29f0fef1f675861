// The TypeScript of the documents is what users write: every block compiles as its own file, as the examples do, and
// definitions among them are bundled and give no finding.

import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { loadTestFolder, makeTestFolder } from '../src/adapters/code-bundle/folder.fixture.ts'
import { formatFindings } from '../src/definitions/index.ts'
import { docs, listFiles, root } from './support/docs.ts'

const blocks = docs.flatMap(({ path, blocks: own }) =>
  own
    .filter(({ language }) => language === 'ts')
    .map(({ text, line }) => ({ text, name: `${path}:${line}`, file: join(root, `${path}-${line}.ts`) })),
)

/** As in a user's project: strict, and `millrace` is a package. */
function typeFaults(): readonly string[] {
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    allowImportingTsExtensions: true,
    types: ['node'],
    paths: {
      millrace: [join(root, 'src/sdk/index.ts')],
      'millrace/client': [join(root, 'src/sdk/client/index.ts')],
    },
  }
  const texts = new Map(blocks.map(({ file, text }) => [file, text]))
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile } = host
  host.fileExists = (file) => texts.has(file) || fileExists(file)
  host.readFile = (file) => texts.get(file) ?? readFile(file)
  const examples = listFiles('examples', '.ts').map((path) => join(root, path))
  const program = ts.createProgram([...texts.keys(), ...examples], options, host)
  return ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const line = file?.getLineAndCharacterOfPosition(start).line ?? 0
    const block = blocks.find((one) => one.file === file?.fileName)
    return `${block?.name ?? file?.fileName} line ${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
  })
}

describe('TypeScript of the documents and examples', () => {
  test('passes the compiler', () => {
    expect(blocks.length).toBeGreaterThan(2)
    expect(typeFaults()).toEqual([])
  })

  test.each(blocks.filter(({ text }) => text.includes("from 'millrace'")))(
    '$name gives definitions without a finding',
    async ({ text }) => {
      using folder = makeTestFolder({ 'a.ts': text })
      folder.link('zod')
      const { definitions, findings, files } = await loadTestFolder(folder)
      expect(findings, formatFindings(findings, files)).toEqual([])
      expect(definitions.length).toBeGreaterThan(0)
    },
  )
})
