// Whose jobs are claimed with the free slots: tenants share them, and higher priorities go first without starving the others
// (docs/spec/flow-control.md).
//
// Invariants: Y1 while another tenant is active, none has more than its share of a node's slots. Y2 the only active tenant has
// them all. Y3 within seven rounds each priority is first at least once, and within a priority the consumers rotate.

export const PRIORITIES = ['high', 'normal', 'low'] as const
export type Priority = (typeof PRIORITIES)[number]

export interface Contender {
  readonly tenant: string
  readonly priority: Priority
  /** At most this many now. */
  readonly max: number
  /** More of its jobs were due than could be claimed. */
  readonly isHungry: boolean
}

export interface Crowd {
  /** Slots of the node. */
  readonly concurrency: number
  /** Tenants that may have jobs at all. */
  readonly tenants: number
  /** Slots that each tenant has now. */
  readonly running: ReadonlyMap<string, number>
  /** Tenants with more due jobs than were claimed. */
  readonly hungry: ReadonlySet<string>
}

/** Reserved for tenants that are not active yet. */
const RESERVED_SHARE = 8

/** Which priority is first in each round; the present ones are used. */
const TURNS: readonly Priority[] = ['high', 'normal', 'high', 'low', 'high', 'normal', 'high']

const WEIGHTS: Readonly<Record<Priority, number>> = { high: 4, normal: 2, low: 1 }

/** How many slots of a node a tenant may have now. */
export function shareOf(tenant: string, crowd: Crowd): number {
  const { concurrency, tenants, running, hungry } = crowd
  if (tenants <= 1) return concurrency
  let active = running.has(tenant) || hungry.has(tenant) ? 0 : 1
  for (const name of running.keys()) if (!hungry.has(name)) active += 1
  active += hungry.size
  const reserved = active >= tenants ? 0 : Math.min(concurrency - 1, Math.ceil(concurrency / RESERVED_SHARE))
  return Math.max(1, Math.floor((concurrency - reserved) / active))
}

/**
 * The contenders in the order in which they are served, each with its limit of the free slots; those with none are left out.
 */
export function shareSlots<One extends Contender>(
  contenders: readonly One[],
  crowd: Crowd,
  free: number,
  round: number,
): readonly (One & { readonly room: number })[] {
  const byPriority = roundRobin(contenders, round)
  if (crowd.tenants <= 1) {
    return byPriority.filter(({ max }) => max > 0).map((one) => ({ ...one, room: Math.min(one.max, free) }))
  }
  const byTenant = new Map<string, One[]>()
  for (const one of byPriority) {
    if (one.max <= 0) continue
    const list = byTenant.get(one.tenant)
    if (list === undefined) byTenant.set(one.tenant, [one])
    else list.push(one)
  }
  const has = (tenant: string) => crowd.running.get(tenant) ?? 0
  // The tenant with the fewest slots is first; ties rotate.
  const names = rotate([...byTenant.keys()].sort(), round).sort((a, b) => has(a) - has(b))
  return names.flatMap((tenant) => {
    const room = Math.min(free, shareOf(tenant, crowd) - has(tenant))
    return divide(byTenant.get(tenant) ?? [], room)
  })
}

/** One for each as far as there is room, the rest by weight for those that had more due than they got. */
function divide<One extends Contender>(
  contenders: readonly One[],
  room: number,
): readonly (One & { readonly room: number })[] {
  const asked = contenders.slice(0, Math.max(0, room))
  const hungry = asked.some(({ isHungry }) => isHungry)
  const weightOf = (one: One) => (hungry && !one.isHungry ? 0 : WEIGHTS[one.priority])
  let weights = asked.reduce((sum, one) => sum + weightOf(one), 0)
  let rest = room - asked.length
  return asked.map((one) => {
    const more = weights === 0 ? 0 : Math.min(one.max - 1, Math.ceil((rest * weightOf(one)) / weights))
    weights -= weightOf(one)
    rest -= more
    return { ...one, room: 1 + more }
  })
}

/** Rotates the first priority, and the consumers within each priority. */
function roundRobin<One extends Contender>(contenders: readonly One[], round: number): readonly One[] {
  const groups = new Map<Priority, One[]>()
  for (const one of contenders) {
    const group = groups.get(one.priority)
    if (group === undefined) groups.set(one.priority, [one])
    else group.push(one)
  }
  const turns = TURNS.filter((priority) => groups.has(priority))
  const first = turns[round % turns.length]
  const order = PRIORITIES.toSorted((a, b) => Number(b === first) - Number(a === first))
  return order.flatMap((priority) => {
    const rounds = Math.floor(round / turns.length) * turns.filter((one) => one === priority).length
    const within = turns.slice(0, round % turns.length).filter((one) => one === priority).length
    return rotate(groups.get(priority) ?? [], rounds + within)
  })
}

function rotate<One>(list: readonly One[], by: number): One[] {
  if (list.length === 0) return []
  const at = by % list.length
  return [...list.slice(at), ...list.slice(0, at)]
}
