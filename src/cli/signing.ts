// The secret and the signature of what commands send: as the source's definition says, with a secret that is known here.

import { randomUUID } from 'node:crypto'
import { type SourceDocument, secretsOf, type VerifyDocument } from '../core/definitions/documents/index.ts'
import { SigningError, signedUrl, signRequest } from '../core/ingest/source/index.ts'
import type { Answer, Session } from './command.ts'
import { CliError, usageError } from './failure.ts'

/** The well-known DEV value: the node uses it too if the variable is not set. */
const DEV_SECRETS: Readonly<Record<string, string>> = { GITHUB_WEBHOOK_SECRET: 'dev-secret' }

export interface DeployedSource {
  readonly document: SourceDocument
  readonly me: Answer<'getMe'>
}

export async function readSource(session: Session, name: string): Promise<DeployedSource> {
  const path = `/v1/definitions/Source/${encodeURIComponent(name)}`
  const [{ document }, me] = await Promise.all([
    session.api.get<{ document: SourceDocument }>(path),
    session.api.get<Answer<'getMe'>>('/v1/me'),
  ])
  return { document, me }
}

/** The variables that the definition names; empty if it names none, or if there is nothing to sign with. */
export function variablesOf(verify: VerifyDocument): readonly string[] {
  return secretsOf(verify).flatMap((ref) => ('env' in ref ? [ref.env] : []))
}

/** null: it is not set here. Sources that verify nothing need none: ''. */
export function findSecret(
  source: DeployedSource,
  given: string | undefined,
  env: Session['env'],
): string | null {
  const { verify } = source.document
  if (secretsOf(verify).length === 0) return ''
  if (given !== undefined) return given
  const names = variablesOf(verify)
  for (const name of names) {
    const value = env[name]
    if (value !== undefined && value !== '') return value
  }
  const { environment } = source.me
  if (environment === 'QA' || environment === 'PROD') return null
  return names.map((name) => DEV_SECRETS[name]).find((value) => value !== undefined) ?? null
}

export function secretUnknown(verify: VerifyDocument): CliError {
  const names = variablesOf(verify)
  const next =
    names.length > 0 ? `Set ${names.join(' or ')} to the node’s value, or pass --secret.` : 'Pass --secret.'
  return new CliError('the signing secret is not available here', { next })
}

interface Unsigned {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly secret: string
}

/** Signed as of now, for its address: some schemes sign the address, and one writes into it. */
export function signFor(
  verify: VerifyDocument,
  { url, headers, body, secret }: Unsigned,
): { readonly url: string; readonly headers: Readonly<Record<string, string>> } {
  const address = signedUrl(verify, url, headers, body)
  const input = { method: 'POST', url: address, now: Date.now(), id: `msg_${randomUUID()}` }
  try {
    return {
      url: address,
      headers: { ...headers, ...signRequest(verify, { ...input, headers, body, secret }) },
    }
  } catch (error) {
    if (error instanceof SigningError) throw usageError(`the secret cannot sign: ${error.message}`)
    throw error
  }
}
