// Failures of a command: one sentence, the next step, and an exit code that scripts can rely on.

import type { JsonValue } from '../core/foundation/json/index.ts'

/** docs/cli.md lists them; a number never changes its meaning. */
export const EXIT = {
  ok: { code: 0, meaning: 'success' },
  failed: { code: 1, meaning: 'the command failed, or the node refused it' },
  usage: { code: 2, meaning: 'the command line is not valid' },
  findings: { code: 3, meaning: 'the definitions have errors' },
  unreachable: { code: 4, meaning: 'no node responds at the address' },
  notAllowed: { code: 5, meaning: 'the key is missing, unknown, or not allowed to do this' },
  notFound: { code: 6, meaning: 'not found' },
  conflict: { code: 7, meaning: 'the state does not allow it, or another change came first' },
  interrupted: { code: 130, meaning: 'interrupted by Ctrl-C' },
} as const

export type Ending = keyof typeof EXIT

export class CliError extends Error {
  override readonly name = 'CliError'
  readonly ending: Ending
  /** What to do about it. */
  readonly next: string | null
  /** Lines shown below: fields, findings. */
  readonly details: readonly string[]
  /** The API's own code, if it refused. */
  readonly code: string | null

  constructor(
    message: string,
    options: {
      readonly ending?: Ending
      readonly next?: string
      readonly details?: readonly string[]
      readonly code?: string
    } = {},
  ) {
    super(message)
    this.ending = options.ending ?? 'failed'
    this.next = options.next ?? null
    this.details = options.details ?? []
    this.code = options.code ?? null
  }
}

/** Wrong usage that commander cannot detect: two options that exclude each other, a path that is not a file. */
export function usageError(message: string, next?: string): CliError {
  return new CliError(message, { ending: 'usage', ...(next !== undefined && { next }) })
}

/** The server's refusal, from its problem document (RFC 9457); anything else is reported by its status. */
export function problemToError(status: number, body: JsonValue): CliError {
  const ending = endingOf(status)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return new CliError(`the server responded ${status} without an error document`, { ending })
  }
  const problem = body as Readonly<Record<string, JsonValue>>
  const title = textOf(problem.title) ?? `The server responded ${status}`
  const detail = textOf(problem.detail)
  const next = textOf(problem.next)
  return new CliError(detail === null || detail === title ? title : `${title}: ${detail}`, {
    ending: hasFindings(problem.details) ? 'findings' : ending,
    details: fieldsOf(problem.details),
    ...(next !== null && { next }),
    ...(typeof problem.code === 'string' && { code: problem.code }),
  })
}

function endingOf(status: number): Ending {
  if (status === 401 || status === 403) return 'notAllowed'
  if (status === 404 || status === 410) return 'notFound'
  if (status === 409 || status === 412) return 'conflict'
  return 'failed'
}

function textOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function membersOf(value: JsonValue | undefined): Readonly<Record<string, JsonValue>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, JsonValue>>)
    : {}
}

function hasFindings(details: JsonValue | undefined): boolean {
  const { findings } = membersOf(details)
  return Array.isArray(findings) && findings.length > 0
}

/** `details.fields` and `details.findings`, one line each. */
function fieldsOf(details: JsonValue | undefined): readonly string[] {
  const { fields, findings } = membersOf(details)
  const lines = (
    list: JsonValue | undefined,
    write: (item: Readonly<Record<string, JsonValue>>) => string,
  ) => (Array.isArray(list) ? list.map((item) => write(membersOf(item))) : [])
  // The detail already describes a single fault.
  const faults = Array.isArray(fields) && fields.length > 1 ? fields : []
  return [
    ...lines(faults, ({ path, message }) => `${String(path ?? '')}: ${String(message ?? '')}`),
    ...lines(
      findings,
      ({ file, line, column, severity, rule, message }) =>
        `${String(file)}:${String(line)}:${String(column)} ${String(severity)} ${String(rule)}: ${String(message)}`,
    ),
  ]
}
