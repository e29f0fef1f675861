// docs/walks.md: the functions of each walk are in the files that it names, and its counts are right.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

const walks = readFileSync('docs/walks.md', 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((text) => {
    const rows = [...text.matchAll(/^\| (`[^|]+`) \| `(src\/[^`]+)` \|/gm)].map(
      ([, names = '', file = '']) => ({
        names: [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
        file,
      }),
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
