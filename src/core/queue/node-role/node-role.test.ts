import { expect, test } from 'vitest'
import { parseRoles, ROLES } from './index.ts'

test.each([
  ['ingest', ['ingest']],
  ['deliver,work', ['work', 'deliver']],
  [' API, api  work,', ['api', 'work']],
  [ROLES.join(','), [...ROLES]],
])('[ND1] %j names the roles %j', (text, roles) => {
  expect(parseRoles(text)).toEqual({ roles })
})

test.each([
  ['worker', 'worker'],
  ['ingest,web', 'web'],
])('[ND1] %j has the unknown role %j', (text, unknown) => {
  expect(parseRoles(text)).toEqual({ unknown })
})

test('[ND1] an empty list is not a role', () => {
  expect(parseRoles(' , ')).toEqual({ roles: [] })
})
