// The OpenAI protocol, as far as an agent needs it: builds the request, and parses a stream or a complete response. Pure.

import type { AgentDocument } from '../../definitions/documents/index.ts'
import {
  isNumeral,
  JsonError,
  type JsonValue,
  parseJson,
  stringifyJson,
} from '../../foundation/json/index.ts'

export interface Message {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

/** A model's output, and its cost. */
export interface Reply {
  readonly text: string
  /** Prompt and completion together; null: the server did not report it. */
  readonly tokens: number | null
  /** `length`: the output was truncated. `content_filter`: the output was suppressed. */
  readonly finish: string | null
  /** The server's error during the response. */
  readonly error: string | null
}

const SCHEMA_NAME_REST = /[^a-zA-Z0-9_-]/g

/** `tokensMax`: the rest of the budget, for the completion. */
export function chatRequest(
  agent: AgentDocument,
  messages: readonly Message[],
  tokensMax: number | null,
): string {
  const name = agent.name.replace(SCHEMA_NAME_REST, '_').slice(0, 64)
  return stringifyJson({
    model: agent.model,
    messages: messages.map(({ role, content }) => ({ role, content })),
    stream: true,
    stream_options: { include_usage: true },
    ...(agent.temperature === null ? {} : { temperature: agent.temperature }),
    ...(tokensMax === null ? {} : { max_tokens: tokensMax }),
    ...(agent.output === null
      ? {}
      : { response_format: { type: 'json_schema', json_schema: { name, schema: agent.output } } }),
  })
}

/** The text deltas of a stream, as they arrive: lines may be cut anywhere. */
export function makeStreamReader(onText: (text: string) => void): {
  read(chunk: string): void
  /** The complete result. */
  end(): Reply
} {
  let rest = ''
  let text = ''
  let tokens: number | null = null
  let finish: string | null = null
  let error: string | null = null

  const readLine = (line: string) => {
    if (!line.startsWith('data:')) return
    const data = line.slice('data:'.length).trim()
    if (data === '' || data === '[DONE]') return
    const said = parsed(data)
    if (said === null) {
      error ??= 'a piece of the stream is not JSON'
      return
    }
    error ??= errorOf(said)
    tokens = tokensOf(said) ?? tokens
    const choice = firstChoice(said)
    finish = textAt(choice, 'finish_reason') ?? finish
    const piece = textAt(fieldOf(choice, 'delta'), 'content')
    if (piece === null || piece === '') return
    text += piece
    onText(piece)
  }

  return {
    read(chunk) {
      const lines = (rest + chunk).split(/\r\n|\n|\r/)
      rest = lines.pop() ?? ''
      for (const line of lines) readLine(line)
    },
    end() {
      if (rest !== '') readLine(rest)
      rest = ''
      return { text, tokens, finish, error }
    },
  }
}

/** For a server that sends a complete response, though a stream was requested. */
export function readWhole(body: string): Reply {
  const said = parsed(body)
  if (said === null) return { text: '', tokens: null, finish: null, error: 'the answer is not JSON' }
  const choice = firstChoice(said)
  const content = textAt(fieldOf(choice, 'message'), 'content')
  return {
    text: content ?? '',
    tokens: tokensOf(said),
    finish: textAt(choice, 'finish_reason'),
    error: errorOf(said) ?? (content === null ? 'the answer says nothing' : null),
  }
}

/** Where a server does not count: about four characters each, rounded up, so that a budget still limits. */
export function estimateTokens(messages: readonly Message[], answer: string): number {
  const length = messages.reduce((sum, { content }) => sum + content.length, answer.length)
  return Math.ceil(length / 4)
}

function parsed(text: string): JsonValue | null {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof JsonError) return null
    throw error
  }
}

function fieldOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (value === null || typeof value !== 'object' || Array.isArray(value) || isNumeral(value))
    return undefined
  const fields = value as { readonly [name: string]: JsonValue }
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

function textAt(value: JsonValue | undefined, name: string): string | null {
  const found = fieldOf(value, name)
  return typeof found === 'string' ? found : null
}

function firstChoice(said: JsonValue): JsonValue | undefined {
  const choices = fieldOf(said, 'choices')
  return Array.isArray(choices) ? choices[0] : undefined
}

function tokensOf(said: JsonValue): number | null {
  const reported = fieldOf(fieldOf(said, 'usage'), 'total_tokens')
  const total = isNumeral(reported) ? reported.plain() : reported
  return typeof total === 'number' && Number.isSafeInteger(total) && total >= 0 ? total : null
}

function errorOf(said: JsonValue): string | null {
  const error = fieldOf(said, 'error')
  if (error === undefined || error === null) return null
  // The server's own words may quote the prompt: they are not repeated.
  const type = textAt(error, 'type') ?? textAt(error, 'code')
  return type === null ? 'the server broke off' : `the server broke off: ${type.slice(0, 100)}`
}
