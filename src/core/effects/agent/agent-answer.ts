// Checks a model's output against its agent's contract: JSON that matches the schema, or text.

import { type CompiledSchema, compileSchema } from '../../definitions/catalog/index.ts'
import type { AgentDocument } from '../../definitions/documents/index.ts'
import { assert } from '../../foundation/errors/index.ts'
import { JsonError, type JsonValue, parseJson } from '../../foundation/json/index.ts'
import type { Reply } from './chat-protocol.ts'

export type Answer =
  | { readonly ok: true; readonly value: JsonValue }
  /** Sent to the model and shown to users: by path and type, never by value. */
  | { readonly ok: false; readonly problem: string }

/** Models often put JSON into a code fence, though they are asked not to. */
const FENCE = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/i

export function makeAnswerCheck({ output }: Pick<AgentDocument, 'output'>): (reply: Reply) => Answer {
  const schema = output === null ? null : mustCompile(output)
  return ({ text, finish }) => {
    if (finish === 'content_filter') return { ok: false, problem: 'the answer was filtered' }
    if (finish === 'length') return { ok: false, problem: 'the answer was cut off before its end' }
    if (schema === null)
      return text === '' ? { ok: false, problem: 'the answer is empty' } : { ok: true, value: text }
    const value = read(FENCE.exec(text)?.[1] ?? text)
    if (value === undefined) return { ok: false, problem: 'the answer is not JSON' }
    const mismatch = schema.check(value)
    if (mismatch === null) return { ok: true, value }
    const path = mismatch.path.replace(/^payload/, 'answer')
    return { ok: false, problem: `${path} ${mismatch.problem}` }
  }
}

function read(text: string): JsonValue | undefined {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

function mustCompile(output: JsonValue): CompiledSchema {
  const compiled = compileSchema(output)
  assert(compiled.ok, 'the schema of an agent was checked when it was applied')
  return compiled
}
