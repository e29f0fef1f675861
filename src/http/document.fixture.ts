// The OpenAPI document without a node behind it: for the tests that compare, and for the script that writes.

import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import type { HttpApi } from './api.ts'
import { makeHttpServer } from './server.ts'

export interface OpenApiDocument {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, OpenApiSchema>> }
}

export interface OpenApiOperation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly security?: readonly object[]
  readonly 'x-millrace-role': string
  readonly parameters?: readonly {
    readonly in: string
    readonly name: string
    readonly required: boolean
    readonly schema: OpenApiSchema
    readonly description?: string
  }[]
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: OpenApiSchema }>>
  }
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string
        readonly content?: Readonly<Record<string, { readonly schema: OpenApiSchema }>>
      }
    >
  >
}

export interface OpenApiSchema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly description?: string
  readonly properties?: Readonly<Record<string, OpenApiSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | OpenApiSchema
  readonly items?: OpenApiSchema
  readonly anyOf?: readonly OpenApiSchema[]
  readonly oneOf?: readonly OpenApiSchema[]
}

/** Compiles every schema on the way: a node does so with the first request, where a broken one would be a user's to find. */
export async function readDocument(): Promise<OpenApiDocument> {
  // Adding routes asks nothing of the parts behind them.
  const nothing: unknown = new Proxy(() => nothing, { get: () => nothing })
  await using server = makeHttpServer(nothing as HttpApi, {
    bodyBytesMax: 8_388_608,
    closeMs: 0,
    compilesAtOnce: true,
    requestId: () => 'none',
    log: makeMemoryLog(),
  })
  await server.app.ready()
  return JSON.parse(JSON.stringify(server.app.swagger()))
}
