// Reads instances for users: the current state, the history, and the state at any moment or step. Encrypted fields are
// decrypted for users who may see them; for others they stay encrypted and show as hidden.
//
// Invariants: HD2 a user who may not see a workflow reads none of its instances. HD7 an encrypted value reaches no
// viewer, neither in data nor in history nor in results of steps.

import { HIDDEN, isEncrypted } from '../../../core/events/sensitive/index.ts'
import { AppError } from '../../../core/foundation/errors/index.ts'
import type { InstanceId, TenantId } from '../../../core/foundation/ids/index.ts'
import { isNumeral, type JsonValue } from '../../../core/foundation/json/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import type {
  HistoryEntry,
  HistoryRow,
  Instance,
  InstanceRow,
} from '../../../core/workflows/instance/index.ts'
import {
  decodeHistory,
  decodeInstance,
  type PastInstance,
  rebuildInstance,
  type Until,
  type Workflow,
} from '../../../core/workflows/machine/index.ts'
import { EncryptionError } from '../../../ports/encryption.ts'
import type { Page, TenantReads } from '../../../ports/store.ts'
import type { EngineBase } from '../../commit/index.ts'
import type { Registry } from '../../definitions/index.ts'
import { encryptedPaths, encryptInstance, openHistory, openInstance } from '../instances/index.ts'
import type { Operator } from './instance-actions.ts'
import { assertSees, maySee, seesClear } from './workflow-permissions.ts'

export interface ReadInstance {
  readonly row: InstanceRow
  readonly workflow: Workflow
  readonly instance: Instance
}

export interface ReadEntry {
  readonly sequence: number
  readonly at: Instant
  readonly entry: HistoryEntry
}

export interface ReadPast {
  readonly row: InstanceRow
  readonly workflow: Workflow
  readonly past: PastInstance
  /** From the first, as far as it is included. */
  readonly entries: readonly ReadEntry[]
}

export interface InstanceReading {
  /** Throws AppError: there is none, or the caller may not see it. */
  one(operator: Operator, id: InstanceId): Promise<ReadInstance>
  /** Oldest first, those after `after`. */
  history(
    operator: Operator,
    id: InstanceId,
    query: { readonly after: number; readonly limit: number },
  ): Promise<readonly ReadEntry[]>
  /** As it was then. Throws AppError also if it did not exist yet. */
  at(operator: Operator, id: InstanceId, until: Until): Promise<ReadPast>
  /** As viewers may see it. */
  hide(tenant: TenantId, workflow: Workflow, instance: Instance): Instance
  list(operator: Operator, query: Parameters<TenantReads['instances']>[0]): Promise<Page<InstanceRow>>
  /** Whether the caller may see instances of the deployed workflow of this name. */
  maySee(operator: Operator, workflow: string): boolean
}

const HISTORY_PAGE = 500
/** A longer history is read by its pages. */
const REBUILT_MAX = 20_000

