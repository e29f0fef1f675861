// One line per attempt, for work, events, dead letters and deliveries. Errors often contain the other side's own text:
// none of it may control the terminal.

import type { Session } from './command.ts'
import { duration, printable } from './text.ts'

interface ShownAttempt {
  readonly number: number
  readonly startedAt: string
  readonly durationMs: number
  readonly outcome: string
  readonly class?: string
  readonly httpStatus?: number
  readonly error?: string
}

export function printAttempt({ out }: Session, attempt: ShownAttempt): void {
  const parts = [`#${attempt.number}`, out.time(attempt.startedAt), duration(attempt.durationMs)]
  const what = [attempt.outcome, attempt.class, attempt.httpStatus, attempt.error]
  const told = printable(what.filter((part) => part !== undefined).join('  '))
  out.line(`  ${out.colors.dim(parts.join('  '))}  ${told}`)
}
