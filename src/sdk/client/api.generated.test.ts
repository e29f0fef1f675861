import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderClientTypes } from '../../../scripts/lib/client-types.ts'
import { readDocument } from '../../http/document.fixture.ts'

test('the generated types are up to date; write them with `npm run docs`', async () => {
  const written = readFileSync(new URL('api.generated.ts', import.meta.url), 'utf8')
  expect(written).toBe(renderClientTypes(readDocument()))
})
