// Problems, found before a text runs, and errors, raised while it does. Invariant: neither ever contains a value, only its type
// and its path. Payloads contain secrets.

export interface ExpressionProblem {
  readonly message: string
  /** Offset in the compiled text, in UTF-16 units, as are editors' columns. */
  readonly offset: number
  readonly length: number
  /** A replacement for the marked text. */
  readonly suggestion?: string
}

/** A problem inside a tree: `path` leads to the string, `offset` into it. */
export interface LocatedProblem extends ExpressionProblem {
  readonly path: readonly (string | number)[]
}

export type ExpressionErrorCode = 'steps' | 'type' | 'bounds' | 'regex' | 'zero' | 'missing' | 'url' | 'key'

export class ExpressionError extends Error {
  override readonly name = 'ExpressionError'
  readonly code: ExpressionErrorCode
  readonly path?: string
  readonly valueType?: string

  constructor(code: ExpressionErrorCode, message: string, path?: string, valueType?: string) {
    super(message)
    this.code = code
    if (path !== undefined) this.path = path
    if (valueType !== undefined) this.valueType = valueType
  }
}

/** A failed formula, without any value: the path and the type are enough to fix it. */
export function describeError(error: ExpressionError): string {
  const where = error.path === undefined ? '' : ` at ${error.path}`
  const what = error.valueType === undefined ? '' : ` (found ${error.valueType})`
  return `${error.message}${where}${what}`
}

/** Carries a problem out of the parser and compiler; never leaves this folder. */
export class Fault extends Error {
  readonly problem: ExpressionProblem

  constructor(message: string, offset: number, length: number, suggestion?: string) {
    super(message)
    this.problem = { message, offset, length, ...(suggestion === undefined ? {} : { suggestion }) }
  }
}

/** The candidate within two edits (one for short names), or undefined. */
export function closest(name: string, candidates: Iterable<string>): string | undefined {
  const reach = name.length <= 3 ? 1 : 2
  let best: string | undefined
  let bestDistance = reach + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      current.push(Math.min(swap, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1))
    }
    previous = current
  }
  return previous[b.length] ?? 0
}
