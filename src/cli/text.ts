// Text for a terminal: its width, how it is cut, and that nothing from outside can control the terminal.

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it replaces
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with the escape character
const COLOURS = /\u001b\[[0-9;]*m/g
const WIDE =
  /^[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
const NARROW = /^[\x20-\x7e]*$/
const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** One line without control characters: payloads and vendors' responses are shown on screens. */
export function printable(text: string): string {
  return text.replaceAll(/\r?\n|\t/g, ' ').replaceAll(CONTROL, '\ufffd')
}

/** Columns that a text takes; colours take none. */
export function widthOf(text: string): number {
  const plain = text.includes('\u001b') ? text.replaceAll(COLOURS, '') : text
  if (NARROW.test(plain)) return plain.length
  let width = 0
  for (const { segment } of segmenter.segment(plain)) width += WIDE.test(segment) ? 2 : 1
  return width
}

/** At most `width` columns; a cut text ends in an ellipsis. For text without colours. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let taken = ''
  let used = 0
  for (const { segment } of segmenter.segment(text)) {
    const next = WIDE.test(segment) ? 2 : 1
    if (used + next > width - 1) break
    taken += segment
    used += next
  }
  return `${taken}…`
}

export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)))
  return align === 'left' ? text + space : space + text
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`
}

/** For screens: the time of day, with the date if it is not today's. In the user's zone. */
export function shortTime(iso: string, now: Date): string {
  const at = new Date(iso)
  if (Number.isNaN(at.getTime())) return printable(iso)
  const two = (value: number) => String(value).padStart(2, '0')
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
  if (at.toDateString() === now.toDateString()) return time
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`
}

/** As `--consumer` takes it: routes by their names, sources with their kind before them. */
export function consumerText({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return kind === 'route' ? name : `${kind}:${name}`
}
