// Shopify: HMAC-SHA256 over the body, in one of two families of headers. The newer one has the same names without `x-`. A request that
// has both is verified by the older one.

import { type HmacShape, makeHmacScheme } from '../hmac.ts'
import type { Scheme } from '../verification-scheme.ts'

const NEWER_HEADER = 'shopify-hmac-sha256'

export function makeShopifyScheme(shape: HmacShape): Scheme {
  const older = makeHmacScheme(shape)
  const newer = makeHmacScheme({ ...shape, header: NEWER_HEADER })
  return {
    ...older,
    verify: (input) => {
      const isNewer = input.headers[shape.header] === undefined && input.headers[NEWER_HEADER] !== undefined
      return (isNewer ? newer : older).verify(input)
    },
    secretHeaders: [...older.secretHeaders, ...newer.secretHeaders],
  }
}
