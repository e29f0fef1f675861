// Completion scripts for shells, generated from the commands themselves. They are static: a shell must not wait for a
// process at every press of Tab.

import type { Command } from 'commander'
import { usageError } from './failure.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const

interface Node {
  /** `work resolve`; empty for the program. */
  readonly path: string
  readonly description: string
  readonly subcommands: readonly Command[]
  readonly options: readonly {
    readonly flags: readonly string[]
    readonly description: string
    readonly choices: readonly string[]
    readonly takesValue: boolean
  }[]
}

/** Every command with its options, parents first. */
function listNodes(command: Command, path = ''): readonly Node[] {
  const subcommands = command.commands.filter((one) => one.name() !== 'help')
  const node: Node = {
    path,
    description: command.description(),
    subcommands,
    options: command.options
      .filter((option) => !option.hidden)
      .map((option) => ({
        flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null) as string[],
        description: option.description,
        choices: option.argChoices ?? [],
        takesValue: option.required || option.optional,
      })),
  }
  const below = subcommands.flatMap((one) =>
    listNodes(one, path === '' ? one.name() : `${path} ${one.name()}`),
  )
  return [node, ...below]
}

export function renderCompletion(program: Command, shell: string): string {
  const nodes = listNodes(program)
  switch (shell) {
    case 'bash':
      return renderBash(nodes)
    case 'zsh':
      return renderZsh(nodes)
    case 'fish':
      return renderFish(nodes)
    default:
      throw usageError(`there is no completion for ‘${shell}’`, `Supported shells: ${SHELLS.join(', ')}.`)
  }
}

const wordsOf = (node: Node) => [
  ...node.subcommands.map((command) => command.name()),
  ...node.options.flatMap(({ flags }) => flags),
]

/** Both shells walk the words to find the command, then offer what it knows. */
function renderBash(nodes: readonly Node[]): string {
  const words = nodes.map((node) => `    ${quote(node.path)}) words=${quote(wordsOf(node).join(' '))} ;;`)
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => quote(path))
  return `# millrace completion for bash: eval "$(millrace completion bash)"
_millrace() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path='' index words=''
  for ((index = 1; index < COMP_CWORD; index++)); do
    local next="\${path:+$path }\${COMP_WORDS[index]}"
    case "$next" in
      ${paths.join('|')}) path="$next" ;;
    esac
  done
  case "$path $previous" in
${choiceCases(nodes)}
  esac
  case "$path" in
${words.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ \${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "$current"))
}
complete -F _millrace millrace
`
}

function choiceCases(nodes: readonly Node[]): string {
  const cases = nodes.flatMap((node) =>
    node.options
      .filter(({ choices }) => choices.length > 0)
      .map(
        ({ flags, choices }) =>
          `    ${flags.map((flag) => quote(`${node.path} ${flag}`)).join('|')}) COMPREPLY=($(compgen -W ${quote(choices.join(' '))} -- "$current")); return ;;`,
      ),
  )
  return cases.join('\n')
}

/** `path` is reserved in zsh: it is PATH. */
function renderZsh(nodes: readonly Node[]): string {
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => quote(path))
  const cases = nodes.map((node) => {
    const commands = node.subcommands.map((command) =>
      quote(`${escapeColon(command.name())}:${command.description()}`),
    )
    const options = node.options.flatMap(({ flags, description }) =>
      flags.map((flag) => quote(`${escapeColon(flag)}:${description}`)),
    )
    return `    ${quote(node.path)})\n      entries=(${[...commands, ...options].join(' ')}) ;;`
  })
  return `#compdef millrace
# millrace completion for zsh: eval "$(millrace completion zsh)"
_millrace() {
  local where='' index next
  local -a entries
  for ((index = 2; index < CURRENT; index++)); do
    next="\${where:+$where }\${words[index]}"
    case "$next" in
      ${paths.join('|')}) where="$next" ;;
    esac
  done
  case "$where" in
${cases.join('\n')}
  esac
  _describe 'millrace' entries || _files
}
compdef _millrace millrace
`
}

function renderFish(nodes: readonly Node[]): string {
  const lines = nodes.flatMap((node) => {
    const condition = node.path === '' ? '__fish_use_subcommand' : seenAll(node.path.split(' '))
    const commands = node.subcommands.map(
      (command) =>
        `complete -c millrace -f -n ${quote(condition)} -a ${command.name()} -d ${quote(command.description())}`,
    )
    const options = node.options.map(({ flags, description, choices, takesValue }) => {
      const names = flags.map((flag) =>
        flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
      )
      const values = choices.length > 0 ? ` -xa ${quote(choices.join(' '))}` : takesValue ? ' -r' : ''
      return `complete -c millrace -n ${quote(condition)} ${names.join(' ')}${values} -d ${quote(description)}`
    })
    return [...commands, ...options]
  })
  return `# millrace completion for fish: millrace completion fish | source\n${lines.join('\n')}\n`
}

const seenAll = (words: readonly string[]) =>
  words.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ')
const escapeColon = (text: string) => text.replaceAll(':', '\\:')
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
