// What the simulated vendor can be asked for.

/** What the vendor offers under one name. */
export interface VendorOperation {
  readonly name: string
  /** Whose calls these are. */
  readonly consumer: string
  readonly isIdempotent: boolean
  readonly keyTtlMs: number | null
  readonly probeAfterMs: number | null
  readonly timeoutMs: number
  /** Keeps objects by their reference, and can be asked for them. */
  readonly isUpsert?: true
  /** Its calls bring several, each of which has its own effect. */
  readonly isBatch?: true
  /** It is called on this connection, with what lets one in. */
  readonly connection?: string
  /** Called by a function outside of any effect: nothing is reserved for it. */
  readonly isUnreserved?: true
  /** It makes or ends the secret of a credential: its request names no event. */
  readonly isRotation?: true
}
