// The address of a call in a flow test: a method and a URL, in which `*` stands for any text.

import type { CallAddress } from './flow-test.ts'

/** null: it is not written as a method, a space and a URL. */
export function parseCallAddress(text: string): CallAddress | null {
  const match = /^([A-Z]+|\*) +(\S+)$/.exec(text.trim())
  if (match === null) return null
  const [, method = '', url = ''] = match
  return url.startsWith('*') || /^[a-z][a-z0-9+.-]*:\/\//.test(url) ? { method, url } : null
}

export function showCallAddress({ method, url }: CallAddress): string {
  return `${method} ${url}`
}

export function isCallTo(pattern: CallAddress, call: CallAddress): boolean {
  return (pattern.method === '*' || pattern.method === call.method) && fits(pattern.url, call.url)
}

/** Each piece between stars is taken at its first place, the last one at the end: no pattern makes this slow. */
function fits(pattern: string, text: string): boolean {
  const [first = '', ...pieces] = pattern.split('*')
  const last = pieces.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const piece of pieces) {
    const found = text.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return text.length - last.length >= at && text.endsWith(last)
}
