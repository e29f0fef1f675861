// The hashes of all documents in the examples, the benchmarks and the documentation. A deployed document is known by its
// hash: a change of the language must not change the hash of a document that did not change. `-u` records new documents.

import { expect, test } from 'vitest'
import { hashDocument } from '../src/core/definitions/documents/index.ts'
import type { DefinitionFile } from '../src/definitions/index.ts'
import { compileDefinitions } from '../src/definitions/language.ts'
import { docs, listFiles, read } from './support/docs.ts'

const FOLDERS = ['examples', 'bench/flows', 'src/definitions']

/** Files of one folder refer to each other, as do the blocks of one page. */
function bundles(): ReadonlyMap<string, readonly DefinitionFile[]> {
  const found = new Map<string, DefinitionFile[]>()
  const add = (bundle: string, file: DefinitionFile) =>
    found.set(bundle, [...(found.get(bundle) ?? []), file])
  for (const path of FOLDERS.flatMap((folder) => listFiles(folder, '.yaml')))
    add(path.slice(0, path.lastIndexOf('/')), { path, text: read(path) })
  for (const { path, blocks } of docs) {
    for (const { language, rest, text, line } of blocks) {
      if (language === 'yaml' && rest !== 'wrong' && /^kind: /m.test(text))
        add(path, { path: `${path}:${line}`, text })
    }
  }
  return found
}

/** Pages show one name several times, in steps: each of its documents counts. */
function hashesOf(files: readonly DefinitionFile[]): readonly string[] {
  const deps = { functions: () => 'sha256:0' }
  const beside = compileDefinitions(files, deps).documents
  return files.flatMap((file) =>
    compileDefinitions([file], { ...deps, deployedDocuments: beside }).documents.map(
      (document) => `${document.kind}/${document.name} ${hashDocument(document)}`,
    ),
  )
}

test('documents that did not change keep their hashes', async () => {
  const recorded: Record<string, readonly string[]> = {}
  for (const [bundle, files] of bundles()) recorded[bundle] = hashesOf(files)
  expect(Object.values(recorded).flat().length).toBeGreaterThan(100)
  await expect(`${JSON.stringify(recorded, null, 2)}\n`).toMatchFileSnapshot('definition-hashes.fixture.json')
})
