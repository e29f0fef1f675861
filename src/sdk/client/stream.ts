// The stream of changes: reads server-sent events by `fetch`, so that a key can be sent, and reconnects when the
// connection ends.

import type { Change } from './api.generated.ts'
import { ConnectionError, ProblemError, readProblem } from './problem-error.ts'

export type StreamMessage =
  | { readonly type: 'connected' }
  | { readonly type: 'changes'; readonly changes: readonly Change[] }
  /** Changes were missed: read again what you show. */
  | { readonly type: 'gap' }
  /** A new connection is tried after `retryInMs`. */
  | { readonly type: 'disconnected'; readonly error: unknown; readonly retryInMs: number }

export interface StreamOptions {
  /** Ends the stream. */
  readonly signal?: AbortSignal | undefined
  /** Without a byte for this long (the node pings every 15 s) the connection counts as lost. */
  readonly silenceMsMax?: number
  readonly retryMsFirst?: number
  readonly retryMsLast?: number
}

const SILENCE_MS_MAX = 40_000
const RETRY_MS_FIRST = 500
const RETRY_MS_LAST = 10_000

/** Ends by the signal; throws if the node refuses permanently (no key, no permission). */
export async function* readStream(
  connect: (headers: Readonly<Record<string, string>>, signal: AbortSignal) => Promise<Response>,
  options: StreamOptions = {},
): AsyncGenerator<StreamMessage, void, undefined> {
  const { signal, retryMsFirst = RETRY_MS_FIRST, retryMsLast = RETRY_MS_LAST } = options
  let lastId: string | null = null
  let retryMs = retryMsFirst
  const isOver = () => signal?.aborted === true
  while (!isOver()) {
    const attempt = new AbortController()
    const stop = () => attempt.abort(signal?.reason)
    signal?.addEventListener('abort', stop, { once: true })
    let failure: unknown = new ConnectionError('the connection ended')
    try {
      const watch = makeWatch(options.silenceMsMax ?? SILENCE_MS_MAX, attempt)
      try {
        const headers: Record<string, string> = { accept: 'text/event-stream' }
        if (lastId !== null) headers['last-event-id'] = lastId
        const response = await connect(headers, attempt.signal)
        if (!response.ok) throw await readProblem(response)
        yield { type: 'connected' }
        for await (const event of readEvents(response, watch.heard)) {
          retryMs = retryMsFirst
          if (event.id !== null) lastId = event.id
          if (event.name === 'gap') yield { type: 'gap' }
          else if (event.name === 'changes')
            yield { type: 'changes', changes: JSON.parse(event.data).changes }
        }
      } finally {
        watch.stop()
        attempt.abort()
      }
    } catch (error) {
      if (isFinal(error)) throw error
      failure = error
    } finally {
      signal?.removeEventListener('abort', stop)
    }
    if (isOver()) return
    const asked = failure instanceof ProblemError ? (failure.retryAfterMs ?? 0) : 0
    const retryInMs = Math.max(asked, retryMs)
    yield { type: 'disconnected', error: failure, retryInMs }
    await pause(retryInMs, signal)
    retryMs = Math.min(retryMsLast, retryMs * 2)
  }
}

/** Waiting does not help against these. */
function isFinal(error: unknown): boolean {
  return error instanceof ProblemError && error.status < 500 && error.status !== 429
}

function makeWatch(silenceMsMax: number, attempt: AbortController) {
  const lost = () => attempt.abort(new ConnectionError('the node has been silent for too long'))
  let timer = setTimeout(lost, silenceMsMax)
  return {
    heard: () => {
      clearTimeout(timer)
      timer = setTimeout(lost, silenceMsMax)
    },
    stop: () => clearTimeout(timer),
  }
}

function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, delayMs)
    signal?.addEventListener('abort', done, { once: true })
  })
}

interface ServerSentEvent {
  readonly name: string
  readonly id: string | null
  readonly data: string
}

async function* readEvents(response: Response, heard: () => void): AsyncGenerator<ServerSentEvent> {
  if (response.body === null) return
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      heard()
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) yield parseEvent(block)
    }
  } finally {
    reader.releaseLock()
  }
}

function parseEvent(block: string): ServerSentEvent {
  const event = { name: 'message', id: null as string | null, data: '' }
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    if (colon < 1) continue
    const [field, value] = [line.slice(0, colon), line.slice(colon + 1).trimStart()]
    if (field === 'event') event.name = value
    else if (field === 'id') event.id = value
    else if (field === 'data') event.data += value
  }
  return event
}
