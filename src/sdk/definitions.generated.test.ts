import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  renderCarriedFields,
  renderDefinitionTypes,
  renderFormFields,
} from '../../scripts/lib/definition-types.ts'

test('the types of definitions are up to date; write them with `npm run docs`', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
  expect(read('definitions.generated.ts')).toBe(renderDefinitionTypes())
  expect(read('../core/definitions/documents/carried-fields.generated.ts')).toBe(renderCarriedFields())
  expect(read('../../console/src/lib/definition-fields.generated.ts')).toBe(renderFormFields())
})
