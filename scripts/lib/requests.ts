// src/http/requests.generated.ts: what Fastify routes by and Ajv checks with.

/** One operation a line, as text: a node parses what it serves, and the rest costs nothing but its bytes. */
export function renderRequests(requests: Readonly<Record<string, string>>): string {
  const rows = Object.entries(requests).map(([id, text]) => `  ${id}: ${quote(text)},`)
  return `// Generated from the routes' declarations: \`npm run docs\`. Do not edit.

export const REQUESTS: Readonly<Record<string, string>> = {
${rows.join('\n')}
}
`
}

const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
