import { describe, expect, test } from 'vitest'
import { makeOutput, prettyJson } from './output.ts'

function capture({ isTTY = false, env = {} }: { isTTY?: boolean; env?: Record<string, string> } = {}) {
  const written = { stdout: '', stderr: '' }
  const stream = (name: 'stdout' | 'stderr') => ({
    isTTY,
    columns: 60,
    write(text: string) {
      written[name] += text
    },
  })
  const out = makeOutput({ stdout: stream('stdout'), stderr: stream('stderr'), env })
  return { out, written }
}

describe('colours', () => {
  const paint = (options: Parameters<typeof capture>[0]) => capture(options).out.colors.red('x')

  test('[CL3] are for terminals', () => {
    expect(paint({ isTTY: true })).toBe('\u001b[31mx\u001b[39m')
    expect(paint({})).toBe('x')
    expect(paint({ isTTY: true, env: { NO_COLOR: '1' } })).toBe('x')
    expect(paint({ isTTY: true, env: { NO_COLOR: '' } })).toBe('\u001b[31mx\u001b[39m')
    expect(paint({ isTTY: true, env: { TERM: 'dumb' } })).toBe('x')
  })
})

describe('JSON', () => {
  const value = { id: 9007199254740993n, list: [1, { a: null }], empty: {}, none: [] }

  test('[CL2] keeps the digits, one line in a pipe, indented on a terminal', () => {
    const pipe = capture()
    pipe.out.json(value)
    expect(pipe.written.stdout).toBe('{"id":9007199254740993,"list":[1,{"a":null}],"empty":{},"none":[]}\n')
    const terminal = capture({ isTTY: true })
    terminal.out.json(value)
    expect(terminal.written.stdout.split('\n').length).toBeGreaterThan(5)
    expect(terminal.written.stdout.replaceAll(/\s/g, '')).toBe(pipe.written.stdout.trim())
  })

  test('leaves out undefined members', () => {
    expect(prettyJson({ a: undefined, b: 1 })).toBe('{\n  "b": 1\n}')
  })
})

describe('fields', () => {
  test('are aligned, without unknown ones', () => {
    const { out, written } = capture()
    out.fields([
      ['id', 'wrk_1'],
      ['class', undefined],
      ['attempts', 3],
      ['error', 'bad\u001b[2J'],
    ])
    expect(written.stdout).toBe('id        wrk_1\nattempts  3\nerror     bad\ufffd[2J\n')
  })
})

describe('progress', () => {
  test('[CL1] is drawn on a terminal’s stderr and cleared at the end; a pipe gets only the last line', () => {
    const terminal = capture({ isTTY: true })
    const drawn = terminal.out.progress()
    drawn.update('1 of 2')
    drawn.update('2 of 2')
    drawn.end()
    expect(terminal.written).toEqual({ stdout: '', stderr: '1 of 2\r\u001b[2K2 of 2\r\u001b[2K' })
    const pipe = capture()
    const quiet = pipe.out.progress()
    quiet.update('1 of 2')
    quiet.end('stopped')
    expect(pipe.written).toEqual({ stdout: '', stderr: 'stopped\n' })
  })
})
