export {
  type Applied,
  applyHmac,
  applyValue,
  bearer,
  NOTHING_APPLIED,
  type RequestToSign,
  TIMESTAMP_HEADER,
  textToSign,
} from './apply.ts'
export {
  causeOfRefusal,
  decideRefusal,
  nextRotationAt,
  type RefusalCode,
  type RefusalQuestion,
  type RefusalStep,
  rotationToken,
  saysScopeMissing,
  TOKEN_PROVED_MS,
} from './refusal.ts'
export {
  CREDENTIAL_STATUSES,
  type CredentialState,
  type CredentialStatus,
  type CredentialVersion,
  ROTATION_REASONS,
  type Rotation,
  type RotationReason,
} from './state.ts'
export {
  type CredentialEvent,
  NEW_CREDENTIAL,
  stepCredential,
  type VaultVersion,
  VERSIONS_MAX,
} from './step.ts'
