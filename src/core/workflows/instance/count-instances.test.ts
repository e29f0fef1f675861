import { expect, test } from 'vitest'
import { type InstanceGroup, sumGroups } from './index.ts'

const group = (fields: Partial<InstanceGroup>): InstanceGroup => ({
  definition: 'd1',
  version: '1',
  marking: 'a',
  count: 1,
  lastId: 'ins_1',
  ...fields,
})

test('[ST139] groups are summed by marking and by definition, with the version of the youngest', () => {
  const groups = [
    group({ count: 3 }),
    group({ marking: 'a,b*2', lastId: 'ins_3', version: '1b' }),
    group({ definition: 'd2', version: '2', count: 4, lastId: 'ins_2' }),
  ]
  expect(sumGroups(groups)).toEqual({
    markings: [
      { marking: { a: 1 }, count: 7 },
      { marking: { a: 1, b: 2 }, count: 1 },
    ],
    definitions: [
      { definition: 'd1', version: '1b', count: 4 },
      { definition: 'd2', version: '2', count: 4 },
    ],
  })
})

test('[ST139] no count exceeds 10,000', () => {
  const groups = [group({ count: 9_999 }), group({ definition: 'd2', count: 9_999 }), group({ count: 2 })]
  const { markings, definitions } = sumGroups(groups)
  expect(markings).toEqual([{ marking: { a: 1 }, count: 10_000 }])
  expect(definitions.map(({ count }) => count)).toEqual([10_000, 9_999])
})
