// The subjects that the bus does not take just now: whose stream is missing or full, or that the node may not publish. What is
// told of them stays in the outbox and is passed by, so that what comes behind is told; after a while all of it is tried again.

/** Of those that the bus did not take, so many subjects of a batch are tried by themselves. */
const ALONE_MAX = 20
/** Beyond this nobody remembers them: it begins at the eldest again. */
const SUBJECTS_MAX = 100_000

export interface Stuck {
  has(subject: string): boolean
  /** `wasAlone`: the bus did not take it by itself either. */
  add(subject: string, wasAlone: boolean): void
  isEmpty(): boolean
  /** Which of these subjects are tried alone: those that were not yet go first, so that each comes to its turn. */
  chooseAlone(subjects: readonly string[]): ReadonlySet<string>
  /** Position of the last row that is passed by; undefined: none is. */
  after(): number | undefined
  pass(position: number): void
  /** Whether nobody said yet when to try again. */
  isNew(): boolean
  /** When to try again, by the monotonic clock. */
  wait(until: number): void
  waitMs(now: number): number
  /** Forgets all of it when its time has come. */
  beginAnewAt(now: number): void
  clear(): void
}

export function makeStuck(): Stuck {
  const subjects = new Set<string>()
  const triedAlone = new Set<string>()
  let isOneUntried = false
  let until: number | null = null
  let after: number | undefined

  const clear = () => {
    if (!isOneUntried) triedAlone.clear()
    isOneUntried = false
    subjects.clear()
    until = null
    after = undefined
  }

  return {
    has: (subject) => subjects.has(subject),
    add(subject, wasAlone) {
      subjects.add(subject)
      if (wasAlone) triedAlone.add(subject)
    },
    isEmpty: () => subjects.size === 0,
    chooseAlone(from) {
      const untried = from.filter((subject) => !triedAlone.has(subject))
      const chosen = untried.slice(0, ALONE_MAX)
      if (untried.length > chosen.length) isOneUntried = true
      return new Set(chosen)
    },
    after: () => after,
    pass(position) {
      after = position
    },
    isNew: () => until === null,
    wait(instant) {
      until = instant
    },
    waitMs: (now) => (until === null ? Number.POSITIVE_INFINITY : Math.max(0, until - now)),
    beginAnewAt(now) {
      if ((until !== null && until <= now) || subjects.size > SUBJECTS_MAX) clear()
    },
    clear,
  }
}
