// The name of a source's durable consumer.

import type { NatsDocument } from '../../definitions/documents/index.ts'

/**
 * A tenant's name has no `_`, so that no two sources of any two tenants share a name; systems with a prefix of their own have
 * durables of their own.
 */
export function durableOf(
  prefix: string,
  tenant: string,
  source: string,
  { durable }: Pick<NatsDocument, 'durable'>,
): string {
  return durable ?? `${prefix.replaceAll('_', '__').replaceAll('.', '-')}_${tenant}_${source}`
}
