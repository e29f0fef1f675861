// Requires a reason for a change in the environment PROD.

import { AppError } from '../core/foundation/errors/index.ts'
import type { HttpApi } from './api.ts'

export function mustSayWhy(
  { environment }: HttpApi['about'],
  reason: string | null,
  what = 'a replay',
): void {
  if (environment === 'PROD' && reason === null)
    throw new AppError('reason_required', `in PROD ${what} needs a reason`)
}
