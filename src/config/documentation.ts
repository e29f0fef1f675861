// docs/settings.md, from the list of settings.

import { SETTINGS } from './schema.ts'

export function renderSettings(): string {
  const rows = Object.values(SETTINGS).map(
    ({ env, type, defaultText, description }) => `| \`${env}\` | ${type} | ${defaultText} | ${description} |`,
  )
  return `# Settings

Millrace is set up by environment variables. All have a default; an empty variable counts as not set. The start stops with
every problem named at once when a value cannot be used. This page is made from \`src/config/schema.ts\`.

| variable | value | default | meaning |
|---|---|---|---|
${rows.join('\n')}
`
}
