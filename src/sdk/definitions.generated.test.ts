import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderDefinitionTypes } from '../../scripts/lib/definition-types.ts'

test('the types of definitions are up to date; write them with `npm run docs`', () => {
  const written = readFileSync(new URL('definitions.generated.ts', import.meta.url), 'utf8')
  expect(written).toBe(renderDefinitionTypes())
})
