// Planted bugs: each is a wrapper around a port or a decision of the correct engine, and each must be found within a
// bounded number of seeds (sim/bugs.test.ts). A simulator that finds no planted bug proves nothing when it finds none.

import { putWork } from '../src/adapters/store-memory/state.ts'
import { isLockKey } from '../src/core/effects/action/index.ts'
import { outcomeOfError } from '../src/core/effects/function/index.ts'
import { DEFAULT_TENANT, type NodeId, type WorkId } from '../src/core/foundation/ids/index.ts'
import { EMPTY_NOTE, type WorkRow } from '../src/core/queue/work/index.ts'
import { FINAL_WORK } from '../src/core/store/retention/index.ts'
import type { FunctionContext } from '../src/ports/code.ts'
import type { HttpClient, HttpOutcome, HttpRequest } from '../src/ports/http-client.ts'
import type { Commit, CommitResult, Store, Write } from '../src/ports/store.ts'
import { RetryableError } from '../src/sdk/errors.ts'
import type { Bug } from './bug.ts'
import { BUS_BUGS } from './bus-bugs.ts'
import { CONNECTION_BUGS } from './connection-bugs.ts'
import type { Data } from './data.ts'
import type { Profile } from './faults.ts'
import { FLEET_BUGS } from './fleet-bugs.ts'
import { GUARD_BUGS } from './guard-bugs.ts'
import { LANE_KINDS, otherVersion, ROUTES } from './scenario.ts'
import { HOOK_BUGS } from './subscription-bugs.ts'
import { forgetUnsynced } from './unsynced.ts'
import { CASE_BUGS } from './workflow-bugs.ts'

const withCommit = (store: Store, commit: Store['commit']): Store => ({ ...store, commit })

/** Every commit goes through `change` before it leaves the node. */
const changing =
  (change: (commit: Commit) => Commit) =>
  (store: Store): Store =>
    withCommit(store, (commit) => store.commit(change(commit)))

/** A guard that is left out holds always; the others keep their numbers. */
const withoutGuard = (kind: Commit['guards'][number]['g']) => withoutGuards(({ g }) => g === kind)

const withoutGuards =
  (isLeftOut: (guard: Commit['guards'][number]) => boolean) =>
  (store: Store): Store =>
    withCommit(store, async (commit) => {
      const kept = commit.guards.flatMap((guard, index) => (isLeftOut(guard) ? [] : [index]))
      const result = await store.commit({ ...commit, guards: kept.map((index) => commit.guards[index]!) })
      return result.ok ? result : { ...result, guard: kept[result.guard]! }
    })

/** What a function is given, with one thing in it changed. */
const given =
  (change: (context: FunctionContext) => Partial<FunctionContext>) =>
  (context: FunctionContext): FunctionContext => {
    const { key, event, attempt, signal, log, clock, effect, emit, heartbeat } = context
    return { key, event, attempt, signal, log, clock, effect, emit, heartbeat, ...change(context) }
  }

const withoutWrites = (isWanted: (commit: Commit) => boolean, kinds: readonly Write['w'][]) =>
  changing((commit) =>
    isWanted(commit) ? { ...commit, writes: commit.writes.filter(({ w }) => !kinds.includes(w)) } : commit,
  )

const has = (commit: Commit, kind: Write['w']): boolean => commit.writes.some(({ w }) => w === kind)

const answering =
  (change: (outcome: HttpOutcome, request: HttpRequest) => HttpOutcome) =>
  (http: HttpClient): HttpClient => ({
    send: async (request) => change(await http.send(request), request),
    vet: (url) => http.vet(url),
  })

/** Rows of the memory store, changed behind its back. */
const rewrite = (data: Data, ids: readonly WorkId[], change: (row: WorkRow) => WorkRow): void => {
  for (const id of ids) {
    const row = data.state?.work.get(id)
    if (data.state !== null && row !== undefined) putWork(data.state, id, change(row))
  }
}

/** Sources are paused often, and for a while. */
const pausing = (profile: Profile): Profile => ({ ...profile, controlEveryMs: 1_500, messages: 20 })

/** Most events are of what runs one after another. */
const takingTurns = (profile: Profile): Profile => ({ ...profile, kinds: LANE_KINDS, messages: 30 })

/** Nothing but what is called for together or by reference, of few vendors' faults. */
const stocked = (profile: Profile): Profile => ({
  ...profile,
  kinds: { stocked: 1 },
  messages: 20,
  vendor: { ok: 60, slow: 20, rejected: 20 },
  keepMs: 0,
})

/** Fires a slot of the schedule. */
const isSlot = ({ writes }: Commit): boolean =>
  writes.some(({ w }) => w === 'event.append') &&
  writes.some((write) => write.w === 'record.put' && write.kind === 'schedule')

