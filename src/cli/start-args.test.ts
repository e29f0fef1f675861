import { expect, test } from 'vitest'
import { readRoleArgs } from './start-args.ts'

test.each([
  [[], []],
  [
    ['--role', 'ingest,api', '--role=work'],
    ['ingest,api', 'work'],
  ],
  [['--role'], null],
  [['--help'], null],
  [['--role', 'work', 'now'], null],
])('[ND3] the words %j behind `start` give the roles %j', (args, roles) => {
  expect(readRoleArgs(args)).toEqual(roles)
})
