// What a run may be about besides the routes of the shop.

export interface Parts {
  /** Workflows. */
  readonly hasCases: boolean
  /** Subscriptions. */
  readonly hasHooks: boolean
  readonly hasConnections: boolean
  /** Several nodes that come and go, and a store that fails over. */
  readonly hasFleet: boolean
  /** A bus, with those who publish on it. */
  readonly hasBus: boolean
}

export const NO_PARTS: Parts = {
  hasCases: false,
  hasHooks: false,
  hasConnections: false,
  hasFleet: false,
  hasBus: false,
}
