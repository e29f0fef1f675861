// A form from a JSON Schema, if it describes an object of simple values; anything else is typed as JSON. The server
// validates against the schema itself.

import { type JsonNode, parseJsonText } from './json-text.ts'

export interface InputField {
  readonly name: string
  readonly label: string
  readonly hint: string | undefined
  readonly isNeeded: boolean
  readonly type: 'text' | 'number' | 'choice' | 'yes-no'
  readonly options: readonly string[]
  /** The initial text. */
  readonly first: string
}

interface Schema {
  readonly type?: unknown
  readonly title?: unknown
  readonly description?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly unknown[]
  readonly enum?: readonly unknown[]
  readonly default?: unknown
}

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** null: it has to be typed as JSON. */
export function inputFields(schema: unknown): readonly InputField[] | null {
  if (!isObject(schema) || schema.type !== 'object' || !isObject(schema.properties)) return null
  const fields = Object.entries(schema.properties).map(([name, part]): InputField | null => {
    if (!isObject(part)) return null
    const type = typeOf(part)
    if (type === null) return null
    const { title, description, default: first } = part
    return {
      name,
      label: typeof title === 'string' ? title : name,
      hint: typeof description === 'string' ? description : undefined,
      isNeeded: schema.required?.includes(name) === true,
      type,
      options: type === 'choice' ? (part.enum ?? []).map(String) : [],
      first: first === undefined ? (type === 'yes-no' ? 'false' : '') : String(first),
    }
  })
  return fields.every((field) => field !== null) && fields.length > 0 ? fields : null
}

function typeOf({ type, enum: options }: Schema): InputField['type'] | null {
  if (options !== undefined) return options.every((one) => typeof one === 'string') ? 'choice' : null
  if (type === 'string') return 'text'
  if (type === 'number' || type === 'integer') return 'number'
  return type === 'boolean' ? 'yes-no' : null
}

/** The typed fields as one value; empty ones are left out. Throws JsonTextError for what is not a number. */
export function inputOf(fields: readonly InputField[], typed: ReadonlyMap<string, string>): JsonNode {
  return {
    type: 'object',
    members: fields.flatMap(({ name, type, first }) => {
      const text = typed.get(name) ?? first
      if (text === '') return []
      if (type === 'number') return [[name, parseJsonText(text)] as const]
      if (type === 'yes-no')
        return [[name, { type: 'word', text: text === 'true' ? 'true' : 'false' }] as const]
      return [[name, { type: 'string', value: text }] as const]
    }),
  }
}
