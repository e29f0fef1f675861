// Names of secrets in the vault. They stand in definitions and in addresses.

export const SECRET_NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'

const PATTERN = new RegExp(SECRET_NAME)

/** What begins so is kept by the engine: tokens of credentials. People set and name none of it. */
export const OWN_SECRETS = 'credentials.'

export function isSecretName(text: string): boolean {
  return PATTERN.test(text)
}
