// Calls a function that maps the data of an instance for a migration. It computes: it has no effects, no connections and
// emits nothing, so that a migration that fails leaves nothing behind.

import { type FunctionOutcome, failedFunction } from '../../../core/effects/function/index.ts'
import type { StoredEvent } from '../../../core/events/event/index.ts'
import { messageOf } from '../../../core/foundation/errors/index.ts'
import { copyPlain, type JsonValue, parseJson } from '../../../core/foundation/json/index.ts'
import type { TransformCall } from '../../../core/workflows/machine/index.ts'
import { CodeRefusedError, type FunctionContext, type FunctionEvent } from '../../../ports/code.ts'
import type { EngineBase } from '../../commit/index.ts'

export type Transformed =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly error: string }

/** `event`: the one that began the instance. */
export async function callTransform(
  deps: Pick<EngineBase, 'code' | 'clock' | 'log'>,
  event: StoredEvent,
  { name, codeHash, timeoutMs, input }: TransformCall,
): Promise<Transformed> {
  const { code } = deps
  try {
    if (!code.has(codeHash) && !(await code.prepare(codeHash)))
      return { ok: false, error: 'its code is not on this node' }
    if (!(await code.isOpen(codeHash, name, event.tenant)))
      return { ok: false, error: 'there is no such function for this tenant any more' }
    const outcome = await timed(deps, event, timeoutMs, (context) => code.run(codeHash, name, input, context))
    return outcome.kind === 'returned'
      ? { ok: true, value: outcome.value }
      : { ok: false, error: outcome.message }
  } catch (error) {
    if (error instanceof CodeRefusedError || error instanceof ForbiddenError)
      return { ok: false, error: messageOf(error) }
    throw error
  }
}

class ForbiddenError extends Error {
  override readonly name = 'ForbiddenError'
}

async function timed(
  { clock, log }: Pick<EngineBase, 'clock' | 'log'>,
  event: StoredEvent,
  timeoutMs: number,
  run: (context: FunctionContext) => FunctionOutcome | Promise<FunctionOutcome>,
): Promise<FunctionOutcome> {
  const controller = new AbortController()
  // What it did although it may not decides, also if it caught the error.
  let forbidden: Error | null = null
  const forbid = (what: string) => {
    forbidden ??= new ForbiddenError(`a migration only computes: it may not ${what}`)
    return forbidden
  }
  const say = (level: 'info' | 'warn' | 'error') => (message: string) =>
    log[level]('function.log', { tenant: event.tenant, message: message.slice(0, MESSAGE_MAX) })
  const context: FunctionContext = {
    key: `migration:${event.id}`,
    event: eventOf(event),
    attempt: 1,
    signal: controller.signal,
    log: { info: say('info'), warn: say('warn'), error: say('error') },
    clock,
    effect: () => Promise.reject(forbid('have effects')),
    connection: () => {
      throw forbid('use connections')
    },
    emit: () => {
      throw forbid('emit events')
    },
    heartbeat: () => {},
  }
  let cancel = () => {}
  const late = new Promise<FunctionOutcome>((resolve) => {
    cancel = clock.after(timeoutMs, () => {
      controller.abort()
      resolve(failedFunction('again', `it took longer than ${timeoutMs} ms`))
    })
  })
  try {
    const outcome = await Promise.race([Promise.resolve(run(context)), late])
    return forbidden === null ? outcome : failedFunction('terminal', (forbidden as Error).message)
  } finally {
    cancel()
  }
}

const MESSAGE_MAX = 1_000

function eventOf(event: StoredEvent): FunctionEvent {
  const { id, tenant, source, subject, objectType, objectId, occurredAt, receivedAt } = event
  const { correlationId, causationId, traceId, dedupKey, payloadHash } = event
  return {
    ...{ id, tenant, source, subject, objectType, objectId, occurredAt, receivedAt },
    ...{ correlationId, causationId, traceId, dedupKey, payloadHash },
    data: copyPlain(parseJson(event.data)),
  }
}
