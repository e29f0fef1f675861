// The tokens that a vendor knows: which of them are valid, until when, and who ended them.

export interface VendorToken {
  readonly value: string
  /** In the vendor's time; null: never. */
  expiresAt: number | null
  isRevoked: boolean
  /** How many calls came with it, valid or not. */
  uses: number
}

export interface Tokens {
  /** It is valid from now on. */
  accept(value: string, expiresAt?: number | null): VendorToken
  /** A new one, accepted. */
  create(prefix?: string, expiresAt?: number | null): string
  revoke(value: string): void
  /** It was valid until now. */
  expire(value: string): void
  isGood(value: string): boolean
  get(value: string): VendorToken | undefined
  all(): readonly VendorToken[]
}

export function makeTokens(now: () => number): Tokens {
  const known = new Map<string, VendorToken>()
  let count = 0
  const accept: Tokens['accept'] = (value, expiresAt = null) => {
    const token: VendorToken = { value, expiresAt, isRevoked: false, uses: known.get(value)?.uses ?? 0 }
    known.set(value, token)
    return token
  }
  return {
    accept,
    create(prefix = 'tok_', expiresAt = null) {
      count += 1
      const value = `${prefix}${String(count).padStart(4, '0')}-planted-secret`
      accept(value, expiresAt)
      return value
    },
    revoke(value) {
      const token = known.get(value)
      if (token !== undefined) token.isRevoked = true
    },
    expire(value) {
      const token = known.get(value)
      if (token !== undefined) token.expiresAt = now()
    },
    isGood(value) {
      const token = known.get(value)
      if (token === undefined || token.isRevoked) return false
      return token.expiresAt === null || now() < token.expiresAt
    },
    get: (value) => known.get(value),
    all: () => [...known.values()],
  }
}
