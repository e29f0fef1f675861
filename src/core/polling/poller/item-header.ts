// What the event of an item says about its object beside its payload.

import type { ItemEvent } from './poller.ts'

export function itemHeader({
  changedAt,
  snapshotHash,
}: Pick<ItemEvent, 'changedAt' | 'snapshotHash'>): Readonly<Record<string, string>> {
  return {
    'millrace-changed-at': new Date(changedAt).toISOString(),
    ...(snapshotHash === null ? {} : { 'millrace-snapshot': snapshotHash }),
  }
}
