// Checks an agent beyond its single fields.

import { compileSchema } from '../core/definitions/catalog/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { checkAuth } from './auth.ts'
import type { Surroundings } from './document-context.ts'
import type { FieldPath, Remark } from './finding.ts'
import { checkBaseConnection } from './operations.ts'
import { checkRetry } from './retries.ts'
import { checkSecrets } from './secrets.ts'

type Fields = { readonly [key: string]: JsonValue }

export function checkAgent(agent: Fields, around: Surroundings): readonly Remark[] {
  const { output } = agent
  const isMap = typeof output === 'object' && output !== null && !Array.isArray(output)
  const { schema } = (isMap ? output : {}) as Fields
  return [
    ...checkRetry(agent.retry, around, ['retry']),
    ...checkSecrets(agent.secret, around, ['secret'], 'every call of it fails'),
    ...checkAuth(agent, around, [], 'every call of it fails'),
    ...checkJsonSchema(schema, ['output', 'schema']),
    ...checkBaseConnection(agent, [], around),
    ...checkSecretBeside(agent),
  ]
}

function checkSecretBeside({ connection, secret, auth }: Fields): readonly Remark[] {
  if (auth !== undefined && secret !== undefined) {
    const message = '`secret` is short for `auth: { bearer: … }`: keep one of them'
    return [{ rule: 'together', message, path: ['secret'], onKey: true }]
  }
  if (connection === undefined || secret === undefined) return []
  const message = 'the connection brings its credential: leave `secret` out, or `connection`'
  return [{ rule: 'together', message, path: ['secret'], onKey: true }]
}

/** At `at`: a JSON Schema that will be compiled. */
export function checkJsonSchema(schema: JsonValue | undefined, at: FieldPath): readonly Remark[] {
  if (schema === undefined) return []
  const compiled = compileSchema(schema)
  if (compiled.ok) return []
  return compiled.problems.map(({ message, path }) => ({
    rule: 'catalogSchema',
    message,
    path: [...at, ...path],
  }))
}
