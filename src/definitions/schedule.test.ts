import { expect, test } from 'vitest'
import { compileDefinitions } from './language.ts'

const findingsOf = (schedule: string) =>
  compileDefinitions([{ path: 'a.yaml', text: `kind: Source\nname: a\nschedule:\n${schedule}` }], {
    functions: () => null,
  }).findings.map(({ message, line }) => ({ message, line }))

test.each([
  ['  cron: "0 2 * * *"\n  zone: Europe/Berlin'],
  ['  cron: "*/5 9-17 * * MON-FRI"'],
  ['  cron: "0 0 29 2 *"\n  missed: all\n  data: { report: daily }'],
])('[SC2] %s is accepted', (schedule) => {
  expect(findingsOf(schedule)).toEqual([])
})

test.each([
  ['  cron: "0 0 31 2 *"', 4, 'no date fits it'],
  ['  cron: "0 0 * *"', 4, 'five fields'],
  ['  cron: "0 25 * * *"', 4, '`25` is not possible as the hour'],
  ['  cron: "0 2 * * *"\n  zone: Europe/Belin', 5, 'not a time zone'],
])('[SC2] %s is a finding at line %i: %s', (schedule, line, message) => {
  expect(findingsOf(schedule)).toEqual([{ message: expect.stringContaining(message), line }])
})
