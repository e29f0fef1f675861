// docs/settings.md, from the list of settings.

import { CLIENT_SETTINGS, SETTINGS } from './schema.ts'
import { SECRET_NAMES } from './secret-files.ts'

export function renderSettings(): string {
  const rows = Object.values(SETTINGS).map(renderRow)
  const clientRows = Object.values(CLIENT_SETTINGS).map(renderRow)
  const secrets = SECRET_NAMES.map((name) => `\`${name}\``)
  return `# Settings

Millrace is set up by environment variables. All have a default; an empty variable counts as not set. The start stops with
every problem named at once when a value cannot be used. This page is made from \`src/config/schema.ts\`.

What is secret may be in a file: with \`_FILE\` behind its name, a setting names the file that holds its value, such as a secret that a
container is given. These are ${secrets.join(', ')}.

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
