// Planted bugs of the bus: what is said of a message before it is true.

import type { Bus } from '../src/ports/bus.ts'
import type { Bug } from './bug.ts'

/** A message is acknowledged as it comes. */
const acknowledging = (bus: Bus): Bus => ({
  ...bus,
  consume: (spec) =>
    bus.consume({
      ...spec,
      async handle(message) {
        void spec.handle(message)
        return { is: 'kept' }
      },
    }),
  [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose](),
})

export const BUS_BUGS: readonly Bug[] = [
  {
    name: 'acknowledged-before-its-commit',
    about: 'a message of the bus is acknowledged when it comes, and not when its event is kept',
    breaks: ['N1'],
    hasBus: true,
    bus: acknowledging,
  },
]
