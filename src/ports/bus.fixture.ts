// A consumer for the tests of every bus: it reports each message as stored, and remembers messages and states.

import type { Bus, Consumer, ConsumerSpec, Handled, IncomingMessage } from './bus.ts'

export const KEPT: Handled = { is: 'kept' }

export interface Collector {
  readonly got: readonly IncomingMessage[]
  ids(): (string | null)[]
  bodies(): string[]
  /** The states it got; if it waits, why. */
  readonly states: readonly string[]
  readonly consumer: Consumer
}

export function collect(bus: Bus, over: Partial<ConsumerSpec> = {}): Collector {
  const got: IncomingMessage[] = []
  const states: string[] = []
  const consumer = bus.consume({
    stream: 'CRM',
    subjects: ['crm.>'],
    durable: 'reader',
    maxInFlight: 16,
    onState: (state) => states.push(state.is === 'waiting' ? state.why : state.is),
    ...over,
    handle: async (one) => {
      got.push(one)
      return over.handle?.(one) ?? KEPT
    },
  })
  return {
    got,
    ids: () => got.map(({ id }) => id),
    bodies: () => got.map(({ body }) => new TextDecoder().decode(body)),
    states,
    consumer,
  }
}
