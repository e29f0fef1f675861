// Names of secrets in the vault. They are part of definitions and addresses.

export const SECRET_NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'

const PATTERN = new RegExp(SECRET_NAME)

/** The prefix of secrets that the engine stores: tokens of credentials. Users neither set nor name them. */
export const OWN_SECRETS = 'credentials.'

export function isSecretName(text: string): boolean {
  return PATTERN.test(text)
}
