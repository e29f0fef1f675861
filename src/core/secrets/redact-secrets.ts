// Redacts secret values in a text, in the encodings in which they may appear: plain, base64, percent-encoded and JSON.
//
// Invariant: RN3 what is stored of an exchange contains none of its secrets.

export const REDACTED = '[redacted]'

/** Shorter values would be found in any text, and hide nothing. */
const LENGTH_MIN = 4

/** Replaces secret values in texts. */
export type Redact = (text: string) => string

export function makeRedact(secrets: readonly string[]): Redact {
  const forms = new Set<string>()
  for (const secret of secrets) {
    if (secret.length < LENGTH_MIN) continue
    for (const form of formsOf(secret)) if (form.length >= LENGTH_MIN) forms.add(form)
  }
  if (forms.size === 0) return (text) => text
  // Longest first: a value that contains another must be replaced completely.
  const all = [...forms].sort((a, b) => b.length - a.length)
  return (text) => {
    let clean = text
    for (const form of all) if (clean.includes(form)) clean = clean.replaceAll(form, REDACTED)
    return clean
  }
}

function formsOf(secret: string): readonly string[] {
  const percent = encodeURIComponent(Buffer.from(secret, 'utf8').toString('utf8'))
  return [
    secret,
    percent,
    percent.replaceAll('%20', '+'),
    percent.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    JSON.stringify(secret).slice(1, -1),
    ...withinBase64(secret),
  ]
}

/** At any offset within the encoded text, the characters that depend on it alone are the same. */
function withinBase64(secret: string): readonly string[] {
  const bytes = Buffer.from(secret, 'utf8')
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const from = before === 0 ? 0 : before + 1
    const to = Math.floor(((before + bytes.length) * 8) / 6)
    const own = text.slice(from, to)
    return own.length < 2 * LENGTH_MIN ? [] : [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
}
