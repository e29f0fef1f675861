export type { AdaptiveBucket, BucketAnswer } from './adaptive-bucket.ts'
export {
  bucketAllows,
  bucketOpensAt,
  enterBucket,
  leaveBucket,
  OPEN_BUCKET,
  applyResponse,
} from './adaptive-bucket.ts'
export type { HostBucket, HostEvent } from './host-bucket.ts'
export { hostAllows, stepHost } from './host-bucket.ts'
export { type Limits, readLimits } from './rate-limit-headers.ts'
export type { PermitResult, PermitRequest, SharedBucket } from './shared-bucket.ts'
export {
  chargeTokens,
  permitsMax,
  acquirePermits,
  isLimiting,
  NEW_SHARED,
  sharedLeft,
  shyness,
  applySharedResponse,
} from './shared-bucket.ts'
export type { Tokens } from './token-bucket.ts'
export { giveBack, nextTokensAt, refill, take, whole } from './token-bucket.ts'
