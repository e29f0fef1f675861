// Planted bugs of several nodes: what one is told to leave to others, what it hears of them, and what it believes when the store
// does not answer.

import { ALL_ROLES } from '../src/core/queue/node-role/index.ts'
import type { Store } from '../src/ports/store.ts'
import type { Bug } from './bug.ts'
import type { Profile } from './faults.ts'
import type { FleetPlan } from './fleet.ts'

const inFleet = (profile: Profile, plan: Partial<FleetPlan>): Profile =>
  profile.fleet === undefined ? profile : { ...profile, fleet: { ...profile.fleet, ...plan } }

/** A heartbeat is taken for answered, whatever the store says to it. */
function believing(store: Store): Store {
  let heard = 0
  return {
    ...store,
    async join(node, ttlMs) {
      const joined = await store.join(node, ttlMs)
      heard = joined.now
      return joined
    },
    async renew(owner, ttlMs) {
      const renewed = await store.renew(owner, ttlMs).catch(() => 'fenced' as const)
      if (renewed === 'fenced') return { until: heard + ttlMs, now: heard }
      heard = renewed.now
      return renewed
    },
  }
}

/** Nobody sees that work is in his hands whose claim was not answered. */
const withoutLostClaims = (store: Store): Store => ({
  ...store,
  forTenant(tenant) {
    const reads = store.forTenant(tenant)
    return {
      ...reads,
      workList: async (request) =>
        request.state === 'leased' ? { items: [], nextCursor: null } : reads.workList(request),
    }
  },
})

/** Two nodes that draw from one bucket at the same time both have what is in it. */
const withoutGuardOfRates = (store: Store): Store => ({
  ...store,
  commit(commit) {
    const isDraw = commit.writes.some((write) => write.w === 'record.put' && write.kind === 'rate')
    return store.commit(
      isDraw ? { ...commit, guards: commit.guards.filter(({ g }) => g !== 'version') } : commit,
    )
  },
})

export const FLEET_BUGS: readonly Bug[] = [
  {
    name: 'roles-ignored',
    about: 'a node does all that there is to do, whatever roles it was given',
    breaks: ['ND6', 'ND7'],
    hasFleet: true,
    profile: (profile) => inFleet(profile, { hasRoles: true }),
    config: (config) => ({ ...config, roles: ALL_ROLES }),
  },
  {
    name: 'woken-only',
    seed: 17,
    about: 'a node looks for work only when another one wakes it',
    breaks: ['N12'],
    hasFleet: true,
    profile: (profile) => ({
      ...inFleet(profile, { hasRoles: true, failOverEveryMs: 8_000, awayMsMax: 20_000 }),
      messages: 20,
      ...(profile.bus !== undefined && { bus: { ...profile.bus, lost: { wake: 1_000 } } }),
    }),
    config: (config) => ({ ...config, pollMs: 1_000_000_000 }),
  },
  {
    name: 'lease-outlives-its-store',
    about:
      'a node goes on with its old lease while the store is away, and after another server has taken over',
    breaks: ['N3', 'N5', 'N12'],
    hasFleet: true,
    profile: (profile) => ({
      ...inFleet(profile, { failOverEveryMs: 12_000, awayMsMax: 20_000, guestEveryMs: 0, hasRoles: false }),
      leaseMs: 10_000,
      crashEveryMs: 0,
      crashAtStore: 0,
      crashAtSend: 0,
      kinds: { created: 1, paid: 1 },
    }),
    store: believing,
  },
  {
    name: 'strays-left',
    seed: 4,
    about:
      'a node does not look for what it claimed while the connection broke, and which the store has in its hands',
    breaks: ['N12'],
    hasFleet: true,
    profile: (profile) => ({
      ...inFleet(profile, { failOverEveryMs: 8_000, cutEveryMs: 3_000, awayMsMax: 300, hasRoles: false }),
      nodes: 2,
      messages: 10,
      kinds: { created: 1 },
      pollMs: 15_000,
      faultsMs: 30_000,
      crashEveryMs: 0,
      crashAtStore: 0,
      crashAtSend: 0,
      pauseEveryMs: 0,
    }),
    store: withoutLostClaims,
  },
  {
    name: 'grant-given-twice',
    about: 'tokens are drawn without looking whether another node has drawn them',
    breaks: ['PA19'],
    hasFleet: true,
    profile: (profile) => ({
      ...inFleet(profile, { hasRoles: false, guestEveryMs: 0 }),
      nodes: 4,
      kinds: { paced: 1 },
      messages: 90,
      leaseMs: 10_000,
      faultsMs: 60_000,
      keepMs: 0,
      vendor: { rejected: 100 },
    }),
    store: withoutGuardOfRates,
  },
]
