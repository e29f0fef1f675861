// The OpenAPI document with its types: for the tests that compare, and for the script that writes.

import { makeDocument } from './openapi-document.ts'

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

/** As it would be written now. */
export function readDocument(): OpenApiDocument {
  return JSON.parse(JSON.stringify(makeDocument()))
}
