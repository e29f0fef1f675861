// Events and escalations of a connection: an outage is a failure with an escalation; the rest are noted.

import type { ConnectionNotice, ConnectionStep } from '../../core/connections/connection/index.ts'
import type { ConnectionDocument } from '../../core/definitions/documents/index.ts'
import type { CanonicalSubject } from '../../core/events/canonical/index.ts'
import { causeHash } from '../../core/failures/escalation/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import type { Write } from '../../ports/store.ts'
import type { EventPlan } from '../commit/index.ts'
import type { Registry } from '../definitions/index.ts'
import { type NoteDeps, noteEvent } from '../events/index.ts'
import type { StateNotice } from './connection-state-cache.ts'

const SUBJECTS: Readonly<Record<Exclude<ConnectionNotice, 'outage' | 'healed'>, CanonicalSubject>> = {
  activated: 'integration.connection.activated',
  degraded: 'integration.connection.degraded',
  recovered: 'integration.connection.recovered',
  retired: 'integration.connection.retired',
}

/** Why its escalation was raised. */
const CIRCUIT_OPEN = 'circuit_open'

const CONNECTION_PREFIX = 'connection:'

export function connectionEvents(
  deps: NoteDeps & { readonly registry: Pick<Registry, 'isWanted'> },
  tenant: TenantId,
  { name, provider }: Pick<ConnectionDocument, 'name' | 'provider'>,
  { state, notices }: ConnectionStep,
): StateNotice {
  const writes: Write[] = []
  const plans: EventPlan[] = []
  const consumer = `${CONNECTION_PREFIX}${name}`
  const about = { connection: name, provider, consumer }
  const say = (subject: CanonicalSubject, data: { readonly [name: string]: JsonValue }, isAlways = false) => {
    const object = { type: 'connection', id: name }
    const isWanted = isAlways || deps.registry.isWanted(tenant, subject)
    const key = isWanted ? deps.ids.uuid() : `${name}:${deps.now()}`
    const draft = { tenant, subject, data: { ...about, ...data }, key, parent: null, object }
    const noted = noteEvent(deps, draft, isWanted)
    writes.push(...noted.writes)
    plans.push(...noted.plans)
  }
  const { circuit } = state
  for (const notice of notices) {
    if (notice === 'healed') continue
    if (notice !== 'outage') {
      say(SUBJECTS[notice], { status: state.status, health: state.health })
      continue
    }
    if (circuit.state === 'closed') continue
    const error = `calls on the connection ${name} fail, or its probes do (${circuit.class}); its jobs wait, and one is tried`
    const of = { consumer, class: circuit.class, reason: CIRCUIT_OPEN }
    writes.push({
      w: 'escalation.raise',
      row: {
        ...of,
        id: deps.ids.escalation(),
        cause: causeHash({ ...of, error: '', isCanonical: false }),
        severity: 'high',
        runbook: null,
        lastError: error,
        workId: null,
      },
    })
    say(
      'integration.failed',
      {
        what: 'outage',
        class: circuit.class,
        error,
        terminal: false,
        willRetryAt: new Date(circuit.tryAt).toISOString(),
      },
      true,
    )
  }
  return { writes, plans }
}
