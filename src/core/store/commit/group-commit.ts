// Group commit: commits that arrive together share one durable transaction.
//
// The same code serves every store and the simulator; `defer` is passed in (setImmediate in production, the virtual scheduler
// in the simulator). It decides only which commits share a group: running a group is the store's job.
//
// Invariants: G1 commits leave in the order of arrival, except that one that touches a key of a group still under way waits for
// it. G2 at most `inFlightMax` groups are under way, each of at most `groupMax` commits. G3 a commit's result comes only from
// its group's run; a failure of one commit rejects that commit alone. G7 the weight of a group is bounded, except for a single commit that is heavier by itself.

/** The outcome of a commit that failed by itself. */
interface Failure {
  readonly error: unknown
}

export interface GatherOptions<C, R, F extends Failure = never> {
  /** Runs one group durably; returns results in the group's order. A rejection goes to every member. */
  run(group: readonly C[]): Promise<readonly (R | F)[]>
  /** Recognizes failures among the results: the error rejects the commit, without another promise per commit. */
  isFailure?(result: R | F): result is F
  /** Calls back soon, after everything that is runnable now: commits that arrive until then join the group. */
  defer(callback: () => void): void
  readonly groupMax?: number
  readonly inFlightMax?: number
  /** Keys that two commits must not touch in one group, or in two concurrent groups. Left out: the store orders by itself. */
  touches?(commit: C): readonly string[]
  /** The weight of a commit, where `weightMax` bounds a group: bodies of events, in characters. */
  weigh?(commit: C): number
  readonly weightMax?: number
}

export interface Gatherer<C, R> {
  add(commit: C): Promise<R>
  /** Settles when nothing is waiting or under way. */
  idle(): Promise<void>
}

interface Waiting<C, R> {
  readonly commit: C
  readonly touches: readonly string[]
  readonly weight: number
  resolve(result: R): void
  reject(error: unknown): void
}

const NO_KEYS: readonly string[] = []

export function makeGatherer<C, R, F extends Failure = never>(
  options: GatherOptions<C, R, F>,
): Gatherer<C, R> {
  const groupMax = options.groupMax ?? 24
  const inFlightMax = options.inFlightMax ?? 2
  const weightMax = options.weightMax ?? Number.POSITIVE_INFINITY
  const busyKeys = new Map<string, number>()
  let queue: Waiting<C, R>[] = []
  let inFlight = 0
  let deferred = false
  let idlers: (() => void)[] = []

  /** How many from the front of the queue fit in one group: at least the first. */
  const countNext = (): number => {
    const most = Math.min(queue.length, groupMax)
    let weight = 0
    for (let count = 0; count < most; count += 1) {
      weight += queue[count]?.weight ?? 0
      if (weight > weightMax) return Math.max(1, count)
    }
    return most
  }

  const take = (): Waiting<C, R>[] => {
    if (!options.touches) {
      const count = countNext()
      if (count < queue.length) return queue.splice(0, count)
      const all = queue
      queue = []
      return all
    }
    // A commit that has to wait blocks its keys for later ones, to preserve the order per key.
    const group: Waiting<C, R>[] = []
    const rest: Waiting<C, R>[] = []
    const blocked = new Set<string>()
    let weight = 0
    let isFull = false
    for (const waiting of queue) {
      isFull ||= group.length >= groupMax || (group.length > 0 && weight + waiting.weight > weightMax)
      const free = !isFull && !waiting.touches.some((key) => busyKeys.has(key) || blocked.has(key))
      if (free) {
        group.push(waiting)
        weight += waiting.weight
      } else rest.push(waiting)
      for (const key of waiting.touches) blocked.add(key)
    }
    queue = rest
    return group
  }

  const finish = (group: readonly Waiting<C, R>[]) => {
    inFlight -= 1
    for (const { touches } of group) for (const key of touches) busyKeys.delete(key)
    if (queue.length > 0) flush()
    else if (inFlight === 0 && idlers.length > 0) {
      const woken = idlers
      idlers = []
      for (const wake of woken) wake()
    }
  }

  const settle = ({ resolve, reject }: Waiting<C, R>, result: R | F) => {
    if (options.isFailure?.(result)) reject(result.error)
    else resolve(result as R)
  }

  const start = (group: readonly Waiting<C, R>[]) => {
    inFlight += 1
    for (const { touches } of group) for (const key of touches) busyKeys.set(key, 1)
    options.run(group.map((waiting) => waiting.commit)).then(
      (results) => {
        for (const [index, waiting] of group.entries()) settle(waiting, results[index] as R | F)
        finish(group)
      },
      (error) => {
        for (const waiting of group) waiting.reject(error)
        finish(group)
      },
    )
  }

  const flush = () => {
    while (inFlight < inFlightMax && queue.length > 0) {
      const group = take()
      if (group.length === 0) return
      start(group)
    }
  }

  return {
    add: (commit) =>
      new Promise<R>((resolve, reject) => {
        const touches = options.touches?.(commit) ?? NO_KEYS
        queue.push({ commit, touches, weight: options.weigh?.(commit) ?? 0, resolve, reject })
        if (deferred || inFlight >= inFlightMax) return
        deferred = true
        options.defer(() => {
          deferred = false
          flush()
        })
      }),
    idle: () =>
      inFlight === 0 && queue.length === 0
        ? Promise.resolve()
        : new Promise((resolve) => idlers.push(resolve)),
  }
}
