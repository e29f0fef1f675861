// Decides which addresses may call in, how fast, and which addresses may be called.

export { clientAddress, type ProxyHeaders, type PublicUrlInput, publicUrl } from './client-address.ts'
export { type Bucket, type BucketPolicy, takeToken } from './inbound-bucket.ts'
export {
  compileAllowlist,
  compileNetworks,
  type Networks,
  normalAddress,
  parseAllowed,
  vendorNames,
} from './networks.ts'
export {
  judgeAddress,
  judgeAddresses,
  judgeTarget,
  judgeUrl,
  type OutboundRefusal,
  type OutboundRule,
  type OutboundTarget,
  type OutboundVerdict,
  type RefusedName,
  readMailTarget,
  readTarget,
  unreachableName,
} from './outbound.ts'
export {
  makeOutboundPolicy,
  type OutboundPolicy,
  outboundEntries,
  parseOutboundEntry,
} from './outbound-policy.ts'
export { VENDOR_NETWORKS } from './vendor-networks.ts'
