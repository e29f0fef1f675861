// Where it matters most, nobody does work again without saying why.

import { AppError } from '../core/errors/index.ts'
import type { HttpApi } from './api.ts'

export function mustSayWhy({ environment }: HttpApi['about'], reason: string | null): void {
  if (environment === 'PROD' && reason === null)
    throw new AppError('reason_required', 'in PROD a replay needs a reason')
}
