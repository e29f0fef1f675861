// Planted bugs of the bus: what is said of a message before it is true, and what is told beside the commit.

import type { Bus } from '../src/ports/bus.ts'
import type { Store } from '../src/ports/store.ts'
import type { Bug } from './bug.ts'
import type { Profile } from './faults.ts'

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

/** What is published is taken for there before the bus has answered. */
const trusting = (bus: Bus): Bus => ({
  ...bus,
  async publish(messages) {
    bus.publish(messages).catch(() => {})
    return messages.map(() => true)
  },
  [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose](),
})

/** What is to be told follows in a commit of its own. */
const tellingLater = (store: Store): Store => ({
  ...store,
  async commit(commit) {
    const told = commit.writes.filter(({ w }) => w === 'outbox.add')
    if (told.length === 0 || told.length === commit.writes.length) return store.commit(commit)
    const result = await store.commit({
      ...commit,
      writes: commit.writes.filter(({ w }) => w !== 'outbox.add'),
    })
    if (result.ok) await store.commit({ tenant: commit.tenant, guards: [], writes: told })
    return result
  },
})

const mirrored = (profile: Profile): Profile =>
  profile.bus === undefined ? profile : { ...profile, bus: { ...profile.bus, hasOutbox: true } }

export const BUS_BUGS: readonly Bug[] = [
  {
    name: 'acknowledged-before-its-commit',
    about: 'a message of the bus is acknowledged when it comes, and not when its event is kept',
    breaks: ['N1'],
    hasBus: true,
    bus: acknowledging,
  },
  {
    name: 'told-before-the-bus-has-it',
    about: 'a row leaves the outbox when it was published, and not when the bus has it',
    breaks: ['N13'],
    hasBus: true,
    profile: mirrored,
    bus: trusting,
  },
  {
    name: 'told-beside-the-commit',
    about: 'what is to be told to the bus is kept in a commit of its own, behind that of the event',
    breaks: ['N13'],
    hasBus: true,
    profile: mirrored,
    store: tellingLater,
  },
]
