// src/sdk/client/lists.generated.ts: the lists that declare how tables show them.

import type { OpenApiDocument, OpenApiSchema } from '../../src/http/document.fixture.ts'
import { everyOperation } from '../../src/http/openapi-document.ts'

interface TableColumn {
  readonly title: string
  /** The member of a row: `work.state`. */
  readonly member: string
  readonly as: 'time' | 'state' | 'number' | 'consumer' | 'text'
  readonly min?: number
}

interface TableFilter {
  readonly name: string
  readonly about: string
  readonly choices?: readonly string[]
}

type ListTables = ReturnType<typeof makeListTables>

/** With what the schemas say of each column and filter. */
export function makeListTables(document: OpenApiDocument) {
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item))
  return Object.fromEntries(
    everyOperation().flatMap(({ id, declared: { table } }) => {
      const operation = operations.find(({ operationId }) => operationId === id)
      if (table === undefined || operation === undefined) return []
      const { columns, filters = {}, ...rest } = table
      const row = rowOf(operation.responses['200']?.content?.['application/json']?.schema, document)
      const asked = (operation.parameters ?? []).filter(
        (one) => one.in === 'query' && !PAGE.includes(one.name),
      )
      return [
        [
          id,
          {
            ...rest,
            columns: columns.map(([title, member, min]): TableColumn => {
              const as = cellOf(member, memberOf(row, member.split('.'), document))
              return { title, member, as, ...(min !== undefined && { min }) }
            }),
            filters: asked.map(({ name, schema }): TableFilter => {
              const about = filters[name] ?? ABOUT[name] ?? `only with this ${name}`
              return { name, about, ...(schema.enum !== undefined && { choices: schema.enum as string[] }) }
            }),
          },
        ] as const,
      ]
    }),
  )
}

/** Filters that many lists have. */
const ABOUT: Readonly<Record<string, string>> = {
  state: 'only in this state',
  consumer: 'only of this route',
  class: 'only with this failure class',
}

const PAGE = ['cursor', 'limit']

const resolved = (schema: OpenApiSchema | undefined, { components }: OpenApiDocument) =>
  schema?.$ref === undefined ? schema : components.schemas[schema.$ref.split('/').at(-1) ?? '']

const rowOf = (page: OpenApiSchema | undefined, document: OpenApiDocument) =>
  resolved(page?.properties?.items?.items, document)

function memberOf(
  row: OpenApiSchema | undefined,
  [name = '', ...rest]: readonly string[],
  document: OpenApiDocument,
): OpenApiSchema {
  const found = resolved(row?.properties?.[name], document)
  if (found === undefined) throw new Error(`a row has no ${name}`)
  return rest.length === 0 ? found : memberOf(found, rest, document)
}

function cellOf(member: string, schema: OpenApiSchema & { readonly format?: string }): TableColumn['as'] {
  const types = [schema.type].flat()
  if (schema.format === 'date-time') return 'time'
  if (types.includes('integer') || types.includes('number')) return 'number'
  if (schema.properties !== undefined) return 'consumer'
  return /(?:^|\.)(?:state|status)$/.test(member) ? 'state' : 'text'
}

export function renderListTables(tables: ListTables): string {
  return `// Generated from the routes' declarations: \`npm run docs\`. Do not edit.

/** A list as tables show it. */
export interface ListTable {
  /** What an empty list means. */
  readonly empty: string
  readonly columns: readonly {
    readonly title: string
    /** The member of a row: \`work.state\`. */
    readonly member: string
    readonly as: 'time' | 'state' | 'number' | 'consumer' | 'text'
    /** It may be cut down to this width. */
    readonly min?: number
  }[]
  readonly filters: readonly {
    readonly name: string
    readonly about: string
    readonly choices?: readonly string[]
  }[]
  /** The list is a command, and a screen of the console, without code of its own. */
  readonly page?: {
    readonly command: string
    readonly title: string
    readonly about: string
    /** Pressed after \`g\` in the console. */
    readonly key: string
    /** Where a row leads there: \`/work/{work.id}\`. */
    readonly href?: string
  }
}

const TABLES = ${JSON.stringify(tables, null, 2)} as const satisfies Readonly<Record<string, ListTable>>

/** A list that has a table. */
export type TabledList = keyof typeof TABLES
export const LIST_TABLES: Readonly<Record<TabledList, ListTable>> = TABLES

/** Of a row: \`work.state\`. */
export function memberOf(row: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce((value, name) => (value as Readonly<Record<string, unknown>> | null | undefined)?.[name], row)
}
`
}
