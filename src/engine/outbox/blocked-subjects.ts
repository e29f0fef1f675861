// The subjects that the bus does not accept just now: their stream is missing or full, or the node may not publish them. Their
// messages stay in the outbox and are skipped, so that later ones are published. When the end of the outbox is reached, all of
// them are retried, after a wait that is no shorter than the pass took.

/** Of the subjects in a batch that the bus did not accept, this many are tried individually. */
const ISOLATED_MAX = 20
/**
 * Beyond this they are remembered by a hash that several may share: a subject that shares one by chance is published in another
 * round.
 */
const SUBJECTS_MAX = 100_000
const MARKS = 2 ** 26

export interface BlockedSubjects {
  has(subject: string): boolean
  /** `wasIsolated`: the bus did not accept it individually either. */
  add(subject: string, wasIsolated: boolean): void
  isEmpty(): boolean
  /** How many are remembered by name. */
  size(): number
  /** Which of these subjects are tried individually: those that were not yet go first, so that each is tried. */
  chooseIsolated(subjects: readonly string[]): ReadonlySet<string>
  /** Position of the last row that is skipped; undefined: none is. */
  after(): number | undefined
  pass(position: number): void
  /** Whether the end of the outbox was not reached yet since the oldest were skipped. */
  isOnItsWay(): boolean
  /** The end was reached: all of them are retried after `waitMs` at the earliest. Times are of the monotonic clock. */
  reachEnd(now: number, waitMs: number): void
  waitMs(now: number): number
  /** A pass begins. Forgets all of them when the wait is over. */
  restartAt(now: number): void
  clear(): void
}

export function makeBlockedSubjects(): BlockedSubjects {
  const subjects = new Set<string>()
  const triedIsolated = new Set<string>()
  let isOneUntried = false
  let until: number | null = null
  let lookedAt = 0
  let beganAt: number | null = null
  let after: number | undefined
  let marks: Uint8Array | null = null
  let round = 0

  const markOf = (subject: string) => {
    const number = hash(subject, round) % MARKS
    return { at: number >>> 3, bit: 1 << (number & 7) }
  }
  const isMarked = (subject: string) => {
    if (marks === null) return false
    const { at, bit } = markOf(subject)
    return ((marks[at] as number) & bit) !== 0
  }
  const mark = (subject: string) => {
    marks ??= new Uint8Array(MARKS / 8)
    const { at, bit } = markOf(subject)
    marks[at] = (marks[at] as number) | bit
  }

  const clear = () => {
    if (!isOneUntried) triedIsolated.clear()
    isOneUntried = false
    subjects.clear()
    marks = null
    round += 1
    until = null
    beganAt = null
    after = undefined
  }

  return {
    has: (subject) => subjects.has(subject) || isMarked(subject),
    add(subject, wasIsolated) {
      beganAt ??= lookedAt
      if (subjects.size < SUBJECTS_MAX) subjects.add(subject)
      else mark(subject)
      if (wasIsolated && triedIsolated.size < SUBJECTS_MAX) triedIsolated.add(subject)
    },
    isEmpty: () => subjects.size === 0,
    size: () => subjects.size,
    chooseIsolated(from) {
      const untried = from.filter((subject) => !triedIsolated.has(subject))
      const chosen = untried.slice(0, ISOLATED_MAX)
      if (untried.length > chosen.length) isOneUntried = true
      return new Set(chosen)
    },
    after: () => after,
    pass(position) {
      after = position
    },
    isOnItsWay: () => until === null,
    reachEnd(now, waitMs) {
      until = now + Math.max(waitMs, now - (beganAt ?? now))
    },
    waitMs: (now) => (until === null ? Number.POSITIVE_INFINITY : Math.max(0, until - now)),
    restartAt(now) {
      if (until !== null && until <= now) clear()
      lookedAt = now
    },
    clear,
  }
}

/** FNV-1a; a different one in each round, so that no two subjects share a hash for ever. */
function hash(text: string, round: number): number {
  let value = (0x811c9dc5 ^ round) >>> 0
  for (let index = 0; index < text.length; index += 1)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193) >>> 0
  // The last characters alone would differ in few bits.
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d) >>> 0
  return (value ^ (value >>> 13)) >>> 0
}
