// Generated from src/definitions/kinds by `npm run docs`; do not edit. Optional fields of documents whose normal form is
// what was written: a field that is left out was not written, or equals the default.

import type { JsonValue } from '../../foundation/json/index.ts'

export interface CarriedSource {}

export interface CarriedPoller {}

export interface CarriedRoute {
  /** How long a new job waits before its first attempt; replays run at once. Left out: none. */
  readonly delayMs?: number
}

export interface CarriedWorkflow {}

export interface CarriedAgent {}

export interface CarriedSubscription {
  /** The body that is sent. Left out: `id`, `type`, `timestamp` and `data` of the event. */
  readonly transform?: JsonValue
  /** How many deliveries are under way at once. Left out: as many as the endpoint bears, up to 64 a node. */
  readonly concurrency?: {
    /** So many. */
    readonly limit: number
  }
  /** The connection whose rate limits its deliveries share with the calls on it: the default bucket of its provider, also while that is closed after a 429. Address and proof stay those of the subscription. Left out: limits are those of the endpoint alone. Since 0.2. */
  readonly connection?: string
  /** `send`: what sources declare as sensitive is sent to this endpoint. Left out: it is sent as `[hidden]`. */
  readonly sensitive?: 'send'
}

export interface CarriedProvider {}

export interface CarriedConnection {}

export interface CarriedCredential {}

export interface CarriedProfile {}

export interface CarriedVars {}
