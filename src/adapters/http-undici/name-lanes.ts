// Looking names up without one that hangs slowing down the others.
//
// The system looks names up on a few threads that it shares with everything else, and a name whose servers are silent keeps its thread
// for many seconds. So each name has a standing. One that answered the last time goes ahead, and a thread is always left for such. Any
// other is asked for over a socket first, which costs no thread: only where nothing answers there does it take the one lane that may
// be stuck. What the socket says is used for nothing else: a name may stand in a file of this machine alone.

import { Resolver } from 'node:dns/promises'
import type { Resolve } from './names.ts'

/** Settles: something answers for the name, with whatever. Rejects: nothing does in time. */
export type Canary = (hostname: string) => Promise<void>

/** Node has four threads unless told otherwise: with these at most, the last one is for those that answer. */
const LANES = { good: 4, answering: 2, silent: 1 } as const
type Lane = keyof typeof LANES
const THREADS = 4

const NAMES_MAX = 10_000
const SLOW_MS = 1_000

export function makeLanes(
  resolve: Resolve,
  canary: Canary = askBySocket,
  now: () => number = () => performance.now(),
): Resolve {
  const good = new Set<string>()
  const underWay = new Map<string, ReturnType<Resolve>>()
  const running: Record<Lane, number> = { good: 0, answering: 0, silent: 0 }
  const waiting: Record<Lane, (() => void)[]> = { good: [], answering: [], silent: [] }

  const isFree = (lane: Lane) =>
    running[lane] < LANES[lane] && running.good + running.answering + running.silent < THREADS

  const enter = (lane: Lane): Promise<void> => {
    if (isFree(lane)) {
      running[lane] += 1
      return Promise.resolve()
    }
    return new Promise((begin) => waiting[lane].push(begin))
  }

  const leave = (lane: Lane) => {
    running[lane] -= 1
    for (const next of ['good', 'answering', 'silent'] as const) {
      while (waiting[next].length > 0 && isFree(next)) {
        running[next] += 1
        waiting[next].shift()?.()
      }
    }
  }

  const laneOf = (hostname: string): Promise<Lane> =>
    good.has(hostname)
      ? Promise.resolve('good')
      : canary(hostname).then(
          () => 'answering' as const,
          () => 'silent' as const,
        )

  const remember = (hostname: string, isGood: boolean) => {
    good.delete(hostname)
    if (!isGood) return
    if (good.size >= NAMES_MAX) good.delete(good.values().next().value as string)
    good.add(hostname)
  }

  const lookUp: Resolve = async (hostname) => {
    const lane = await laneOf(hostname)
    await enter(lane)
    const startedAt = now()
    try {
      const addresses = await resolve(hostname)
      remember(hostname, now() - startedAt < SLOW_MS)
      return addresses
    } catch (error) {
      remember(hostname, false)
      throw error
    } finally {
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
