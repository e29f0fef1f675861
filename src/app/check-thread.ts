// Checks definitions on a separate thread: what tenants send never blocks the node's other work, and ends at a
// deadline.
//
// One thread, started with the first check and ended after some idle time. Checks run one after the other; one that
// takes too long ends the thread, and the next check starts another. Messages to the thread are a job or the answers to
// its questions; messages from it are `ready`, its questions, and the result.

import { Worker } from 'node:worker_threads'
import { formatDuration } from '../core/expression/index.ts'
import { AppError, messageOf } from '../core/foundation/errors/index.ts'
import type { CheckAnswers, CheckJob, CheckQuestions, CheckResult } from '../definitions/index.ts'
import type { RunCheck } from '../http/index.ts'
import { errorOf, type Failure, type Packed, pack, unpack } from './check-message.ts'

export type FromThread =
  | { readonly says: 'ready' }
  | { readonly says: 'asks'; readonly questions: CheckQuestions }
  | { readonly says: 'found'; readonly result: CheckResult }
  | { readonly says: 'failed'; readonly failure: Failure }

export type ToThread =
  | { readonly says: 'check'; readonly job: CheckJob }
  | { readonly says: 'answers'; readonly answers: CheckAnswers }

export interface CheckThread extends AsyncDisposable {
  readonly run: RunCheck
}

interface Options {
  /** How long one check may take, without its wait for others. */
  readonly timeoutMs: number
  /** The thread's own heap, in MiB. */
  readonly heapMax?: number
}

const IDLE_MS = 60_000
const HEAP_MAX = 512

export function makeCheckThread({ timeoutMs, heapMax = HEAP_MAX }: Options): CheckThread {
  let open: Promise<Worker> | null = null
  let last: Promise<unknown> = Promise.resolve()
  let idle: NodeJS.Timeout | undefined
  let isClosed = false

  const end = async () => {
    const ending = open
    open = null
    await ending?.then((worker) => worker.terminate()).catch(() => {})
  }
  const check = async (job: CheckJob, answer: Parameters<RunCheck>[1]): Promise<CheckResult> => {
    if (isClosed) throw new AppError('shutting_down', 'the node is stopping')
    clearTimeout(idle)
    const starting =
      open ??
      start(heapMax, () => {
        if (open === starting) open = null
      })
    open = starting
    const worker = await starting
    worker.ref()
    try {
      return await exchange(worker, job, answer, timeoutMs)
    } catch (error) {
      // It is busy, or gone.
      await end()
      throw error
    } finally {
      worker.unref()
      idle = setTimeout(() => void end(), IDLE_MS).unref()
    }
  }
  return {
    run(job, answer) {
      const result = last.then(() => check(job, answer))
      last = result.catch(() => {})
      // The result matches the kind of the job.
      return result as Promise<never>
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      clearTimeout(idle)
      await end()
    },
  }
}

/**
 * Settles when the thread has loaded its code: that takes longer than most checks, and does not count for any of them.
 */
function start(heapMax: number, onExit: () => void): Promise<Worker> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(...entry(heapMax))
    // Stays for the life of the thread: an error between two checks ends the thread, not the node.
    worker.on('error', (error) => reject(broken(error)))
    worker.once('exit', onExit)
    worker.once('message', () => resolve(worker))
  })
}

function exchange(
  worker: Worker,
  job: CheckJob,
  answer: Parameters<RunCheck>[1],
  timeoutMs: number,
): Promise<CheckResult> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void) => {
      clearTimeout(deadline)
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      then()
    }
    const post = (message: ToThread) => worker.postMessage(pack(message))
    const deadline = setTimeout(() => settle(() => reject(tooLong(timeoutMs))), timeoutMs)
    const onMessage = (packed: Packed) => {
      const message = unpack(packed) as FromThread
      if (message.says === 'asks') {
        answer(message.questions).then(
          (answers) => post({ says: 'answers', answers }),
          (error) => settle(() => reject(error)),
        )
      } else if (message.says === 'found') settle(() => resolve(message.result))
      else if (message.says === 'failed') settle(() => reject(errorOf(message.failure)))
    }
    const onError = (error: unknown) => settle(() => reject(broken(error)))
    const onExit = () => onError(new Error('the thread ended'))
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
    post({ says: 'check', job })
  })
}

function tooLong(timeoutMs: number): AppError {
  const detail = `the check took longer than ${formatDuration(timeoutMs)} and was ended: split the files, or make them smaller`
  return new AppError('check_too_long', detail)
}

function broken(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') {
    return new Error(`the thread that checks definitions broke: ${messageOf(error)}`, { cause: error })
  }
  return new AppError(
    'check_too_long',
    'the check needed more memory than it may have and was ended: split the files, or make them smaller',
  )
}

/** The entry beside this file: compiled, or as source, which a thread of Node 20 cannot read by itself. */
function entry(heapMax: number): ConstructorParameters<typeof Worker> {
  const options = { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: heapMax } }
  if (!import.meta.url.endsWith('.ts')) return [new URL('./check-worker.js', import.meta.url), options]
  const loader = new URL('../../scripts/lib/source-thread.mjs', import.meta.url).href
  const source = new URL('./check-worker.ts', import.meta.url).href
  const begin = `import('${loader}').then(({ runSourceThread }) => runSourceThread('${source}'))`
  return [begin, { eval: true, ...options }]
}
