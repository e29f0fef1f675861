export type { AdaptiveBucket, BucketAnswer } from './adaptive.ts'
export { bucketAllows, bucketOpensAt, enterBucket, leaveBucket, OPEN_BUCKET, tellBucket } from './adaptive.ts'
export type { HostBucket, HostEvent } from './host.ts'
export { hostAllows, stepHost } from './host.ts'
export { type Limits, readLimits } from './limits.ts'
export type { Drawn, DrawRequest, SharedBucket } from './shared.ts'
export {
  chargeTokens,
  drawMax,
  drawTokens,
  isLimiting,
  NEW_SHARED,
  sharedLeft,
  shyness,
  tellShared,
} from './shared.ts'
export type { Tokens } from './tokens.ts'
export { giveBack, nextTokensAt, refill, take, whole } from './tokens.ts'
