// What is shown on a net besides the net itself: tokens, firings, and the selection.

import type { PlacedArc } from '../lib/net-layout.ts'
import type { Firing } from '../types.ts'

export interface NetMarks {
  tokens(place: string): number
  /** By transition: the numbers of its firings, in order. */
  readonly fired?: ReadonlyMap<string, readonly number[]>
  readonly states?: ReadonlyMap<string, Firing['state']>
  takes?(arc: Pick<PlacedArc, 'place' | 'transition' | 'type'>): boolean
  readonly selectedPlace?: string | undefined
  readonly selectedTransition?: string | undefined
  onPlace?(name: string): void
  onTransition?(name: string): void
}
