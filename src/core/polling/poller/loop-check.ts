// Finds a sequence of pages that goes round in a circle, in constant space: each page is compared with one that is remembered, and
// the remembered one moves on after 1, 2, 4, … pages (Brent). A circle of any length is found within three rounds.

export interface LoopCheck {
  readonly remembered: string | null
  readonly steps: number
  readonly limit: number
}

export const NO_LOOP: LoopCheck = { remembered: null, steps: 0, limit: 1 }

/** null: this one was there before. */
export function stepLoop({ remembered, steps, limit }: LoopCheck, seen: string): LoopCheck | null {
  if (seen === remembered) return null
  if (remembered === null || steps + 1 >= limit)
    return { remembered: seen, steps: 0, limit: remembered === null ? 1 : limit * 2 }
  return { remembered, steps: steps + 1, limit }
}
