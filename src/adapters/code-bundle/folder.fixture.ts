// Folders of definitions for tests.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadFolder } from '../../definitions/language.ts'
import * as sdk from '../../sdk/index.ts'
import { type BundleCode, makeBundleCode } from './index.ts'

export interface TestFolder extends Disposable {
  readonly path: string
  readonly copies: string
  write(files: Readonly<Record<string, string>>): void
  remove(path: string): void
  /** Links a package of this repository into the folder. */
  link(name: string): void
}

export function makeTestFolder(files: Readonly<Record<string, string>> = {}): TestFolder {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-code-test-')))
  const path = join(root, 'flows')
  mkdirSync(path)
  const folder: TestFolder = {
    path,
    copies: join(root, 'data', 'code'),
    write(written) {
      for (const [name, text] of Object.entries(written)) {
        mkdirSync(dirname(join(path, name)), { recursive: true })
        writeFileSync(join(path, name), text)
      }
    },
    remove: (name) => rmSync(join(path, name), { recursive: true }),
    link(name) {
      mkdirSync(join(path, 'node_modules'), { recursive: true })
      const target = fileURLToPath(new URL(`../../../node_modules/${name}`, import.meta.url))
      symlinkSync(target, join(path, 'node_modules', name))
    },
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  }
  folder.write(files)
  return folder
}

export function makeTestCode(folder: TestFolder): BundleCode {
  return makeBundleCode({ sdk, copies: folder.copies })
}

/** Reads and checks a folder, as the start does. */
export function loadTestFolder(folder: TestFolder, code: BundleCode = makeTestCode(folder)) {
  return loadFolder(folder.path, {
    functions: () => null,
    readCode: (path, files) => code.read(path, files),
  })
}
