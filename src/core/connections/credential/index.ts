// Applies a credential to a request and decides the credential's next state.

export {
  type Applied,
  applyHmac,
  applyValue,
  bearer,
  type RequestToSign,
} from './apply-credential.ts'
export {
  causeOfRefusal,
  decideRefusal,
  nextRotationAt,
  type RefusalCode,
  type RefusalQuestion,
  type RefusalStep,
  rotationToken,
  saysScopeMissing,
} from './credential-refusal.ts'
export {
  CREDENTIAL_STATUSES,
  type CredentialState,
  type CredentialStatus,
  type CredentialVersion,
  ROTATION_REASONS,
  type Rotation,
  type RotationReason,
} from './credential-state.ts'
export {
  type CredentialEvent,
  NEW_CREDENTIAL,
  stepCredential,
  type VaultVersion,
  VERSIONS_MAX,
} from './credential-step.ts'
