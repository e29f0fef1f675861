// The version after this one, as far as a node of this one can notice: the built package once more, with the next
// language of definitions, and a PostgreSQL schema with one more step and another text of the claim, on which this
// version can work.

import { appendFile, cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { project } from './node-process.ts'
import type { Workspace } from './workspace.ts'

/** Most steps add columns, which statements prepared before them must tolerate. */
const COLUMNS = ['work', 'event', 'attempt', 'incarnation', 'record', 'dead_letter', 'instance']

const SQL = COLUMNS.map((table) => `ALTER TABLE {s}.${table} ADD COLUMN of_the_next text;`).join(' ')
const STEP = `
const last = MIGRATIONS.length
MIGRATIONS.push({ number: last + 1, name: 'of the next version', sql: '${SQL}', worksFrom: last })
`

/** In the texts of its claims, to see which version's text is installed. */
export const NEXT_CLAIM = 'of the next version'
/** What this version calls, and what the one before it calls. */
export const CLAIMS = ['claim_from', 'claim']
const CLAIM = `
for (const called of ${JSON.stringify(CLAIMS)}) {
  const claim = FUNCTIONS.findIndex(({ name }) => name === called)
  const { name, revision, sql } = FUNCTIONS[claim]
  FUNCTIONS[claim] = { name, revision: revision + 1, sql: sql.replace('DECLARE', '-- ${NEXT_CLAIM}\\nDECLARE') }
}
`

/** `dist` must be built. Returns what Node runs. */
export async function makeNextVersion({ folder }: Pick<Workspace, 'folder'>): Promise<string> {
  const copy = join(folder, 'next-version')
  await mkdir(copy)
  await cp(join(project, 'dist'), join(copy, 'dist'), { recursive: true })
  await cp(join(project, 'package.json'), join(copy, 'package.json'))
  await symlink(join(project, 'node_modules'), join(copy, 'node_modules'))
  const language = join(copy, 'dist/core/definitions/documents/language-version.js')
  const text = await readFile(language, 'utf8')
  const next = text.replace(
    /LANGUAGE = (\d+)/,
    (_found, number: string) => `LANGUAGE = ${Number(number) + 1}`,
  )
  if (next === text) throw new Error(`${language} has no longer a number to raise`)
  // Most documents use nothing that only the newest language has: of those for the next version, one does.
  const used = next.replace(
    /export function languageOf\((\w+)\) \{/,
    (found, document: string) => `${found}\n    if (${document}.name === 'later') return LANGUAGE;`,
  )
  if (used === next)
    throw new Error(`${language} has no longer a function that says which language a document needs`)
  await writeFile(language, used)
  await appendFile(join(copy, 'dist/adapters/store-postgres/migrations/index.js'), STEP)
  await appendFile(join(copy, 'dist/adapters/store-postgres/functions.js'), CLAIM)
  return join(copy, 'dist', 'cli', 'main.js')
}
