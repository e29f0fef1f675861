import { expect, test } from 'vitest'
import { renderMetrics } from './metrics.ts'

test('docs/metrics.md is up to date; write it with `npm run docs`', async () => {
  await expect(renderMetrics()).toMatchFileSnapshot('../../docs/metrics.md')
})
