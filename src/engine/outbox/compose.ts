// Composes the outbox: a store whose commits also publish, and the relay, on nodes that have the role.

import type { Store } from '../../ports/store.ts'
import type { EngineBase } from '../commit/index.ts'
import type { EngineConfig } from '../config.ts'
import { makeOutboxStore } from './outbox-store.ts'
import { makeRelay, type Relay } from './relay.ts'
import { ALWAYS_HELD, makeLeaderLease } from './relay-lease.ts'

export interface Outbox {
  /** What the engine commits to. */
  readonly store: Store
  /** Commits fill the outbox. */
  readonly hasOutbox: boolean
  /** null: this node does not relay. */
  readonly relay: Relay | null
  start(): void
  /** Publishes what is left, and stops. */
  drain(): Promise<void>
  stop(): void
}

export function composeOutbox(
  deps: Pick<EngineBase, 'store' | 'bus' | 'clock' | 'log' | 'wakes' | 'ids' | 'time'>,
  config: Pick<EngineConfig, 'hasOutbox' | 'isShared' | 'roles' | 'pollMs' | 'busPrefix'>,
): Outbox {
  const { bus, wakes, ids } = deps
  const hasOutbox = config.hasOutbox && bus !== null
  const leaderLease = () => (config.isShared ? makeLeaderLease({ ...deps, by: ids.uuid() }) : ALWAYS_HELD)
  const relay =
    hasOutbox && config.roles.has('schedule')
      ? makeRelay({ ...deps, bus, leaderLease: leaderLease() }, config)
      : null
  let unlisten = () => {}

  const onPublished = () => {
    relay?.wake()
    if (config.isShared && relay?.isOurs() !== true) wakes.send({ wake: 'outbox' })
  }

  return {
    store: hasOutbox ? makeOutboxStore(deps.store, onPublished) : deps.store,
    hasOutbox,
    relay,
    start() {
      if (relay === null) return
      relay.start()
      unlisten = wakes.listen(({ wake }) => wake === 'outbox' && relay.wake())
    },
    async drain() {
      await relay?.drain()
      await relay?.stop()
    },
    stop() {
      unlisten()
      void relay?.stop()
    },
  }
}
