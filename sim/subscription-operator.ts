// People who keep subscriptions: who make, patch, pause, enable, disable and remove them, rotate their secrets, send deliveries once more
// and recover what was missed. Each act is one that the API offers, at a moment when it may be wrong.

import type { SubscriptionDocument } from '../src/core/definitions/documents/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../src/core/foundation/ids/index.ts'
import type { SubscriptionRecord } from '../src/core/webhooks/subscription/index.ts'
import type { Engine } from '../src/engine/index.ts'
import type { StoreDump } from '../src/ports/store.ts'
import type { Endpoints } from './endpoints.ts'
import { short } from './node.ts'
import { ask, type Outside, pickLife } from './node-access.ts'
import type { Rng } from './random.ts'
import { API_NAMES, drawHook, hooksBeside, OTHER_TENANT, TENANTS } from './subscriptions.ts'

const ACTS = {
  create: 22,
  patch: 8,
  pause: 6,
  enable: 16,
  disable: 4,
  remove: 5,
  rotate: 12,
  reveal: 2,
  test: 3,
  retry: 14,
  recover: 14,
  bulk: 6,
  cancel: 4,
  leave: 3,
} as const

const WHY = { actor: 'keeper', reason: 'because' } as const
const OVERLAPS_MS: readonly number[] = [0, 5_000, 60_000]

export interface SubscriptionOperator {
  act(): void
  /** Once nothing goes wrong any more: all that is there is put to work, what is gone for good is removed. Answers what is left to do. */
  mend(): number
}

export function makeSubscriptionOperator(
  outside: Outside,
  rng: Rng,
  endpoints: Endpoints,
  /** What people were given is theirs: nobody else may see it. */
  told: { disables(tenant: TenantId, name: string): void; sees(text: string): void },
): SubscriptionOperator {
  const { time, trace } = outside

  const folderNames = (tenant: TenantId): readonly string[] =>
    tenant === OTHER_TENANT ? ['crm'] : hooksBeside(0).map(({ name }) => name)

  const recordsOf = (dump: StoreDump, tenant: TenantId) =>
    dump.records
      .filter((one) => one.tenant === tenant && one.kind === 'subscription')
      .map(({ key, body }) => ({ name: key, record: JSON.parse(body) as SubscriptionRecord }))

  const actOn = (engine: Engine, tenant: TenantId, dump: StoreDump) => {
    const own = recordsOf(dump, tenant)
    const mine = own.filter(({ record }) => record.document !== null)
    const names = [...new Set([...own.map(({ name }) => name), ...folderNames(tenant)])].sort()
    const act = rng.weighted(ACTS)
    const name = rng.pick(names)
    const say = (what: string) => trace('keeper', () => `${act} ${tenant}/${what}`)
    const { subscriptions } = engine
    const seeAnswer = (answer: Promise<{ item: unknown; secret: string | null }>) =>
      ask(
        outside,
        answer.then(({ item }) => told.sees(JSON.stringify(item))),
      )
    switch (act) {
      case 'create': {
        const free = API_NAMES.filter((one) => !mine.some((other) => other.name === one))
        const made = drawHook(rng, tenant, rng.pick(free.length > 0 ? free : API_NAMES))
        say(made.name)
        seeAnswer(subscriptions.create(tenant, given(made), WHY))
        return
      }
      case 'patch': {
        const patched = drawHook(rng, tenant, mine.length > 0 ? rng.pick(mine).name : name)
        say(patched.name)
        seeAnswer(subscriptions.patch(tenant, patched.name, given(patched), WHY))
        return
      }
      case 'pause':
        say(name)
        return ask(outside, subscriptions.pause(tenant, name, WHY))
      case 'enable': {
        const off = own.filter(({ record }) => record.state.status === 'disabled')
        const asked = off.length > 0 && rng.chance(800) ? rng.pick(off).name : name
        say(asked)
        return ask(outside, subscriptions.enable(tenant, asked, WHY))
      }
      case 'disable':
        say(name)
        told.disables(tenant, name)
        return ask(outside, subscriptions.disable(tenant, name, WHY))
      case 'remove':
        if (mine.length === 0) return
        return remove(engine, tenant, rng.pick(mine).name)
      case 'rotate': {
        const overlapMs = rng.pick(OVERLAPS_MS)
        say(`${name} for ${overlapMs}`)
        return ask(outside, subscriptions.rotateSecret(tenant, name, { overlapMs }, WHY))
      }
      case 'reveal':
        return ask(outside, subscriptions.revealSecret(tenant, name, WHY))
      case 'test':
        say(name)
        return ask(outside, subscriptions.test(tenant, name, WHY))
      case 'recover': {
        const since = time.now() - rng.between(5, 60) * 1_000
        const subscription = mine.length > 0 && rng.chance(600) ? rng.pick(mine).name : name
        const what = rng.pick(['all', 'all', 'failed', 'missing'] as const)
        const pace = rng.chance(300) ? { perSecond: rng.between(1, 5) } : {}
        say(`${subscription} ${what}`)
        return ask(
          outside,
          engine.replays.beginDeliveries(tenant, { subscription, since, what }, { ...WHY, ...pace }),
        )
      }
      case 'bulk':
        say(name)
        return ask(
          outside,
          engine.replays.begin(
            tenant,
            { consumer: `subscription:${name}` },
            { ...WHY, force: rng.chance(300) },
          ),
        )
      // The endpoint's owner leaves for good.
      case 'leave':
        if (mine.length === 0) return
        return endpoints.goForGood(tenant, rng.pick(mine).name)
      case 'retry':
      case 'cancel':
        return actOnDelivery(engine, tenant, dump, act)
    }
  }

  const actOnDelivery = (engine: Engine, tenant: TenantId, dump: StoreDump, act: 'retry' | 'cancel') => {
    const all = dump.work.filter((one) => one.kind === 'delivery' && one.tenant === tenant)
    if (all.length === 0) return
    const { id } = rng.pick(all)
    trace('keeper', () => `${act} ${short(id)}`)
    ask(outside, engine.deliveries[act](tenant, id, WHY))
  }

  const remove = (engine: Engine, tenant: TenantId, name: string) => {
    trace('keeper', () => `remove ${tenant}/${name}`)
    ask(outside, engine.subscriptions.remove(tenant, name, WHY))
  }

  return {
    act() {
      const life = pickLife({ lives: outside.lives, rng })
      const engine = life?.engine() ?? null
      if (life === null || engine === null) return
      const tenant = rng.chance(250) ? OTHER_TENANT : DEFAULT_TENANT
      life.pass(() => actOn(engine, tenant, outside.data.dump()))
    },
    mend() {
      const engine = pickLife({ lives: outside.lives, rng })?.engine() ?? null
      if (engine === null) return 1
      const dump = outside.data.dump()
      let left = 0
      for (const tenant of TENANTS) {
        for (const { name, record } of recordsOf(dump, tenant)) {
          const status = record.state.status ?? record.document?.status ?? 'active'
          const isGone = endpoints.isGoneForGood(tenant, name) && record.document !== null
          if (!isGone && (status === 'active' || status === 'failing')) continue
          left += 1
          if (isGone) remove(engine, tenant, name)
          else ask(outside, engine.subscriptions.enable(tenant, name, WHY))
        }
      }
      return left
    },
  }
}

function given(document: SubscriptionDocument) {
  return { document, written: JSON.stringify(document) }
}
