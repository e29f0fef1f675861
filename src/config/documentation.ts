// docs/settings.md, from the list of settings.

import { VAR_SETTING } from '../core/definitions/documents/index.ts'
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

\`${VAR_SETTING}<name>\` gives \`vars.<name>\` [another value](definitions.md#values-that-differ-by-environment) on this node than the
definitions, for the tenant of the node: \`${VAR_SETTING}crm=https://crm.example\`. Capitals make no difference. A number, \`true\`, a list or a map is
written as JSON, and has the type of the defined value; a start with another is refused. Give all nodes of a database the same.

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
