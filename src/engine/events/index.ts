// Makes the events that actions emit and that the engine publishes about itself.

export { canonicalEvent, canonicalKey } from './canonical-events.ts'
export {
  type DispatchedDraft,
  dispatchKey,
  draftDispatched,
  type Emitted,
  findEmitFault,
  findHopsFault,
  makeEmitted,
  nextHeader,
  planEmitted,
} from './emitted-events.ts'
export { asksForSystem, listReads, withFacts, withFactsOf } from './fact-reads.ts'
export { findOrPromote, NOTHING_NOTED, type NoteDeps, type Noted, noteEvent, noteFact } from './facts.ts'
export { dropUnseen, type SeesWorkflow, seenBy, seesAll, seesEvent } from './seen-events.ts'