export function makeInstanceReading(
  deps: Pick<EngineBase, 'store' | 'encryption' | 'log'> & {
    readonly registry: Pick<Registry, 'pinnedWorkflow' | 'workflow'>
  },
): InstanceReading {
  const { store, encryption, registry } = deps

  const workflowOf = async (tenant: TenantId, { id, definition }: InstanceRow): Promise<Workflow> => {
    const workflow = await registry.pinnedWorkflow(tenant, definition)
    if (workflow === null)
      throw new AppError('definition_missing', `the definition of instance ${id} is not in the store`)
    return workflow
  }

  const find = async (operator: Operator, id: InstanceId) => {
    const row = await store.forTenant(operator.tenant).instance(id)
    if (row === null) throw new AppError('not_found', `there is no instance ${id.slice(0, 100)}`)
    const workflow = await workflowOf(operator.tenant, row)
    assertSees(operator, workflow.document)
    return { row, workflow }
  }

  /** Rebuilt from clear values, because hidden ones cannot be applied; then hidden. */
  const hideData = (
    tenant: TenantId,
    id: InstanceId,
    { document }: Workflow,
    { data, metadata }: PastInstance,
  ) => {
    const bare = { id, data, metadata, done: [], firings: [] } as unknown as Instance
    const hidden = maskInstance(encryptInstance(encryption, tenant, document, bare))
    return { data: hidden.data, metadata: hidden.metadata }
  }

  const readEntry = (
    operator: Operator,
    { document }: Workflow,
    id: InstanceId,
    row: HistoryRow,
  ): ReadEntry => {
    const stored = decodeHistory(row)
    const entry = seesClear(operator, document)
      ? openHistory(encryption, operator.tenant, id, stored)
      : (mask(stored as unknown as JsonValue) as unknown as HistoryEntry)
    return { sequence: row.sequence, at: row.at, entry }
  }

  const logRead = (operator: Operator, id: InstanceId, { document }: Workflow) => {
    if (encryptedPaths(document).length === 0 || !seesClear(operator, document)) return
    deps.log.info('instance.sensitive-read', {
      tenant: operator.tenant,
      instance: id,
      workflow: document.name,
      actor: operator.actor,
    })
  }

  return {
    async one(operator, id) {
      const { row, workflow } = await find(operator, id)
      const stored = decodeInstance(row)
      logRead(operator, id, workflow)
      const instance = seesClear(operator, workflow.document)
        ? openOrRefuse(() => openInstance(encryption, operator.tenant, workflow.document, stored))
        : maskInstance(stored)
      return { row, workflow, instance }
    },

    async history(operator, id, query) {
      const { workflow } = await find(operator, id)
      const rows = await store.forTenant(operator.tenant).instanceHistory(id, query)
      logRead(operator, id, workflow)
      return rows.map((row) => readEntry(operator, workflow, id, row))
    },

    async at(operator, id, until) {
      const { row, workflow } = await find(operator, id)
      logRead(operator, id, workflow)
      const stored = await readUntil(store.forTenant(operator.tenant), id, until)
      const opened = stored.map((one) => ({
        ...openHistory(encryption, operator.tenant, id, decodeHistory(one)),
        sequence: one.sequence,
        at: one.at,
      }))
      if (workflow.document.security?.audit === 'none')
        throw new AppError('conflict', 'its history is not stored: its workflow has `audit: none`')
      const past = rebuildInstance(opened, until)
      if (past === null) throw new AppError('not_found', 'the instance was not there yet')
      return {
        row,
        workflow,
        past: seesClear(operator, workflow.document)
          ? past
          : { ...past, ...hideData(operator.tenant, id, workflow, past) },
        entries: stored.map((one) => readEntry(operator, workflow, id, one)),
      }
    },

    hide: (tenant, { document }, instance) =>
      maskInstance(encryptInstance(encryption, tenant, document, instance)),

    async list(operator, query) {
      const page = await store.forTenant(operator.tenant).instances(query)
      const seen = new Map<string, boolean>()
      const items: InstanceRow[] = []
      for (const row of page.items) {
        const known = seen.get(row.definition)
        const sees = known ?? (await seesRow(operator, row))
        seen.set(row.definition, sees)
        if (sees) items.push(row)
      }
      return { items, nextCursor: page.nextCursor }
    },

    maySee(operator, name) {
      const workflow = registry.workflow(operator.tenant, name)
      return workflow === null ? operator.role === 'admin' : maySee(operator, workflow.document)
    },
  }

  /** An instance whose definition is lost is shown to users who may see everything. */
  async function seesRow(operator: Operator, { definition }: InstanceRow): Promise<boolean> {
    const workflow = await registry.pinnedWorkflow(operator.tenant, definition)
    return workflow === null ? operator.role === 'admin' : maySee(operator, workflow.document)
  }
}

async function readUntil(
  reads: Pick<TenantReads, 'instanceHistory'>,
  id: InstanceId,
  until: Until,
): Promise<readonly HistoryRow[]> {
  const rows: HistoryRow[] = []
  for (let after = 0; ; ) {
    const page = await reads.instanceHistory(id, { after, limit: HISTORY_PAGE })
    const part = page.filter((row) => !isAfter(row, until))
    rows.push(...part)
    const last = page.at(-1)
    if (last === undefined || part.length < HISTORY_PAGE) return rows
    if (rows.length >= REBUILT_MAX)
      throw new AppError('conflict', `its history has more than ${REBUILT_MAX} rows; read it by pages`)
    after = last.sequence
  }
}

function isAfter({ at, sequence }: HistoryRow, until: Until): boolean {
  return 'at' in until ? at > until.at : sequence > until.sequence
}

function openOrRefuse(open: () => Instance): Instance {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof EncryptionError)) throw error
    throw new AppError('secret_unreadable', 'what the workflow encrypts does not open here', { cause: error })
  }
}

function maskInstance(instance: Instance): Instance {
  return {
    ...instance,
    data: mask(instance.data) as Instance['data'],
    metadata: mask(instance.metadata) as Instance['metadata'],
    done: instance.done.map((step) => ({ ...step, result: mask(step.result) })),
    firings: instance.firings.map((firing) =>
      firing.input === undefined ? firing : { ...firing, input: mask(firing.input) },
    ),
  }
}

/** A copy with all encrypted values hidden. */
function mask(value: JsonValue): JsonValue {
  if (typeof value === 'string') return isEncrypted(value) ? HIDDEN : value
  if (typeof value !== 'object' || value === null || isNumeral(value)) return value
  if (Array.isArray(value)) return value.map(mask)
  const copy: Record<string, JsonValue> = {}
  for (const [name, member] of Object.entries(value)) {
    // Defined, not set: a member may be called `__proto__`.
    Object.defineProperty(copy, name, {
      value: mask(member),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return copy
}
