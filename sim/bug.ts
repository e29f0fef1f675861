// What a planted bug is.

import type { Decisions, EngineConfig } from '../src/engine/index.ts'
import type { Bus } from '../src/ports/bus.ts'
import type { Clock } from '../src/ports/clock.ts'
import type { FunctionContext } from '../src/ports/code.ts'
import type { HttpClient } from '../src/ports/http-client.ts'
import type { Store } from '../src/ports/store.ts'
import type { Data, StoreKind } from './data.ts'
import type { Profile } from './faults.ts'
import type { SimVault } from './node.ts'
import type { Rule } from './run-observations.ts'

export interface Bug {
  readonly name: string
  /** A mistake that an engineer might have made. */
  readonly about: string
  /** Rules that may be the first to notice. */
  readonly breaks: readonly Rule[]
  /** Which stores it can be planted in; both when left out. */
  readonly stores?: readonly StoreKind[]
  /** The circumstances in which it shows, where chance alone seldom brings them. */
  readonly profile?: (profile: Profile) => Profile
  readonly decisions?: (decisions: Decisions) => Decisions
  readonly clock?: (clock: Clock) => Clock
  readonly store?: (store: Store) => Store
  readonly http?: (http: HttpClient) => HttpClient
  readonly data?: (data: Data) => Data
  /** Looked for in the mixed draw, in nothing that is made for it. */
  readonly isMixed?: true
  /** Looked at first: it showed the bug when this was written. Any other may, and is looked at if it does not. */
  readonly seed?: number
  /** It is about workflows: they are defined where it is looked for, and only there. */
  readonly hasCases?: true
  /** The same of subscriptions. */
  readonly hasHooks?: true
  /** The same of connections. */
  readonly hasConnections?: true
  /** The same of several nodes. */
  readonly hasFleet?: true
  /** And of the bus. */
  readonly hasBus?: true
  readonly bus?: (bus: Bus) => Bus
  /** Changes the settings of the engine. */
  readonly config?: (config: EngineConfig) => EngineConfig
  readonly vault?: (vault: SimVault) => SimVault
  /** What functions are given. */
  readonly context?: (context: FunctionContext) => FunctionContext
}
