// The command, and the same trace from other processes and another Node.

import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { requireNode22 } from '../test/support/needs.ts'
import { simulate } from './world.ts'

const root = resolve(import.meta.dirname, '..')
const run = promisify(execFile)

async function sim(node: string, ...args: readonly string[]): Promise<{ code: number; stdout: string }> {
  try {
    const { stdout } = await run(node, ['--import', 'tsx', 'sim/main.ts', ...args], {
      cwd: root,
      maxBuffer: 64 * 1024 * 1024,
    })
    return { code: 0, stdout }
  } catch (error) {
    const { code, stdout } = error as { code: number; stdout: string }
    return { code, stdout }
  }
}

test.each([
  [8, 'memory'],
  [31, 'sqlite'],
] as const)(
  'the trace of seed %i on %s is the same here, in another process and on Node 22',
  async (seed, store) => {
    const args = ['--seed', String(seed), '--store', store, '--trace']
    const others = Promise.all([sim(process.execPath, ...args), sim(requireNode22(), ...args)])
    const lines: string[] = []
    await simulate({ seed, store, draw: 'keen', onLine: (line) => lines.push(line) })
    const expected = `${lines.join('\n')}\nseed ${seed} on ${store} holds\n`
    expect((await others).map(({ stdout }) => stdout)).toEqual([expected, expected])
  },
)

describe('the command', () => {
  test('runs many seeds and says what it saw', async () => {
    const { code, stdout } = await sim(process.execPath, '--seeds', '10', '--json')
    expect(code).toBe(0)
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({ runs: 20, failures: [] })
    expect(report.counts.effects).toBeGreaterThan(100)
  })

  test('stops at failures with the seed, the rule, the trace and the command to see it again', async () => {
    const { code, stdout } = await sim(process.execPath, '--seeds', '20', '--bug', 'probe-inverted')
    expect(code).toBe(1)
    expect(stdout).toMatch(/seed \d+ on (memory|sqlite): N[34] .+/)
    const again = /again: npm run sim -- (.+)/.exec(stdout)?.[1]?.split(' ') ?? []
    const rerun = await sim(process.execPath, ...again)
    expect(rerun.code).toBe(1)
    expect(rerun.stdout).toMatch(/check {2}N[34] /)
  })

  test('refuses a bug that it does not know', async () => {
    expect((await sim(process.execPath, '--bug', 'none')).code).toBe(2)
  })
})
