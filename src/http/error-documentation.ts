// docs/errors.md, from the table of errors.

import { ERRORS } from '../core/foundation/errors/index.ts'

export function renderErrors(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { kind, status, title, next }]) => `| \`${code}\` | ${kind} | ${status} | ${title} | ${next} |`,
  )
  return `# Errors

Every refusal is a problem document (RFC 9457, \`application/problem+json\`): \`type\` (\`/errors/\` and the code), \`title\`,
\`status\`, \`detail\` (what was wrong in this case), \`code\`, \`next\` (what to do) and \`instance\` (names this answer in the
log). Codes are never reused. This page is made from \`src/core/foundation/errors\`.

| code | kind | status | title | what to do |
|---|---|---|---|---|
${rows.join('\n')}
`
}
