import { expect, test } from 'vitest'
import { setsGrowthFactor } from './v8-options.ts'

test.each([
  [['--semi-space-growth-factor=4'], undefined],
  [['--enable-source-maps', '--semi_space_growth_factor', '4'], undefined],
  [[], '--max-old-space-size=512 --semi-space-growth-factor=4'],
  [[], '"--semi_space_growth_factor=4"'],
])('a growth factor is found in %j and NODE_OPTIONS %j', (args, nodeOptions) => {
  expect(setsGrowthFactor(args, nodeOptions)).toBe(true)
})

test.each([
  [[], undefined],
  [['--max-semi-space-size=16'], '--min-semi-space-size=4'],
  [['--no-semi-space-growth-factors'], ''],
])('none is found in %j and NODE_OPTIONS %j', (args, nodeOptions) => {
  expect(setsGrowthFactor(args, nodeOptions)).toBe(false)
})
