// People who keep connections and their credentials: who bring the next secret, rightly or wrongly, ask for rotations, test, switch circuits
// for a while, and retire. Each act is one that the API offers, at a moment when it may be wrong.

import type { CredentialState } from '../src/core/connections/credential/index.ts'
import type { Engine } from '../src/engine/index.ts'
import type { Accounts } from './accounts.ts'
import { ACCOUNTS, type AccountName } from './connections.ts'
import { ask, type Outside, pickLife } from './node-access.ts'
import type { Rng } from './random.ts'
import type { Secrets } from './vault.ts'

const ACTS = { supply: 30, wrong: 12, rotate: 20, test: 10, open: 8, close: 6, back: 4, retire: 3 } as const
const ASKED = { by: 'keeper', reason: 'because' } as const

export interface ConnectionOperator {
  act(): void
  /** Once nothing goes wrong any more: whoever waits for a secret gets one that opens. Answers what is left to do. */
  mend(): number
}

export function makeConnectionOperator(
  outside: Outside,
  rng: Rng,
  deps: {
    readonly accounts: Accounts
    readonly secrets: Secrets
    readonly canRetire: boolean
  },
): ConnectionOperator {
  const { accounts, secrets } = deps
  const { time, trace } = outside

  /** Into the vault, as by the command line; then the node is told, or finds it by itself. */
  const supply = (engine: Engine, account: AccountName, isGood: boolean, isTold: boolean) => {
    const { tenant, secret } = account
    secrets.give(tenant, secret, accounts.make(account, isGood), true)
    if (isTold) ask(outside, engine.integrations.supplied(tenant, secret, ASKED.by))
  }

  const actOn = (engine: Engine, account: AccountName) => {
    const { tenant, connection, credential } = account
    const { integrations } = engine
    const act = rng.weighted(ACTS)
    trace('keeper', () => `${act} ${tenant}/${connection}`)
    switch (act) {
      case 'supply':
      case 'wrong':
        return supply(engine, account, act === 'supply', rng.chance(700))
      case 'rotate':
        return ask(outside, integrations.rotate(tenant, credential, 'request', ASKED))
      case 'test':
        return ask(outside, integrations.test(tenant, connection, ASKED))
      case 'open':
      case 'close': {
        const until = time.now() + rng.between(3, 20) * 1_000
        const is = act === 'open' ? 'open' : 'closed'
        return ask(outside, integrations.override(tenant, connection, { is, until }, ASKED))
      }
      case 'back':
        return ask(outside, integrations.override(tenant, connection, null, ASKED))
      case 'retire':
        if (!deps.canRetire) return
        return ask(outside, integrations.retire(tenant, connection, ASKED))
    }
  }

  return {
    act() {
      const life = pickLife({ lives: outside.lives, rng })
      const engine = life?.engine() ?? null
      if (life === null || engine === null) return
      const account = rng.pick(ACCOUNTS)
      life.pass(() => actOn(engine, account))
    },
    mend() {
      const engine = pickLife({ lives: outside.lives, rng })?.engine() ?? null
      if (engine === null) return 1
      const { records } = outside.data.dump()
      let left = 0
      for (const account of ACCOUNTS) {
        const { tenant, credential, secret } = account
        const record = records.find(
          (one) => one.tenant === tenant && one.kind === 'credential' && one.key === credential,
        )
        const state = record === undefined ? null : (JSON.parse(record.body) as CredentialState)
        const current = secrets.current(tenant, secret)
        const isGood = current !== null && accounts.isGood(current)
        if (isGood && (state === null || state.rotation === null)) continue
        left += 1
        // What opens nothing any more makes no other one either.
        const isIdle = state === null || state.rotation === null
        if (isIdle || state.status === 'waiting') supply(engine, account, true, true)
      }
      return left
    },
  }
}
