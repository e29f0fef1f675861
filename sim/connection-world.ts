// The part of the world that has to do with connections: vendors with accounts, the vault, the operators, and the checks. In a run
// without connections it is empty, and draws nothing.

import type { DefinitionDocument } from '../src/core/definitions/documents/index.ts'
import type { TenantId } from '../src/core/foundation/ids/index.ts'
import type { HttpClient, HttpRequest } from '../src/ports/http-client.ts'
import type { Commit } from '../src/ports/store.ts'
import { makeAccounts } from './accounts.ts'
import { type ConnectionChecks, makeConnectionChecks } from './check-connections.ts'
import { makeConnectionOperator } from './connection-operator.ts'
import { ACCOUNTS, connectionsBeside, NEIGHBOUR, NEIGHBOUR_DOCUMENTS } from './connections.ts'
import type { Outcome } from './data.ts'
import type { ConnectionPlan } from './faults.ts'
import type { Life, SimVault } from './node.ts'
import type { Outside } from './node-access.ts'
import type { Rng } from './random.ts'
import { makeSecrets, type Secrets } from './vault.ts'
import type { Effect, Front, Send } from './vendor.ts'
import type { VendorOperation } from './vendor-operation.ts'

export interface ConnectionWorld {
  /** How often operators act; 0: never. */
  readonly everyMs: number
  readonly others: readonly { readonly tenant: TenantId; readonly documents: readonly DefinitionDocument[] }[]
  beside(bundle: 0 | 1): readonly DefinitionDocument[]
  client(life: Life, others: HttpClient): HttpClient
  /** null: another part provides it. */
  vault(life: Life): SimVault | null
  front(operation: VendorOperation, request: HttpRequest): Front
  sent(send: Send): void
  took(effect: Effect): void
  applied(life: Life, commits: readonly Commit[], outcomes: readonly Outcome[]): void
  /** A function begins. */
  ran(life: Life, name: string, event: string): void
  started(life: Life): void
  paused(life: Life): void
  /** The text of a line of the log. */
  logged(line: string): void
  act(): void
  heal(): void
  isMended(): boolean
  end(): void
}

const NOTHING: ConnectionWorld = {
  everyMs: 0,
  others: [],
  beside: () => [],
  client: (_life, others) => others,
  vault: () => null,
  front: () => null,
  sent() {},
  took() {},
  applied() {},
  ran() {},
  started() {},
  paused() {},
  logged() {},
  act() {},
  heal() {},
  isMended: () => true,
  end() {},
}

const MEND_EVERY_MS = 3_000

/** `shared`: the vault of those who have one already. */
export function makeConnectionWorld(outside: Outside, rng: Rng, shared: Secrets | null): ConnectionWorld {
  const { time, data, observations, profile, trace } = outside
  if (profile.hasConnections !== true) return NOTHING
  const plan = profile.connections ?? drawPlan(rng.fork('plan'))
  const secrets =
    shared ?? makeSecrets({ time, rng: rng.fork('vault'), unavailable: profile.unavailable / 4 })
  const checks: ConnectionChecks = makeConnectionChecks({
    observations,
    data,
    time,
    secrets,
    accounts: () => accounts,
    isSteady: profile.redefineEveryMs === 0,
  })
  const accounts = makeAccounts({
    time,
    rng: rng.fork('accounts'),
    outageEveryMs: plan.outageEveryMs,
    trace,
    asked: checks.asked,
    strayed: (what) => observations.violate('N10', what),
  })
  for (const account of ACCOUNTS)
    secrets.give(account.tenant, account.secret, accounts.make(account, true), false)
  secrets.onPromoted(checks.promoted)
  const operator = makeConnectionOperator(outside, rng.fork('keepers'), {
    accounts,
    secrets,
    canRetire: plan.canRetire,
  })
  const ends = rng.fork('ends')
  const expire = () => {
    if (plan.expireEveryMs === 0) return
    time.after(ends.between(1, 2 * plan.expireEveryMs), () => {
      const account = ends.pick(ACCOUNTS)
      accounts.expire(account, secrets.current(account.tenant, account.secret))
      expire()
    })
  }
  expire()
  let isMended = false

  const mend = () => {
    isMended = operator.mend() === 0
    time.after(MEND_EVERY_MS, mend)
  }

  return {
    everyMs: plan.operatorEveryMs,
    others: [{ tenant: NEIGHBOUR, documents: NEIGHBOUR_DOCUMENTS }],
    beside: connectionsBeside,
    client: accounts.client,
    vault: secrets.vault,
    front: accounts.front,
    sent: checks.sent,
    took: accounts.took,
    applied: checks.applied,
    ran: checks.ran,
    started: checks.started,
    paused: checks.paused,
    logged: checks.shown,
    act: operator.act,
    heal() {
      accounts.heal()
      secrets.heal()
      checks.healed()
      mend()
    },
    // Operators look every few seconds, and also handle what began since then.
    isMended: () => isMended && checks.isCalm(),
    end: checks.end,
  }
}

function drawPlan(rng: Rng): ConnectionPlan {
  const some = (perMille: number, value: () => number) => (rng.chance(perMille) ? value() : 0)
  return {
    outageEveryMs: some(600, () => rng.between(8, 30) * 1_000),
    expireEveryMs: some(700, () => rng.between(6, 25) * 1_000),
    operatorEveryMs: rng.between(2, 6) * 1_000,
    canRetire: rng.chance(300),
  }
}
