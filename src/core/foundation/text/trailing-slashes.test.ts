import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withoutTrailingSlashes } from './index.ts'

test.each([
  ['', ''],
  ['/', ''],
  ['///', ''],
  ['https://a.example', 'https://a.example'],
  ['https://a.example/', 'https://a.example'],
  ['https://a.example/b//', 'https://a.example/b'],
  ['a//b', 'a//b'],
])('%j without slashes at its end is %j', (text, expected) => {
  expect(withoutTrailingSlashes(text)).toBe(expected)
})

test('[DV51] no layer that reads tenants’ text cuts a run at its end by a regular expression', () => {
  const found = ['core', 'definitions', 'engine', 'http', 'connectors'].flatMap((layer) =>
    readdirSync(join('src', layer), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .filter((name) =>
        /replace(?:All)?\(\/(?:\\\/|-|\\s|\\n)\+\$\//.test(readFileSync(join('src', layer, name), 'utf8')),
      )
      .map((name) => `${layer}/${name}`),
  )
  // At most 40 characters.
  expect(found).toEqual(['http/routes-subscriptions.ts'])
})
