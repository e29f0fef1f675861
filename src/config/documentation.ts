// docs/settings.md, from the list of settings.

import { CLIENT_SETTINGS, SETTINGS } from './schema.ts'

export function renderSettings(): string {
  const rows = Object.values(SETTINGS).map(renderRow)
  const clientRows = Object.values(CLIENT_SETTINGS).map(renderRow)
  return `# Settings

Millrace is set up by environment variables. All have a default; an empty variable counts as not set. The start stops with
every problem named at once when a value cannot be used. This page is made from \`src/config/schema.ts\`.

| variable | value | default | meaning |
|---|---|---|---|
${rows.join('\n')}

The [commands](cli.md) that talk to a node read two more:

| variable | value | default | meaning |
|---|---|---|---|
${clientRows.join('\n')}
`
}

interface Row {
  readonly env: string
  readonly type: string
  readonly defaultText: string
  readonly description: string
}

function renderRow({ env, type, defaultText, description }: Row): string {
  return `| \`${env}\` | ${type} | ${defaultText} | ${description} |`
}
