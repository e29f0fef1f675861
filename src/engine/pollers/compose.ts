// Composes pollers: what begins polls, and what runs them.

import type { EngineBase } from '../commit/index.ts'
import type { EngineConfig } from '../config.ts'
import type { Connections } from '../connections/index.ts'
import type { Registry } from '../definitions/index.ts'
import type { FlowControl, OpenHttp } from '../effects/index.ts'
import type { Acceptor } from '../ingest/index.ts'
import type { BeginJob } from '../leases/index.ts'
import type { Decisions, Settler } from '../settlement/index.ts'
import { makeReadPage } from './read-page.ts'
import { makePollRunner, type PollRunner } from './run-poll.ts'
import { makeStoreItems } from './store-items.ts'

export function composePolls(
  deps: EngineBase & {
    readonly registry: Registry
    readonly settler: Settler
    readonly decisions: Decisions
    readonly begin: BeginJob
    readonly connections: Pick<Connections, 'calls' | 'operations'>
    readonly openHttp: OpenHttp
    readonly flowControl: FlowControl
    readonly acceptor: Acceptor
  },
  config: Pick<EngineConfig, 'responseBytesMax'>,
): PollRunner {
  return makePollRunner({ ...deps, readPage: makeReadPage(deps, config), storeItems: makeStoreItems(deps) })
}
