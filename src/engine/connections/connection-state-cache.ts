// The state of connections: counted in this node's memory, written when it changes, followed by the other nodes. The state
// machine is the core's (`stepConnection`).
//
// Invariants: CX4 one trial at a time over all nodes: the node that records it first makes it. CX5 a change, its escalation and
// its event are one commit.

import {
  type ConnectionEvent,
  type ConnectionState,
  type ConnectionStep,
  type ConnectionTerms,
  connectionStatus,
  NEW_CONNECTION,
  overrideAt,
} from '../../core/connections/connection/index.ts'
import type { ConnectionDocument } from '../../core/definitions/documents/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import { CLOSED } from '../../core/flow-control/circuit/index.ts'
import { AppError, messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { stringifyJson } from '../../core/foundation/json/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { StoredRecord, Write } from '../../ports/store.ts'
import {
  type Commits,
  type EngineBase,
  type EventPlan,
  orConflict,
  RACES_MAX,
  retrying,
  type UnitOfWork,
} from '../commit/index.ts'
import type { Deployed, Registry } from '../definitions/index.ts'
import type { ConnectionRefusal } from '../flow-control/index.ts'
import type { Decisions } from '../settlement/index.ts'

export type CircuitGate =
  | { readonly is: 'open' }
  /** Its circuit may be tried: a node must record that first (`mayTry`). */
  | { readonly is: 'tryable' }
  /** The trial belongs to this node, and no job makes it yet. */
  | { readonly is: 'mine' }
  | { readonly is: 'closed'; readonly untilAt: Instant | null; readonly why: string }
  | { readonly is: 'refused'; readonly code: ConnectionRefusal; readonly why: string }

export interface ConnectionStateCache {
  gate(tenant: TenantId, name: string): CircuitGate
  /** By the deployed document. */
  state(tenant: TenantId, name: string): ConnectionState
  /**
   * Records a trial; false: another node was first, or it is not due. `by`: who makes it; omitted: the next job that enters.
   */
  mayTry(tenant: TenantId, name: string, by?: string): Promise<boolean>
  /** Admits a lease of a job: through a circuit that is not closed only the trial. */
  enter(tenant: TenantId, name: string, hold: string): boolean
  isTry(tenant: TenantId, name: string, hold: string): boolean
  /** It is over; if no result was reported, another may try. */
  finished(hold: string): void
  reportResult(tenant: TenantId, name: string, failureClass: FailureClass | null, isTry: boolean): void
  /** For changes that a caller waits for: repeated if another node wrote first. Throws `conflict` if that has no end. */
  change(
    tenant: TenantId,
    name: string,
    event: ConnectionEvent,
    writes?: readonly Write[],
  ): Promise<ConnectionState>
  /** The result of this node's own test of the document; null: it passed. */
  tried(tenant: TenantId, name: string, failureClass: FailureClass | null): void
  /** In the background: no caller waits. */
  note(tenant: TenantId, name: string, event: ConnectionEvent): void
  learn(tenant: TenantId): Promise<void>
}

interface Known {
  readonly tenant: TenantId
  readonly name: string
  state: ConnectionState
  /** Of its record; 0: there is none. */
  version: number
  /** Until when this node may make a trial. */
  mineUntil: Instant | null
  /** The lease that makes the trial now. */
  tried: string | null
  /** The result of this node's test of a document. */
  failed: { readonly hash: string; readonly class: FailureClass } | null
  /** Writes are serialized. */
  writing: Promise<void>
  wroteAt: number
}

export interface StateNotice {
  readonly writes: readonly Write[]
  readonly plans: readonly EventPlan[]
}

const RECORDS_PAGE = 200
const OPEN: CircuitGate = { is: 'open' }
/** Failures of a test that may pass by themselves: jobs wait for the next one. */
const PASSING: readonly FailureClass[] = ['transient', 'rate_limited', 'unknown']

export function makeConnectionStateCache(
  deps: Pick<EngineBase, 'store' | 'log' | 'time' | 'wake'> & {
    readonly registry: Pick<Registry, 'connection' | 'connections'>
    readonly commits: Pick<Commits, 'retryUntilAvailable'>
    /** The events of a step, in the commit that stores it. */
    planNotices(tenant: TenantId, document: ConnectionDocument, step: ConnectionStep): StateNotice
    readonly decisions: Pick<Decisions, 'stepConnection'>
    readonly unitOfWork: Pick<UnitOfWork, 'firmly'>
  },
): ConnectionStateCache {
  const { store, log, registry, time, commits } = deps
  const all = new Map<string, Known>()
  /** Names of those whose circuit is not closed. */
  const broken = new Set<string>()
  let writes = 0

  const nameOf = (tenant: TenantId, name: string) => `${tenant}/${name}`

  const find = (tenant: TenantId, name: string): Known => {
    const id = nameOf(tenant, name)
    let known = all.get(id)
    if (known === undefined) {
      known = {
        tenant,
        name,
        state: NEW_CONNECTION,
        version: 0,
        mineUntil: null,
        tried: null,
        failed: null,
        writing: Promise.resolve(),
        wroteAt: 0,
      }
      all.set(id, known)
    }
    return known
  }

  const put = (known: Known, state: ConnectionState) => {
    known.state = state
    const id = nameOf(known.tenant, known.name)
    if (state.circuit.state === 'closed') broken.delete(id)
    else broken.add(id)
    if (state.circuit.state === 'half-open') return
    known.mineUntil = null
    known.tried = null
  }

  const take = (known: Known, record: { readonly version: number; readonly body: string } | null) => {
    if (record === null) {
      if (known.version > 0) put(known, NEW_CONNECTION)
      known.version = 0
      return
    }
    if (record.version === known.version) return
    known.version = record.version
    known.mineUntil = null
    known.tried = null
    const read = JSON.parse(record.body) as ConnectionState
    // The counts of a closed circuit are this node's own.
    const isCounting = read.circuit.state === 'closed' && known.state.circuit.state === 'closed'
    const before = known.state
    put(known, isCounting ? { ...read, circuit: before.circuit } : read)
    if (isOpener(before, read)) deps.wake()
  }

  const reread = async (known: Known) => {
    const { tenant, name } = known
    take(known, await commits.retryUntilAvailable(() => store.forTenant(tenant).record('connection', name)))
  }

  /** Returns whether the stored state is as this node says. */
  const write = async (known: Known, step: ConnectionStep, extra: readonly Write[]): Promise<boolean> => {
    const { tenant, name, version } = known
    const document = registry.connection(tenant, name)?.document
    const planned: StateNotice =
      document === undefined || step.notices.length === 0
        ? { writes: [], plans: [] }
        : deps.planNotices(tenant, document, step)
    const { state } = step
    const kept = state.circuit.state === 'closed' ? { ...state, circuit: CLOSED } : state
    const body = stringifyJson(kept as unknown as Parameters<typeof stringifyJson>[0])
    let isStored = false
    try {
      known.wroteAt = Number.POSITIVE_INFINITY
      const result = await deps.unitOfWork.firmly(tenant, {
        guards: [{ g: 'version', of: 'connection', key: name, version }],
        writes: [
          { w: 'record.put', kind: 'connection', key: name, version: version + 1, body },
          ...planned.writes,
          ...extra,
        ],
        plans: planned.plans,
      })
      isStored = result.ok
    } finally {
      writes += 1
      known.wroteAt = writes
    }
    if (!isStored) {
      await reread(known)
      return false
    }
    known.version = version + 1
    return true
  }

  const writeNext = (known: Known, step: ConnectionStep, extra: readonly Write[] = []): Promise<boolean> => {
    const written = known.writing.then(() => write(known, step, extra))
    known.writing = written.then(
      () => {},
      (error: unknown) =>
        log.warn('connection.not-kept', { connection: known.name, error: messageOf(error) }),
    )
    return written
  }

  /** null: nothing of that name is deployed. */
  const step = (known: Known, event: ConnectionEvent): ConnectionStep | null => {
    const found = registry.connection(known.tenant, known.name)
    if (found === null) return null
    const before = known.state
    const stepped = deps.decisions.stepConnection(before, event, termsOf(found))
    if (stepped.state !== before) put(known, stepped.state)
    report(known, stepped)
    return stepped
  }

  const report = ({ tenant, name }: Known, { state, circuit, notices }: ConnectionStep) => {
    const fields = { tenant, connection: name }
    if (circuit === 'opened' || circuit === 'reopened') {
      const { circuit: broken } = state
      const tryAt = broken.state === 'closed' ? time.now() : broken.tryAt
      const word = circuit === 'opened' ? 'circuit.opened' : 'circuit.still-open'
      log[circuit === 'opened' ? 'warn' : 'info'](word, { ...fields, tryAt })
      deps.wake(Math.max(0, tryAt - time.now()))
    }
    if (circuit === 'closed') {
      log.info('circuit.closed', { ...fields, by: 'try' })
      deps.wake()
    }
    for (const notice of notices) {
      if (notice !== 'activated' && notice !== 'degraded' && notice !== 'recovered' && notice !== 'retired')
        continue
      log.info(`connection.${notice}`, fields)
      if (notice === 'activated' || notice === 'recovered') deps.wake()
    }
  }

  const note: ConnectionStateCache['note'] = (tenant, name, event) => {
    const known = find(tenant, name)
    const stepped = step(known, event)
    if (stepped?.mustStore === true) writeNext(known, stepped).catch(() => {})
  }

  const circuitGate = (known: Known, now: Instant): CircuitGate => {
    const { circuit } = known.state
    if (circuit.state === 'closed') return OPEN
    const why =
      circuit.by === 'probe'
        ? `the connection ${known.name} failed its latest probe (${circuit.class}); its jobs wait until a probe or a trial call passes`
        : `the circuit of the connection ${known.name} is open (${circuit.class}); it waits and tries one`
    if (known.mineUntil !== null && now < known.mineUntil)
      return known.tried === null ? { is: 'mine' } : { is: 'closed', untilAt: known.mineUntil, why }
    return now >= circuit.tryAt ? { is: 'tryable' } : { is: 'closed', untilAt: circuit.tryAt, why }
  }

  const pendingGate = ({ name, failed, state }: Known, hash: string): CircuitGate => {
    const isRefused = failed !== null && failed.hash === hash && !PASSING.includes(failed.class)
    if (!isRefused) {
      const why = `the connection ${name} waits for its first passed test`
      return { is: 'closed', untilAt: null, why }
    }
    const said = state.lastTest?.error == null ? '' : ` (${state.lastTest.error})`
    const why = `the connection ${name} did not pass its test${said}; fix it and test it: millrace connections test ${name}`
    return { is: 'refused', code: 'connection_pending', why }
  }

  return {
    gate(tenant, name) {
      const found = registry.connection(tenant, name)
      if (found === null) {
        const why = `there is no connection ${name}; apply its document, or name another`
        return { is: 'refused', code: 'connection_unknown', why }
      }
      const known = find(tenant, name)
      const status = connectionStatus(known.state, termsOf(found))
      if (status === 'retired') {
        const by = known.state.retired === null ? '' : ` by ${known.state.retired.by}`
        const why = `the connection ${name} was retired${by} and runs nothing; name another, or apply its document again`
        return { is: 'refused', code: 'connection_retired', why }
      }
      if (status === 'pending') return pendingGate(known, found.hash)
      const now = time.now()
      const override = overrideAt(known.state, now)
      if (override === null) return circuitGate(known, now)
      if (override.is === 'closed') return OPEN
      const why = `${override.by} opened the circuit of the connection ${name}: ${override.reason}`
      return { is: 'closed', untilAt: override.until, why }
    },
    state(tenant, name) {
      const { state } = find(tenant, name)
      const found = registry.connection(tenant, name)
      return found === null ? state : { ...state, status: connectionStatus(state, termsOf(found)) }
    },
    async mayTry(tenant, name, by) {
      const known = find(tenant, name)
      await known.writing
      const stepped = step(known, { type: 'tried', at: time.now() })
      if (stepped?.circuit !== 'trying') return false
      const { circuit } = stepped.state
      const until = circuit.state === 'half-open' ? circuit.tryAt : null
      if (!(await writeNext(known, stepped))) return false
      known.mineUntil = until
      known.tried = by ?? null
      log.info('circuit.trying', { tenant, connection: name })
      return true
    },
    enter(tenant, name, hold) {
      const known = broken.size === 0 ? undefined : all.get(nameOf(tenant, name))
      if (known === undefined || known.state.circuit.state === 'closed') return true
      if (overrideAt(known.state, time.now())?.is === 'closed' || known.tried === hold) return true
      const isMine = known.mineUntil !== null && time.now() < known.mineUntil
      if (!isMine || known.tried !== null) return false
      known.tried = hold
      return true
    },
    isTry: (tenant, name, hold) => broken.size > 0 && all.get(nameOf(tenant, name))?.tried === hold,
    finished(hold) {
      if (broken.size === 0) return
      for (const id of broken) {
        const known = all.get(id)
        if (known?.tried !== hold) continue
        known.tried = null
        deps.wake()
      }
    },
    reportResult(tenant, name, failureClass, isTry) {
      const known = all.get(nameOf(tenant, name))
      if (failureClass === null && (known === undefined || known.state.circuit === CLOSED)) return
      note(tenant, name, { type: 'told', at: time.now(), class: failureClass, isTry })
    },
    note,
    tried(tenant, name, failureClass) {
      const hash = registry.connection(tenant, name)?.hash
      const known = find(tenant, name)
      known.failed = failureClass === null || hash === undefined ? null : { hash, class: failureClass }
    },
    change(tenant, name, event, extra = []) {
      const known = find(tenant, name)
      const changeOnce = async (retry: () => Promise<ConnectionState>): Promise<ConnectionState> => {
        await known.writing
        const stepped = step(known, event)
        if (stepped === null) throw new AppError('not_found', `there is no connection ${name} in force`)
        if (!(await writeNext(known, stepped, extra))) return retry()
        deps.wake()
        return stepped.state
      }
      const unending = orConflict(`the connection ${name} changes without end; try again`)
      return retrying(RACES_MAX, changeOnce, unending)
    },
    async learn(tenant) {
      if (registry.connections(tenant).length === 0) return
      const mark = writes
      const found: StoredRecord[] = []
      let cursor: string | null = null
      do {
        const page = await store
          .forTenant(tenant)
          .records({ kind: 'connection', cursor, limit: RECORDS_PAGE })
        found.push(...page.items)
        cursor = page.nextCursor
      } while (cursor !== null)
      const kept = new Map(found.map((record) => [record.key, record]))
      for (const known of all.values()) {
        // The read may have missed what this node wrote meanwhile.
        if (known.tenant !== tenant || known.wroteAt > mark) continue
        if (!kept.has(known.name)) take(known, null)
      }
      for (const [name, record] of kept) {
        const known = find(tenant, name)
        if (known.wroteAt <= mark) take(known, record)
      }
    },
  }
}

/** Jobs that were held back may continue. */
function isOpener(before: ConnectionState, after: ConnectionState): boolean {
  return (
    (before.circuit.state !== 'closed' && after.circuit.state === 'closed') ||
    before.testedHash !== after.testedHash ||
    before.override !== after.override
  )
}

function termsOf({ document, hash }: Deployed<ConnectionDocument>): ConnectionTerms {
  return { hash, isRetired: document.status === 'retired', circuit: document.circuit }
}
