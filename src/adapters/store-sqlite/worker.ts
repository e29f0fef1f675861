// The entry of every thread of the store: its data says which thread it is.

import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../core/foundation/errors/index.ts'
import { runCheckpoints } from './checkpoint-thread.ts'
import { runReader } from './reader-thread.ts'
import type { ThreadData } from './thread.ts'
import { runWriter } from './writer-thread.ts'

assert(parentPort, 'worker.ts is the entry of a worker thread')
const data = workerData as ThreadData
const run = { writer: runWriter, reader: runReader, scanner: runReader, checkpoints: runCheckpoints }[
  data.role
]
run(parentPort, data)
