// The pure decisions that the engine carries out, in one place: the simulator swaps them to plant bugs. And the short times
// that every way of carrying them out shares.

import { stepCircuit } from '../core/circuit/index.ts'
import { decideDrain } from '../core/drain/index.ts'
import { classifyCall } from '../core/failure/index.ts'
import { decideDebounce, isStale, keepsPlace } from '../core/lane/index.ts'
import { decideEffect } from '../core/ledger/index.ts'
import { stepHost } from '../core/rate/index.ts'
import { decideFailure } from '../core/work/index.ts'
import { decideStop } from './function-stop.ts'

export interface Decisions {
  readonly decideEffect: typeof decideEffect
  readonly classifyCall: typeof classifyCall
  readonly decideFailure: typeof decideFailure
  readonly decideStop: typeof decideStop
  readonly decideDebounce: typeof decideDebounce
  readonly isStale: typeof isStale
  readonly keepsPlace: typeof keepsPlace
  readonly stepCircuit: typeof stepCircuit
  readonly stepHost: typeof stepHost
  readonly decideDrain: typeof decideDrain
}

export const DECISIONS: Decisions = {
  decideEffect,
  classifyCall,
  decideFailure,
  decideStop,
  decideDebounce,
  isStale,
  keepsPlace,
  stepCircuit,
  stepHost,
  decideDrain,
}

/** Lease that must be left beyond a call's own limit, for the commit after it. */
export const SETTLE_MARGIN_MS = 1_000
/** Until an item that stepped aside is looked at again. */
export const SHORT_WAIT_MS = 1_000
