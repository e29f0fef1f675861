// Creates the outbound clients: one for the web and one for mail, with the same guard.

import { makeHttpClient } from '../adapters/http-undici/index.ts'
import { makeMailClient } from '../adapters/mail-smtp/index.ts'
import type { Config } from '../config/index.ts'
import type { RefusedName } from '../core/access/network/index.ts'
import { LENT_MAX } from '../engine/index.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import { combineClients, makeOutbound, type Outbound } from './outbound.ts'
import { makeRefusedNames } from './refused-names.ts'

export function openOutbound(
  config: Config,
  deps: { readonly clock: Pick<Clock, 'after'>; readonly log: Log },
): Outbound {
  // The only place that reveals where a name leads: callers get the same error as for a name that does not exist.
  const refusedNames = makeRefusedNames(deps)
  const outbound = makeOutbound(config, (guard, tenant) => {
    const onRefusedName = (refused: RefusedName) => refusedNames.note(refused, tenant)
    const web = makeHttpClient({
      ...guard,
      onRefusedName,
      // As many as may be in progress, including those that lent their slot: a call that queued for a connection would
      // spend its time there, and end with an unknown outcome. Many subscriptions may share one host, and some of their
      // endpoints hang.
      connectionsPerOrigin: config.concurrency + LENT_MAX,
    })
    return {
      ...combineClients(web, makeMailClient({ ...guard, onRefusedName })),
      [Symbol.asyncDispose]: () => web[Symbol.asyncDispose](),
    }
  })
  return {
    http: outbound.http,
    async [Symbol.asyncDispose]() {
      await outbound[Symbol.asyncDispose]()
      refusedNames[Symbol.dispose]()
    },
  }
}
