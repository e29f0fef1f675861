// The SHA-256 of a text, as used in ids and documents.

import { hash } from 'node:crypto'

export function hashText(text: string | Uint8Array): string {
  return `sha256:${hash('sha256', text, 'hex')}`
}
