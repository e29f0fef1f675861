// States as the numbers that partial indexes name. The order is part of the schema: add at the end only.

import type { RunState } from '../../core/effects/integration-run/index.ts'
import type { LedgerState } from '../../core/effects/ledger/index.ts'
import type { WorkState } from '../../core/queue/work/index.ts'
import type { InstanceState } from '../../core/workflows/instance/index.ts'

export const WORK_STATE_OF = [
  'done',
  'leased',
  'ready',
  'waiting',
  'skipped',
  'merged',
  'parked',
  'dead',
  'cancelled',
] as const satisfies readonly WorkState[]

export const WORK_CODE: Readonly<Record<WorkState, number>> = {
  done: 0,
  leased: 1,
  ready: 2,
  waiting: 3,
  skipped: 4,
  merged: 5,
  parked: 6,
  dead: 7,
  cancelled: 8,
}

export const LEDGER_STATE_OF = [
  'done',
  'reserved',
  'released',
  'unknown',
] as const satisfies readonly LedgerState[]

export const LEDGER_CODE: Readonly<Record<LedgerState, number>> = {
  done: 0,
  reserved: 1,
  released: 2,
  unknown: 3,
}

export const INSTANCE_STATE_OF = [
  'active',
  'completed',
  'failed',
  'cancelled',
] as const satisfies readonly InstanceState[]

export const INSTANCE_CODE: Readonly<Record<InstanceState, number>> = {
  active: 0,
  completed: 1,
  failed: 2,
  cancelled: 3,
}

export const RUN_STATE_OF = [
  'completed',
  'running',
  'pending',
  'failed',
  'dead-lettered',
] as const satisfies readonly RunState[]

export const RUN_CODE: Readonly<Record<RunState, number>> = {
  completed: 0,
  running: 1,
  pending: 2,
  failed: 3,
  'dead-lettered': 4,
}
