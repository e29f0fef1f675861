// The normal form of the location of a secret.

import type { SecretRef } from '../core/definitions/documents/index.ts'
import { assert } from '../core/foundation/errors/index.ts'

export interface SecretPlaceInput {
  readonly env?: string | undefined
  readonly ref?: string | undefined
  readonly file?: string | undefined
}

export function resolveSecret({ env, ref, file }: SecretPlaceInput): SecretRef {
  if (env !== undefined) return { env }
  if (file !== undefined) return { file }
  assert(ref !== undefined, 'a secret has `env`, `ref` or `file`')
  return { ref }
}
