// The roles of a node. Nodes that share a store may divide the roles; a single node has all of them.

import { SUBSCRIPTION_PREFIX } from '../work/index.ts'

export const ROLES = ['ingest', 'api', 'work', 'schedule', 'deliver'] as const

/**
 * `ingest`: receives events, from senders and from the bus. `api`: serves users and their programs. `work`: runs all jobs
 * except deliveries. `schedule`: fires schedules. `deliver`: sends to the endpoints of subscriptions.
 */
export type Role = (typeof ROLES)[number]

export const ALL_ROLES: ReadonlySet<Role> = new Set(ROLES)

/** Which role runs a consumer's jobs. */
export function roleOfConsumer(consumer: string): 'work' | 'deliver' {
  return consumer.startsWith(SUBSCRIPTION_PREFIX) ? 'deliver' : 'work'
}

/** Names separated by commas or spaces, each once, in the order of the list. */
export function parseRoles(text: string): { readonly roles: readonly Role[] } | { readonly unknown: string } {
  const names = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((name) => name !== '')
  const unknown = names.find((name) => !ROLES.some((role) => role === name))
  if (unknown !== undefined) return { unknown }
  return { roles: ROLES.filter((role) => names.includes(role)) }
}
