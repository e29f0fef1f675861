// JSON read without loss: numbers keep their digits, so that 9007199254740993 is shown as such.

export type JsonNode =
  | { readonly type: 'object'; readonly members: readonly (readonly [name: string, value: JsonNode])[] }
  | { readonly type: 'array'; readonly items: readonly JsonNode[] }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'number' | 'word'; readonly text: string }

/** Where the text stops being JSON, counted from its start. */
export class JsonTextError extends Error {
  readonly at: number
  constructor(message: string, at: number) {
    super(message)
    this.at = at
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows none in a text.
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const WORD = /true|false|null/y
const SPACE = /[ \t\r\n]*/y

export function parseJsonText(text: string): JsonNode {
  let at = 0
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found === null) return null
    at = pattern.lastIndex
    return found[0]
  }
  const fail = (expected: string): never => {
    const seen = at >= text.length ? 'the text ends' : `there is "${text.slice(at, at + 12).split('\n')[0]}"`
    throw new JsonTextError(`expected ${expected}, but ${seen}`, at)
  }
  const is = (sign: string): boolean => {
    take(SPACE)
    if (text[at] !== sign) return false
    at += 1
    return true
  }
  const readString = (): string => {
    take(SPACE)
    const found = take(STRING)
    return found === null ? fail('a text in double quotes') : (JSON.parse(found) as string)
  }
  const readObject = (): JsonNode => {
    const members: [string, JsonNode][] = []
    if (is('}')) return { type: 'object', members }
    do {
      const name = readString()
      if (!is(':')) fail('a colon')
      members.push([name, readValue()])
    } while (is(','))
    if (!is('}')) fail('a comma or }')
    return { type: 'object', members }
  }
  const readArray = (): JsonNode => {
    const items: JsonNode[] = []
    if (is(']')) return { type: 'array', items }
    do items.push(readValue())
    while (is(','))
    if (!is(']')) fail('a comma or ]')
    return { type: 'array', items }
  }
  const readValue = (): JsonNode => {
    if (is('{')) return readObject()
    if (is('[')) return readArray()
    if (text[at] === '"') return { type: 'string', value: readString() }
    const number = take(NUMBER)
    if (number !== null) return { type: 'number', text: number }
    const word = take(WORD)
    return word === null ? fail('a value') : { type: 'word', text: word }
  }
  const root = readValue()
  take(SPACE)
  if (at < text.length) fail('the end')
  return root
}

export function memberOf(node: JsonNode | undefined, name: string): JsonNode | undefined {
  if (node?.type !== 'object') return undefined
  return node.members.find(([key]) => key === name)?.[1]
}

/** For reading: two spaces a level, digits unchanged. */
export function formatJson(node: JsonNode, indent = ''): string {
  const deeper = `${indent}  `
  switch (node.type) {
    case 'object': {
      if (node.members.length === 0) return '{}'
      const lines = node.members.map(
        ([name, value]) => `${deeper}${JSON.stringify(name)}: ${formatJson(value, deeper)}`,
      )
      return `{\n${lines.join(',\n')}\n${indent}}`
    }
    case 'array': {
      if (node.items.length === 0) return '[]'
      return `[\n${node.items.map((item) => deeper + formatJson(item, deeper)).join(',\n')}\n${indent}]`
    }
    case 'string':
      return JSON.stringify(node.value)
    default:
      return node.text
  }
}

export function lineAndColumn(text: string, at: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, at).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

/** The typed text, or where it stops being JSON. */
export function checkJson(text: string): { readonly node: JsonNode } | { readonly message: string } {
  try {
    return { node: parseJsonText(text) }
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error
    const { line, column } = lineAndColumn(text, error.at)
    return { message: `Line ${line}, column ${column}: ${error.message}.` }
  }
}
