// A thread as the main thread sees it: calls that are answered in order, and an end.
//
// Both sides live here: `openThread` for the caller, `serve` for the thread. Messages are [call number, name,
// argument]; responses are [call number, result] or [call number, undefined, packed error]. Number 0 is the start.

import { type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { StoreError } from '../../ports/store.ts'
import { toStoreError } from './errors.ts'
import { type PackedError, packError, unpackError } from './protocol.ts'

export interface ThreadData {
  readonly role: 'writer' | 'reader' | 'scanner' | 'checkpoints'
  readonly file: string
  /** A clock that a test controls: its first element is the time, shared between threads. */
  readonly clock: Float64Array | null
  /** The group at which the operator accepts that the file ends; null: no loss is accepted. */
  readonly acceptLoss?: number | null
  /** For tests: while the first element is not 0, flushes fail with this result code of SQLite. */
  readonly flushFault?: Int32Array
}

export interface Thread {
  /** What the thread reported at its start. */
  readonly opened: unknown
  call<T>(name: string, argument: unknown): Promise<T>
  /** Lets pending calls finish, then ends the thread. */
  close(): Promise<void>
  /** Settles when the thread is over, whether it was closed or broke. */
  readonly ended: Promise<void>
}

interface Pending {
  resolve(answer: unknown): void
  reject(error: unknown): void
}

export async function openThread(data: ThreadData): Promise<Thread> {
  const worker = new Worker(...entry(data))
  const pending = new Map<number, Pending>()
  let lastCall = 0
  let end: StoreError | null = null

  const fail = (error: StoreError) => {
    end ??= error
    for (const { reject } of pending.values()) reject(end)
    pending.clear()
  }
  worker.on('message', ([number, answer, error]: [number, unknown, PackedError | undefined]) => {
    const caller = pending.get(number)
    pending.delete(number)
    if (error === undefined) caller?.resolve(answer)
    else caller?.reject(unpackError(error))
  })
  worker.on('error', (cause) => {
    fail(
      new StoreError('unavailable', `the store's ${data.role} thread broke: ${cause.message}; start again`, {
        cause,
        applied: 'indeterminate',
      }),
    )
  })
  const exited = new Promise<void>((resolve) => {
    worker.on('exit', () => {
      fail(
        new StoreError('unavailable', `the store's ${data.role} thread ended; start again`, {
          applied: 'indeterminate',
        }),
      )
      resolve()
    })
  })
  const wait = <T>(number: number) =>
    new Promise<T>((resolve, reject) => {
      pending.set(number, { resolve: resolve as (answer: unknown) => void, reject })
    })

  let opened: unknown
  try {
    opened = await wait(0)
  } catch (error) {
    await worker.terminate()
    throw error
  }
  const call = <T>(name: string, argument: unknown): Promise<T> => {
    if (end !== null) return Promise.reject(new StoreError(end.code, end.message, { cause: end }))
    lastCall += 1
    worker.postMessage([lastCall, name, argument])
    return wait<T>(lastCall)
  }
  return {
    opened,
    call,
    ended: exited,
    async close() {
      if (end === null) await call('close', null)
      await worker.terminate()
      await exited
    },
  }
}

/** The entry beside this file: compiled, or as source, which a thread of Node 20 cannot read by itself. */
function entry(data: ThreadData): ConstructorParameters<typeof Worker> {
  if (!import.meta.url.endsWith('.ts')) {
    return [new URL('./worker.js', import.meta.url), { workerData: data, execArgv: [] }]
  }
  const loader = new URL('../../../scripts/lib/source-thread.mjs', import.meta.url).href
  const source = new URL('./worker.ts', import.meta.url).href
  const start = `import('${loader}').then(({ runSourceThread }) => runSourceThread('${source}'))`
  return [start, { eval: true, workerData: data, execArgv: [] }]
}

export type Calls = Readonly<Record<string, (argument: never) => unknown>>

type Message = [number: number, name: string, argument: never]

export interface Served {
  readonly calls: Calls
  /** Passed to the caller that opened the thread. */
  readonly opened?: unknown
  /** Calls that are answered together if they wait for it, each by its own function. */
  readonly together?: {
    readonly names: readonly string[]
    run(all: readonly { readonly name: string; readonly argument: never }[]): readonly (() => unknown)[]
  }
  /** Runs between calls, while none waits, until it returns false; then again after the next call. */
  whileIdle?(): boolean
  close(): void
}

/** Up to this many calls are answered together: the first waits for the last. */
const TOGETHER_MAX = 4

/** The thread's side: opens, says that it is ready, and answers one call after the other. `close` is the last. */
export function serve(port: MessagePort, open: () => Served): void {
  const answer = (number: number, work: () => unknown) => {
    try {
      port.postMessage([number, work()])
    } catch (error) {
      port.postMessage([number, undefined, packError(toStoreError(error, 'no'))])
    }
  }
  answer(0, () => {
    const { calls, together, whileIdle, close, opened } = open()
    let isOver = false
    let isScheduled = false
    const scheduleIdle = () => {
      if (isScheduled || isOver || whileIdle === undefined) return
      isScheduled = true
      setImmediate(() => {
        isScheduled = false
        if (!isOver && whileIdle()) scheduleIdle()
      })
    }
    const answerOne = ([number, name, argument]: Message) =>
      answer(number, () => {
        if (name === 'close') {
          isOver = true
          return close()
        }
        return calls[name]?.(argument)
      })
    const isGathered = ([, name]: Message) => together?.names.includes(name) === true
    const answerGathered = (all: readonly Message[]) => {
      let works: readonly (() => unknown)[] | undefined
      const run = () => together?.run(all.map(([, name, argument]) => ({ name, argument })))
      for (const [index, [number]] of all.entries()) {
        answer(number, () => {
          works ??= run()
          return works?.[index]?.()
        })
      }
    }
    scheduleIdle()
    port.on('message', (first: Message) => {
      scheduleIdle()
      if (!isGathered(first)) return answerOne(first)
      // Calls that came while the last one was answered.
      const all = [first]
      while (all.length < TOGETHER_MAX) {
        const next: Message | undefined = receiveMessageOnPort(port)?.message
        if (next === undefined) break
        if (isGathered(next)) all.push(next)
        else {
          answerGathered(all)
          return answerOne(next)
        }
      }
      answerGathered(all)
    })
    return opened
  })
}
