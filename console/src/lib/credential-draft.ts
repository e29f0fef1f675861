// The typed fields of a new credential, and the document that they make.

import type { Credential } from '../types.ts'

type AuthModel = Credential['auth']

export interface CredentialDraft {
  readonly auth: AuthModel
  readonly name: string
  /** Of the vault. */
  readonly secret: string
  readonly username: string
  readonly clientId: string
  readonly grant: 'clientCredentials' | 'authorizationCode'
  readonly scopes: string
  readonly appId: string
  readonly installationId: string
  readonly subject: string
}

export type DraftField = Exclude<keyof CredentialDraft, 'auth' | 'grant'>

interface FieldWords {
  readonly field: DraftField
  readonly label: string
  /** As the document calls it. */
  readonly path: string
  readonly isOptional?: boolean
}

const USER: FieldWords = { field: 'username', label: 'User', path: 'username' }
const SCOPES: FieldWords = { field: 'scopes', label: 'Scopes', path: 'scopes', isOptional: true }

/** Besides its name and its secret. */
export const MODEL_FIELDS: Readonly<Record<AuthModel, readonly FieldWords[]>> = {
  none: [],
  apiKey: [],
  bearer: [],
  hmac: [],
  basic: [USER],
  oauth2: [
    { field: 'clientId', label: 'Client id', path: 'oauth2/clientId' },
    { ...SCOPES, path: 'oauth2/scopes' },
  ],
  githubApp: [
    { field: 'appId', label: 'App id', path: 'githubApp/appId' },
    { field: 'installationId', label: 'Installation id', path: 'githubApp/installationId' },
  ],
  serviceAccount: [
    { ...SCOPES, path: 'serviceAccount/scopes' },
    { field: 'subject', label: 'On behalf of', path: 'serviceAccount/subject', isOptional: true },
  ],
}

/** `shop-main` → `SHOP_MAIN`. */
export const secretNameOf = (name: string): string => name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')

export function credentialDocument(provider: string, draft: CredentialDraft) {
  const { auth, name, secret, username, clientId, grant, appId, installationId, subject } = draft
  const scopes = draft.scopes.split(/[\s,]+/).filter((one) => one !== '')
  return {
    name: name.trim(),
    provider,
    auth,
    secret: { ref: secret.trim() },
    ...(auth === 'basic' && { username: username.trim() }),
    ...(auth === 'oauth2' && {
      oauth2: { grant, clientId: clientId.trim(), ...(scopes.length > 0 && { scopes }) },
    }),
    ...(auth === 'githubApp' && {
      githubApp: { appId: appId.trim(), installationId: installationId.trim() },
    }),
    ...(auth === 'serviceAccount' && {
      serviceAccount: {
        ...(scopes.length > 0 && { scopes }),
        ...(subject.trim() !== '' && { subject: subject.trim() }),
      },
    }),
  }
}
