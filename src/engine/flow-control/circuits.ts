// The circuits of routes: counted in this node's memory, and stored when they open, are probed or close, so that a
// restart and the other nodes know. One probe at a time over all nodes: the first node to write it makes it.

import { type CircuitPolicy, USUAL_CIRCUIT } from '../../core/definitions/documents/index.ts'
import { isCanonical } from '../../core/events/canonical/index.ts'
import { causeHash } from '../../core/failures/escalation/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import {
  type BrokenCircuit,
  type Circuit,
  type CircuitEvent,
  CLOSED,
} from '../../core/flow-control/circuit/index.ts'
import { messageOf } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { stringifyJson } from '../../core/foundation/json/index.ts'
import { DAY, type Instant } from '../../core/foundation/time/index.ts'
import type { Route } from '../../core/routing/index.ts'
import type { StoredRecord, Write } from '../../ports/store.ts'
import type { Commits, EngineBase, UnitOfWork } from '../commit/index.ts'
import { canonicalEvent } from '../events/index.ts'
import type { Item } from '../leases/index.ts'
import type { Decisions } from '../settlement/index.ts'
import { holdOf, nameOf } from './consumer-keys.ts'

/** As stored under the route's consumer; absent: closed. */
interface CircuitRecord extends BrokenCircuit {
  /** Not announced: the failed job was itself about an event of this system. */
  readonly isQuiet: boolean
}

interface Known {
  readonly tenant: TenantId
  readonly consumer: string
  circuit: Circuit
  isQuiet: boolean
  /** Of its record; 0: there is none. */
  version: number
  /** Until when this node may make the probe. */
  mineUntil: Instant | null
  /** The claim of the job that is the probe now. */
  tried: string | null
  /** Writes are serialized. */
  writing: Promise<void>
  /** When it was last written, by the write counter: a record read before that is outdated. */
  wroteAt: number
}

export type CircuitGate =
  | { readonly is: 'closed' | 'mine' | 'tryable' }
  | { readonly is: 'open'; readonly untilAt: Instant }

export interface Circuits {
  gate(tenant: TenantId, consumer: string): CircuitGate
  /** Whether no circuit is open at all: the short path of nearly every lease on insert. */
  isQuiet(): boolean
  /** Writes a probe; false: another node was first, or the circuit is closed. */
  begin(tenant: TenantId, route: Route): Promise<boolean>
  /** A job of a broken circuit was claimed: the first one is the probe. */
  claimed(item: Item): void
  isTry(item: Item): boolean
  /** The job has ended; without a reported result, another may be the probe. */
  finished(item: Item): void
  reportResult(item: Item, route: Route, failureClass: FailureClass | null): void
  /** The write counter, to be passed with what is read from now on. */
  mark(): number
  /** The tenant's records, as read after `mark`. */
  adopt(tenant: TenantId, records: readonly StoredRecord[], mark: number): void
  view(tenant: TenantId, consumer: string): Circuit
  /** An operator's reset; false: it is closed. */
  reset(tenant: TenantId, route: Route): Promise<boolean>
}

function policyOf({ document }: Route): CircuitPolicy | null {
  return document.circuit === 'off' ? null : (document.circuit ?? USUAL_CIRCUIT)
}

