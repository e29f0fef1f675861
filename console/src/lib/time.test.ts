import { expect, test } from 'vitest'
import { formatDuration, formatDurationShort } from './durations.ts'
import { definitionHref, sourceHref } from './links.ts'
import { formatCause, formatNumber, formatRelative } from './time.ts'

test.each([
  [0, '0'],
  [0.4, '<1 ms'],
  [12.6, '13 ms'],
  [1_500, '1.5 s'],
  [41_000, '41 s'],
  [75_000, '1 min 15 s'],
  [3_600_000, '1 h'],
  [11 * 3_600_000 + 120_000, '11 h'],
  [90_000_000, '1 d 1 h'],
])('a duration of %d ms is shown as %s', (ms, text) => expect(formatDuration(ms)).toBe(text))

test.each([
  [0, '0'],
  [250, '250 ms'],
  [1_500, '1.5 s'],
  [90_000, '1.5 min'],
])('on an axis %d ms are %s', (ms, text) => expect(formatDurationShort(ms)).toBe(text))

test.each([
  [0, 'just now'],
  [5_000, '5 s ago'],
  [119_000, '1 min ago'],
  [-86_400_000, 'in 1 d'],
])('an instant %d ms ago is shown as %s', (ms, text) =>
  expect(formatRelative(1_000_000, 1_000_000 + ms)).toBe(text),
)

test.each([
  [0.26, '0.3'],
  [12.4, '12'],
  [300_000, '300,000'],
  [1_250_000, '1.3 M'],
  [12_500_000, '13 M'],
])('%d is written as %s', (value, text) => expect(formatNumber(value)).toBe(text))

test('what differs between the dead letters of a group is left out', () => {
  expect(formatCause('answered 422, saying: title has more than # characters')).toBe(
    'answered 422, saying: title has more than … characters',
  )
})

test('an emitted event links to the route that emitted it', () => {
  expect(sourceHref('github')).toBe('/sources/github')
  expect(sourceHref('route:flag_bug')).toBe('/routes/flag_bug')
  expect(definitionHref('Source', 'shop')).toBe('/sources/shop')
  expect(definitionHref('Route', 'invoice')).toBe('/routes/invoice')
})
