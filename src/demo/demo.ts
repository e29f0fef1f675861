// The demo as a part of a node: the vendor that its routes call, and the stream that can be requested.

import { type DemoState, makeDemoStream } from './stream.ts'
import { startVendor } from './vendor.ts'

export interface Demo extends AsyncDisposable {
  /** For `vars.vendor`. */
  readonly vendorUrl: string
  state(): DemoState
  send(options: { readonly count: number; readonly perSecond: number }): number
  stop(): void
}

export interface DemoOptions {
  /** The node's; called when something is sent. */
  url(): string
  /** What the demo's source verifies with. */
  readonly secret: string
  now(): number
  uuid(): string
}

export async function startDemo(options: DemoOptions): Promise<Demo> {
  const vendor = await startVendor()
  const stream = makeDemoStream({
    url: options.url,
    secret: () => options.secret,
    now: options.now,
    uuid: options.uuid,
    async post(url, init) {
      const response = await fetch(url, { method: 'POST', ...init })
      await response.arrayBuffer()
    },
  })
  return {
    vendorUrl: vendor.url,
    state: stream.state,
    send: stream.send,
    stop: stream.stop,
    async [Symbol.asyncDispose]() {
      stream.stop()
      await vendor[Symbol.asyncDispose]()
    },
  }
}
