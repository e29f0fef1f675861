// The bundle holds the parts of undici that the adapters import, and nothing else of it: another import would be undefined there, and only there.

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '..')

/** The values that a source imports from undici; anything but `import { … }` is named as a whole. */
function importsOfUndici(text: string): readonly string[] {
  const lists = [...text.matchAll(/^import (?!type\b)([^;'"]*?) from ['"](undici(?:\/[^'"]*)?)['"]/gm)]
  const calls = [...text.matchAll(/\b(?:import|require)\(['"](undici(?:\/[^'"]*)?)['"]\)/g)]
  return [
    ...lists.flatMap(([whole, names = '', from]) => {
      const list = /^\{([^}]*)\}$/.exec(names.trim())?.[1]
      if (list === undefined || from !== 'undici') return [whole]
      return list
        .split(',')
        .map((name) => name.trim().replace(/ as .*/, ''))
        .filter((name) => name !== '' && !name.startsWith('type '))
    }),
    ...calls.map(([whole]) => whole),
  ]
}

test('src imports from undici only what the bundle holds of it', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !/\.(?:test|fixture|conformance)\.ts$/.test(path),
  )
  const imported = new Set(
    files.flatMap((path) => importsOfUndici(readFileSync(join(root, 'src', path), 'utf8'))),
  )
  const bundler = readFileSync(join(root, 'scripts/lib/bundle.mjs'), 'utf8')
  const held = [...bundler.matchAll(/^exports\.(\w+) = require\('undici\//gm)].map(([, name]) => name)
  expect(
    [...imported].sort(),
    'Add what is missing to UNDICI in scripts/lib/bundle.mjs as `exports.<name> = require(<its file in undici/lib>)`, and remove what nothing imports.',
  ).toEqual(held.sort())
})

test.each([
  ["import { Agent, buildConnector as connect } from 'undici'", ['Agent', 'buildConnector']],
  ["import {\n  Agent,\n  type Dispatcher,\n} from 'undici'", ['Agent']],
  ["import type { Dispatcher } from 'undici'", []],
  ["import * as undici from 'undici'", ["import * as undici from 'undici'"]],
  ["const { Pool } = await import('undici')", ["import('undici')"]],
])('finds what %j imports', (text, names) => {
  expect(importsOfUndici(text)).toEqual(names)
})
