import { expect, test } from 'vitest'
import { makeMemoryLog } from '../../adapters/log-memory/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import { LINES_MAX, makeRefusalLines } from './rejection-log.ts'

test('[GU30] a flood of refusals writes a few lines and a count per source and reason', () => {
  const control: unknown[] = []
  const warned: unknown[] = []
  const log = {
    ...makeMemoryLog(),
    control: (line: unknown) => void control.push(line),
    warn: (name: string, details?: unknown) => void warned.push([name, details]),
  }
  const lines = makeRefusalLines({ log })
  const wrong = new AppError('signature_wrong')
  for (let count = 0; count < 1_000; count += 1) {
    lines.logRejection({ tenant: 'default', source: 'shop' }, wrong, 1)
    lines.logRejection({ tenant: `t${count}`, source: `s${count}` }, new AppError('unknown_source'), 1)
  }
  lines.logRejection({ tenant: 'default', source: 'other' }, wrong, 1)
  expect(control).toHaveLength(2 * LINES_MAX + 1)
  lines.flush()
  expect(warned).toEqual([
    ['ingest.refused-more', { tenant: 'default', source: 'shop', code: 'signature_wrong', count: 990 }],
    ['ingest.refused-more', { tenant: null, source: null, code: 'unknown_source', count: 990 }],
  ])
  lines.flush()
  expect(warned).toHaveLength(2)
  lines.logRejection({ tenant: 'default', source: 'shop' }, wrong, 1)
  expect(control).toHaveLength(2 * LINES_MAX + 2)
})

test('[GU30] so does a flood of sources and reasons', () => {
  let written = 0
  let counted = 0
  const log = {
    control: () => {
      written += 1
    },
    warn: (_name: string, details?: unknown) => {
      counted += (details as { count: number }).count
    },
  }
  const lines = makeRefusalLines({ log })
  for (let count = 0; count < 5_000; count += 1)
    lines.logRejection({ tenant: 'default', source: `s${count}` }, new AppError('wrong_type'), 1)
  lines.flush()
  expect([written, counted]).toEqual([1_000, 4_000])
})
