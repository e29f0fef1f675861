// Why a secret could not be read from its vault, as a failure class with a message.

import type { FailureClass } from '../../core/failures/failure/index.ts'
import { AppError, ERRORS } from '../../core/foundation/errors/index.ts'
import { StoreError } from '../../ports/store.ts'

export interface NoValue {
  readonly ok: false
  readonly class: FailureClass
  readonly code: string
  readonly error: string
}

/** Jobs wait for a vault that is sealed, down or refuses access: its operator must fix that. */
export function unreadable(error: unknown): NoValue {
  if (error instanceof AppError) {
    const isAway = ERRORS[error.code].kind === 'unavailable'
    return { ok: false, class: isAway ? 'transient' : 'config', code: error.code, error: error.message }
  }
  if (error instanceof StoreError)
    return { ok: false, class: 'transient', code: 'vault_unavailable', error: 'the vault does not answer' }
  // Its own text may contain more than users may see.
  return { ok: false, class: 'transient', code: 'vault_unavailable', error: 'the vault failed' }
}
