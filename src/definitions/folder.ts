// Reads the folder of definitions from disk: the only I/O here.

import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../core/foundation/errors/index.ts'
import { FILE_BYTES_MAX } from './read.ts'
import type { DefinitionFile } from './source-text.ts'

const FILES_MAX = 1_000
const DEPTH_MAX = 8
const EXTENSION = /\.(?:ya?ml|json)$/i
/** Tests of the definitions beside them, except what an author named so before there were any: documents have a `kind`. */
const TEST = /\.test\.ya?ml$/i
const KIND = /^["']?kind["']?\s*:/m
const CODE = /\.(?:ts|mts|js|mjs)$/i
/** Type declarations, tests and tool settings are not definitions. */
const NOT_CODE = /\.(?:d\.m?ts|(?:test|spec|config)\.(?:ts|mts|js|mjs))$/i

/**
 * All `.yaml`, `.yml` and `.json` files without the tests among them, sorted by path; names that begin with a dot,
 * `node_modules` and links are skipped. Paths are relative to the folder, with `/`. Throws AppError if a bound is exceeded.
 */
export async function readFolder(folder: string): Promise<readonly DefinitionFile[]> {
  return (await readFiles(folder, (name) => EXTENSION.test(name))).filter((file) => !isTestFile(file))
}

/** The files `*.test.yaml`, which say what definitions must do. */
export async function readTestFiles(folder: string): Promise<readonly DefinitionFile[]> {
  return (await readFiles(folder, (name) => TEST.test(name))).filter(isTestFile)
}

function isTestFile({ path, text }: DefinitionFile): boolean {
  return TEST.test(path) && !KIND.test(text)
}

/** The same for TypeScript and JavaScript, without type declarations, tests and tool settings. */
export function readCodeFiles(folder: string): Promise<readonly DefinitionFile[]> {
  return readFiles(folder, (name) => CODE.test(name) && !NOT_CODE.test(name))
}

async function readFiles(
  folder: string,
  isWanted: (name: string) => boolean,
): Promise<readonly DefinitionFile[]> {
  const paths: string[] = []
  await list(folder, '', 0, paths, isWanted)
  paths.sort()
  const files: DefinitionFile[] = []
  for (const path of paths) files.push({ path, text: await readBounded(folder, path) })
  return files
}

async function list(
  folder: string,
  below: string,
  depth: number,
  paths: string[],
  isWanted: (name: string) => boolean,
): Promise<void> {
  if (depth > DEPTH_MAX) refuse(`${below} is nested deeper than ${DEPTH_MAX} folders`)
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue
    const path = below === '' ? entry.name : `${below}/${entry.name}`
    if (entry.isDirectory()) await list(folder, path, depth + 1, paths, isWanted)
    else if (entry.isFile() && isWanted(entry.name)) paths.push(path)
    if (paths.length > FILES_MAX) refuse(`there are more than ${FILES_MAX} files of definitions`)
  }
}

async function readBounded(folder: string, path: string): Promise<string> {
  const file = join(folder, path)
  const { size } = await lstat(file)
  if (size > FILE_BYTES_MAX) refuse(`${path} has more than ${FILE_BYTES_MAX} bytes`)
  return await readFile(file, 'utf8')
}

function refuse(detail: string): never {
  throw new AppError('invalid_request', detail)
}