export function makeCircuits(
  deps: Pick<EngineBase, 'store' | 'log' | 'time' | 'ids' | 'plan'> & {
    readonly commits: Pick<Commits, 'retryUntilAvailable'>
    readonly decisions: Pick<Decisions, 'stepCircuit'>
    readonly unitOfWork: Pick<UnitOfWork, 'firmly'>
    /** Jobs may be claimed again, now or after `delayMs`. */
    wake(delayMs?: number): void
  },
): Circuits {
  const { store, log, time, ids, commits } = deps
  const all = new Map<string, Known>()
  let broken = 0
  let writes = 0

  const find = (tenant: TenantId, consumer: string): Known => {
    const name = nameOf(tenant, consumer)
    let known = all.get(name)
    if (known === undefined) {
      known = {
        tenant,
        consumer,
        circuit: CLOSED,
        isQuiet: false,
        version: 0,
        mineUntil: null,
        tried: null,
        writing: Promise.resolve(),
        wroteAt: 0,
      }
      all.set(name, known)
    }
    return known
  }

  const put = (known: Known, circuit: Circuit) => {
    broken += Number(circuit.state !== 'closed') - Number(known.circuit.state !== 'closed')
    known.circuit = circuit
    if (circuit.state !== 'half-open') {
      known.mineUntil = null
      known.tried = null
    }
    const isIdle = circuit === CLOSED && known.version === 0
    if (isIdle) all.delete(nameOf(known.tenant, known.consumer))
    else all.set(nameOf(known.tenant, known.consumer), known)
  }

  const reread = async (known: Known) => {
    const found = await commits.retryUntilAvailable(() =>
      store.forTenant(known.tenant).record('circuit', known.consumer),
    )
    take(known, found === null ? null : { key: known.consumer, ...found })
  }

  const take = (known: Known, record: StoredRecord | null) => {
    if (record === null) {
      known.version = 0
      if (known.circuit.state !== 'closed') put(known, CLOSED)
      return
    }
    if (record.version === known.version) return
    const { isQuiet, ...circuit } = JSON.parse(record.body) as CircuitRecord
    known.version = record.version
    known.isQuiet = isQuiet
    known.mineUntil = null
    known.tried = null
    const now = time.now()
    // Written by a clock that was ahead: it must not stop the route forever.
    put(known, circuit.tryAt > now + OPEN_MS_MAX ? { ...circuit, tryAt: now } : circuit)
  }

  /** The event and the escalation of a change, in the commit that stores it. */
  const logCircuit = (known: Known, route: Route, change: 'opened' | 'closed', error: string) => {
    const { tenant, consumer, isQuiet, circuit } = known
    const { name, deadLetter } = route.document
    const writes: Write[] = []
    if (change === 'opened' && circuit.state !== 'closed') {
      const of = { consumer, class: circuit.class, reason: CIRCUIT_OPEN }
      writes.push({
        w: 'escalation.raise',
        row: {
          ...of,
          id: ids.escalation(),
          cause: causeHash({ ...of, error: '', isCanonical: isQuiet }),
          severity: deadLetter.severity,
          runbook: deadLetter.runbook,
          lastError: error,
          workId: null,
        },
      })
    }
    if (isQuiet) return { writes, plans: [] }
    const plan = canonicalEvent(
      { ids, plan: deps.plan },
      {
        tenant,
        subject: change === 'opened' ? 'integration.route.paused' : 'integration.route.resumed',
        data:
          circuit.state === 'closed'
            ? { route: name, consumer }
            : { route: name, consumer, class: circuit.class, tryAt: new Date(circuit.tryAt).toISOString() },
        key: ids.uuid(),
        parent: null,
        object: { type: 'route', id: name },
      },
    )
    return { writes: [...writes, ...plan.writes], plans: [plan] }
  }

  /** Returns whether the stored state is this node's. */
  const write = async (known: Known, route: Route, change: 'opened' | 'closed' | null): Promise<boolean> => {
    const { tenant, consumer, version, circuit, isQuiet } = known
    const notice =
      change === null ? { writes: [], plans: [] } : logCircuit(known, route, change, errorOf(route, circuit))
    const record: Write =
      circuit.state === 'closed'
        ? { w: 'record.delete', kind: 'circuit', key: consumer }
        : {
            w: 'record.put',
            kind: 'circuit',
            key: consumer,
            version: version + 1,
            body: stringifyJson({ ...circuit, isQuiet }),
          }
    let isStored = false
    try {
      known.wroteAt = Number.POSITIVE_INFINITY
      const result = await deps.unitOfWork.firmly(tenant, {
        guards: [{ g: 'version', of: 'circuit', key: consumer, version }],
        writes: [record, ...notice.writes],
        plans: notice.plans,
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
    known.version = circuit.state === 'closed' ? 0 : version + 1
    if (known.circuit === CLOSED) put(known, CLOSED)
    return true
  }

  const writeNext = (known: Known, route: Route, change: 'opened' | 'closed' | null): Promise<boolean> => {
    const written = known.writing.then(() => write(known, route, change))
    known.writing = written.then(
      () => {},
      (error: unknown) => log.warn('circuit.not-kept', { consumer: known.consumer, error: messageOf(error) }),
    )
    return written
  }

  const step = (known: Known, event: CircuitEvent, route: Route) => {
    const policy = policyOf(route) ?? USUAL_CIRCUIT
    const { circuit, change } = deps.decisions.stepCircuit(known.circuit, event, policy)
    if (circuit !== known.circuit) put(known, circuit)
    return change
  }

  return {
    isQuiet: () => broken === 0,
    gate(tenant, consumer) {
      if (broken === 0) return FREE
      const known = all.get(nameOf(tenant, consumer))
      if (known === undefined || known.circuit.state === 'closed') return FREE
      const now = time.now()
      if (known.mineUntil !== null && now < known.mineUntil) {
        return known.tried === null ? { is: 'mine' } : { is: 'open', untilAt: known.mineUntil }
      }
      const { tryAt } = known.circuit
      return now >= tryAt ? { is: 'tryable' } : { is: 'open', untilAt: tryAt }
    },
    async begin(tenant, route) {
      const known = find(tenant, route.consumer)
      await known.writing
      if (step(known, { type: 'tried', at: time.now() }, route) !== 'trying') return false
      const until = known.circuit.state === 'half-open' ? known.circuit.tryAt : null
      if (!(await writeNext(known, route, null))) return false
      known.mineUntil = until
      log.info('circuit.trying', { tenant, route: route.document.name })
      return true
    },
    claimed(item) {
      const { tenant, consumer } = item.work
      const known = broken === 0 ? undefined : all.get(nameOf(tenant, consumer))
      if (known !== undefined && known.mineUntil !== null && known.tried === null) known.tried = holdOf(item)
    },
    isTry: (item) => all.get(nameOf(item.work.tenant, item.work.consumer))?.tried === holdOf(item),
    finished(item) {
      const known = broken === 0 ? undefined : all.get(nameOf(item.work.tenant, item.work.consumer))
      if (known === undefined || known.tried !== holdOf(item)) return
      known.tried = null
      deps.wake()
    },
    reportResult(item, route, failureClass) {
      const { tenant, consumer } = item.work
      const name = nameOf(tenant, consumer)
      if (failureClass === null && !all.has(name)) return
      if (policyOf(route) === null && !all.has(name)) return
      const known = find(tenant, consumer)
      const change = step(
        known,
        { type: 'told', at: time.now(), class: failureClass, isTry: known.tried === holdOf(item) },
        route,
      )
      if (change === null) return
      if (change === 'opened') known.isQuiet = isCanonical(item.event)
      const { circuit } = known
      const fields = { tenant, route: route.document.name, class: failureClass }
      if (circuit.state !== 'closed') {
        const level = change === 'opened' ? 'warn' : 'info'
        log[level](change === 'opened' ? 'circuit.opened' : 'circuit.still-open', {
          ...fields,
          tryAt: circuit.tryAt,
        })
        deps.wake(Math.max(0, circuit.tryAt - time.now()))
      } else {
        log.info('circuit.closed', { ...fields, by: 'try' })
        deps.wake()
      }
      writeNext(known, route, change === 'opened' || change === 'closed' ? change : null).catch(() => {})
    },
    mark: () => writes,
    adopt(tenant, records, mark) {
      const byConsumer = new Map(records.map((record) => [record.key, record]))
      for (const known of [...all.values()]) {
        if (known.tenant !== tenant || known.version === 0 || known.wroteAt > mark) continue
        const record = byConsumer.get(known.consumer) ?? null
        const wasBroken = broken
        take(known, record)
        if (broken < wasBroken) deps.wake()
      }
      for (const record of records) {
        const known = find(tenant, record.key)
        if (known.wroteAt <= mark) take(known, record)
      }
    },
    view: (tenant, consumer) => all.get(nameOf(tenant, consumer))?.circuit ?? CLOSED,
    async reset(tenant, route) {
      const known = find(tenant, route.consumer)
      await known.writing
      await reread(known)
      if (step(known, { type: 'reset' }, route) !== 'closed') return false
      const isDone = await writeNext(known, route, 'closed')
      deps.wake()
      return isDone
    },
  }
}

/** A little more than `openFor` may say. */
const OPEN_MS_MAX = 2 * DAY
const FREE: CircuitGate = { is: 'closed' }
/** The reason of its escalation. */
const CIRCUIT_OPEN = 'circuit_open'

function errorOf(route: Route, circuit: Circuit): string {
  if (circuit.state === 'closed') return ''
  return `too many calls of ${route.document.name} failed (${circuit.class}); it waits and tries one`
}
