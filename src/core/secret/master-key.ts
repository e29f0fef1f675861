// How a master key is written.

const KEY_BYTES = 32

/** 32 bytes as 64 hexadecimal digits or as base64, with or without its end; null: anything else. */
export function parseMasterKey(text: string): Uint8Array | null {
  const bytes = /^[0-9a-fA-F]{64}$/.test(text)
    ? Buffer.from(text, 'hex')
    : /^[A-Za-z0-9+/_-]{43}=?$/.test(text)
      ? Buffer.from(text, 'base64')
      : null
  return bytes?.length === KEY_BYTES ? new Uint8Array(bytes) : null
}
