import { spawnSync } from 'node:child_process'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { makeTestCli } from './cli.fixture.ts'
import { renderCompletion, SHELLS } from './completion.ts'
import { renderCommands } from './documentation.ts'
import { makeProgram } from './program.ts'

const program = makeProgram(makeTestCli().cli)

function everyCommand(
  command: Command,
  path: readonly string[] = [],
): readonly (readonly [string, Command])[] {
  return command.commands.flatMap((one) => {
    const below = [...path, one.name()]
    return [[below.join(' '), one] as const, ...everyCommand(one, below)]
  })
}

const commands = everyCommand(program).filter(([name]) => name !== 'help')

test.each(SHELLS)('[CL12] %s knows every command and option', (shell) => {
  const script = renderCompletion(program, shell)
  expect(commands.length).toBeGreaterThan(35)
  for (const [name, command] of commands) {
    expect(script).toContain(name.split(' ').at(-1))
    for (const { long } of command.options.filter(({ hidden }) => !hidden)) {
      expect(script).toContain(shell === 'fish' ? `-l ${long?.slice(2)}` : long)
    }
  }
})

test('[CL12] bash reads its script, and completes commands, options and values', () => {
  const script = renderCompletion(program, 'bash')
  const complete = (...words: string[]) => {
    const line = `${script}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})\nCOMP_CWORD=${words.length - 1}\n_millrace\nprintf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', line], { encoding: 'utf8' })
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
    return stdout.trim().split('\n')
  }
  expect(complete('millrace', 'dead')).toEqual(['dead-letters'])
  expect(complete('millrace', 'work', 're')).toEqual(['resolve', 'retry'])
  expect(complete('millrace', 'events', '--so')).toEqual(['--source'])
  expect(complete('millrace', 'work', '--state', 'pa')).toEqual(['parked'])
  expect(complete('millrace', 'work', 'resolve', 'wrk_1', '--as', '')).toEqual(['done', 'released'])
})

test('an unknown shell is refused', () => {
  expect(() => renderCompletion(program, 'csh')).toThrow('no completion for ‘csh’')
})

describe('docs/cli.md', () => {
  test('lists the current commands (vitest -u writes it)', async () => {
    await expect(renderCommands(program)).toMatchFileSnapshot('../../docs/cli.md')
  })

  test('every command and option has a description', () => {
    for (const [name, command] of commands) {
      expect(command.description(), name).not.toBe('')
      for (const option of command.options) expect(option.description, `${name} ${option.flags}`).not.toBe('')
      for (const argument of command.registeredArguments) expect(argument.description, name).not.toBe('')
    }
  })
})
