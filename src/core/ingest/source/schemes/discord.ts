// Discord: Ed25519 over time and body. The secret of the source is the application's public key, in hex.

import { sign, verify } from 'node:crypto'
import {
  decodeBytes,
  ED25519_KEY_BYTES,
  ED25519_SIGNATURE_BYTES,
  makeKeys,
  makePrivateKey,
  makePublicKey,
} from '../secret-bytes.ts'
import { checkAge, readInstant, timeToSign } from '../sent-at.ts'
import { missing, refuse, type Scheme, SigningError, TOLERANCE_MS } from '../verification-scheme.ts'
import { answerDiscord } from './handshakes.ts'

const SIGNATURE = 'x-signature-ed25519'
const TIMESTAMP = 'x-signature-timestamp'

export function makeDiscordScheme({ toleranceMs = TOLERANCE_MS }: { readonly toleranceMs?: number }): Scheme {
  const keys = makeKeys((secret) => {
    const bytes = decodeBytes(secret, 'hex', ED25519_KEY_BYTES)
    return bytes === null ? null : makePublicKey(bytes)
  })
  return {
    verify({ headers, body, secrets, now }) {
      const signature = headers[SIGNATURE]
      const time = headers[TIMESTAMP]
      if (signature === undefined || signature === '') return missing(SIGNATURE)
      if (time === undefined || time === '') return missing(TIMESTAMP)
      const sentAt = readInstant(time, `the header ${TIMESTAMP}`)
      if (typeof sentAt === 'object') return sentAt
      const given = decodeBytes(signature, 'hex', ED25519_SIGNATURE_BYTES)
      if (given === null) return refuse('signature_wrong', `the header ${SIGNATURE} is not 64 bytes as hex`)
      const message = Buffer.concat([Buffer.from(time), body])
      let isKnown = false
      for (const secret of secrets) {
        const key = keys(secret)
        if (key !== null) isKnown = verify(null, message, key, given) || isKnown
      }
      if (!isKnown) return refuse('signature_wrong', `the header ${SIGNATURE} does not match the body`)
      return checkAge(sentAt, now, toleranceMs, `the header ${TIMESTAMP}`)
    },
    /** The secret is the private key: its seed in hex, optionally followed by the public key. */
    sign(input) {
      const { secret } = input
      const bytes =
        decodeBytes(secret, 'hex', ED25519_KEY_BYTES) ?? decodeBytes(secret, 'hex', 2 * ED25519_KEY_BYTES)
      if (bytes === null) throw new SigningError('this scheme signs with the seed of a private key, in hex')
      const time = timeToSign(input, TIMESTAMP)
      const message = Buffer.concat([Buffer.from(time), input.body])
      return { [SIGNATURE]: sign(null, message, makePrivateKey(bytes)).toString('hex'), [TIMESTAMP]: time }
    },
    secretHeaders: [SIGNATURE],
    handshake: answerDiscord,
  }
}
