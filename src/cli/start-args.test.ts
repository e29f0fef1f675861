import { expect, test } from 'vitest'
import { readStartArgs } from './start-args.ts'

test.each([
  [[], []],
  [
    ['--role', 'ingest,api', '--role=work'],
    ['ingest,api', 'work'],
  ],
  [['--role'], null],
  [['--help'], null],
  [['--role', 'work', 'now'], null],
])('[ND3] the words %j after `start` give the roles %j', (args, roles) => {
  expect(readStartArgs(args)?.roles ?? null).toEqual(roles)
})

test('[DU1] [DU8] flags that confirm give the settings of the same meaning', () => {
  expect(readStartArgs(['--accept-loss', '4711', '--confirm-copy=0a1b2c3d'])).toEqual({
    roles: [],
    settings: { MILLRACE_ACCEPT_LOSS: '4711', MILLRACE_CONFIRM_COPY: '0a1b2c3d' },
  })
  expect(readStartArgs(['--accept-loss'])).toBeNull()
})
