// docs/walks.md: the functions of each walk are in the files that it names, are called by the rows that it names, and its counts are
// right.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

const walks = readFileSync('docs/walks.md', 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((text) => {
    const rows = [...text.matchAll(/^\| (\d+) \| ([^|]*)\| (`[^|]+`) \| `(src\/[^`]+)` \|/gm)].map(
      ([, row = '', calledBy = '', listed = '', file = '']) => {
        const names = [...listed.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
        const [, caller = '0', as = names[0] ?? ''] = /^(\d+)(?: as `(\w+)`)? $/.exec(calledBy) ?? []
        return { row: Number(row), caller: Number(caller), as, names, file }
      },
    )
    const counts = /^Files: (\d+)\. Crossings: (\d+)\.$/m.exec(text)
    return {
      title: text.split('\n', 1)[0] ?? '',
      rows,
      files: Number(counts?.[1]),
      crossings: Number(counts?.[2]),
    }
  })

const folderOf = (file: string) => /^src\/(?:(?:engine|core|adapters)\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? 'src'

/** Whether the text of a file calls or passes on what has this name; comments, imports and declarations do not count. */
function calls(file: string, name: string): boolean {
  const isOther = new RegExp(`^\\s*(?://|/?\\*|import |(?:export )?(?:async )?function ${name}\\b)`)
  const text = readFileSync(file, 'utf8').split('\n')
  const isCall = new RegExp(`\\.${name}\\b|\\b${name}(?:\\?\\.|[(<])`)
  return text.some((line) => !isOther.test(line) && isCall.test(line))
}

test('a call is not a comment, an import or a declaration', () => {
  const file = 'src/engine/commit/unit-of-work.ts'
  expect(calls(file, 'ending')).toBe(true)
  expect(calls(file, 'orConflict')).toBe(false)
})

test('there are three walks', () =>
  expect(walks.map(({ rows }) => rows.length > 10)).toEqual([true, true, true]))

describe.each(walks)('$title', ({ rows, files, crossings }) => {
  test('names functions that are in their files', () => {
    const missing = rows.flatMap(({ names, file }) => {
      const text = readFileSync(file, 'utf8')
      const isThere = (name: string) =>
        new RegExp(`(?:function|const|class) ${name}\\b|^ +(?:async )?${name}[(:<]`, 'm').test(text)
      return names.filter((name) => !isThere(name)).map((name) => `${file}: ${name}`)
    })
    expect(missing).toEqual([])
  })

  test('names for each row one above it that calls it', () => {
    expect(rows.map(({ row }) => row)).toEqual(rows.map((_, at) => at + 1))
    const wrong = rows.slice(1).filter(({ row, caller, as }) => {
      const calling = rows[caller - 1]
      return calling === undefined || caller >= row || !calls(calling.file, as)
    })
    expect(wrong).toEqual([])
  })

  test('counts its files and crossings', () => {
    const crossed = rows.filter(
      ({ file }, at) => at > 0 && folderOf(file) !== folderOf(rows[at - 1]?.file ?? ''),
    )
    expect({ files, crossings }).toEqual({
      files: new Set(rows.map(({ file }) => file)).size,
      crossings: crossed.length,
    })
  })
})
