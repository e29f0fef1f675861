export type { EventNames, Source } from './source.ts'
export { compileSource } from './source.ts'
export type { Headers, Verifier, VerifyInput, VerifyResult } from './verify.ts'
export { compileVerifier, signRequest, verifySignature } from './verify.ts'
