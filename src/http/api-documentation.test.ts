import { expect, test } from 'vitest'
import { renderOperations } from './api-documentation.ts'
import { readDocument } from './document.fixture.ts'

const document = readDocument()

test('every operation has its row', () => {
  const rows = renderOperations(document).match(/^\| `[A-Z]+ /gm)
  const operations = Object.values(document.paths).flatMap((methods) => Object.keys(methods))
  expect(operations.length).toBeGreaterThan(40)
  expect(rows).toHaveLength(operations.length)
})

test('docs/api-reference.md is up to date; write it with `npm run docs`', async () => {
  await expect(renderOperations(document)).toMatchFileSnapshot('../../docs/api-reference.md')
})
