// The text format of a master key.

const KEY_BYTES = 32

/** 32 bytes as 64 hexadecimal digits or as base64, with or without padding; null: anything else. */
export function parseMasterKey(text: string): Uint8Array | null {
  const bytes = /^[0-9a-fA-F]{64}$/.test(text)
    ? Buffer.from(text, 'hex')
    : /^[A-Za-z0-9+/_-]{43}=?$/.test(text)
      ? Buffer.from(text, 'base64')
      : null
  return bytes?.length === KEY_BYTES ? new Uint8Array(bytes) : null
}

/** Of 32 random bytes about 30 are distinct; fewer than this never happens by chance. */
const DISTINCT_MIN = 12

/** Zeros, a sequence, a repeated piece: keys from examples, which an attacker would try first. */
export function isSimpleMasterKey(bytes: Uint8Array): boolean {
  if (new Set(bytes).size < DISTINCT_MIN) return true
  const at = (index: number) => bytes[index] ?? 0
  const step = (at(1) - at(0)) & 0xff
  const isRow = bytes.every((byte, index) => index === 0 || ((byte - at(index - 1)) & 0xff) === step)
  const isPiece = bytes.every((byte, index) => byte === at(index % (bytes.length / 2)))
  return isRow || isPiece
}
