// The entry of the thread that checks definitions: takes a job, asks the node's questions, and sends the findings.

import { parentPort } from 'node:worker_threads'
import { assert } from '../core/foundation/errors/index.ts'
import type { CheckAnswers } from '../definitions/index.ts'
import { runCheck } from '../definitions/language.ts'
import { failureOf, type Packed, pack, unpack } from './check-message.ts'
import type { FromThread, ToThread } from './check-thread.ts'

assert(parentPort, 'check-worker.ts is the entry of a worker thread')
const port = parentPort
const send = (message: FromThread) => port.postMessage(pack(message))
let answered: (answers: CheckAnswers) => void = () => {}

port.on('message', (packed: Packed) => {
  const message = unpack(packed) as ToThread
  if (message.says === 'answers') {
    answered(message.answers)
    return
  }
  runCheck(message.job, (questions) => {
    const answers = new Promise<CheckAnswers>((resolve) => {
      answered = resolve
    })
    send({ says: 'asks', questions })
    return answers
  }).then(
    (result) => send({ says: 'found', result }),
    (error) => send({ says: 'failed', failure: failureOf(error) }),
  )
})
send({ says: 'ready' })
