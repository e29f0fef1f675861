// The store as one life of a node sees it: the real gatherer in front, latency and faults between, the data behind.
//
// A group is under way, is applied, and is answered; a node can die between any two of these, and its connection can break. What
// was not applied when it died is lost, unless it was on its way to another machine already.

import type { NodeId, TenantId } from '../src/core/foundation/ids/index.ts'
import { makeGatherer } from '../src/core/store/commit/index.ts'
import type { Pruned, PruneRequest } from '../src/core/store/retention/index.ts'
import type { Clock } from '../src/ports/clock.ts'
import {
  type ClaimRequest,
  type Commit,
  type Store,
  StoreError,
  type SystemReads,
  type TenantReads,
} from '../src/ports/store.ts'
import type { VirtualTime } from './clock.ts'
import type { Data, Outcome } from './data.ts'
import type { Faults, StoreFate, StoreOperation } from './faults.ts'
import type { Life } from './node.ts'
import type { Primary } from './primary.ts'

export interface StoreWatch {
  /** Before anything of it is applied. */
  applying(commits: readonly Commit[]): void
  applied(life: Life, commits: readonly Commit[], outcomes: readonly Outcome[]): void
  /** The moment it is asked for, not that of the answer. */
  claimAsked(life: Life, request: ClaimRequest): void
  claimed(life: Life, request: ClaimRequest, result: ReturnType<Data['claim']>): void
  joined(life: Life, node: NodeId, result: ReturnType<Data['join']>): void
  reclaimed(life: Life, given: ReturnType<Data['reclaim']>): void
  left(life: Life, given: ReturnType<Data['leave']>): void
  /** Performs it, and looks at what it took away. */
  pruning(life: Life, request: PruneRequest, prune: () => Pruned): Pruned
  trace(who: string, what: () => string): void
}

export interface NodeStoreDeps {
  readonly time: VirtualTime
  readonly clock: Clock
  readonly life: Life
  readonly data: Data
  readonly faults: Faults
  readonly watch: StoreWatch
  readonly primary: Primary
  /** When a commit takes effect that would at this instant. */
  align(at: number): number
  /** Groups of one node are applied in the order given, as by one thread; otherwise they may pass each other. */
  readonly inOrder: boolean
}

export function makeNodeStore(deps: NodeStoreDeps): Store {
  const { time, clock, life, data, faults, watch, primary } = deps
  let orderedUntil = 0

  /** When the operation reaches the data. */
  const reach = (operation: StoreOperation, fate: StoreFate, then: () => void) => {
    const usual = time.now() + fate.beforeMs
    let at = operation === 'commit' ? deps.align(usual) : usual
    if (deps.inOrder && operation !== 'read') {
      at = Math.max(at, orderedUntil)
      orderedUntil = at
    }
    time.after(at - time.now(), () => {
      if (!life.isDead()) {
        // On the node's own machine a stopped process executes nothing either.
        if (deps.inOrder) life.pass(then)
        else then()
      } else if (fate.outlives) then()
    })
  }

  const call = <T>(operation: StoreOperation, apply: () => T): Promise<T> =>
    new Promise((resolve, reject) => {
      if (life.isDead()) return
      const fate = faults.store(operation)
      const isWrite = operation !== 'read'
      const doubt = isWrite ? 'indeterminate' : 'no'
      const say = (give: () => void) => time.after(fate.afterMs, () => life.pass(give))
      const fail = (applied: 'no' | 'indeterminate') => {
        watch.trace(life.name, () => `store fails in ${operation} (applied: ${applied})`)
        stopListening()
        say(() => reject(new StoreError('unavailable', 'simulated', { applied })))
      }
      let isBroken = false
      const stopListening = primary.onBreak(() => {
        isBroken = true
        fail(doubt)
      })
      if (primary.isAway()) {
        fail('no')
        return
      }
      const term = primary.term()
      if (isWrite) primary.asked(fate.beforeMs)
      /** What the data itself throws is an answer too. */
      const perform = (): (() => void) => {
        try {
          const result = apply()
          return () => resolve(result)
        } catch (error) {
          return () => reject(error)
        }
      }
      const linger = () => {
        if (primary.term() === term) perform()
      }
      reach(operation, fate, () => {
        // The server that had it is gone; or it still has it, and no caller waits for the answer.
        if (primary.term() !== term) return
        if (isBroken) {
          if (isWrite && fate.what === 'ok') time.after(primary.lingerMs(), linger)
          return
        }
        switch (fate.what) {
          case 'unavailable':
            fail('no')
            return
          case 'lost':
            fail(doubt)
            return
          case 'unanswered':
            if (isWrite) perform()
            fail(doubt)
            return
          case 'crash-before':
            life.crash(`before ${operation} is applied`)
            return
          case 'crash-after':
            perform()
            life.crash(`after ${operation} is applied`)
            return
          case 'ok': {
            const answer = perform()
            say(() => {
              if (isBroken) return
              stopListening()
              answer()
            })
            return
          }
        }
      })
    })

  const gatherer = makeGatherer<Commit, Outcome>({
    defer: (callback) => clock.defer(callback),
    run: (group) =>
      call('commit', () => {
        watch.applying(group)
        const outcomes = data.commit(time.now(), group)
        watch.applied(life, group, outcomes)
        return outcomes
      }),
  })

  /** The same reads, each through `call`. */
  const through = <Reads extends object>(reads: Reads): Reads => {
    const all = Object.entries(reads) as [string, (...args: unknown[]) => Promise<unknown>][]
    return Object.fromEntries(
      all.map(([name, read]) => [
        name,
        async (...args: unknown[]) => await call('read', () => read(...args)),
      ]),
    ) as Reads
  }
  /** A node asks for them with every read. */
  const readsOf = new Map<TenantId, TenantReads>()
  let systemReads: SystemReads | null = null

  return {
    async commit(commit) {
      const outcome = await gatherer.add(commit)
      if (outcome.ok === 'failed') throw outcome.error
      return outcome
    },
    claim(request) {
      watch.claimAsked(life, request)
      return call('claim', () => {
        const result = data.claim(time.now(), request)
        watch.claimed(life, request, result)
        return result
      })
    },
    join: (node, ttlMs) =>
      call('join', () => {
        const result = data.join(time.now(), node, ttlMs)
        watch.joined(life, node, result)
        return result
      }),
    renew: (owner, ttlMs) => call('renew', () => data.renew(time.now(), owner, ttlMs)),
    reclaim: (limit) =>
      call('reclaim', () => {
        const given = data.reclaim(time.now(), limit)
        watch.reclaimed(life, given)
        return given
      }),
    leave: (owner) =>
      call('reclaim', () => {
        const given = data.leave(time.now(), owner)
        watch.left(life, given)
        return given
      }),
    prune: (request) =>
      call('prune', () => watch.pruning(life, request, () => data.prune(time.now(), request))),
    forTenant(tenant) {
      const known = readsOf.get(tenant)
      if (known !== undefined) return known
      const reads = through(data.reads(tenant))
      readsOf.set(tenant, reads)
      return reads
    },
    system() {
      systemReads ??= through(data.system())
      return systemReads
    },
    async [Symbol.asyncDispose]() {},
  }
}
