// Documents as tests read them: their code blocks and the text between.
//
// The words after a fence: the first is the language; the rest says what a test does with it. `yaml flows/a.yaml` and
// `ts flows/a.ts` are files that the reader writes; `console` is the reader's terminal, `console node` one in which
// something keeps running; `yaml wrong` has errors whose findings follow as `text`.

import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../..')

export const read = (path: string) => readFileSync(join(root, path), 'utf8')

export function listFiles(folder: string, ending: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`
      if (entry.isDirectory()) return listFiles(path, ending)
      return extname(entry.name) === ending ? [path] : []
    })
    .sort()
}

export interface Block {
  readonly language: string
  /** What follows the language; empty if nothing does. */
  readonly rest: string
  readonly text: string
  readonly line: number
}

export interface Doc {
  readonly path: string
  readonly blocks: readonly Block[]
  /** The lines outside blocks; those inside are empty, so that line numbers stay. */
  readonly prose: readonly string[]
}

export function parseDoc(path: string): Doc {
  const blocks: Block[] = []
  const prose: string[] = []
  let open: { language: string; rest: string; lines: string[]; line: number } | null = null
  for (const [index, line] of read(path).split('\n').entries()) {
    const fence = /^\s*```(\S*) *(.*)$/.exec(line)
    if (fence === null) open?.lines.push(line)
    else if (open === null) {
      open = { language: String(fence[1]), rest: String(fence[2]).trim(), lines: [], line: index + 1 }
    } else {
      const { lines, ...block } = open
      blocks.push({ ...block, text: `${lines.join('\n')}\n` })
      open = null
    }
    prose.push(open !== null || fence !== null ? '' : line)
  }
  if (open !== null) throw new Error(`${path} ends inside of a code block`)
  return { path, blocks, prose }
}

export const docs = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'examples/README.md',
  ...listFiles('docs', '.md'),
].map(parseDoc)
