export { type Bucket, type BucketPolicy, takeToken } from './bucket.ts'
export {
  compileAllowlist,
  compileNetworks,
  type Networks,
  normalAddress,
  parseAllowed,
  vendorNames,
} from './networks.ts'
export { clientAddress, type ProxyHeaders, type PublicUrlInput, publicUrl } from './proxies.ts'
export { VENDOR_NETWORKS } from './vendors.ts'
