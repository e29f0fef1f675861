// Opens what a node works with before its engine is composed: clock, log, outbound clients, keys, the encrypting store, the demo.

import { makeSystemClock } from '../adapters/clock-system/index.ts'
import { makeLocalEncryption } from '../adapters/encryption-local/index.ts'
import { makeLog, type OperatorLog } from '../adapters/log-pino/index.ts'
import { makeSystemRandom } from '../adapters/random-system/index.ts'
import type { Config } from '../config/index.ts'
import { type Ids, makeIds } from '../core/foundation/ids/index.ts'
import { type MasterKeys, makeMasterKeys } from '../core/secrets/index.ts'
import { type Demo, startDemo } from '../demo/index.ts'
import { makeEncryptedStore } from '../engine/commit/index.ts'
import type { Clock } from '../ports/clock.ts'
import type { Encryption } from '../ports/encryption.ts'
import type { Random } from '../ports/random.ts'
import type { Store } from '../ports/store.ts'
import { DEV_SECRETS, type Env, isDemo } from './demo-in-dev.ts'
import { warnOfOpenDoors } from './machine-checks.ts'
import { resolveMasterKey } from './node-keys.ts'
import { followStore, type openStore } from './open-store.ts'
import type { Outbound } from './outbound.ts'
import { openOutbound } from './outbound-clients.ts'
import { followSetting } from './setting-error.ts'

export interface OpenNode {
  readonly clock: Clock
  readonly log: OperatorLog
  readonly outbound: Outbound
  readonly random: Random
  readonly ids: Ids
  readonly demo: Demo | null
  /** `vars` of expressions that the node itself provides. */
  readonly vars: { readonly self: string; readonly vendor: string | null }
  readonly keys: MasterKeys
  readonly encryption: Encryption
  readonly store: Store
}

type Closing = <Part extends AsyncDisposable>(part: Part) => Part

export async function openNode(
  options: {
    readonly config: Config
    readonly env: Env
    onFatal?(message: string): void
    onNotice?(text: string): void
  },
  stores: {
    readonly opened: Awaited<ReturnType<typeof openStore>>
    /** The same, counting its failed writes. */
    readonly behind: Store
  },
  /** The node's address; empty until the server listens. */
  url: () => string,
  closing: Closing,
): Promise<OpenNode> {
  const { config, env } = options
  const clock = makeSystemClock()
  const now = () => clock.now()
  const log = closing(
    await followSetting('MILLRACE_LOG', config.log, () =>
      makeLog({
        destination: config.log,
        env: config.environment,
        level: config.logLevel,
        rotation: { bytesMax: config.logBytesMax, files: config.logFiles },
        now,
      }),
    ),
  )
  followStore(stores.opened, log, options.onFatal)
  await warnOfOpenDoors(config, options, log)
  const outbound = closing(openOutbound(config, { clock, log }))
  const random = makeSystemRandom()
  const ids = makeIds({ now, bytes: (length) => random.bytes(length) })
  const secret = env.GITHUB_WEBHOOK_SECRET || DEV_SECRETS.GITHUB_WEBHOOK_SECRET
  const demo: Demo | null = isDemo(config)
    ? closing(await startDemo({ url, secret, now, uuid: () => ids.uuid() }))
    : null
  const vars = {
    /** This node's own address, for definitions that talk to it. */
    get self() {
      return url()
    },
    /** The demo's vendor; null without the demo. */
    vendor: demo?.vendorUrl ?? null,
  }
  const keys = makeMasterKeys(await resolveMasterKey(config, log), config.masterKeysOld)
  const encryption = makeLocalEncryption({ keys, random })
  // Only this line has the store itself: everything sensitive passes the seal.
  const store = makeEncryptedStore(stores.behind, { encryption, log })
  return { clock, log, outbound, random, ids, demo, vars, keys, encryption, store }
}
