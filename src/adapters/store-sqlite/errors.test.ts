import { expect, test } from 'vitest'
import { StoreError } from '../../ports/store.ts'
import { toStoreError } from './errors.ts'
import { fromStored } from './text-values.ts'

const sqlite = (errcode: number, systemErrno?: number) =>
  Object.assign(new Error('from the driver'), { errcode, ...(systemErrno !== undefined && { systemErrno }) })
const system = (code: string, syscall = 'open') =>
  Object.assign(new Error('from the system'), { code, syscall })

test.each([
  ['SQLITE_CORRUPT', sqlite(11), 'corrupt', 'restore from a backup'],
  ['SQLITE_FULL', sqlite(13), 'unavailable', 'make room'],
  ['SQLITE_IOERR_WRITE', sqlite(778), 'unavailable', 'check the disk'],
  ['SQLITE_READONLY', sqlite(8), 'unavailable', 'not mounted read-only'],
  ['SQLITE_CANTOPEN', sqlite(14), 'unavailable', 'its folder exists'],
  ['SQLITE_CANTOPEN of EMFILE', sqlite(14, 24), 'unavailable', 'ulimit -n'],
  ['SQLITE_IOERR of ENOSPC', sqlite(778, 28), 'unavailable', 'make room'],
  ['SQLITE_IOERR of EROFS', sqlite(778, 30), 'unavailable', 'mounted read-only'],
  ['EMFILE', system('EMFILE'), 'unavailable', 'ulimit -n'],
  ['ENFILE', system('ENFILE'), 'unavailable', 'ulimit -n'],
  ['ENOSPC', system('ENOSPC', 'write'), 'unavailable', 'make room'],
  ['EROFS', system('EROFS'), 'unavailable', 'mount it for writing'],
  ['EACCES', system('EACCES'), 'unavailable', 'owner and mode'],
])('[DU11] %s is reported in plain words, with what to do', (_name, error, code, next) => {
  const told = toStoreError(error, 'no')
  expect(told).toBeInstanceOf(StoreError)
  expect(told).toMatchObject({ code, message: expect.stringContaining(next) })
})

test('[DU4] a failed flush has its own code', () => {
  for (const error of [sqlite(1_034), sqlite(1_290), system('EIO', 'fsync')])
    expect(toStoreError(error, 'indeterminate')).toMatchObject({
      code: 'sync_failed',
      applied: 'indeterminate',
    })
})

test('[DU11] a row of a damaged page is reported in plain words', () => {
  for (const value of [null, undefined, 5])
    expect(() => fromStored(value as never)).toThrow(/the file is damaged: .*restore a backup/)
})
