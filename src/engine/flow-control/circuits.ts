// The circuits of routes, and of the steps and triggers of workflows: counted in this node's memory, and stored when they open, are probed or close, so that a
// restart and the other nodes know. One probe at a time over all nodes: the first node to write it makes it.

import { type CircuitPolicy, USUAL_CIRCUIT } from '../../core/definitions/documents/index.ts'
import { type CanonicalSubject, isCanonical } from '../../core/events/canonical/index.ts'
import { causeHash } from '../../core/failures/escalation/index.ts'
import type { FailureClass } from '../../core/failures/failure/index.ts'
import {
  type BrokenCircuit,
  type Circuit,
  type CircuitEvent,
  type CircuitOutcome,
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

/** As stored under the circuit's name; absent: closed. */
interface CircuitRecord extends BrokenCircuit {
  /** Not announced: the failed job was itself about an event of this system. */
  readonly isQuiet: boolean
}

interface Known {
  readonly tenant: TenantId
  /** By `circuitName`. */
  readonly circuitName: string
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
  gate(tenant: TenantId, name: string): CircuitGate
  /** Whether no circuit is open at all: the short path of nearly every lease on insert. */
  isQuiet(): boolean
  /** Writes a probe; false: another node was first, or the circuit is closed. */
  begin(tenant: TenantId, route: Route): Promise<boolean>
  /** A job of a broken circuit was claimed: the first one is the probe. */
  claimed(item: Item, name: string): void
  isTry(item: Item, name: string): boolean
  /** The job has ended; without a reported result, another may be the probe. */
  finished(item: Item): void
  /** `outcome`: where what it says does not follow from its class. */
  reportResult(item: Item, route: Route, failureClass: FailureClass | null, outcome?: CircuitOutcome): void
  /** The write counter, to be passed with what is read from now on. */
  mark(): number
  /** The tenant's records, as read after `mark`. */
  adopt(tenant: TenantId, records: readonly StoredRecord[], mark: number): void
  view(tenant: TenantId, name: string): Circuit
  /** An operator's reset; false: it is closed. */
  reset(tenant: TenantId, route: Route): Promise<boolean>
}

/**
 * A route's is stored under its consumer. Each step and each trigger of a workflow has its own, although all of them have one
 * consumer.
 */
export function circuitName({ consumer, document, of }: Route): string {
  return of?.kind === 'step' || of?.kind === 'trigger' ? `workflow:${document.name}` : consumer
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

  const find = (tenant: TenantId, circuitName: string): Known => {
    const name = nameOf(tenant, circuitName)
    let known = all.get(name)
    if (known === undefined) {
      known = {
        tenant,
        circuitName,
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
    if (isIdle) all.delete(nameOf(known.tenant, known.circuitName))
    else all.set(nameOf(known.tenant, known.circuitName), known)
  }

  const reread = async (known: Known) => {
    const found = await commits.retryUntilAvailable(() =>
      store.forTenant(known.tenant).record('circuit', known.circuitName),
    )
    take(known, found === null ? null : { key: known.circuitName, ...found })
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
    const { tenant, isQuiet, circuit } = known
    const { consumer } = route
    const { deadLetter } = route.document
    const part = partOf(route)
    const writes: Write[] = []
    if (change === 'opened' && circuit.state !== 'closed') {
      const of = { consumer, class: circuit.class, reason: CIRCUIT_OPEN }
      writes.push({
        w: 'escalation.raise',
        row: {
          ...of,
          id: ids.escalation(),
          cause: causeHash({ ...of, error: part?.part ?? '', isCanonical: isQuiet }),
          severity: deadLetter.severity,
          runbook: deadLetter.runbook,
          lastError: error,
          workId: null,
        },
      })
    }
    if (isQuiet) return { writes, plans: [] }
    const about = { ...(part ?? { route: route.document.name }), consumer }
    const plan = canonicalEvent(
      { ids, plan: deps.plan },
      {
        tenant,
        subject: subjectOf(part === null ? 'route' : 'workflow', change),
        data:
          circuit.state === 'closed'
            ? about
            : { ...about, class: circuit.class, tryAt: new Date(circuit.tryAt).toISOString() },
        key: ids.uuid(),
        parent: null,
        object:
          part === null
            ? { type: 'route', id: route.document.name }
            : { type: 'workflow', id: part.workflow },
      },
    )
    return { writes: [...writes, ...plan.writes], plans: [plan] }
  }

  /** Returns whether the stored state is this node's. */
  const write = async (known: Known, route: Route, change: 'opened' | 'closed' | null): Promise<boolean> => {
    const { tenant, circuitName: key, version, circuit, isQuiet } = known
    const notice =
      change === null ? { writes: [], plans: [] } : logCircuit(known, route, change, errorOf(route, circuit))
    const record: Write =
      circuit.state === 'closed'
        ? { w: 'record.delete', kind: 'circuit', key }
        : {
            w: 'record.put',
            kind: 'circuit',
            key,
            version: version + 1,
            body: stringifyJson({ ...circuit, isQuiet }),
          }
    let isStored = false
    try {
      known.wroteAt = Number.POSITIVE_INFINITY
      const result = await deps.unitOfWork.firmly(tenant, {
        guards: [{ g: 'version', of: 'circuit', key, version }],
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
      (error: unknown) =>
        log.warn('circuit.not-kept', { consumer: known.circuitName, error: messageOf(error) }),
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
    gate(tenant, name) {
      if (broken === 0) return FREE
      const known = all.get(nameOf(tenant, name))
      if (known === undefined || known.circuit.state === 'closed') return FREE
      const now = time.now()
      if (known.mineUntil !== null && now < known.mineUntil) {
        return known.tried === null ? { is: 'mine' } : { is: 'open', untilAt: known.mineUntil }
      }
      const { tryAt } = known.circuit
      return now >= tryAt ? { is: 'tryable' } : { is: 'open', untilAt: tryAt }
    },
    async begin(tenant, route) {
      const known = find(tenant, circuitName(route))
      await known.writing
      if (step(known, { type: 'tried', at: time.now() }, route) !== 'trying') return false
      const until = known.circuit.state === 'half-open' ? known.circuit.tryAt : null
      if (!(await writeNext(known, route, null))) return false
      known.mineUntil = until
      log.info('circuit.trying', { tenant, route: route.document.name })
      return true
    },
    claimed(item, name) {
      const known = broken === 0 ? undefined : all.get(nameOf(item.work.tenant, name))
      if (known !== undefined && known.mineUntil !== null && known.tried === null) known.tried = holdOf(item)
    },
    isTry: (item, name) => all.get(nameOf(item.work.tenant, name))?.tried === holdOf(item),
    finished(item) {
      if (broken === 0) return
      const hold = holdOf(item)
      for (const known of all.values()) {
        if (known.tried !== hold) continue
        known.tried = null
        deps.wake()
      }
    },
    reportResult(item, route, failureClass, outcome) {
      const { tenant } = item.work
      const own = circuitName(route)
      const name = nameOf(tenant, own)
      if (failureClass === null && !all.has(name)) return
      if (policyOf(route) === null && !all.has(name)) return
      const known = find(tenant, own)
      const change = step(
        known,
        {
          type: 'told',
          at: time.now(),
          class: failureClass,
          isTry: known.tried === holdOf(item),
          ...(outcome !== undefined && { outcome }),
        },
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
      const byName = new Map(records.map((record) => [record.key, record]))
      for (const known of [...all.values()]) {
        if (known.tenant !== tenant || known.version === 0 || known.wroteAt > mark) continue
        const record = byName.get(known.circuitName) ?? null
        const wasBroken = broken
        take(known, record)
        if (broken < wasBroken) deps.wake()
      }
      for (const record of records) {
        const known = find(tenant, record.key)
        if (known.wroteAt <= mark) take(known, record)
      }
    },
    view: (tenant, name) => all.get(nameOf(tenant, name))?.circuit ?? CLOSED,
    async reset(tenant, route) {
      const known = find(tenant, circuitName(route))
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

/** null: a route. */
function partOf({ of, document }: Route): { readonly workflow: string; readonly part: string } | null {
  if (of?.kind !== 'step' && of?.kind !== 'trigger') return null
  return { workflow: of.workflow, part: document.name.slice(of.workflow.length + 1) }
}

function subjectOf(of: 'route' | 'workflow', change: 'opened' | 'closed'): CanonicalSubject {
  if (of === 'route') return change === 'opened' ? 'integration.route.paused' : 'integration.route.resumed'
  return change === 'opened' ? 'integration.workflow.paused' : 'integration.workflow.resumed'
}

function errorOf(route: Route, circuit: Circuit): string {
  if (circuit.state === 'closed') return ''
  if (route.of?.kind === 'trigger')
    return `too many events of ${route.document.name} failed (${circuit.class}); later ones wait, and one is tried`
  return `too many calls of ${route.document.name} failed (${circuit.class}); it waits and tries one`
}
