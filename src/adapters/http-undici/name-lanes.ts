// Looking names up without one that hangs slowing down the others.
//
// The system looks names up on a few threads that it shares with everything else, and a name whose servers are silent keeps its thread
// for many seconds. So each name has a standing. One that answered a moment ago goes ahead, and a thread is always left for such. Any
// other is asked for over a socket first, which costs no thread: only where nothing answers there does it take the one lane that may
// be stuck. What the socket says is used for nothing else: a name may stand in a file of this machine alone. A standing is good for
// some seconds, and as soon as one is slow all others lose it: names that were good and fall silent together are found by the socket,
// too, and not by the threads that they take.

import { Resolver } from 'node:dns/promises'
import type { Resolve } from './names.ts'

/** Settles: something answers for the name, with whatever. Rejects: nothing does in time. */
export type Canary = (hostname: string) => Promise<void>

/** Node has four threads unless told otherwise: with these at most, none of the lanes takes them all. */
const LANES = { good: 3, answering: 2, silent: 1 } as const
type Lane = keyof typeof LANES
const THREADS = 4

const NAMES_MAX = 10_000
const SLOW_MS = 1_000
/** For so long a name that answered is taken to answer still. */
const GOOD_MS = 5_000

export function makeLanes(
  resolve: Resolve,
  canary: Canary = askBySocket,
  now: () => number = () => performance.now(),
  after: (ms: number, callback: () => void) => () => void = afterByTimer,
): Resolve {
  /** When each was found to answer. */
  const good = new Map<string, number>()
  const underWay = new Map<string, ReturnType<Resolve>>()
  const running: Record<Lane, number> = { good: 0, answering: 0, silent: 0 }
  const waiting: Record<Lane, ((mayBegin: boolean) => void)[]> = { good: [], answering: [], silent: [] }

  const isFree = (lane: Lane) =>
    running[lane] < LANES[lane] && running.good + running.answering + running.silent < THREADS

  /** False: its standing is gone, and with it its place. */
  const enter = (lane: Lane): Promise<boolean> => {
    if (isFree(lane)) {
      running[lane] += 1
      return Promise.resolve(true)
    }
    return new Promise((begin) => waiting[lane].push(begin))
  }

  const leave = (lane: Lane) => {
    running[lane] -= 1
    letIn()
  }

  const letIn = () => {
    for (const next of ['good', 'answering', 'silent'] as const) {
      while (waiting[next].length > 0 && isFree(next)) {
        running[next] += 1
        waiting[next].shift()?.(true)
      }
    }
  }

  const laneOf = (hostname: string): Promise<Lane> =>
    now() - (good.get(hostname) ?? Number.NEGATIVE_INFINITY) < GOOD_MS
      ? Promise.resolve('good')
      : canary(hostname).then(
          () => 'answering' as const,
          () => 'silent' as const,
        )

  const remember = (hostname: string, isGood: boolean) => {
    good.delete(hostname)
    if (!isGood) return
    if (good.size >= NAMES_MAX) good.delete(good.keys().next().value as string)
    good.set(hostname, now())
  }

  const enterSome = async (hostname: string): Promise<Lane> => {
    for (;;) {
      const lane = await laneOf(hostname)
      if (await enter(lane)) return lane
    }
  }

  /** A good name is slow: it is one of the silent, and whoever answers for it may answer for the others. */
  const doubtAll = () => {
    running.good -= 1
    running.silent += 1
    good.clear()
    for (const begin of waiting.good.splice(0)) begin(false)
    letIn()
  }

  const lookUp: Resolve = async (hostname) => {
    let lane = await enterSome(hostname)
    const startedAt = now()
    const isSlow = () => {
      lane = 'silent'
      doubtAll()
    }
    const stopWaiting = lane === 'good' ? after(SLOW_MS, isSlow) : () => {}
    try {
      const addresses = await resolve(hostname)
      remember(hostname, now() - startedAt < SLOW_MS)
      return addresses
    } catch (error) {
      remember(hostname, false)
      throw error
    } finally {
      stopWaiting()
      leave(lane)
    }
  }

  // Whoever asks while somebody else does gets the same answer: it is as fresh as one of its own.
  return (hostname) => {
    const known = underWay.get(hostname)
    if (known !== undefined) return known
    const asked = lookUp(hostname).finally(() => underWay.delete(hostname))
    underWay.set(hostname, asked)
    return asked
  }
}

function afterByTimer(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms).unref()
  return () => clearTimeout(timer)
}

const SOCKET = { timeout: SLOW_MS, tries: 1 } as const

/** Any answer will do, also that there is no such name, or that nobody can be asked: then the system says so quickly, too. */
async function askBySocket(hostname: string): Promise<void> {
  const resolver = new Resolver(SOCKET)
  try {
    await resolver.resolve4(hostname)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ETIMEOUT' || code === 'ECANCELLED') throw error
  }
}
