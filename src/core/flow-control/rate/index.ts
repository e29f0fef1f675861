export type { AdaptiveBucket, BucketAnswer } from './adaptive-bucket.ts'
export {
  applyResponse,
  bucketAllows,
  bucketOpensAt,
  enterBucket,
  leaveBucket,
  OPEN_BUCKET,
} from './adaptive-bucket.ts'
export type { HostBucket, HostEvent } from './host-bucket.ts'
export { hostAllows, stepHost } from './host-bucket.ts'
export { type Limits, readLimits } from './rate-limit-headers.ts'
export type { PermitRequest, PermitResult, SharedBucket } from './shared-bucket.ts'
export {
  acquirePermits,
  applySharedResponse,
  chargeTokens,
  isLimiting,
  NEW_SHARED,
  permitsMax,
  sharedLeft,
  shyness,
} from './shared-bucket.ts'
export type { Tokens } from './token-bucket.ts'
export { giveBack, nextTokensAt, refill, take, whole } from './token-bucket.ts'
