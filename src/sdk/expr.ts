// Expressions in TypeScript. The text stays text: definitions are data, so that both spellings have one hash.

/** What can be a literal in an expression. */
export type ExprValue = string | number | bigint | boolean | null | readonly ExprValue[]

/**
 * The text of an expression. A value inserted with `${…}` becomes a literal, whatever it contains: ``
 * expr`payload.status == ${status}` `` with `status = "it's"` gives `payload.status == 'it\'s'`.
 */
export function expr(parts: TemplateStringsArray, ...values: readonly ExprValue[]): string {
  // As written: a backslash belongs to the expression, except for those that TypeScript needs.
  const texts = parts.raw.map((part) => part.replaceAll(/\\([`$])/g, '$1'))
  return texts.map((text, index) => text + (index < values.length ? literal(values[index]) : '')).join('')
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  "'": "\\'",
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

function literal(value: ExprValue | undefined): string {
  if (typeof value === 'string')
    return `'${value.replaceAll(/[\\'\n\r\t]/g, (found) => String(ESCAPES[found]))}'`
  if (typeof value === 'number' && Number.isFinite(value)) {
    if (Number.isSafeInteger(value)) return String(value)
    // Fractions and large numbers as CEL writes them, never as a whole number that is not exact.
    const text = String(value)
    return /[.e]/.test(text) ? text : `${text}.0`
  }
  if (typeof value === 'bigint' || typeof value === 'boolean' || value === null) return String(value)
  if (Array.isArray(value)) return `[${value.map((item: ExprValue) => literal(item)).join(', ')}]`
  throw new TypeError(
    `expr takes texts, numbers, true, false, null and lists of them, not ${value === undefined ? 'undefined' : typeof value === 'number' ? String(value) : `a ${typeof value}`}`,
  )
}
