// The world of one flow test: the real engine over a store in memory, a clock that the test moves, and vendors that answer as it says.

import { makeVirtualClock, type VirtualClock } from '../../adapters/clock-virtual/index.ts'
import type { BundleCode } from '../../adapters/code-bundle/index.ts'
import { makeLocalEncryption } from '../../adapters/encryption-local/index.ts'
import { makeSeededRandom } from '../../adapters/random-seeded/index.ts'
import { makeMemoryStore } from '../../adapters/store-memory/index.ts'
import { makeLocalVault } from '../../adapters/vault-local/index.ts'
import { BUILT_IN_PROVIDERS } from '../../connectors/index.ts'
import type { DefinitionDocument } from '../../core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type NodeId } from '../../core/foundation/ids/index.ts'
import { HOUR, MINUTE } from '../../core/foundation/time/index.ts'
import { makeMasterKeys } from '../../core/secrets/index.ts'
import type { FlowTest } from '../../core/testing/flow-test/index.ts'
import { makeEncryptedStore } from '../../engine/commit/index.ts'
import { ENGINE_DEFAULTS, type Engine, makeEngine } from '../../engine/index.ts'
import { combineVaults } from '../../engine/secrets/index.ts'
import type { Log } from '../../ports/log.ts'
import type { TenantReads } from '../../ports/store.ts'
import { NO_WAKES } from '../../ports/wakes.ts'
import { packageVersion } from '../package-files.ts'
import { probesOf } from './connection-probes.ts'
import { makeScriptedVendors, type ScriptedVendors } from './scripted-vendors.ts'
import { watchCode } from './test-code.ts'
import { makeGivenVault, vaultEntries } from './test-secrets.ts'

export interface TestWorld {
  readonly engine: Engine
  readonly clock: VirtualClock
  readonly vendors: ScriptedVendors
  readonly reads: TenantReads
  /** Lets time pass until the promise is settled, and returns its value. */
  settled<Value>(promise: Promise<Value>): Promise<Value>
}

const NO_LOG: Log = { control: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const SEED = 1
const KEY_BYTES = 32
/** Without other nodes nothing is gained by looking more often, and hours pass in no time. */
const QUIET = {
  pollMs: HOUR,
  followMs: 10 * MINUTE,
  leaseMs: 12 * HOUR,
  retentionEveryMs: 0,
  sweepEveryMs: 0,
}
/** For a start and for each request: both need no time of their own. */
const SETTLED_WITHIN_MS = HOUR

export async function openTestWorld(
  { given, answers }: Pick<FlowTest, 'given' | 'answers'>,
  documents: readonly DefinitionDocument[],
  code: BundleCode,
): Promise<TestWorld> {
  const running = watchCode(
    code,
    () => vendors,
    () => clock.now(),
  )
  const clock: VirtualClock = makeVirtualClock({ startAt: given.time, settle: running.settle })
  const vars = { self: 'http://millrace.example', env: 'DEV', ...given.vars }
  const vendors = makeScriptedVendors(answers, probesOf(documents, vars), clock)
  const random = makeSeededRandom(SEED)
  const keys = makeMasterKeys(new Uint8Array(KEY_BYTES).fill(SEED))
  const encryption = makeLocalEncryption({ keys, random })
  const behind = makeMemoryStore({ now: clock.now, defer: clock.defer })
  const store = makeEncryptedStore(behind, { encryption, log: NO_LOG })
  const secrets = makeLocalVault({ store, clock, random, log: NO_LOG, keys })
  const fromMachine = makeGivenVault(given.secrets)
  const engine = makeEngine(
    {
      store,
      clock,
      random,
      http: vendors.http,
      vault: combineVaults({ env: fromMachine, file: fromMachine, ref: secrets }),
      secrets,
      encryption,
      log: NO_LOG,
      code: running,
      wakes: NO_WAKES,
      bus: null,
    },
    {
      ...ENGINE_DEFAULTS,
      ...QUIET,
      node: 'test' as NodeId,
      providers: BUILT_IN_PROVIDERS,
      version: packageVersion(),
      vars,
    },
  )

  const settled: TestWorld['settled'] = async (promise) => {
    let isOver = false
    const over = () => {
      isOver = true
    }
    promise.then(over, over)
    await clock.advance(SETTLED_WITHIN_MS, () => isOver || vendors.unanswered().length > 0)
    if (!isOver) throw new Error('the engine did not come to rest')
    return promise
  }

  for (const [name, value] of vaultEntries(given.secrets, documents))
    await settled(secrets.set(DEFAULT_TENANT, name, value, { isPending: false, by: 'test' }))
  await settled(engine.apply(DEFAULT_TENANT, documents))
  await settled(engine.start())
  return { engine, clock, vendors, reads: store.forTenant(DEFAULT_TENANT), settled }
}
