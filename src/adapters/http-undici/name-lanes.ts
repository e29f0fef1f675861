// Resolves names so that one that hangs does not slow down the others.
//
// The system resolves names on a few threads that it shares with everything else, and a name with silent servers holds
// its thread for many seconds. So each name has a standing. A name that resolved a moment ago goes ahead, and one
// thread is always reserved for such names. Any other name is first queried over a socket, which costs no thread: only
// if nothing answers there does it use the one lane that may be stuck. The socket's answer is used for nothing else: a
// name may be only in this machine's hosts file. A standing lasts for some seconds, and as soon as one name is slow all
// others lose it: good names that fall silent together are then found by the socket, too, and not by the threads they
// would hold.

import { Resolver } from 'node:dns/promises'
import type { Resolve } from './names.ts'

/** Settles: something answers for the name, with any answer. Rejects: nothing does in time. */
export type Canary = (hostname: string) => Promise<void>

/** Node has four threads by default: with these limits no combination of lanes takes them all. */
const LANES = { good: 3, answering: 2, silent: 1 } as const
type Lane = keyof typeof LANES
const THREADS = 4

const NAMES_MAX = 10_000
const SLOW_MS = 1_000
/** A name that resolved is presumed to resolve for this long. */
const GOOD_MS = 5_000

export function makeLanes(
  resolve: Resolve,
  canary: Canary = askBySocket,
  now: () => number = () => performance.now(),
  after: (ms: number, callback: () => void) => () => void = afterByTimer,
): Resolve {
  /** When each name last resolved. */
  const good = new Map<string, number>()
  const underWay = new Map<string, ReturnType<Resolve>>()
  const running: Record<Lane, number> = { good: 0, answering: 0, silent: 0 }
  const waiting: Record<Lane, ((mayBegin: boolean) => void)[]> = { good: [], answering: [], silent: [] }

  const isFree = (lane: Lane) =>
    running[lane] < LANES[lane] && running.good + running.answering + running.silent < THREADS

  /** False: its standing is gone, and with it its position. */
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

  /** A good name is slow: its servers are silent, and they may serve the other names too. */
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

  // Callers that ask at the same time share one lookup: its answer is as fresh as their own would be.
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

/**
 * Any answer will do, also that there is no such name, or that no server can be asked: then the system fails quickly,
 * too.
 */
async function askBySocket(hostname: string): Promise<void> {
  const resolver = new Resolver(SOCKET)
  try {
    await resolver.resolve4(hostname)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ETIMEOUT' || code === 'ECANCELLED') throw error
  }
}
