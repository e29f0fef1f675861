// docs/cli.md, from the commands themselves.

import type { Command } from 'commander'
import { COMMON } from './command.ts'
import { EXIT } from './failure.ts'

export function renderCommands(program: Command): string {
  const sections = program.commands
    .filter((command) => command.name() !== 'help')
    .flatMap((command) => renderOne(command, 'millrace', 2))
  const codes = Object.values(EXIT).map(({ code, meaning }) => `| ${code} | ${meaning} |`)
  return `# The command line

\`millrace <command>\`, or \`npx millrace <command>\` in a checkout. This page is generated from the commands in
\`src/cli\`; \`millrace help <command>\` shows the same.

On a terminal, tables fit its width and use colours, unless \`NO_COLOR\` is set. In a pipe, the output is plain aligned text with
whole values. \`--json\` prints the API’s response as one JSON value, and one value per line for commands that follow
events (\`-f\`). Results go to stdout; progress, hints and errors go to stderr.

## The node's address and key

| | option | variable | default |
| --- | --- | --- | --- |
| address | \`--url\` | \`MILLRACE_URL\` | \`http://127.0.0.1\` with \`MILLRACE_PORT\` |
| key | \`--key\` | \`MILLRACE_KEY\`, then \`MILLRACE_ADMIN_KEY\` | \`admin.key\` in the folder \`MILLRACE_DATA\` |

## Exit codes

| exit code | meaning |
| --- | --- |
${codes.join('\n')}

${sections.join('\n')}`
}

function renderOne(command: Command, parent: string, level: number): readonly string[] {
  const name = `${parent} ${command.name()}`
  const options = command.options.filter((option) => option.helpGroupHeading !== COMMON && !option.hidden)
  const usage = [name, ...command.registeredArguments.map((argument) => argumentOf(argument))].join(' ')
  const lines = [
    `${'#'.repeat(level)} ${name}`,
    '',
    sentence(command.description()),
    '',
    '```text',
    usage,
    '```',
    '',
  ]
  const rows = [
    ...command.registeredArguments.map(
      (argument) =>
        `| \`${argument.name()}\` | ${argument.description} | ${argument.required ? '' : 'optional'} |`,
    ),
    ...options.map(
      (option) => `| \`${option.flags}\` | ${escapeBar(option.description)} | ${detailsOf(option)} |`,
    ),
  ]
  if (rows.length > 0)
    lines.push('| argument or option | meaning | value |', '| --- | --- | --- |', ...rows, '')
  const below = command.commands
    .filter((one) => one.name() !== 'help')
    .flatMap((one) => renderOne(one, name, level + 1))
  return [lines.join('\n'), ...below]
}

function argumentOf(argument: {
  name(): string
  readonly required: boolean
  readonly variadic: boolean
}): string {
  const text = argument.name() + (argument.variadic ? '…' : '')
  return argument.required ? `<${text}>` : `[${text}]`
}

function detailsOf(option: {
  readonly argChoices?: string[] | undefined
  readonly defaultValue?: unknown
  readonly mandatory: boolean
}): string {
  const parts = [
    option.mandatory ? 'needed' : null,
    option.argChoices === undefined ? null : option.argChoices.map((choice) => `\`${choice}\``).join(', '),
    option.defaultValue === undefined ? null : `default \`${String(option.defaultValue)}\``,
  ]
  return parts.filter((part) => part !== null).join('; ')
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`
}

const escapeBar = (text: string) => text.replaceAll('|', '\\|')
