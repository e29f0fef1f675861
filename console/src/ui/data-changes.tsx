// What changed in data: the path, and the value before and after, digit for digit.

import type { ExactChange } from '../lib/exact-changes.ts'
import { formatJson } from '../lib/json-text.ts'

export function Changes({ changes }: { readonly changes: readonly ExactChange[] }) {
  return (
    <ul className="changes-of">
      {changes.map((change, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a path may change twice.
        <li key={index}>
          <code className="changes-of__path">{change.path}</code>
          {change.hidden === true ? (
            <span className="faint">changed; the workflow keeps no values in its history</span>
          ) : (
            <>
              {change.before !== undefined && (
                <code className="changes-of__value changes-of__value--before">
                  <span className="sr-only">before: </span>− {formatJson(change.before)}
                </code>
              )}
              {change.after === undefined ? (
                <span className="faint">gone</span>
              ) : (
                <code className="changes-of__value changes-of__value--after">
                  <span className="sr-only">after: </span>+ {formatJson(change.after)}
                </code>
              )}
            </>
          )}
        </li>
      ))}
    </ul>
  )
}
