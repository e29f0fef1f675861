// `-H name: value`, as commands take it.

import { usageError } from './failure.ts'

export function readHeaders(given: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given.map((text) => {
      const match = /^([\w-]+):\s*(.*)$/.exec(text)
      if (match === null) throw usageError(`‘${text}’ is not a header`, 'Write it as name: value.')
      return [String(match[1]).toLowerCase(), String(match[2])]
    }),
  )
}
