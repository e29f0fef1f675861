// The backlog in /metrics, read from time to time and not per request: anyone may request it. A value that cannot be
// known now is left out, so that an old figure is not taken for a new one, or a missing one for zero.

import type { BacklogAges, Engine } from '../engine/index.ts'
import type { Gauge } from '../http/index.ts'

const EVERY_MS = 5_000

export interface Figures {
  gauges(): readonly Gauge[]
  close(): void
}

export function noteFigures(deps: {
  backlog: Engine['backlog']
  /** null: this node publishes nothing to the bus. */
  readonly relay: Engine['relay']
  now(): number
}): Figures {
  let backlog: readonly Gauge[] = []
  let outbox: readonly Gauge[] = []
  let isBusy = false
  const look = async () => {
    backlog = await deps.backlog().then(backlogGauges, () => [])
    if (deps.relay === null) return
    outbox = await deps.relay.status().then(
      (status) => outboxGauges(status, deps.now()),
      () => [],
    )
  }
  const timer = setInterval(() => {
    if (isBusy) return
    isBusy = true
    void look().finally(() => {
      isBusy = false
    })
  }, EVERY_MS)
  timer.unref()
  return { gauges: () => [...backlog, ...outbox], close: () => clearInterval(timer) }
}

export function backlogGauges(ages: BacklogAges | null): readonly Gauge[] {
  if (ages === null) return []
  return (['work', 'deliver'] as const).map((role) => ({
    name: 'millrace_backlog_age_seconds',
    labels: { role },
    value: ages[role] / 1_000,
  }))
}

type RelayStatus = Awaited<ReturnType<NonNullable<Engine['relay']>['status']>>

function outboxGauges({ waiting, eldestAt, refused, stuck }: RelayStatus, now: number): readonly Gauge[] {
  return [
    { name: 'millrace_outbox_rows', value: waiting },
    {
      name: 'millrace_outbox_age_seconds',
      value: eldestAt === null ? 0 : Math.max(0, now - eldestAt) / 1_000,
    },
    {
      name: 'millrace_outbox_refused',
      value: refused,
    },
    {
      name: 'millrace_outbox_stuck_subjects',
      value: stuck,
    },
  ]
}
