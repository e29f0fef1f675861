// What the durable consumer of a source is called.

import type { NatsDocument } from '../definition/index.ts'

/** A tenant's name has no `_`, so that no two sources of any two tenants have one name. */
export function durableOf(tenant: string, source: string, { durable }: NatsDocument): string {
  return durable ?? `millrace_${tenant}_${source}`
}
