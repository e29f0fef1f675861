// The bytes that subjects share whose own share is too small. A request must have room for a message of the maximum
// size, and a share of less than two of them could not hold one message while the next is on its way. Such subjects
// take turns: together they hold no more than all their shares, or one message if that is more.

export interface BytePool {
  /** `share`: what the subject may hold by itself, read again for each request. */
  join(share: () => number): Seat
}

/** One subject. */
export interface Seat {
  /** What it holds, here or on its way, changed. */
  note(used: number): void
  /**
   * Whether it may request a message of this size now. If not, or if others waited longer, `ask` is called when it may
   * ask again.
   */
  take(largest: number, ask: () => void): boolean
  /** Others wait for their turn, or would if all subjects asked: a request must end soon. */
  isTight(largest: number): boolean
  leave(): void
}

interface Member {
  readonly share: () => number
  used: number
}

interface Waiting {
  readonly largest: number
  readonly ask: () => void
}

export function makeBytePool(): BytePool {
  const members = new Set<Member>()
  /** Longest first. */
  const waiting = new Map<Member, Waiting>()
  let isWaking = false

  const isSmall = (member: Member, largest: number) => member.share() < 2 * largest

  const limit = (largest: number): number => {
    let sum = 0
    for (const one of members) if (isSmall(one, largest)) sum += one.share()
    return Math.max(largest, sum)
  }

  const used = (largest: number): number => {
    let sum = 0
    for (const one of members) if (isSmall(one, largest)) sum += one.used
    return sum
  }

  const hasRoom = (largest: number) => used(largest) + largest <= limit(largest)

  /** Each that is woken either takes room or leaves the list: this ends. */
  const wake = () => {
    if (isWaking) return
    isWaking = true
    try {
      for (const [member, { largest, ask }] of waiting) {
        if (!hasRoom(largest)) break
        waiting.delete(member)
        ask()
      }
    } finally {
      isWaking = false
    }
  }

  return {
    join(share) {
      const member: Member = { share, used: 0 }
      members.add(member)
      return {
        note(bytes) {
          const isLess = bytes < member.used
          member.used = bytes
          if (isLess) wake()
        },
        take(largest, ask) {
          // A subject that is woken was the first in the list, and passes the others.
          if (hasRoom(largest) && (isWaking || waiting.size === 0)) return true
          if (!waiting.has(member)) waiting.set(member, { largest, ask })
          return false
        },
        isTight(largest) {
          let count = 0
          for (const one of members) if (isSmall(one, largest)) count += 1
          return count * largest > limit(largest)
        },
        leave() {
          members.delete(member)
          waiting.delete(member)
          wake()
        },
      }
    },
  }
}
