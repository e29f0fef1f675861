// The version after this one, as far as a node of this one can notice: the built package once more, whose language of definitions is
// one further, and whose PostgreSQL schema has one step more, on which this version can work.

import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { project } from './node-process.ts'
import type { Workspace } from './workspace.ts'

/** Columns more are what most steps bring, and what statements that were prepared before them must bear. */
const COLUMNS = ['work', 'event', 'attempt', 'incarnation', 'record', 'dead_letter', 'instance']

/** `dist` must be built. Answers what Node runs. */
export async function makeNextVersion({ folder }: Pick<Workspace, 'folder'>): Promise<string> {
  const copy = join(folder, 'next-version')
  await mkdir(copy)
  await cp(join(project, 'dist'), join(copy, 'dist'), { recursive: true })
  await cp(join(project, 'package.json'), join(copy, 'package.json'))
  await symlink(join(project, 'node_modules'), join(copy, 'node_modules'))
  await change(
    join(copy, 'dist/core/definition/language.js'),
    /LANGUAGE = (\d+)/,
    (number) => `LANGUAGE = ${number + 1}`,
  )
  await change(
    join(copy, 'dist/adapters/store-postgres/migrations.js'),
    /number: (\d+), name: [^\n]*\n\];/,
    (number, last) => last.replace('];', `${stepAfter(number)}\n];`),
  )
  return join(copy, 'dist', 'cli', 'main.js')
}

function stepAfter(last: number): string {
  const sql = COLUMNS.map((table) => `ALTER TABLE {s}.${table} ADD COLUMN of_the_next text;`).join(' ')
  return `{ number: ${last + 1}, name: 'of the next version', sql: '${sql}', worksFrom: ${last} },`
}

async function change(
  file: string,
  pattern: RegExp,
  by: (number: number, found: string) => string,
): Promise<void> {
  const text = await readFile(file, 'utf8')
  if (!pattern.test(text)) throw new Error(`${file} has no longer what the next version changes: ${pattern}`)
  await writeFile(
    file,
    text.replace(pattern, (found, number: string) => by(Number(number), found)),
  )
}
