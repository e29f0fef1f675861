// Subjects on the bus. Our names may contain characters that a token of a subject cannot: they are percent-encoded, so that
// different names stay different.

import { createHash } from 'node:crypto'
import type { InstanceId, TenantId } from '../../foundation/ids/index.ts'

/** The first tokens of every subject unless configured otherwise. */
export const BUS_PREFIX = 'millrace'

/** A server closes the connection of a client that sends a subject longer than a protocol line, 4,096 bytes. */
const TOKEN_BYTES_MAX = 800
const HEAD_LENGTH = 200

/** Dots, wildcards, spaces, control characters, and the sign itself. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const FORBIDDEN = /[\u0000-\u0020\u007f.*>%]/g

/** One token of a subject. A single percent sign represents the empty text. */
export function encodeToken(name: string): string {
  if (name === '') return '%'
  const token = name.replace(
    FORBIDDEN,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
  if (token.length * 3 <= TOKEN_BYTES_MAX || new TextEncoder().encode(token).length <= TOKEN_BYTES_MAX)
    return token
  // Truncation never splits a character.
  const head = [...token].slice(0, HEAD_LENGTH).join('')
  return `${head}%~${createHash('sha256').update(name).digest('hex').slice(0, 32)}`
}

/** After the prefix. */
export function eventSubject(tenant: TenantId, subject: string): string {
  return `${encodeToken(tenant)}.events.${subject.split('.').map(encodeToken).join('.')}`
}

/** After the prefix. */
export function tokenSubject(tenant: TenantId, workflow: string, place: string, token: string): string {
  return `${encodeToken(tenant)}.workflows.${encodeToken(workflow)}.places.${encodeToken(place)}.tokens.${encodeToken(token)}`
}

/** Tokens have no ids of their own: they are counted within their instance and place. */
export function tokenId(instance: InstanceId, number: number): string {
  return `${instance}-${number}`
}
