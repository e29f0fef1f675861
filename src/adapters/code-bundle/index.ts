export { type BundleCode, type BundleCodeOptions, makeBundleCode } from './code-bundle.ts'
