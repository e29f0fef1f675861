// A command's output: results to stdout, everything about progress to stderr. A terminal gets colours and tables that
// fit; a pipe gets plain aligned text; `--json` gets one value, or one per line from a stream.

import picocolors from 'picocolors'
import { isNumeral, type JsonValue, stringifyJson } from '../core/foundation/json/index.ts'
import { type Cell, type Column, renderTable } from './table.ts'
import { pad, printable, shortTime, widthOf } from './text.ts'

type Env = Readonly<Record<string, string | undefined>>

export interface Stream {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

export type Colors = ReturnType<typeof picocolors.createColors>

/** What a cell may be: text, a number, or text with its colour. */
export type Value = string | number | null | undefined | Cell

export interface Output {
  readonly isTty: boolean
  readonly colors: Colors
  readonly width: number | null
  line(text?: string): void
  table(columns: readonly Column[], rows: readonly (readonly Value[])[]): void
  /** `name  value` below each other; null values are left out. */
  fields(pairs: readonly (readonly [string, Value])[], indent?: string): void
  json(value: unknown): void
  /** Always one line: for streams. */
  jsonLine(value: unknown): void
  /** About progress; not part of the result. */
  note(text: string): void
  time(iso: string | null | undefined): string
  state(state: string): Cell
  /** Overwrites its last line on a terminal; in a pipe prints only its last one. */
  progress(): Progress
}

export interface Progress {
  update(text: string): void
  end(text?: string): void
}

const WIDTH_MIN = 40

export function makeOutput(options: {
  readonly stdout: Stream
  readonly stderr: Stream
  readonly env: Env
}): Output {
  const { stdout, stderr, env } = options
  const isTty = stdout.isTTY === true
  const colors = picocolors.createColors(isTty && wantsColors(env))
  const width = isTty ? Math.max(WIDTH_MIN, stdout.columns ?? 80) : null
  const toCell = (value: Value): Cell => {
    if (value === null || value === undefined) return { text: '–' }
    if (typeof value === 'object') return { ...value, text: printable(value.text) }
    return { text: printable(String(value)) }
  }
  const line = (text = '') => {
    stdout.write(`${text}\n`)
  }
  return {
    isTty,
    colors,
    width,
    line,
    table(columns, rows) {
      const cells = rows.map((row) => row.map(toCell))
      for (const text of renderTable(columns, cells, { width, paintTitle: colors.dim })) line(text)
    },
    fields(pairs, indent = '') {
      const shown = pairs.filter(([, value]) => value !== null && value !== undefined)
      const widest = Math.max(0, ...shown.map(([name]) => widthOf(name)))
      for (const [name, value] of shown) {
        const { text, paint } = toCell(value)
        line(`${indent}${colors.dim(pad(name, widest))}  ${paint === undefined ? text : paint(text)}`)
      }
    },
    json: (value) => line(isTty ? prettyJson(value) : stringifyJson(value as JsonValue)),
    jsonLine: (value) => line(stringifyJson(value as JsonValue)),
    note(text) {
      stderr.write(`${text}\n`)
    },
    time: (iso) => (iso === null || iso === undefined ? '–' : isTty ? shortTime(iso, new Date()) : iso),
    state: (state) => ({ text: state, paint: paintOf(state, colors) }),
    progress: () => makeProgress(stderr),
  }
}

/** https://no-color.org: set and not empty, whatever its value. */
function wantsColors(env: Env): boolean {
  return (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb'
}

/** Indented by two spaces, digits unchanged. */
export function prettyJson(value: unknown): string {
  return indent(value, '')
}

function indent(value: unknown, before: string): string {
  const inner = `${before}  `
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    return `[\n${value.map((item) => inner + indent(item, inner)).join(',\n')}\n${before}]`
  }
  if (typeof value === 'object' && value !== null && !isNumeral(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined)
    if (members.length === 0) return '{}'
    const lines = members.map(([name, member]) => `${inner}${JSON.stringify(name)}: ${indent(member, inner)}`)
    return `{\n${lines.join(',\n')}\n${before}}`
  }
  return stringifyJson((value ?? null) as JsonValue)
}

const GOOD = new Set([
  'done',
  'matched',
  'active',
  'resolved',
  'holds',
  'would-skip',
  'completed',
  'create',
  'delivered',
  'healthy',
])
const BAD = new Set([
  'would-fail',
  'dead',
  'dead-lettered',
  'error',
  'failed',
  'failing',
  'open',
  'remove',
  'refused',
  'disabled',
  'unhealthy',
  'missing',
])
const WARNING = new Set([
  'parked',
  'paused',
  'unknown',
  'waiting',
  'warning',
  'would-park',
  'would-differ',
  'would-wait',
  'would-match',
  'gave-way',
  'update',
  'retrying',
  'degraded',
  'pending',
  'rotating',
])

function paintOf(state: string, colors: Colors): (text: string) => string {
  if (GOOD.has(state)) return colors.green
  if (BAD.has(state)) return colors.red
  if (WARNING.has(state)) return colors.yellow
  return (text) => text
}

function makeProgress(stderr: Stream): Progress {
  const isTty = stderr.isTTY === true
  let isDrawn = false
  const clear = () => {
    if (isDrawn) stderr.write('\r\u001b[2K')
    isDrawn = false
  }
  return {
    update(text) {
      if (!isTty) return
      clear()
      stderr.write(printable(text))
      isDrawn = true
    },
    end(text) {
      clear()
      if (text !== undefined) stderr.write(`${text}\n`)
    },
  }
}
