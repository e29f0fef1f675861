// What a node does of all that there is to do. Nodes that share a store may divide it; one that is alone does everything.

import { SUBSCRIPTION_PREFIX } from '../work/index.ts'

export const ROLES = ['ingest', 'api', 'work', 'schedule', 'deliver'] as const

/**
 * `ingest`: takes events in, from senders and from the bus. `api`: answers people and their programs. `work`: runs everything that is
 * no delivery. `schedule`: what goes by the clock. `deliver`: sends to the endpoints of subscriptions.
 */
export type Role = (typeof ROLES)[number]

export const ALL_ROLES: ReadonlySet<Role> = new Set(ROLES)

/** Who runs the work of a consumer. */
export function roleOfConsumer(consumer: string): 'work' | 'deliver' {
  return consumer.startsWith(SUBSCRIPTION_PREFIX) ? 'deliver' : 'work'
}

/** Names with commas or spaces between them, each once, in the order of the list. */
export function parseRoles(text: string): { readonly roles: readonly Role[] } | { readonly unknown: string } {
  const names = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((name) => name !== '')
  const unknown = names.find((name) => !ROLES.some((role) => role === name))
  if (unknown !== undefined) return { unknown }
  return { roles: ROLES.filter((role) => names.includes(role)) }
}
