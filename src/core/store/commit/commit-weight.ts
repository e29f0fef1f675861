// The weight of a commit: the bodies of the events that it appends, in characters. It bounds a group.

import type { Write } from './write.ts'

export function weighCommit({ writes }: { readonly writes: readonly Write[] }): number {
  let weight = 0
  for (const write of writes) {
    if (write.w === 'event.append') weight += write.event.data.length + (write.event.raw?.length ?? 0)
  }
  return weight
}
