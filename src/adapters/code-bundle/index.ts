export { type BundleCode, type BundleCodeOptions, makeBundleCode } from './code-bundle.ts'
export { type BundleSignatures, makeBundleSignatures } from './signatures.ts'
