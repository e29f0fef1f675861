export type { Dispatch } from './dispatch.ts'
export type { Answer, Guards, Handshake } from './guards.ts'
export { MAPPING_NAMES, MAPPINGS, type Mapping, type MappingName } from './mappings/index.ts'
export { type SignInput, SigningError, type Verifier, type VerifyInput, type VerifyResult } from './scheme.ts'
export type { Headers } from './signed.ts'
export type { EventNames, Source } from './source.ts'
export { compileSource } from './source.ts'
export { headersReadBy, isStoredHeader } from './stored-headers.ts'
export {
  compileVerifier,
  handshakeOf,
  secretHeadersOf,
  signedUrl,
  signRequest,
  verifySignature,
} from './verify.ts'
