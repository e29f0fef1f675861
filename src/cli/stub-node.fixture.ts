// A node for tests of commands: it responds as configured, and records the requests.

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { runCli, type TestCliOptions } from './cli.fixture.ts'

export interface StubNode {
  /** By method and path. */
  answers: Readonly<Record<string, { readonly status?: number; readonly body: unknown }>>
  readonly asked: readonly { readonly at: string; readonly body: unknown }[]
  /** For files that commands are given. */
  readonly folder: string
  run(args: readonly string[], options?: Omit<TestCliOptions, 'env'>): ReturnType<typeof runCli>
}

/** Available to all tests of the file that calls it. */
export function stubNodeForTests(): StubNode {
  const asked: { at: string; body: unknown }[] = []
  let url = ''
  const node: StubNode = {
    answers: {},
    asked,
    folder: mkdtempSync(join(tmpdir(), 'millrace-cli-')),
    run: (args, options = {}) => runCli(args, { ...options, env: { MILLRACE_URL: url, MILLRACE_KEY: 'k' } }),
  }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const at = `${request.method} ${request.url}`
    asked.push({ at, body: text === '' ? null : JSON.parse(text) })
    const { status = 200, body } = node.answers[at] ?? { status: 404, body: { title: 'No such thing' } }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  beforeAll(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
    rmSync(node.folder, { recursive: true })
  })
  return node
}
