// The age of the backlog: how long jobs have been due that more nodes could run, per role. Jobs that wait for something
// else do not count: a paused consumer, one that this node cannot run, an open circuit, a blocked host, a rate or
// concurrency limit, a drain. (Jobs that wait in their lane are not ready in the first place.)

import type { Incarnation, TenantId } from '../../core/foundation/ids/index.ts'
import { roleOfConsumer } from '../../core/queue/node-role/index.ts'
import type { EngineDeps } from '../config.ts'
import type { Registry } from '../definitions/index.ts'
import type { FlowControl } from '../flow-control/index.ts'

export type BacklogRole = ReturnType<typeof roleOfConsumer>
/** Milliseconds. */
export type BacklogAges = Readonly<Record<BacklogRole, number>>

/** Consumers per claim request. */
const CONSUMERS_MAX = 256

interface Ready {
  readonly tenant: TenantId
  readonly consumer: string
}

/** Returns null while this node has no lease. */
export function makeBacklog(
  deps: Pick<EngineDeps, 'store' | 'code'> & {
    readonly registry: Registry
    readonly flowControl: Pick<FlowControl, 'offer'>
    owner(): Incarnation | null
    /** Whether this node runs jobs of the consumer at all. */
    runs(consumer: string): boolean
  },
): () => Promise<BacklogAges | null> {
  const { store, code, registry, flowControl } = deps

  const isUsable = ({ tenant, consumer }: Ready) =>
    !registry.isHeld(tenant, consumer) &&
    !registry.needsNewerVersion(tenant) &&
    !registry.isUnusable(tenant, consumer)

  const findTakeable = async (): Promise<readonly Ready[]> => {
    const takeable: Ready[] = []
    const limited = new Map<TenantId, Map<string, number>>()
    for (const one of (await store.system('health').readyConsumers()).filter(isUsable)) {
      const offer = flowControl.offer(one.tenant, one.consumer)
      if (offer.is === 'closed') continue
      // Only a node that runs these jobs can tell whether a shared rate limit has room, and it takes them at once. For
      // other nodes the consumer counts as closed.
      if (offer.is === 'ask') {
        if (deps.runs(one.consumer)) takeable.push(one)
      } else if (offer.limit === undefined) takeable.push(one)
      else {
        const limits = limited.get(one.tenant) ?? new Map<string, number>()
        limited.set(one.tenant, limits.set(one.consumer, offer.limit))
      }
    }
    for (const [tenant, limits] of limited) {
      const counts = await store
        .forTenant(tenant)
        .openCounts([...limits.keys()], Math.max(...limits.values()))
      for (const { consumer, leased } of counts)
        if (leased < (limits.get(consumer) ?? 0)) takeable.push({ tenant, consumer })
    }
    return takeable
  }

  const ageOf = async (owner: Incarnation, consumers: readonly Ready[]): Promise<number> => {
    let ageMs = 0
    for (let from = 0; from < consumers.length; from += CONSUMERS_MAX) {
      // Claims no jobs: the answer only says when the first of them was due.
      const { nextDueAt, now } = await store.claim({
        owner,
        slots: consumers.slice(from, from + CONSUMERS_MAX).map((one) => ({ ...one, max: 0 })),
        max: 0,
        maxIsolated: 0,
        codeHashes: code.hashes(),
      })
      if (nextDueAt !== null) ageMs = Math.max(ageMs, now - nextDueAt)
    }
    return ageMs
  }

  return async () => {
    const owner = deps.owner()
    if (owner === null) return null
    const takeable = await findTakeable()
    const of = (role: BacklogRole) =>
      ageOf(
        owner,
        takeable.filter(({ consumer }) => roleOfConsumer(consumer) === role),
      )
    return { work: await of('work'), deliver: await of('deliver') }
  }
}
