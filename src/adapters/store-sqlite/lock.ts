// One process per data file: an exclusive transaction, held while the store is open, on a small database beside the
// file. The system releases it the moment its process dies; the data file itself stays open to readers.

import { DatabaseSync } from '@photostructure/sqlite'
import { StoreError } from '../../ports/store.ts'
import { isBusy, toStoreError } from './errors.ts'

export function takeLock(file: string): Disposable {
  const lock = openLock(file)
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (!isBusy(error)) throw toStoreError(error, 'no')
    throw new StoreError(
      'in_use',
      `the data file ${file} is in use by another process: stop that process, or give this one a data file of its own`,
      { cause: error },
    )
  }
  return {
    [Symbol.dispose]() {
      lock.exec('ROLLBACK')
      lock.close()
    },
  }
}

function openLock(file: string) {
  try {
    return new DatabaseSync(`${file}.lock`, { timeout: 0 })
  } catch (error) {
    throw toStoreError(error, 'no')
  }
}
