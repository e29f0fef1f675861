// Parses application/x-www-form-urlencoded to a value: names that appear once are texts, repeated ones lists. Invariants: no
// prototype is ever set; the number of fields is bounded before any is decoded.

export const FIELDS_MAX = 1_000

export type FormFields = { readonly [name: string]: string | readonly string[] }
export type FormResult =
  | { readonly ok: true; readonly fields: FormFields }
  | { readonly ok: false; readonly detail: string }

export function parseForm(text: string): FormResult {
  let parts = 1
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) {
    parts += 1
    if (parts > FIELDS_MAX) return { ok: false, detail: `the form has more than ${FIELDS_MAX} fields` }
  }
  const found = new Map<string, string | string[]>()
  for (const part of text.split('&')) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const name = decode(equals === -1 ? part : part.slice(0, equals))
    const value = equals === -1 ? '' : decode(part.slice(equals + 1))
    if (name === null || value === null) {
      return { ok: false, detail: 'the form has a percent sign that does not begin a character in UTF-8' }
    }
    const before = found.get(name)
    if (before === undefined) found.set(name, value)
    else if (typeof before === 'string') found.set(name, [before, value])
    else before.push(value)
  }
  // Built from entries, so that `__proto__` is an ordinary field.
  return { ok: true, fields: Object.fromEntries(found) }
}

function decode(text: string): string | null {
  // Replacing one by one is five times slower, and a hostile sender could exploit it.
  const spaced = text.includes('+') ? text.split('+').join(' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    return null
  }
}

/** GitHub and Slack send JSON as the one field of a form; the text of that JSON, or null. */
export function jsonField(fields: FormFields): string | null {
  const names = Object.keys(fields)
  const value = names.length === 1 && names[0] === 'payload' ? fields.payload : undefined
  return typeof value === 'string' && /^\s*[{[]/.test(value) ? value : null
}
