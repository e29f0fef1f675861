export {
  CREDENTIAL_STATUSES,
  type CredentialState,
  type CredentialStatus,
  type CredentialVersion,
  ROTATION_REASONS,
  type Rotation,
  type RotationReason,
} from './state.ts'
