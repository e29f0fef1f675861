// Verifies a request against its source and maps it to subjects.

export type { Dispatch } from './dispatch.ts'
export { MAPPING_NAMES, MAPPINGS, type Mapping, type MappingName } from './mappings/index.ts'
export type { Headers } from './signed-bytes.ts'
export type { EventNames, Source } from './source.ts'
export { compileSource, identityOf, instantOf, textOf } from './source.ts'
export type { Answer, Guards, Handshake } from './source-guards.ts'
export { headersReadBy, isStoredHeader } from './stored-headers.ts'
export {
  type SignInput,
  SigningError,
  type Verifier,
  type VerifyInput,
  type VerifyResult,
} from './verification-scheme.ts'
export {
  compileVerifier,
  handshakeOf,
  secretHeadersOf,
  signedUrl,
  signRequest,
  verifySignature,
} from './verify-request.ts'
