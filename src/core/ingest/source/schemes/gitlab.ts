// GitLab: the secret token in a header, or, where the secret is a signing token (`whsec_…`), Standard Webhooks. A source with
// only signing tokens accepts no bare token, so that no sender can fall back to the weaker scheme.

import { isSameText } from '../secret-bytes.ts'
import { OK, type Scheme, type VerifyResult } from '../verification-scheme.ts'
import { verifyToken } from './shared-token.ts'
import { isSigningSecret, makeStandardScheme } from './standard-webhooks.ts'

const HEADER = 'x-gitlab-token'

export function makeGitlabScheme(options: { readonly toleranceMs?: number }): Scheme {
  const standard = makeStandardScheme(options)
  return {
    verify(input) {
      const signing = input.secrets.filter(isSigningSecret)
      const tokens = input.secrets.filter((secret) => !isSigningSecret(secret))
      const results: VerifyResult[] = []
      if (tokens.length > 0 || signing.length === 0) {
        results.push(
          verifyToken(HEADER, input.headers[HEADER], (secret, given) => isSameText(given, secret), tokens),
        )
      }
      if (signing.length > 0) results.push(standard.verify({ ...input, secrets: signing }))
      // Of two refusals, the one that says more than that a header is missing.
      return results.some(({ ok }) => ok) ? OK : (results.find(saysMore) ?? (results[0] as VerifyResult))
    },
    sign: (input) => (isSigningSecret(input.secret) ? standard.sign(input) : { [HEADER]: input.secret }),
    secretHeaders: [HEADER, ...standard.secretHeaders],
  }
}

function saysMore(result: VerifyResult): boolean {
  return !result.ok && result.code !== 'signature_missing'
}
