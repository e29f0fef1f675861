// The vault of the simulated machines, and what is known of its secrets from outside: which values are good at which time. It outlives
// every process, answers late, and fails now and then.

import { DEFAULT_TENANT, type TenantId } from '../src/core/foundation/ids/index.ts'
import { makeMemoryVault } from '../src/engine/secrets/vault.fixture.ts'
import { StoreError } from '../src/ports/store.ts'
import type { VirtualTime } from './clock.ts'
import type { Life, SimVault } from './node.ts'
import type { Rng } from './random.ts'
import { SECRET } from './scenario.ts'

interface Span {
  readonly value: string
  readonly from: number
  until: number
}

export interface Secrets {
  /** As one life sees it. */
  vault(life: Life): SimVault
  /** Good at some time of the span. */
  ever(tenant: TenantId, name: string, from: number, to: number): readonly string[]
  /** Good during the whole of it, the current one first. */
  throughout(tenant: TenantId, name: string, from: number, to: number): readonly string[]
  /** The one in use; null: none is. */
  current(tenant: TenantId, name: string): string | null
  /** By an operator, at the vault itself. */
  give(tenant: TenantId, name: string, value: string, isPending: boolean): void
  /** Called when a pending value becomes current. */
  onPromoted(told: (tenant: TenantId, name: string, value: string) => void): void
  /** All values that were ever set. */
  all(): readonly string[]
  heal(): void
}

export function makeSecrets(deps: {
  readonly time: VirtualTime
  readonly rng: Rng
  /** In a thousand. */
  readonly unavailable: number
}): Secrets {
  const { time, rng } = deps
  const kept = makeMemoryVault(() => time.now())
  const spans = new Map<string, Span[]>()
  let isHealed = false
  let told: Parameters<Secrets['onPromoted']>[0] = () => {}

  const placeOf = (tenant: TenantId, name: string) => `${tenant}/${name}`

  const noteSet = (place: string, value: string, overlapMs: number) => {
    const now = time.now()
    const before = spans.get(place) ?? []
    for (const span of before) {
      const isCurrent = span.until === Number.POSITIVE_INFINITY
      if (overlapMs === 0) span.until = Math.min(span.until, now)
      else if (isCurrent) span.until = now + overlapMs
    }
    spans.set(place, [{ value, from: now, until: Number.POSITIVE_INFINITY }, ...before])
  }

  const reach = <Value>(life: Life, apply: () => Promise<Value>): Promise<Value> =>
    new Promise((resolve, reject) => {
      time.after(rng.int(4), () =>
        life.pass(() => {
          if (!isHealed && rng.chance(deps.unavailable)) {
            reject(new StoreError('unavailable', 'simulated', { applied: 'no' }))
            return
          }
          apply().then(
            (value) => time.after(rng.int(3), () => life.pass(() => resolve(value))),
            (error) => life.pass(() => reject(error)),
          )
        }),
      )
    })

  return {
    vault: (life) => ({
      async resolve(tenant, refs) {
        if (refs.every((ref) => 'env' in ref)) return refs.map(() => SECRET)
        return reach(life, () => kept.resolve(tenant, refs))
      },
      find: (tenant, name) => reach(life, () => kept.find(tenant, name)),
      names: (tenant) => reach(life, () => kept.names(tenant)),
      current: (tenant, name, options) => reach(life, () => kept.current(tenant, name, options)),
      pending: (tenant, name) => reach(life, () => kept.pending(tenant, name)),
      set: (tenant, name, value, options) =>
        reach(life, async () => {
          const set = await kept.set(tenant, name, value, options)
          if (!options.isPending) {
            noteSet(placeOf(tenant, name), value, options.overlapMs ?? 0)
            told(tenant, name, value)
          }
          return set
        }),
      promote: (tenant, name, by, overlapMs, options) =>
        reach(life, async () => {
          const pending = await kept.pending(tenant, name)
          const promoted = await kept.promote(tenant, name, by, overlapMs, options)
          if (pending !== null) {
            noteSet(placeOf(tenant, name), pending.value, overlapMs ?? 0)
            told(tenant, name, pending.value)
          }
          return promoted
        }),
      remove: (tenant, name, by) =>
        reach(life, () => {
          for (const span of spans.get(placeOf(tenant, name)) ?? [])
            span.until = Math.min(span.until, time.now())
          return kept.remove(tenant, name, by)
        }),
    }),
    ever: (tenant, name, from, to) =>
      (spans.get(placeOf(tenant, name)) ?? [])
        .filter((one) => one.from <= to && one.until >= from)
        .map(valueIn),
    throughout: (tenant, name, from, to) =>
      (spans.get(placeOf(tenant, name)) ?? [])
        .filter((one) => one.from < from && one.until > to)
        .map(valueIn),
    current: (tenant, name) =>
      (spans.get(placeOf(tenant, name)) ?? []).find(({ until }) => until === Number.POSITIVE_INFINITY)
        ?.value ?? null,
    give(tenant, name, value, isPending) {
      void kept.set(tenant, name, value, { isPending, by: 'person' })
      if (!isPending) noteSet(placeOf(tenant, name), value, 0)
    },
    onPromoted(next) {
      told = next
    },
    all: () => [...spans.values()].flat().map(valueIn),
    heal() {
      isHealed = true
    },
  }
}

const valueIn = ({ value }: Span): string => value

/** Without subscriptions, only the secrets of sources are read. */
export const PLAIN_VAULT: SimVault = {
  ...makeMemoryVault(() => 0),
  resolve: async (_tenant = DEFAULT_TENANT) => [SECRET],
}
