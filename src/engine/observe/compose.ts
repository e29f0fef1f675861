// Composes what shows this node's work: its change feed, with those of other nodes, and its meter.

import { type EngineSignals, tenantsInStore } from '../commit/index.ts'
import type { EngineConfig, EngineDeps } from '../config.ts'
import { type Feed, makeFeed } from './change-feed.ts'
import { makeNodesFeed, type NodesFeed } from './feed-between-nodes.ts'
import { type Meter, makeMeter } from './meter.ts'

export interface Observed {
  readonly feed: Feed
  /** null: this node is alone. */
  readonly nodesFeed: NodesFeed | null
  readonly meter: Meter
}

export function composeObserve(
  deps: Pick<EngineDeps, 'store' | 'clock' | 'log' | 'wakes'> & { readonly signals: EngineSignals },
  config: Pick<EngineConfig, 'isShared'>,
): Observed {
  const { signals, store } = deps
  const meter = makeMeter(deps)
  const feed = makeFeed()
  signals.applied.listen((commit, result, about) => {
    meter.applied(commit, result.at, about)
    feed.applied(commit, result, about)
  })
  signals.lost.listen(feed.lost)
  const nodesFeed = config.isShared
    ? makeNodesFeed({ ...deps, feed, tenants: () => tenantsInStore(store) })
    : null
  return { feed, nodesFeed, meter }
}
