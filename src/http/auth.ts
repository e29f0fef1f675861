// Who is asking: `authorization: Bearer <key>`. Keys are kept and compared as digests, in constant time.

import { createHash, timingSafeEqual } from 'node:crypto'
import { AppError } from '../core/errors/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../core/ids/index.ts'

export interface Caller {
  readonly tenant: TenantId
  /** For the audit. */
  readonly actor: string
}

export function makeAuthenticator(adminKey: string): (authorization: string | undefined) => Caller {
  const expected = digest(adminKey)
  return (authorization) => {
    if (authorization === undefined)
      throw new AppError('not_authenticated', 'there is no authorization header')
    const match = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization)
    if (match === null)
      throw new AppError('not_authenticated', 'the authorization header is not a bearer key')
    if (!timingSafeEqual(digest(match[1] as string), expected)) {
      throw new AppError('not_authenticated', 'the key is not known')
    }
    return { tenant: DEFAULT_TENANT, actor: 'admin' }
  }
}

function digest(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
