// The errors by which a user's function decides what happens next. Anything else that it throws is retried by the
// route's profile.
//
// The engine recognises these by a mark, not by their class: a bundled function may carry its own copy of this file.

const CONSEQUENCE = Symbol.for('millrace.consequence')

/** Retrying is useless: the job is dead-lettered. */
export class TerminalError extends Error {
  override readonly name: string = 'TerminalError'
  get [CONSEQUENCE]() {
    return { how: 'terminal', afterMs: null } as const
  }
}

export type DurationText = `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

/** Retry, by the route's profile or, with `after`, not before that time has passed. */
export class RetryableError extends Error {
  override readonly name: string = 'RetryableError'
  readonly afterMs: number | null
  constructor(message: string, options: { readonly after?: DurationText; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.afterMs = options.after === undefined ? null : parseAfter(options.after)
  }
  get [CONSEQUENCE]() {
    return { how: 'again', afterMs: this.afterMs } as const
  }
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function parseAfter(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text)
  if (match === null)
    throw new TypeError(`after: '${text}' is not a duration; write 250ms, 30s, 5m, 2h or 7d`)
  return Math.round(Number(match[1]) * (UNIT_MS[match[2] as string] as number))
}
