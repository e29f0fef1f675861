// Names the canonical events, which the system publishes about itself.

export type { CanonicalKind, CanonicalSubject } from './canonical.ts'
export {
  CANONICAL_EVENTS,
  CANONICAL_HEADER,
  CANONICAL_SOURCE,
  canonicalType,
  isCanonical,
  isCanonicalSource,
} from './canonical.ts'
export {
  correlationOf,
  type Fact,
  type FactContent,
  factId,
  HOPS_HEADER,
  isFactWanted,
  NewerFactError,
  type NewFact,
  packFact,
  SYSTEM_EVENTS,
  type SystemEvents,
  subjectOfFact,
  unpackFact,
} from './fact.ts'
