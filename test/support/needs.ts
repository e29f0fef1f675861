// What tests need besides npm packages, as `npm test` provides it (scripts/test-needs.mjs). A suite without what it
// needs fails with the sentence that says what to install; it never skips.
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import needs from '../../scripts/test-needs.json' with { type: 'json' }

const root = resolve(import.meta.dirname, '../..')

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The path of a program, or an Error that says how to get it. */
export function requireTool(name: keyof typeof needs.tools): string {
  // Debian puts servers where only root's PATH looks for programs.
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'].filter(
    (folder) => folder !== '',
  )
  const found = folders.map((folder) => join(folder, name)).find(isExecutable)
  if (found !== undefined) return found
  throw new Error(
    `${name} is missing; install it (Debian, Ubuntu: \`apt-get install ${needs.tools[name].debian}\`).`,
  )
}

/** The path of a Node 22 binary, or an Error that says how to get one. */
export function requireNode22(): string {
  const named = process.env.MILLRACE_TEST_NODE22
  if (named !== undefined) {
    if (isExecutable(named)) return named
    throw new Error(`MILLRACE_TEST_NODE22 names ${named}, which is not a program; point it to a Node 22.`)
  }
  const packages: Readonly<Record<string, string>> = needs.node22.packages
  const name = packages[`${process.platform}-${process.arch}`]
  if (name !== undefined) {
    const folder = join(root, needs.node22.folder, 'node_modules', name, 'bin')
    const found = ['node', 'node.exe'].map((file) => join(folder, file)).find((path) => existsSync(path))
    if (found !== undefined) return found
  }
  throw new Error(
    'Node 22 is missing; run `npm test` once with network access, or name one in MILLRACE_TEST_NODE22.',
  )
}
