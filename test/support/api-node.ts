// A whole node in this process with a vendor that does what an event says, and a client that validates every response
// against the OpenAPI document.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type App, startApp } from '../../src/app.ts'
import { resolveConfig } from '../../src/config/index.ts'
import type { TenantId } from '../../src/core/foundation/ids/index.ts'
import type { Change } from '../../src/engine/index.ts'
import { type AnswerCheck, makeAnswerCheck } from '../../src/http/answers.fixture.ts'
import type { OpenApiDocument } from '../../src/http/document.fixture.ts'

export interface Called {
  readonly status: number
  readonly text: string
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: answers are compared with the document; tests read what they expect.
  readonly body: any
}

export interface ApiNode extends AsyncDisposable {
  readonly app: App
  readonly document: OpenApiDocument
  readonly vendorUrl: string
  /** Responses that did not match the document. */
  readonly faults: string[]
  /** `path` as the document writes it; its parameters are taken from `params`. */
  call(
    method: string,
    path: string,
    options?: {
      readonly key?: string | null
      readonly params?: Readonly<Record<string, string>>
      readonly query?: string
      readonly body?: unknown
      readonly headers?: Readonly<Record<string, string>>
    },
  ): Promise<Called>
  /** Resolves with the first change, past or future, that matches. */
  seen(fits: (change: Change, tenant: TenantId) => boolean): Promise<Change>
}

export async function startApiNode(settings: Readonly<Record<string, string>> = {}): Promise<ApiNode> {
  const data = mkdtempSync(join(tmpdir(), 'millrace-api-'))
  const vendor = createServer(async (request, response) => {
    for await (const _ of request) {
    }
    const status = Number(request.url?.slice(1))
    // 0: it may have done it, and the outcome stays unknown.
    if (status === 0) request.socket.destroy()
    else response.writeHead(status, { 'content-type': 'application/json' }).end('{"id":"v1"}')
  })
  await new Promise<void>((resolve) => vendor.listen(0, '127.0.0.1', resolve))
  const env = {
    MILLRACE_DATA: data,
    MILLRACE_PORT: '0',
    MILLRACE_LOG: join(data, 'log.jsonl'),
    ...settings,
  }
  const resolved = resolveConfig(env)
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.findings))
  const app = await startApp({ config: resolved.config, env })
  const response = await fetch(`${app.url}/openapi.json`)
  const document = (await response.json()) as OpenApiDocument
  const check: AnswerCheck = await makeAnswerCheck(document)
  const faults: string[] = []

  const changes: { change: Change; tenant: TenantId }[] = []
  const waiting = new Set<() => void>()
  app.engine.watch({
    changed(tenant, change) {
      changes.push({ change, tenant })
      for (const look of waiting) look()
    },
    lost() {},
  })

  return {
    app,
    document,
    vendorUrl: `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`,
    faults,
    async call(method, path, { key = null, params = {}, query = '', body, headers = {} } = {}) {
      const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        encodeURIComponent(params[name] ?? 'none'),
      )
      const answer = await fetch(`${app.url}${address}${query}`, {
        method,
        headers: {
          ...(key !== null && { authorization: `Bearer ${key}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      const type = answer.headers.get('content-type') ?? ''
      const fault = check({ method, path, status: answer.status, type, text })
      if (fault !== null) faults.push(fault)
      return {
        status: answer.status,
        text,
        headers: answer.headers,
        body: text === '' ? null : JSON.parse(text),
      }
    },
    seen: (fits) =>
      new Promise((resolve) => {
        const look = () => {
          const found = changes.find(({ change, tenant }) => fits(change, tenant))
          if (found === undefined) return
          waiting.delete(look)
          resolve(found.change)
        }
        waiting.add(look)
        look()
      }),
    async [Symbol.asyncDispose]() {
      await app.close()
      vendor.closeAllConnections()
      await new Promise((resolve) => vendor.close(resolve))
      rmSync(data, { recursive: true })
    },
  }
}
