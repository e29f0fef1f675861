export { type Bucket, type BucketPolicy, takeToken } from './bucket.ts'
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
export { clientAddress, type ProxyHeaders, type PublicUrlInput, publicUrl } from './proxies.ts'
export { VENDOR_NETWORKS } from './vendors.ts'
