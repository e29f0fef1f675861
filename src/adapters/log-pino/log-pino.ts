// The operator's log: JSON lines. Control points are encoded by hand (control-line.ts), ordinary messages by pino;
// both leave through one sink, in order. The level drops ordinary messages, but none of the audit trail.

import { pino } from 'pino'
import { isAuditMessage } from '../../core/access/callers/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { Log } from '../../ports/log.ts'
import { makeControlLineEncoder } from './control-line.ts'
import { redactFields } from './redact.ts'
import { makeSink, type Rotation } from './sink.ts'

export type LogLevel = 'info' | 'warn' | 'error' | 'silent'

export interface LogOptions {
  /** `stdout`, `stderr` or the path of a file that is appended to. */
  readonly destination: string
  readonly env: string
  /** Of ordinary messages; control points and the audit trail are always written. */
  readonly level: LogLevel
  now(): Instant
  /** When a file is rotated, and how many rotated files stay; omitted: never. */
  readonly rotation?: Rotation
  /** Characters that may be buffered while the destination is blocked; more are dropped and counted. */
  readonly waitingLengthMax?: number
}

export interface OperatorLog extends Log, AsyncDisposable {
  /** Hash of the deployed definitions; written with every control point. */
  setConfigHash(hash: string | null): void
  /** Settles when everything logged so far is written, or cannot be. */
  flush(): Promise<void>
}

const WAITING_LENGTH_MAX = 8 * 1024 * 1024
/** Written by the log itself: a field of the same name would appear twice. */
const OWN_NAMES = ['level', 'timestamp', 'env', 'name', 'audit'] as const
/** Each level lets through its own rank and higher. */
const RANKS = { info: 0, warn: 1, error: 2, silent: 3 } as const

export function makeLog(options: LogOptions): OperatorLog {
  const { env, level, now } = options
  const iso = () => new Date(now()).toISOString()
  const sink = makeSink({
    destination: options.destination,
    ...(options.rotation !== undefined && { rotation: options.rotation }),
    lengthMax: options.waitingLengthMax ?? WAITING_LENGTH_MAX,
    dropped: (lines) =>
      `${JSON.stringify({ level: 'warn', timestamp: iso(), env, name: 'log.dropped', lines })}\n`,
  })
  const controlLine = makeControlLineEncoder(env, now)
  const logger = pino(
    {
      level: 'info',
      base: { env },
      timestamp: () => `,"timestamp":"${iso()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    sink,
  )

  const say = (
    at: 'info' | 'warn' | 'error',
    name: string,
    fields: Readonly<Record<string, unknown>> = {},
  ) => {
    const isAudit = isAuditMessage(name)
    if (RANKS[at] < RANKS[level] && !isAudit) return
    const safe = redactFields(fields)
    for (const own of OWN_NAMES) {
      if (!(own in safe)) continue
      safe[`${own}_`] = safe[own]
      delete safe[own]
    }
    logger[at](isAudit ? { name, audit: true, ...safe } : { name, ...safe })
  }

  return {
    control: (line) => sink.put(controlLine.lengthMax(line), controlLine.encode, line),
    info: (name, fields) => say('info', name, fields),
    warn: (name, fields) => say('warn', name, fields),
    error: (name, fields) => say('error', name, fields),
    setConfigHash: controlLine.setConfigHash,
    flush: sink.flush,
    [Symbol.asyncDispose]: sink.close,
  }
}
