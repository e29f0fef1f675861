export type { CanonicalKind, CanonicalSubject } from './canonical.ts'
export {
  CANONICAL_EVENTS,
  CANONICAL_HEADER,
  CANONICAL_SOURCE,
  canonicalType,
  isCanonical,
  isCanonicalSource,
} from './canonical.ts'
