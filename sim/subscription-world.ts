// The part of the world that has to do with subscriptions: endpoints, the vault, the operators, and the checks. In a run
// without subscriptions it is empty, and draws nothing.

import type { DefinitionDocument } from '../src/core/definitions/documents/index.ts'
import type { TenantId } from '../src/core/foundation/ids/index.ts'
import type { WorkRow } from '../src/core/queue/work/index.ts'
import type { HttpClient } from '../src/ports/http-client.ts'
import type { Commit } from '../src/ports/store.ts'
import { makeDeliveryChecks } from './check-deliveries.ts'
import type { LaneChecks } from './check-lanes.ts'
import type { Outcome } from './data.ts'
import { makeEndpoints } from './endpoints.ts'
import type { Life, SimVault } from './node.ts'
import type { Outside } from './node-access.ts'
import type { Rng } from './random.ts'
import type { Message } from './senders-and-operator.ts'
import { makeSubscriptionOperator } from './subscription-operator.ts'
import { hooksBeside, OTHER_DOCUMENTS, OTHER_TENANT } from './subscriptions.ts'
import { makeSecrets, PLAIN_VAULT, type Secrets } from './vault.ts'

export interface HookWorld {
  /** How often operators act; 0: never. */
  readonly everyMs: number
  readonly others: readonly { readonly tenant: TenantId; readonly documents: readonly DefinitionDocument[] }[]
  beside(bundle: 0 | 1): readonly DefinitionDocument[]
  client(life: Life, others: HttpClient): HttpClient
  vault(life: Life): SimVault
  /** null: this run has none that are made here. */
  readonly secrets: Secrets | null
  applied(life: Life, commits: readonly Commit[], outcomes: readonly Outcome[]): void
  claimed(life: Life, work: readonly WorkRow[]): void
  started(life: Life): void
  /** The text of a line of the log. */
  logged(line: string): void
  /** What others send besides. */
  withOthers(messages: readonly Message[]): readonly Message[]
  act(): void
  heal(): void
  /** Whether all subscriptions that can be are at work, once everything is healed. */
  isMended(): boolean
  end(): void
}

const NOTHING: HookWorld = {
  everyMs: 0,
  others: [],
  beside: () => [],
  client: (_life, others) => others,
  vault: () => PLAIN_VAULT,
  secrets: null,
  applied() {},
  claimed() {},
  started() {},
  logged() {},
  withOthers: (messages) => messages,
  act() {},
  heal() {},
  isMended: () => true,
  end() {},
}

const OPERATORS_EVERY_MS = 2_500
const MEND_EVERY_MS = 3_000
/** In a thousand. */
const OTHERS_SEND = 300

export function makeHookWorld(
  outside: Outside,
  rng: Rng,
  lanes: Pick<LaneChecks, 'started'>,
  wasDoubled: (life: Life) => boolean,
): HookWorld {
  if (outside.profile.hasHooks !== true) return NOTHING
  const { time, data, observations, faults, trace } = outside
  const secrets = makeSecrets({ time, rng: rng.fork('vault'), unavailable: outside.profile.unavailable / 4 })
  const endpoints = makeEndpoints({
    time,
    rng: rng.fork('endpoints'),
    faults,
    trace,
    sent: (call) => checks.sent(call),
  })
  const checks = makeDeliveryChecks({
    observations,
    data,
    time,
    lanes,
    secrets,
    calls: () => endpoints.calls,
    isGoneForGood: endpoints.isGoneForGood,
    wasDoubled,
  })
  const operator = makeSubscriptionOperator(outside, rng.fork('keepers'), endpoints, {
    disables: checks.disables,
    sees: checks.shown,
  })
  let isMended = false

  const mend = () => {
    isMended = operator.mend() === 0
    time.after(MEND_EVERY_MS, mend)
  }

  return {
    everyMs: OPERATORS_EVERY_MS,
    others: [{ tenant: OTHER_TENANT, documents: OTHER_DOCUMENTS }],
    beside: hooksBeside,
    client: endpoints.client,
    vault: secrets.vault,
    secrets,
    applied: checks.applied,
    claimed: checks.claimed,
    started: checks.started,
    logged: checks.shown,
    withOthers: (messages) => {
      const drawn = rng.fork('others')
      const theirs = messages
        .filter(({ source }) => source === 'shop' && drawn.chance(OTHERS_SEND))
        .map((message) => ({ ...message, tenant: OTHER_TENANT }))
      return [...messages, ...theirs]
    },
    act: operator.act,
    heal() {
      endpoints.heal()
      secrets.heal()
      checks.healed()
      mend()
    },
    isMended: () => isMended,
    end: checks.end,
  }
}