/** The progress of a replay of many. */
const isProgress = (write: Write): boolean =>
  write.w === 'record.put' && write.kind === 'replay' && write.key.startsWith('rpl_')

const isPiece = (commit: Commit): boolean => has(commit, 'work.add') && commit.writes.some(isProgress)

/** Nothing but work that has a pace, and a vendor that mostly answers. */
const paced = (profile: Profile): Profile => ({
  ...profile,
  kinds: { paced: 1 },
  messages: 20,
  faultsMs: 60_000,
  vendor: { ok: 100 },
  keepMs: 0,
})

/** Many dead letters, and an operator who replays them all the time, on two nodes whose commits are often applied and not answered. */
const replaying = (profile: Profile): Profile => ({
  ...profile,
  nodes: 2,
  isRemote: true,
  messages: 20,
  vendor: { ok: 40, rejected: 60 },
  operatorEveryMs: 1_000,
  unanswered: 150,
  maxStoreMs: 400,
  keepMs: 0,
})

export const BUGS: readonly Bug[] = [
  {
    name: 'bucket-stays-open',
    about: 'a 429 does not close the bucket of its host',
    breaks: ['PA8'],
    profile: (profile) => ({ ...paced(profile), vendor: { ok: 20, limited: 80 } }),
    decisions: (decisions) => ({
      ...decisions,
      stepHost: (bucket, event) => (event.type === 'refused' ? null : decisions.stepHost(bucket, event)),
    }),
  },
  {
    name: 'drain-begins-again',
    about: 'a drain does not look whether its slot was begun, by itself or by another node',
    breaks: ['PA12'],
    profile: paced,
    decisions: (decisions) => ({
      ...decisions,
      decideDrain: (policy, _record, cycle, by, now) => decisions.decideDrain(policy, null, cycle, by, now),
    }),
  },
  {
    name: 'circuit-never-tries',
    about: 'a circuit that is open stays so',
    breaks: ['N12'],
    profile: (profile) => ({ ...paced(profile), vendor: { busy: 100 } }),
    decisions: (decisions) => ({
      ...decisions,
      stepCircuit: (circuit, event, policy) =>
        event.type === 'tried' ? { circuit, change: null } : decisions.stepCircuit(circuit, event, policy),
    }),
  },
  {
    name: 'limit-per-claim',
    about: 'a limit is taken for what one claim may have, and not for all that are in hand',
    breaks: ['PA14'],
    profile: (profile) => ({ ...paced(profile), nodes: 2, isRemote: true, vendor: { slow: 100 } }),
    store: (store) => ({
      ...store,
      claim: (request) =>
        store.claim({ ...request, slots: request.slots.map(({ limit: _, ...slot }) => slot) }),
    }),
  },
  {
    name: 'slot-without-its-guards',
    about: 'a schedule fires without looking whether another node did',
    breaks: ['SC7', 'N1'],
    profile: (profile) => ({ ...profile, nodes: 2, isRemote: true }),
    store: changing((commit) => (isSlot(commit) ? { ...commit, guards: [] } : commit)),
  },
  {
    name: 'slot-over-before-its-event',
    seed: 3,
    about: 'that a slot is over is written in a commit of its own, before its event',
    breaks: ['SC10'],
    profile: (profile) => ({ ...profile, faultsMs: 150_000, unavailable: 250 }),
    store: (store) =>
      withCommit(store, async (commit) => {
        if (!isSlot(commit)) return store.commit(commit)
        const ofRecord = { writes: commit.writes.filter(({ w }) => w === 'record.put') }
        const versions = commit.guards.filter(({ g }) => g === 'version')
        const first = await store.commit({ ...commit, guards: versions, ...ofRecord })
        if (!first.ok) return first
        const writes = commit.writes.filter(({ w }) => w !== 'record.put')
        return store.commit({ ...commit, guards: commit.guards.filter(({ g }) => g !== 'version'), writes })
      }),
  },
  {
    name: 'work-on-the-newest-definition',
    about: 'an item runs by another version of its route than the one that it began with',
    breaks: ['DV9'],
    profile: (profile) => ({ ...profile, redefineEveryMs: 5_000 }),
    store: (store) => ({
      ...store,
      async claim(request) {
        const result = await store.claim(request)
        const items = result.items.map(async ({ work, event }) => {
          const definition = otherVersion(work.consumer, work.definition)
          const read = store.forTenant(work.tenant).record('definition', definition)
          const isThere = await read.catch(() => null)
          return { work: isThere === null ? work : { ...work, definition }, event }
        })
        return { ...result, items: await Promise.all(items) }
      },
    }),
  },
  {
    name: 'claims-what-is-paused',
    about: 'the claim loop asks for the work of every route, whatever its status',
    breaks: ['DV13'],
    profile: (profile) => ({ ...profile, controlEveryMs: 1_500 }),
    store: (store) => ({
      ...store,
      claim: (request) =>
        store.claim({
          ...request,
          slots: [
            ...request.slots.filter(({ consumer }) => consumer.startsWith('source:')),
            ...ROUTES.map(({ document }) => ({
              tenant: DEFAULT_TENANT,
              consumer: `route:${document.name}`,
              max: request.max,
            })),
          ],
        }),
    }),
  },
  {
    name: 'lease-guard-dropped',
    seed: 6,
    about: 'commits do not say which lease they rest on',
    breaks: ['N5', 'N3', 'N2', 'N6'],
    store: withoutGuard('lease'),
  },
  {
    name: 'early-acknowledgement',
    about: 'an event is acknowledged before its group is applied',
    breaks: ['N1'],
    store: (store) =>
      withCommit(store, async (commit) => {
        if (!has(commit, 'event.append') || commit.guards[0]?.g !== 'dedup') return store.commit(commit)
        store.commit(commit).catch(() => {})
        return { ok: true, at: 0, leased: [] }
      }),
  },
  {
    name: 'no-fence-at-join',
    about: 'a node that starts again leaves its earlier life alive',
    breaks: ['N5'],
    data: (data) => {
      let lives = 0
      return { ...data, join: (now, node, ttlMs) => data.join(now, `${node}#${++lives}` as NodeId, ttlMs) }
    },
  },
  {
    name: 'epoch-not-raised',
    about: 'a claim leaves the epoch as it was',
    breaks: ['N5'],
    stores: ['memory'],
    data: (data) => ({
      ...data,
      claim(now, request) {
        const result = data.claim(now, request)
        const ids = result.items.map(({ work }) => work.id)
        rewrite(data, ids, (row) => ({ ...row, epoch: row.epoch - 1 }))
        return {
          ...result,
          items: result.items.map(({ work, event }) => ({ event, work: { ...work, epoch: work.epoch - 1 } })),
        }
      },
    }),
  },
  {
    name: 'reclaim-keeps-lease',
    about: 'work of the dead is reported as given back and stays leased',
    breaks: ['N5'],
    stores: ['memory'],
    data: (data) => ({
      ...data,
      reclaim(now, limit) {
        const before = new Map(data.state?.work)
        const given = data.reclaim(now, limit)
        rewrite(data, given, (row) => before.get(row.id) ?? row)
        return given
      },
    }),
  },
  {
    name: 'losses-in-company',
    about: 'a loss counts toward poison although the item did not run alone',
    breaks: ['N5'],
    stores: ['memory'],
    data: (data) => ({
      ...data,
      reclaim(now, limit) {
        const before = new Map(data.state?.work)
        const given = data.reclaim(now, limit)
        rewrite(data, given, (row) => ({ ...row, losses: (before.get(row.id)?.losses ?? 0) + 1 }))
        return given
      },
    }),
  },
  {
    name: 'dedup-ignored',
    about: 'a duplicate is taken for a new event',
    breaks: ['N1', 'N2'],
    store: withoutGuard('dedup'),
  },
  {
    name: 'reserve-skipped',
    about: 'the call is made without a reserve in the ledger',
    breaks: ['N3'],
    store: (store) =>
      withCommit(store, async (commit): Promise<CommitResult> => {
        if (!has(commit, 'ledger.reserve')) return store.commit(commit)
        return { ok: true, at: 0, leased: [] }
      }),
  },
  {
    name: 'finish-in-two',
    seed: 2,
    about: 'the item and its ledger entry are settled by two commits',
    breaks: ['N2', 'N4', 'N12'],
    store: (store) =>
      withCommit(store, async (commit) => {
        if (!has(commit, 'ledger.settle') || !has(commit, 'work.settle')) return store.commit(commit)
        const isLedger = ({ w }: Write) => w === 'ledger.settle'
        const item = { ...commit, writes: commit.writes.filter((write) => !isLedger(write)) }
        const result = await store.commit(item)
        if (!result.ok) return result
        const guards = commit.guards.filter(({ g }) => g === 'ledger')
        return store.commit({ ...commit, guards, writes: commit.writes.filter(isLedger) })
      }),
  },
  {
    name: 'stale-settle-accepted',
    seed: 17,
    about: 'the store lets a stale owner settle an item',
    breaks: ['N5', 'N3'],
    data: (data) => ({
      ...data,
      commit: (now, commits) =>
        data.commit(now, commits).map((outcome, index) => {
          const commit = commits[index]!
          const isStale = outcome.ok === false && commit.guards[outcome.guard]?.g === 'lease'
          return isStale && has(commit, 'work.settle')
            ? data.commit(now, [{ ...commit, guards: commit.guards.filter(({ g }) => g !== 'lease') }])[0]!
            : outcome
        }),
    }),
  },
  {
    name: 'again-lost',
    about: 'an item that is to be tried again is not put back',
    breaks: ['N12', 'N2', 'N5'],
    store: withoutWrites((commit) => has(commit, 'work.again'), ['work.again']),
  },
  {
    name: 'dead-letter-alone',
    about: 'a dead letter is written, and its item stays alive',
    breaks: ['N2'],
    store: withoutWrites((commit) => has(commit, 'deadLetter.put'), ['work.settle']),
  },
  {
    name: 'work-lost-at-accept',
    about: 'an event is kept without the work that matched',
    breaks: ['N2', 'N5'],
    store: withoutWrites((commit) => has(commit, 'event.append'), ['work.add']),
  },
  {
    name: 'timeout-means-never-sent',
    about: 'a time-out after sending is taken for a call that was never sent',
    breaks: ['N3'],
    http: answering((outcome) =>
      outcome.kind === 'failed' && outcome.code === 'timeout' ? { ...outcome, sent: 'no' } : outcome,
    ),
  },
  {
    name: 'server-error-means-not-applied',
    about: 'a 500 is taken for proof that nothing happened',
    breaks: ['N3'],
    decisions: (decisions) => ({
      ...decisions,
      classifyCall(facts, policy) {
        const verdict = decisions.classifyCall(facts, policy)
        const isUnknown = facts.kind === 'response' && verdict.as === 'failed' && verdict.effect === 'maybe'
        return isUnknown ? { ...verdict, class: 'transient', effect: 'none' } : verdict
      },
    }),
  },
  {
    name: 'unknown-retried',
    about: 'a call in doubt is simply made again',
    breaks: ['N3'],
    decisions: (decisions) => ({
      ...decisions,
      decideEffect(question) {
        const step = decisions.decideEffect(question)
        return step.step === 'park' || step.step === 'probe' ? { step: 'reserve' } : step
      },
      decideFailure: (question) =>
        decisions.decideFailure({ ...question, canRepeat: true, probeAfterMs: null }),
    }),
  },
  {
    name: 'probe-too-early',
    about: 'the vendor is asked before it had its time',
    breaks: ['N3'],
    decisions: (decisions) => ({
      ...decisions,
      decideEffect(question) {
        const step = decisions.decideEffect(question)
        return step.step === 'wait' && step.for === 'probe' ? { step: 'probe' } : step
      },
      decideFailure(question) {
        const step = decisions.decideFailure(question)
        return step.step === 'again' && question.effect === 'maybe' ? { ...step, delayMs: 10 } : step
      },
    }),
  },
  {
    name: 'probe-inverted',
    about: 'found is taken for absent, and absent for found',
    breaks: ['N4', 'N3'],
    http: answering((outcome, request) =>
      request.method === 'GET' && outcome.kind === 'response'
        ? { ...outcome, status: outcome.status === 404 ? 200 : outcome.status === 200 ? 404 : outcome.status }
        : outcome,
    ),
  },
  {
    name: 'hit-ignored',
    about: 'an effect that the ledger knows is made again',
    breaks: ['N3', 'N5'],
    decisions: (decisions) => ({
      ...decisions,
      decideEffect(question) {
        const step = decisions.decideEffect(question)
        return step.step === 'hit' ? { step: 'reserve' } : step
      },
    }),
  },
  {
    name: 'key-per-attempt',
    about: 'every attempt sends a new Idempotency-Key',
    breaks: ['N3'],
    http: (http) => {
      let attempts = 0
      return {
        send(request) {
          const key = request.headers['idempotency-key']
          if (key === undefined) return http.send(request)
          attempts += 1
          return http.send({
            ...request,
            headers: { ...request.headers, 'idempotency-key': `${key}-${attempts}` },
          })
        },
        vet: (url) => http.vet(url),
      }
    },
  },
  {
    name: 'validation-retried',
    seed: 4,
    about: 'what the vendor refuses as invalid is tried again',
    breaks: ['N6'],
    decisions: (decisions) => ({
      ...decisions,
      decideFailure: (question) =>
        decisions.decideFailure(
          question.class === 'validation' ? { ...question, class: 'transient' } : question,
        ),
    }),
  },
  {
    name: 'attempts-not-counted',
    about: 'a retry does not use up an attempt',
    breaks: ['N6'],
    profile: (profile) => ({ ...profile, vendor: { ok: 20, 'reset-before': 80 } }),
    decisions: (decisions) => ({
      ...decisions,
      decideFailure(question) {
        const step = decisions.decideFailure({
          ...question,
          counters: { ...question.counters, attempts: 1 },
        })
        return step.step === 'again'
          ? { ...step, counters: { ...question.counters, attempts: question.counters.attempts - 1 } }
          : step
      },
    }),
  },
  {
    name: 'lease-by-wall-clock',
    about: 'the node measures its lease by a clock that jumps',
    // What it takes for the store's time jumps too: a slot fires early, though never twice.
    breaks: ['N3', 'N5', 'N6', 'N12', 'SC7'],
    profile: (profile) => ({ ...profile, jumpEveryMs: 2_000, slowStore: 100 }),
    clock: (clock) => ({ ...clock, monotonic: () => clock.now() }),
  },
  {
    name: 'effect-without-reserve',
    about: 'an effect of a function is made without the ledger',
    breaks: ['N3'],
    context: given(({ key, signal }) => ({ effect: async (name, run) => run(`${key}#${name}`, signal) })),
  },
  {
    name: 'effect-hit-ignored',
    about: 'a function that begins anew makes the effects again that it has made',
    breaks: ['N3', 'N5'],
    decisions: (decisions) => ({
      ...decisions,
      decideEffect(question) {
        const step = decisions.decideEffect(question)
        return step.step === 'hit' && question.entry.key.includes('#') ? { step: 'reserve' } : step
      },
    }),
  },
  {
    name: 'effect-throw-means-nothing',
    about: 'whatever is thrown in an effect is taken for the word that nothing happened',
    breaks: ['N3'],
    context: given(({ effect }) => ({
      effect: (name, run, options) =>
        effect(
          name,
          async (key, signal) => {
            try {
              return await run(key, signal)
            } catch {
              throw new RetryableError('nothing happened')
            }
          },
          options,
        ),
    })),
  },
  {
    name: 'told-error-means-nothing',
    seed: 3,
    about: 'an error of the engine or of another effect is taken for the word that this one did nothing',
    breaks: ['N3'],
    context: given(({ effect }) => ({
      effect: (name, run, options) =>
        effect(
          name,
          async (key, signal) => {
            try {
              return await run(key, signal)
            } catch (error) {
              const outcome = outcomeOfError(error)
              if (outcome.kind === 'failed' && outcome.how !== 'threw') throw new RetryableError('anew')
              throw error
            }
          },
          options,
        ),
    })),
  },
  {
    name: 'resolved-counts-as-fresh',
    seed: 4,
    about: 'after a person settled one doubt of an item, nobody looks for the others',
    breaks: ['N4'],
    store(store) {
      const fresh = new Set<WorkId>()
      return {
        ...store,
        async claim(request) {
          const result = await store.claim(request)
          for (const { work } of result.items)
            if (work.attempts + work.waits === 0) fresh.add(work.id)
            else fresh.delete(work.id)
          return result
        },
        forTenant(tenant) {
          const reads = store.forTenant(tenant)
          return { ...reads, ledgerOfWork: async (id) => (fresh.has(id) ? [] : reads.ledgerOfWork(id)) }
        },
      }
    },
  },
  {
    name: 'cancelled-names-one',
    seed: 1,
    about: 'a cancelled item with several doubts names one of them for ever',
    breaks: ['N4'],
    profile: (profile) => ({
      ...profile,
      // Few, so that no other job with the same key resolves the unknown outcomes.
      messages: 8,
      kinds: { booked: 1 },
      operatorEveryMs: 500,
      workActs: { cancel: 1 },
      vendor: { ok: 20, 'reset-after': 60, 'timeout-before': 60 },
    }),
    store: changing((commit) => {
      const isWord = commit.writes.some((write) => write.w === 'ledger.settle' && write.proof === 'person')
      const isNaming = (write: Write) => write.w === 'work.settle' && write.to === 'cancelled'
      return isWord ? { ...commit, writes: commit.writes.filter((write) => !isNaming(write)) } : commit
    }),
  },
  {
    name: 'stop-forgotten',
    about: 'a function that swallows the error of a stop has the last word',
    breaks: ['N2', 'N4'],
    decisions: (decisions) => ({ ...decisions, decideStop: () => null }),
  },
  {
    name: 'doubt-dies',
    seed: 4,
    about: 'a function dies although one of its effects is in doubt',
    breaks: ['N4'],
    profile: (profile) => ({
      ...profile,
      kinds: { booked: 1 },
      vendor: { ok: 20, rejected: 60, 'reset-after': 60 },
    }),
    decisions: (decisions) => ({
      ...decisions,
      // A route that pauses itself after so many failures would meet the two together only seldom.
      stepCircuit: (circuit) => ({ circuit, change: null }),
      decideStop: (obstacles) =>
        obstacles.find(({ step }) => step === 'dead') ?? decisions.decideStop(obstacles),
    }),
  },
  {
    name: 'doubts-merged',
    seed: 4,
    about: 'of several effects in doubt only one is written down',
    breaks: ['N2'],
    store: changing((commit) => {
      const isUnknown = (write: Write) =>
        write.w === 'ledger.settle' && write.to === 'unknown' && write.key.includes('#')
      const first = commit.writes.findIndex(isUnknown)
      return {
        ...commit,
        writes: commit.writes.filter((write, index) => !isUnknown(write) || index === first),
      }
    }),
  },
  {
    name: 'emit-outside',
    about: 'what a function emits is kept before its end is',
    breaks: ['N1', 'N2'],
    store: (store) =>
      withCommit(store, async (commit) => {
        const isEmitted = (write: Write) => write.w === 'event.append' || write.w === 'work.add'
        if (!has(commit, 'event.append') || !has(commit, 'ledger.done')) return store.commit(commit)
        await store.commit({ ...commit, guards: [], writes: commit.writes.filter(isEmitted) })
        return store.commit({ ...commit, writes: commit.writes.filter((write) => !isEmitted(write)) })
      }),
  },
  {
    name: 'replay-apart',
    seed: 4,
    about: 'a letter’s replay and the progress of the replay of many are two commits',
    breaks: ['RP4'],
    store: (store) =>
      withCommit(store, async (commit) => {
        if (!isPiece(commit)) return store.commit(commit)
        const writes = commit.writes.filter((write) => !isProgress(write))
        const result = await store.commit({ ...commit, writes })
        if (!result.ok) return result
        return store.commit({ ...commit, guards: [], writes: commit.writes.filter(isProgress) })
      }),
  },
  {
    name: 'piece-without-its-guards',
    about:
      'a piece of a replay is written without looking whether another node, or an earlier life, did it already',
    breaks: ['RP4', 'RP7', 'DL5'],
    profile: replaying,
    store: changing((commit) => (isPiece(commit) ? { ...commit, guards: [] } : commit)),
  },
  {
    name: 'edited-key',
    about: 'an edited dead letter takes a new key with its new payload',
    breaks: ['DL5'],
    store: changing((commit) => ({
      ...commit,
      writes: commit.writes.map((write) =>
        write.w === 'deadLetter.put' && has(commit, 'event.append') && !has(commit, 'work.settle')
          ? { ...write, row: { ...write.row, key: `${write.row.key} edited` } }
          : write,
      ),
    })),
  },
  {
    name: 'kept-item-lost',
    about: 'the event of a paused source is kept without the item that matches it later',
    breaks: ['N2', 'N5'],
    profile: pausing,
    store: changing((commit) => ({
      ...commit,
      writes: commit.writes.filter(
        (write) => write.w !== 'work.add' || write.work.kind !== 'intake' || write.work.replayOf !== null,
      ),
    })),
  },
  {
    name: 'resume-drops-kept',
    seed: 4,
    about: 'what a source kept while it was paused is taken when it goes on, and not run',
    breaks: ['N12'],
    profile: pausing,
    store: (store) => ({
      ...store,
      async claim(request) {
        const result = await store.claim(request)
        return { ...result, items: result.items.filter(({ work }) => work.kind !== 'intake') }
      },
    }),
  },
  {
    name: 'intake-adds-apart',
    about: 'the end of an intake item and the work that it adds are two commits',
    breaks: ['N2', 'N5'],
    profile: pausing,
    store: (store) =>
      withCommit(store, async (commit) => {
        const isAdd = ({ w }: Write) => w === 'work.add' || w === 'event.append' || w === 'event.match'
        const isIntake = commit.writes[0]?.w === 'work.settle' && commit.writes.slice(1).some(isAdd)
        if (!isIntake || has(commit, 'ledger.done')) return store.commit(commit)
        const first = { ...commit, writes: commit.writes.filter((write) => !isAdd(write)) }
        const result = await store.commit(first)
        if (!result.ok) return result
        return store.commit({ ...commit, guards: [], writes: commit.writes.filter(isAdd) })
      }),
  },
  {
    name: 'dispatch-apart',
    about: 'what a source dispatches is kept after the event that it makes it of',
    breaks: ['N2', 'N1'],
    store: (store) =>
      withCommit(store, async (commit) => {
        const ids = commit.writes.flatMap((write) =>
          write.w === 'event.append' && write.event.source.startsWith('source:') ? [write.event.id] : [],
        )
        if (ids.length === 0) return store.commit(commit)
        const isChilds = (write: Write) =>
          (write.w === 'event.append' && ids.includes(write.event.id)) ||
          (write.w === 'work.add' && ids.includes(write.work.eventId))
        const result = await store.commit({
          ...commit,
          writes: commit.writes.filter((one) => !isChilds(one)),
        })
        if (!result.ok) return result
        return store.commit({ ...commit, guards: [], writes: commit.writes.filter(isChilds) })
      }),
  },
  {
    name: 'dispatch-key-unstable',
    about: 'a dispatched event gets another key each time, so that a replay dispatches it again',
    breaks: ['N1', 'N2'],
    profile: (profile) => ({ ...profile, operatorEveryMs: 1_000, messages: 20 }),
    store: (store) => {
      let times = 0
      const other = (key: string) => `${key}-${++times}`
      return changing((commit) => ({
        ...commit,
        guards: commit.guards.map((guard) =>
          guard.g === 'dedup' && guard.source.startsWith('source:')
            ? { ...guard, key: other(guard.key) }
            : guard,
        ),
        writes: commit.writes.map((write) =>
          write.w === 'event.append' && write.event.source.startsWith('source:')
            ? { ...write, event: { ...write.event, dedupKey: other(write.event.dedupKey) } }
            : write,
        ),
      }))(store)
    },
  },
  {
    name: 'replay-forgets-its-key',
    about: 'a route does not know that it has worked on a replayed event before, and makes its key anew',
    breaks: ['IN20'],
    profile: (profile) => ({ ...profile, operatorEveryMs: 1_000, redefineEveryMs: 8_000, messages: 20 }),
    store: (store) => ({
      ...store,
      forTenant(tenant) {
        const reads = store.forTenant(tenant)
        return {
          ...reads,
          workOfEvent: async (id) => (await reads.workOfEvent(id)).filter(({ kind }) => kind === 'intake'),
        }
      },
    }),
  },
  {
    name: 'copies-replayed',
    about: 'nobody sees that an event is a copy that was edited for one route, and all get it',
    breaks: ['IN21'],
    profile: (profile) => ({ ...profile, operatorEveryMs: 1_000 }),
    store: (store) => ({
      ...store,
      forTenant(tenant) {
        const reads = store.forTenant(tenant)
        return {
          ...reads,
          async event(id) {
            const event = await reads.event(id)
            return event?.dedupKey.startsWith('edit:') ? { ...event, dedupKey: event.id } : event
          },
        }
      },
    }),
  },
  {
    name: 'prunes-what-is-open',
    about: 'retention forgets to look at the states of the work',
    breaks: ['N2'],
    stores: ['memory'],
    profile: (profile) => ({ ...profile, keepMs: 1_000 }),
    data: (data) => ({
      ...data,
      prune(now, request) {
        const held = [...(data.state?.work.values() ?? [])].filter(({ state }) => !FINAL_WORK.includes(state))
        rewrite(
          data,
          held.map(({ id }) => id),
          (row) => ({ ...row, state: 'done' }),
        )
        const pruned = data.prune(now, request)
        // Those whose event is still there are what they were.
        for (const row of held) if (data.state?.events.has(row.eventId)) rewrite(data, [row.id], () => row)
        return pruned
      },
    }),
  },
  {
    name: 'two-places-in-a-lane',
    seed: 4,
    about: 'who leaves a lane lets two of those that wait go on',
    breaks: ['N7'],
    stores: ['memory'],
    profile: takingTurns,
    data: (data) => ({
      ...data,
      commit(now, commits) {
        const outcomes = data.commit(now, commits)
        for (const { writes } of commits) {
          for (const write of writes) {
            const ended = write.w === 'work.settle' ? data.state?.work.get(write.work) : undefined
            if (ended?.lane == null) continue
            const next = [...(data.state?.work.values() ?? [])].find(
              ({ lane, consumer, state }) =>
                lane === ended.lane && consumer === ended.consumer && state === 'waiting',
            )
            if (next !== undefined)
              rewrite(data, [next.id], (row) => ({ ...row, state: 'ready', hasPlace: true }))
          }
        }
        return outcomes
      },
    }),
  },
  {
    name: 'retry-loses-its-turn',
    about: 'an item that is put back gives its place up',
    breaks: ['N7'],
    profile: takingTurns,
    store: changing((commit) => ({
      ...commit,
      writes: commit.writes.flatMap((write): readonly Write[] =>
        write.w === 'work.again' && write.counters.attempts > 0
          ? [write, { w: 'lane.leave', work: write.work }]
          : [write],
      ),
    })),
  },
  {
    name: 'dead-head-lets-go',
    about: 'a dead or parked item of an ordered route gives its place up',
    breaks: ['N7'],
    profile: takingTurns,
    decisions: (decisions) => ({ ...decisions, keepsPlace: () => false }),
  },
  {
    name: 'stale-version-runs',
    about: 'nobody looks whether the lane is past the version',
    breaks: ['N7'],
    profile: takingTurns,
    decisions: (decisions) => ({ ...decisions, isStale: () => false }),
  },
  {
    name: 'superseded-by-nobody',
    about: 'what gives way does not say to whom',
    breaks: ['N2'],
    profile: takingTurns,
    store: changing((commit) => ({
      ...commit,
      writes: commit.writes.map((write) =>
        write.w === 'work.settle' && write.note.lastError === 'SUPERSEDED'
          ? { ...write, note: { ...write.note, effectRef: null } }
          : write,
      ),
    })),
  },
  {
    name: 'forgets-an-element',
    about: 'the last element of a list makes no item',
    breaks: ['N2'],
    profile: takingTurns,
    store: changing((commit) => ({
      ...commit,
      writes: commit.writes.filter((write) => write.w !== 'work.add' || write.work.element !== 1),
    })),
  },
  {
    name: 'failure-not-resolved',
    about: 'an item that succeeds after all leaves its failure open',
    breaks: ['FL3'],
    store: changing((commit) => ({
      ...commit,
      writes: commit.writes.filter((write) => write.w !== 'failure.put' || write.row.state !== 'resolved'),
    })),
  },
  {
    name: 'escalation-announced-twice',
    about: 'that an escalation is announced is not written with its event',
    breaks: ['N1', 'ES4', 'FA1'],
    store: changing((commit) => ({
      ...commit,
      writes: commit.writes.filter((write) => write.w !== 'escalation.change' || write.announced !== true),
    })),
  },
  {
    name: 'escalation-forgotten',
    about: 'a dead letter raises no escalation',
    breaks: ['ES2'],
    store: changing((commit) => ({
      ...commit,
      writes: commit.writes.filter((write) => write.w !== 'escalation.raise'),
    })),
  },
  {
    name: 'canonical-loop',
    about: 'nobody sees that an item listens to the system itself: what fails of it is told again',
    breaks: ['FL9'],
    profile: (profile) => ({ ...profile, code: { throws: 100 }, vendor: { busy: 60, ok: 20 }, keepMs: 0 }),
    store: (store) => ({
      ...store,
      async claim(request) {
        const result = await store.claim(request)
        const items = result.items.map(({ work, event }) =>
          work.consumer === 'route:told'
            ? { work, event: { ...event, source: 'shop', headers: '{}' } }
            : { work, event },
        )
        return { ...result, items }
      },
    }),
  },
  {
    name: 'batch-without-reserves',
    about: 'those who share a call have no reserves of their own',
    breaks: ['N3'],
    profile: stocked,
    store: changing((commit) => {
      const isFreeze = commit.writes.some((write) => write.w === 'work.add' && write.work.kind === 'batch')
      return isFreeze
        ? { ...commit, writes: commit.writes.filter(({ w }) => w !== 'ledger.reserve') }
        : commit
    }),
  },
  {
    name: 'split-loses-a-member',
    about: 'of a batch that is cut in two one member goes into neither half',
    breaks: ['N2', 'N12'],
    profile: stocked,
    store: changing((commit) => {
      const isSplit = commit.writes.some(
        (write) => write.w === 'work.settle' && write.note.lastError?.startsWith('SPLIT'),
      )
      const lost = commit.writes.find((write) => write.w === 'work.settle' && write.to === 'merged')
      return isSplit ? { ...commit, writes: commit.writes.filter((write) => write !== lost) } : commit
    }),
  },
  {
    name: 'reference-not-locked',
    about: 'two look for the same object at once, and both create it',
    breaks: ['N3'],
    profile: (profile) => ({ ...stocked(profile), faultsMs: 20_000, concurrency: 64 }),
    store: (store) =>
      withoutGuards((guard) => 'key' in guard && isLockKey(guard.key))(
        changing((commit) => ({
          ...commit,
          writes: commit.writes.filter(
            (write) =>
              !('entry' in write && isLockKey(write.entry.key)) &&
              !(write.w === 'ledger.settle' && isLockKey(write.key)),
          ),
        }))(store),
      ),
  },
  {
    name: 'lock-not-given-back',
    about: 'an upsert that is over keeps its reference locked',
    breaks: ['N2', 'N5', 'N12'],
    profile: stocked,
    store: changing((commit) => ({
      ...commit,
      writes: commit.writes.filter((write) => write.w !== 'ledger.settle' || !isLockKey(write.key)),
    })),
  },
  {
    name: 'done-without-proof',
    about: 'an item whose outcome is unknown is closed as done',
    // One that should have emitted an event by then has none.
    breaks: ['N4', 'N2'],
    store: changing((commit) => ({
      ...commit,
      writes: commit.writes.map((write) =>
        write.w === 'work.settle' && write.to === 'parked'
          ? { ...write, to: 'done', note: EMPTY_NOTE }
          : write,
      ),
    })),
  },
  {
    name: 'acknowledged-before-flush',
    about: 'writes are answered before they are flushed, and a crash takes some of them away',
    // The next life finds a store that knows less than was seen of it.
    breaks: ['N1', 'N5'],
    seed: 2,
    stores: ['memory'],
    profile: (profile) => ({ ...profile, nodes: 1, isRemote: false }),
    data: (data) => forgetUnsynced(data, 'late'),
  },
  ...CASE_BUGS,
  ...HOOK_BUGS,
  ...CONNECTION_BUGS,
  ...FLEET_BUGS,
  ...GUARD_BUGS,
  ...BUS_BUGS,
]

export function findBug(name: string): Bug {
  const bug = BUGS.find((one) => one.name === name)
  if (bug === undefined)
    throw new Error(`no bug ${name}; known are ${BUGS.map((one) => one.name).join(', ')}`)
  return bug
}
