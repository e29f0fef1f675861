// JSON as people write it: comments, and a comma before a closing bracket. Both become blanks, so that every position
// stays, and what is left is read strictly.

export function strictJson(text: string): string {
  const parts: string[] = []
  /** The part that is a comma, as long as only blanks and comments follow it. */
  let comma = -1
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = endOfPart(text, at)
    const part = text.slice(at, end)
    if (isComment(part)) {
      parts.push(part.replace(/[^\r\n]/g, ' '))
      continue
    }
    if (comma >= 0 && (part === '}' || part === ']')) parts[comma] = ' '
    if (part.trim() !== '') comma = part === ',' ? parts.length : -1
    parts.push(part)
  }
  return parts.join('')
}

function isComment(part: string): boolean {
  return part.startsWith('//') || part.startsWith('/*')
}

/** A part is a string, a comment, or one character. */
function endOfPart(text: string, at: number): number {
  if (text[at] === '"') return endOfString(text, at)
  if (text.startsWith('//', at)) return endOr(text, text.indexOf('\n', at))
  if (text.startsWith('/*', at)) return endOr(text, text.indexOf('*/', at + 2), 2)
  return at + 1
}

/** A string that is not closed ends with its line. */
function endOfString(text: string, from: number): number {
  let at = from + 1
  while (at < text.length && text[at] !== '\n') {
    if (text[at] === '"') return at + 1
    at += text[at] === '\\' && text[at + 1] !== '\n' ? 2 : 1
  }
  return Math.min(at, text.length)
}

function endOr(text: string, found: number, length = 0): number {
  return found < 0 ? text.length : found + length
}
