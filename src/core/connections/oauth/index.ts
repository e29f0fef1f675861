// Builds OAuth token requests and signed assertions, and reads the token responses.

export {
  githubAppJwt,
  KeyError,
  parseServiceAccountKey,
  type ServiceAccountKey,
  serviceAccountAssertion,
} from './jwt.ts'
export {
  assertionRequest,
  authorizeAddress,
  type Client,
  type Grant,
  installationRequest,
  STATE_BYTES,
  type TokenRequest,
  tokenRequest,
  VERIFIER_BYTES,
  verifierOf,
} from './oauth-requests.ts'
export { ageOf, readTokenAnswer, type Token, type TokenAnswer, type TokenRefusal } from './token-response.ts'
