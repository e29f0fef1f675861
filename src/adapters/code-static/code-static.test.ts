import { expect, test } from 'vitest'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { codeConformance, contextOf } from '../../ports/code.conformance.ts'
import { makeStaticCode } from './index.ts'

codeConformance('static', () => ({ make: async (functions) => makeStaticCode(functions) }))

test('an error from another copy of the classes is recognised by its mark', async () => {
  const code = makeStaticCode({
    foreign: () => {
      throw Object.assign(new Error('foreign'), {
        [Symbol.for('millrace.consequence')]: { how: 'again', afterMs: 7 },
      })
    },
  })
  expect(
    await code.run(code.find('foreign', DEFAULT_TENANT) as string, 'foreign', null, contextOf()),
  ).toEqual({
    kind: 'failed',
    how: 'again',
    afterMs: 7,
    message: 'foreign',
  })
})
