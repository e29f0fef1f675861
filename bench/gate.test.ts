import { describe, expect, test } from 'vitest'
import { judge } from './gate.ts'

const figures = (cpuOverBare: number, bytesPerEvent: number) => ({
  endToEnd: { cpuOverBare, bytesPerEvent, cpuUsPerEvent: 150 },
})

describe('the gate', () => {
  test('passes a cost of up to a tenth more', () => {
    const { isPassed, lines } = judge(figures(4.4, 11_000), figures(4, 10_000))
    expect({ isPassed, lines: lines.length }).toEqual({ isPassed: true, lines: 2 })
  })

  test.each([
    ['CPU time', figures(4.41, 10_000), 0],
    ['bytes', figures(4, 11_001), 1],
  ])('fails above a tenth more %s, and says which', (_, measured, line) => {
    const { isPassed, lines } = judge(measured, figures(4, 10_000))
    expect(isPassed).toBe(false)
    expect(lines.map((text) => text.endsWith('TOO MUCH'))).toEqual([line === 0, line === 1])
  })

  test('fails for a scenario without a committed figure', () => {
    expect(judge(figures(1, 1), {}).isPassed).toBe(false)
  })
})
