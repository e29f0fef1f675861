// The port's read objects over one function that requests a read by name, here or on another thread.

import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { SystemReads, TenantReads } from '../../ports/store.ts'
import type { ReadName, Reads } from './reads.ts'

export type Ask = <Name extends ReadName>(
  name: Name,
  ...args: Parameters<Reads[Name]>
) => Promise<ReturnType<Reads[Name]>>

export function makeTenantReads(ask: Ask, tenant: TenantId): TenantReads {
  return {
    event: (id) => ask('event', tenant, id),
    events: (query) => ask('events', tenant, query),
    eventsAfter: (query) => ask('eventsAfter', tenant, query),
    facts: (query) => ask('facts', tenant, query),
    causedBy: (id, limit) => ask('causedBy', tenant, id, limit),
    work: (id) => ask('work', tenant, id),
    workOfEvent: (id) => ask('workOfEvent', tenant, id),
    workOfEvents: (ids) => ask('workOfEvents', tenant, ids),
    workList: (query) => ask('workList', tenant, query),
    openCounts: (consumers, cap) => ask('openCounts', tenant, consumers, cap),
    openTotal: (cap) => ask('openTotal', tenant, cap),
    workMerged: (into) => ask('workMerged', tenant, into),
    lane: (consumer, key) => ask('lane', tenant, consumer, key),
    laneWaiting: (consumer, key, limit) => ask('laneWaiting', tenant, consumer, key, limit),
    laneHolders: (query) => ask('laneHolders', tenant, query),
    attempts: (id) => ask('attempts', tenant, id),
    ledger: (key) => ask('ledger', tenant, key),
    ledgerHistory: (key) => ask('ledgerHistory', tenant, key),
    ledgerList: (query) => ask('ledgerList', tenant, query),
    ledgerOfWork: (id) => ask('ledgerOfWork', tenant, id),
    deadLetter: (id) => ask('deadLetter', tenant, id),
    deadLetters: (query) => ask('deadLetters', tenant, query),
    deadLetterGroups: (query) => ask('deadLetterGroups', tenant, query),
    failure: (id) => ask('failure', tenant, id),
    failures: (query) => ask('failures', tenant, query),
    escalation: (id) => ask('escalation', tenant, id),
    escalations: (query) => ask('escalations', tenant, query),
    instance: (id) => ask('instance', tenant, id),
    instances: (query) => ask('instances', tenant, query),
    instanceHistory: (id, query) => ask('instanceHistory', tenant, id, query),
    workOfInstance: (id, query) => ask('workOfInstance', tenant, id, query),
    instanceCounts: (workflow) => ask('instanceCounts', tenant, workflow),
    correlation: (key) => ask('correlation', tenant, key),
    orphan: (id) => ask('orphan', tenant, id),
    orphans: (query) => ask('orphans', tenant, query),
    run: (id) => ask('run', tenant, id),
    runs: (query) => ask('runs', tenant, query),
    record: (kind, key) => ask('record', tenant, kind, key),
    records: (query) => ask('records', tenant, query),
    overview: () => ask('overview', tenant),
    oldestReadyAt: () => ask('oldestReadyAt', tenant),
  }
}

export function makeSystemReads(ask: Ask): SystemReads {
  return {
    tenants: () => ask('tenants'),
    workCounts: () => ask('workCounts'),
    readyConsumers: () => ask('readyConsumers'),
    outbox: (limit, after) => ask('outbox', limit, after),
    outboxCount: (cap) => ask('outboxCount', cap),
    outboxEldest: () => ask('outboxEldest'),
    dump: () => ask('dump'),
  }
}
