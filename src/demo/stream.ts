// A bounded stream of signed samples through the node's own ingest, so that the console has something to show. One at a
// time; it ends by count, by `stop`, or with the node.

import { signRequest } from '../core/ingest/source/index.ts'
import { DEMO_COUNT_MAX } from './limits.ts'
import { makeStreamSample } from './samples/index.ts'

export interface DemoState {
  readonly isSending: boolean
  readonly sent: number
  readonly total: number
}

export interface DemoStream {
  state(): DemoState
  /** Adds to what is still to be sent, up to the limit; returns how many it accepted. */
  send(options: { readonly count: number; readonly perSecond: number }): number
  stop(): void
}

export interface DemoStreamDeps {
  /** Where the node is; known once it listens. */
  url(): string
  secret(): string
  now(): number
  /** Different for every stream, so that its deliveries are new ones. */
  uuid(): string
  post(url: string, init: { readonly body: string; readonly headers: Record<string, string> }): Promise<void>
}

export function makeDemoStream(deps: DemoStreamDeps): DemoStream {
  let sent = 0
  let total = 0
  let perSecond = 1
  /** Continues from stream to stream: every issue is a new one. */
  let number = Math.floor(deps.now() / 1_000) % 1_000_000
  let timer: NodeJS.Timeout | null = null

  const sendOne = () => {
    const sample = makeStreamSample(number, new Date(deps.now()).toISOString())
    number += 1
    sent += 1
    const body = JSON.stringify(sample.data)
    const signed = signRequest(
      { scheme: 'github', secret: [] },
      { body: new TextEncoder().encode(body), secret: deps.secret() },
    )
    const headers = {
      'content-type': 'application/json',
      'x-github-event': sample.event,
      'x-github-delivery': deps.uuid(),
      ...signed,
    }
    // A stopping node refuses; losing a sample does not matter.
    deps.post(`${deps.url()}/in/default/github`, { body, headers }).catch(() => {})
  }

  const stop = () => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    total = sent
  }

  const step = () => {
    timer = null
    if (sent >= total) return
    sendOne()
    if (sent < total) timer = setTimeout(step, 1_000 / perSecond)
  }

  return {
    state: () => ({ isSending: timer !== null, sent, total }),
    send(options) {
      perSecond = options.perSecond
      if (timer === null) {
        sent = 0
        total = 0
      }
      const before = total
      total = Math.min(total + options.count, sent + DEMO_COUNT_MAX)
      if (timer === null) step()
      return total - before
    },
    stop,
  }
}
