// What is promised of deliveries, on every commit and on every call that reaches an endpoint: which deliveries an event has (N2), that
// what is delivered was taken (N4), who may send and when (N3, N5, N6, N7), whose events an endpoint sees (N10), what signs (SU15), what
// is not sent (DY6, DY14), how much at once (DY20), what a recovery adds (RV1, RV2) and what the status of a subscription follows from (SB16).
//
// The log of the endpoints is the oracle. What a node knows of subscriptions may be some seconds old, so which of them an event is for is
// held against what this life must know: what was there before it started, or has been for a while since faults stopped.

import type { SubscriptionDocument } from '../src/core/definitions/documents/index.ts'
import type { NewEvent } from '../src/core/events/event/index.ts'
import { DEFAULT_TENANT, type EventId, type TenantId, type WorkId } from '../src/core/foundation/ids/index.ts'
import type { NewWork, WorkRow } from '../src/core/queue/work/index.ts'
import { publicKeyOf } from '../src/core/webhooks/signing/index.ts'
import {
  effectiveStatus,
  generatedSecret,
  SUBSCRIPTION_PREFIX,
  type SubscriptionRecord,
} from '../src/core/webhooks/subscription/index.ts'
import type { Commit, Write } from '../src/ports/store.ts'
import { verify } from '../src/sdk/client/webhook.ts'
import { isCopy } from './check-dead-letters.ts'
import type { LaneChecks } from './check-lanes.ts'
import type { VirtualTime } from './clock.ts'
import type { Data, Outcome } from './data.ts'
import type { HookCall } from './endpoints.ts'
import { type Life, short } from './node.ts'
import type { Observations, Rule } from './run-observations.ts'
import { HOOK_ATTEMPTS, hooksBeside, hookWants, OTHER_DOCUMENTS, OTHER_TENANT } from './subscriptions.ts'
import type { Secrets } from './vault.ts'

export interface DeliveryChecks {
  applied(life: Life, commits: readonly Commit[], outcomes: readonly Outcome[]): void
  claimed(life: Life, work: readonly WorkRow[]): void
  sent(call: HookCall): void
  started(life: Life): void
  healed(): void
  /** Called when an operator disables it. */
  disables(tenant: TenantId, name: string): void
  /** What users and the log have seen. */
  shown(text: string): void
  end(): void
}

/** The state of a subscription as commits left it. */
interface Change {
  readonly at: number
  readonly life: Life
  /** null: it is gone. */
  readonly record: SubscriptionRecord | null
}

/** What one life has for an endpoint. */
interface Load {
  /** Calls that got a response. */
  answered: number
  /** Calls that have none yet. */
  open: HookCall[]
  /** Claimed jobs that were not sent. */
  readonly unsent: Set<WorkId>
}

type Added = Extract<Write, { w: 'work.add' }>
type Settled = Extract<Write, { w: 'work.settle' }>
type Appended = NewEvent

/** A node that is well has heard of every change by then. */
const HEARD_MS = 30_000
/** Between the signature and the call, and what the store's time may be off as a node knows it. */
const SIGNED_WITHIN_MS = 15_000
/** How many calls an endpoint gets at once: at first, and at most. */
const LIMIT_FIRST = 4
const LIMIT_MAX = 64
const UNDER_WAY: ReadonlySet<string> = new Set(['ready', 'waiting', 'leased'])
/** An id may say another time than the store; recoveries look so far around. */
const CLOCK_MARGIN_MS = 500_000

export function makeDeliveryChecks(deps: {
  readonly observations: Observations
  readonly data: Data
  readonly time: VirtualTime
  readonly lanes: Pick<LaneChecks, 'started'>
  readonly secrets: Secrets
  readonly calls: () => readonly HookCall[]
  readonly isGoneForGood: (tenant: TenantId, name: string) => boolean
  wasDoubled(life: Life): boolean
}): DeliveryChecks {
  const { observations, data, time, secrets } = deps
  /** By tenant and name. */
  const changes = new Map<string, Change[]>()
  const startedAt = new Map<Life, number>()
  const disabled = new Map<string, number>()
  /** Who took a delivery, by event and consumer: when. */
  const taken = new Map<string, number>()
  /** When the present owner got it. */
  const heldSince = new Map<WorkId, number>()
  const callsOf = new Map<WorkId, HookCall[]>()
  /** By life and endpoint. */
  const loads = new Map<string, Load>()
  const bodies = new Map<string, string>()
  const ids = new Map<string, WorkId>()
  /** Beginning of recoveries. */
  const begun = new Map<string, number>()
  let healedAt: number | null = null

  const keys = new Map<string, string>()
  /** What verifies what the secret signs. Of a private key it takes long to make. */
  const keyOf = (secret: string): string => {
    const key = keys.get(secret) ?? publicKeyOf(secret) ?? secret
    keys.set(secret, key)
    return key
  }

  const complain = (rule: Rule, what: string) => observations.violate(rule, what)
  const placeOf = (tenant: TenantId, name: string) => `${tenant}/${name}`
  const nameOf = (consumer: string) => consumer.slice(SUBSCRIPTION_PREFIX.length)

  const folderDocs = (tenant: TenantId, name: string): readonly (SubscriptionDocument | undefined)[] =>
    tenant === OTHER_TENANT
      ? [
          OTHER_DOCUMENTS.find(
            (one): one is SubscriptionDocument => one.kind === 'Subscription' && one.name === name,
          ),
        ]
      : ([0, 1] as const).map((bundle) => hooksBeside(bundle).find((one) => one.name === name))

  /** Every document ever deployed under the name. */
  const docsOf = (tenant: TenantId, name: string): readonly SubscriptionDocument[] => [
    ...folderDocs(tenant, name).flatMap((one) => one ?? []),
    ...(changes.get(placeOf(tenant, name)) ?? []).flatMap(({ record }) => record?.document ?? []),
  ]

  /** What this life must know of it; undefined: it may know this or that. */
  const known = (life: Life, tenant: TenantId, name: string): Change | undefined => {
    const last = changes.get(placeOf(tenant, name))?.at(-1)
    if (last === undefined) return undefined
    const began = startedAt.get(life)
    const isOld = began !== undefined && last.at < began
    const isHeard = healedAt !== null && time.now() > healedAt + HEARD_MS && time.now() > last.at + HEARD_MS
    return isOld || isHeard ? last : undefined
  }

  /** The API document that this life must have deployed, or that of the definitions if there is only one. */
  const surely = (life: Life, tenant: TenantId): readonly SubscriptionDocument[] => {
    const sure: SubscriptionDocument[] = []
    for (const place of changes.keys()) {
      const [of, name] = place.split('/') as [TenantId, string]
      const change = of === tenant ? known(life, tenant, name) : undefined
      if (change?.record?.document != null) sure.push(change.record.document)
    }
    const crm = tenant === OTHER_TENANT ? folderDocs(tenant, 'crm')[0] : hooksBeside(0)[0]
    if (crm !== undefined && startedAt.has(life)) sure.push(crm)
    if (tenant === DEFAULT_TENANT && startedAt.has(life))
      sure.push(...hooksBeside(0).filter((one) => one.name === 'ops'))
    return sure
  }

  const isAbout = (event: Pick<Appended, 'source' | 'data'>, consumer: string): boolean =>
    event.source === 'millrace' && (JSON.parse(event.data) as { consumer?: string }).consumer === consumer

  /** Who gets what is new, or is matched now. `isLater`: some may have had it before. */
  const checkMatched = (life: Life, commit: Commit, event: Appended, isLater: boolean) => {
    const given = deliveriesOf(commit, event.id)
    const who = `event ${short(event.id)} ${event.subject}`
    for (const { consumer } of given) {
      if (event.subject === 'webhook.test') {
        if (!isAbout(event, consumer)) complain('DY6', `${who} is for ${consumer}`)
        continue
      }
      if (isAbout(event, consumer)) complain('DY6', `${who} is about ${consumer}, and for it`)
      const docs = docsOf(commit.tenant, nameOf(consumer))
      if (!docs.some((one) => hookWants(one, event.subject, event.data)))
        complain('N2', `${who} is for ${consumer}, which does not want it`)
    }
    if (event.subject === 'webhook.test') return
    for (const document of surely(life, commit.tenant)) {
      const consumer = `${SUBSCRIPTION_PREFIX}${document.name}`
      if (!hookWants(document, event.subject, event.data) || isAbout(event, consumer)) continue
      const isGiven = given.some((one) => one.consumer === consumer)
      const hadBefore =
        isLater &&
        [...observations.works.values()].some((row) => row.eventId === event.id && row.consumer === consumer)
      if (!isGiven && !hadBefore) complain('N2', `${who} is not for ${consumer}, which wants it`)
    }
  }

  const appended = (life: Life, commit: Commit, event: Appended) => {
    if (isCopy(event)) return
    const isAside = commit.writes.some(
      (write) => write.w === 'work.add' && write.work.kind === 'intake' && write.work.eventId === event.id,
    )
    if (isAside) {
      if (deliveriesOf(commit, event.id).length > 0)
        complain('N2', `event ${short(event.id)} waits to be matched, and is delivered`)
      return
    }
    checkMatched(life, commit, event, false)
  }

  const added = (commit: Commit, { work }: Added) => {
    observations.counts.deliveries += 1
    const id = work.id.replaceAll('-', '').slice(-16)
    ids.set(id, work.id)
    const docs = docsOf(commit.tenant, nameOf(work.consumer))
    const isTest = data.event(commit.tenant, work.eventId)?.subject === 'webhook.test'
    if (docs.length > 0 && docs.every((one) => one.order !== undefined) && work.lane === undefined && !isTest)
      if (!isSkipped(commit, work))
        complain('N7', `delivery ${short(work.id)} of ${work.consumer} is in no lane`)
  }

  const isSkipped = (commit: Commit, { id }: NewWork) =>
    commit.writes.some((write) => write.w === 'work.settle' && write.work === id)

  /** Jobs of the recovery's own commit are recorded already: they are left out by id. */
  const recovered = (commit: Commit, write: Extract<Write, { w: 'record.put' }>) => {
    const replay = JSON.parse(write.body) as {
      of: string
      state: string
      filter: { subscription: string; since: number; until: number; what: string }
    }
    if (replay.of !== 'deliveries') return
    const began = begun.get(write.key) ?? time.now()
    begun.set(write.key, began)
    const consumer = `${SUBSCRIPTION_PREFIX}${replay.filter.subscription}`
    const own = new Set<string>(commit.writes.flatMap((one) => (one.w === 'work.add' ? [one.work.id] : [])))
    for (const one of commit.writes) {
      if (one.w !== 'work.add') continue
      observations.counts.recovered += 1
      const others = [...observations.works.values()].filter(
        (row) => row.eventId === one.work.eventId && row.consumer === consumer && !own.has(row.id),
      )
      const doubled = others.find(({ state }) => state === 'done' || UNDER_WAY.has(state))
      if (doubled !== undefined)
        complain(
          'RV2',
          `${write.key} adds to event ${short(one.work.eventId)}, whose ${short(doubled.id)} is ${doubled.state}`,
        )
    }
    if (replay.state === 'done' && replay.filter.what === 'all')
      checkRecovered(commit.tenant, write.key, replay.filter, began)
  }

  const checkRecovered = (
    tenant: TenantId,
    key: string,
    {
      subscription,
      since,
      until,
    }: { readonly subscription: string; readonly since: number; readonly until: number },
    began: number,
  ) => {
    const all = changes.get(placeOf(tenant, subscription)) ?? []
    // What was changed or said meanwhile may have moved what it is about.
    const isOther = ({ at, record }: Change) =>
      at >= began &&
      JSON.stringify(record?.document) !==
        JSON.stringify(all.findLast((one) => one.at < began)?.record?.document)
    if (all.some(isOther) || subscription === 'books') return
    const consumer = `${SUBSCRIPTION_PREFIX}${subscription}`
    const docs = docsOf(tenant, subscription)
    const { events, work } = data.dump()
    for (const event of events) {
      if (event.tenant !== tenant || event.receivedAt < since || event.receivedAt >= until) continue
      if (isCopy(event) || event.subject === 'webhook.test' || isAbout(event, consumer)) continue
      if (!docs.every((one) => hookWants(one, event.subject, event.data))) continue
      if (Math.abs(madeAt(event.id) - event.receivedAt) > CLOCK_MARGIN_MS) continue
      const rows = work.filter(({ eventId }) => eventId === event.id)
      // Skipped because it was disabled is as if it had none.
      const isThere = (row: WorkRow) =>
        row.consumer === consumer && (row.lastError !== 'DISABLED' || row.createdAt >= began)
      if (rows.some((row) => isThere(row) || row.kind === 'intake')) continue
      complain('RV1', `${key} is done, and event ${short(event.id)} was not brought to ${subscription}`)
    }
  }

  const settled = (life: Life, commit: Commit, write: Settled) => {
    const row = observations.works.get(write.work)
    if (row?.kind !== 'delivery') return
    const name = `delivery ${short(row.id)} of ${row.consumer}`
    const calls = callsOf.get(row.id) ?? []
    if (write.to === 'done') {
      const since = heldSince.get(row.id) ?? 0
      const isTaken = calls.some(
        (call) =>
          call.life === life &&
          call.at >= since &&
          call.outcome?.kind === 'response' &&
          call.answered !== null &&
          call.answered >= 200 &&
          call.answered < 300,
      )
      if (!isTaken) complain('N4', `${name} is delivered, and its endpoint did not say so`)
      observations.counts.delivered += 1
      taken.set(`${row.eventId} ${row.consumer}`, time.now())
    }
    if (write.to === 'parked') complain('N2', `${name} is parked`)
    const { lastError, effectRef } = write.note
    if (write.to === 'skipped' && lastError !== 'DISABLED' && lastError !== 'SUPERSEDED') {
      const by = effectRef === null ? undefined : observations.works.get(effectRef as WorkId)
      if (by?.state !== 'done' || by.eventId !== row.eventId || by.consumer !== row.consumer)
        complain('N2', `${name} is skipped: ${lastError}`)
    }
    if (write.to === 'cancelled' && lastError === 'SUBSCRIPTION_GONE') {
      observations.counts.hooksGone += 1
      const history = changes.get(placeOf(commit.tenant, nameOf(row.consumer))) ?? []
      const isFolders = folderDocs(commit.tenant, nameOf(row.consumer)).some((one) => one === undefined)
      if (!isFolders && !history.some(({ record }) => record === null))
        complain('SU7', `${name} is cancelled, and its subscription is there`)
    }
  }

  /** What determines its status: the responses of its endpoint and the operators' actions. */
  const changed = (life: Life, tenant: TenantId, name: string, record: SubscriptionRecord | null) => {
    const place = placeOf(tenant, name)
    const history = changes.get(place) ?? []
    changes.set(place, [...history, { at: time.now(), life, record }])
    const before = history.at(-1)?.record?.state
    const state = record?.state
    if (state === undefined || state.status === before?.status) return
    const own = deps.calls().filter((call) => call.tenant === tenant && call.name === name)
    const heard = own.filter((call) => call.life === life && call.outcome !== null)
    if (state.status === 'failing') {
      observations.counts.failing += 1
      if (!heard.some(({ outcome }) => outcome?.kind === 'failed' || (outcome?.status ?? 0) >= 300))
        complain('SB16', `${place} is failing, and nothing failed`)
    }
    if (before?.status === 'failing' && state.status === null) observations.counts.recoveredHooks += 1
    if (state.status !== 'disabled') return
    observations.counts.disabledHooks += 1
    const isRight =
      state.because === 'gone'
        ? heard.some(
            ({ outcome }) => outcome?.kind === 'response' && outcome.status === 410 && outcome !== null,
          ) && heard.some(({ answered }) => answered === 410)
        : state.because === 'person'
          ? disabled.has(place)
          : state.failingSince !== null && heard.some(({ at }) => at >= (state.failingSince ?? 0))
    if (!isRight) complain('SB16', `${place} is disabled because ${state.because}, which is not so`)
  }

  const wrote = (life: Life, commit: Commit, write: Write) => {
    if (write.w === 'event.append') appended(life, commit, write.event)
    else if (write.w === 'work.add' && write.work.kind === 'delivery') added(commit, write)
    else if (write.w === 'work.settle') settled(life, commit, write)
    else if (write.w === 'record.put' && write.kind === 'subscription')
      changed(life, commit.tenant, write.key, JSON.parse(write.body) as SubscriptionRecord)
    else if (write.w === 'record.delete' && write.kind === 'subscription')
      changed(life, commit.tenant, write.key, null)
    else if (write.w === 'record.put' && write.kind === 'replay' && write.key.startsWith('rpl_'))
      recovered(commit, write)
  }

  const matchedLater = (life: Life, commit: Commit) => {
    for (const write of commit.writes) {
      if (write.w !== 'work.settle' || write.to !== 'done') continue
      const row = observations.works.get(write.work)
      const event = row?.kind === 'intake' ? data.event(commit.tenant, row.eventId) : null
      if (event !== null && !isCopy(event)) checkMatched(life, commit, event, true)
    }
  }

  const checkSignature = (call: HookCall, document: SubscriptionDocument | undefined) => {
    const signedAt = Number(call.headers['webhook-timestamp'] ?? 0) * 1_000
    const from = Math.min(signedAt, call.at) - SIGNED_WITHIN_MS
    const name = generatedSecret(call.name)
    const may = secrets.ever(call.tenant, name, from, call.at)
    const must = secrets.throughout(call.tenant, name, from, call.at)
    const isBy = (secret: string): boolean => {
      const key = keyOf(secret)
      try {
        verify(call.body, call.headers, key, { now: call.at, toleranceSeconds: 1_000_000 })
        return true
      } catch {
        return false
      }
    }
    if (!may.some(isBy))
      complain('SU15', `hook ${call.number} to ${call.name} is signed by nothing that holds`)
    // GitHub's header has room for one. Another way of signing takes no secret of the former.
    if (document === undefined || document.signing === 'github') return
    const isForm = (secret: string) => secret.startsWith(document.signing === 'ed25519' ? 'whsk_' : 'whsec_')
    const left = must.filter((secret) => isForm(secret) && !isBy(secret))
    if (left.length > 0)
      complain('SU15', `hook ${call.number} to ${call.name} is not signed by all that hold`)
  }

  const checkBody = (call: HookCall, row: WorkRow) => {
    const name = `hook ${call.number} to ${call.tenant}/${call.name}`
    if (call.id !== row.eventId) {
      complain('N3', `${name} has the id ${call.id}, its event is ${row.eventId}`)
      return
    }
    const place = `${call.tenant} ${call.name} ${call.id}`
    const docs = docsOf(call.tenant, call.name)
    if (docs.some(({ transform }) => transform !== undefined)) return
    const before = bodies.get(place)
    if (before !== undefined && before !== call.body)
      complain('N3', `${name} brings other data under the same id: ${before} ${call.body}`)
    bodies.set(place, call.body)
    const event = data.event(call.tenant, row.eventId)
    const body = JSON.parse(call.body) as { id: string; type: string; data: unknown }
    if (
      event !== null &&
      (body.type !== event.subject || JSON.stringify(body.data) !== JSON.stringify(JSON.parse(event.data)))
    )
      complain('N3', `${name} brings other data than its event has`)
  }

  /** Only who holds it, for longer than the call may take; but for a node that was started twice. */
  /** At least the limit that the life has for the endpoint: it doubles with what arrives, and a response may be that. */
  const allowed = (loaded: Load): number => {
    loaded.answered += loaded.open.filter(({ outcome }) => outcome?.kind === 'response').length
    loaded.open = loaded.open.filter(({ outcome }) => outcome === null)
    return Math.min(LIMIT_MAX, LIMIT_FIRST * 2 ** Math.min(loaded.answered, 10))
  }

  const loadOf = (life: Life, tenant: TenantId, name: string): Load => {
    const place = `${life.name} ${placeOf(tenant, name)}`
    const known = loads.get(place) ?? { answered: 0, open: [], unsent: new Set() }
    loads.set(place, known)
    return known
  }

  const checkAtOnce = (call: HookCall, { id }: WorkRow) => {
    const loaded = loadOf(call.life, call.tenant, call.name)
    const most = allowed(loaded)
    loaded.unsent.delete(id)
    loaded.open.push(call)
    if (loaded.open.length > most)
      complain('DY20', `hook ${call.number} is one of ${loaded.open.length} at once, of which ${most} may be`)
  }

  /** Claimed beyond the limit: they wait on the node. */
  const countAhead = (life: Life, { id, tenant, consumer, kind }: WorkRow) => {
    if (kind !== 'delivery') return
    const loaded = loadOf(life, tenant, nameOf(consumer))
    for (const one of loaded.unsent) if (data.work(tenant, one)?.state !== 'leased') loaded.unsent.delete(one)
    loaded.unsent.add(id)
    if (loaded.unsent.size + loaded.open.length > allowed(loaded)) observations.counts.hooksAhead += 1
  }

  const checkHolder = (call: HookCall, row: WorkRow): boolean => {
    const isHolder = row.state === 'leased' && row.owner !== null && call.life.owners.has(row.owner)
    const lease = isHolder ? data.incarnation(row.owner!) : null
    const isFine = lease !== null && !lease.fenced && lease.until >= time.now() + call.timeoutMs
    if (isFine) return true
    observations.counts.staleSends += 1
    if (!deps.wasDoubled(call.life))
      complain(
        'N5',
        `hook ${call.number} of ${short(row.id)} (${row.state}) is sent by ${call.life.name}, which does not hold it for so long`,
      )
    return false
  }

  const checkAgain = (call: HookCall, row: WorkRow) => {
    const at = taken.get(`${row.eventId} ${row.consumer}`)
    const isAsked = row.generation > 1
    if (at !== undefined && !isAsked && at < (heldSince.get(row.id) ?? 0))
      complain('N3', `hook ${call.number} of ${short(row.id)} is sent after its event was delivered`)
    const before = callsOf.get(row.id) ?? []
    callsOf.set(row.id, [...before, call])
    if (before.length > 0) observations.counts.secondHooks += 1
    // A 429 uses no attempt; what a crash left unheard, or a stale owner heard, is written nowhere.
    const counted = before.filter(({ answered, outcome }) => answered !== 429 && outcome !== null).length
    if (counted >= HOOK_ATTEMPTS + (observations.lost.get(row.id) ?? 0))
      complain('N6', `${short(row.id)} makes call ${counted + 1} of ${HOOK_ATTEMPTS}`)
  }

  const checkStatus = (call: HookCall, row: WorkRow) => {
    const change = known(call.life, call.tenant, call.name)
    const document = change?.record?.document ?? hooksBeside(0)[0]
    if (change?.record == null || document === undefined) return
    const status = effectiveStatus(document, change.record.state)
    // Leased before the change was announced.
    if ((heldSince.get(row.id) ?? 0) <= change.at) return
    if (status === 'paused' || status === 'disabled')
      complain('DY14', `hook ${call.number} is sent to ${call.name}, which is ${status}`)
  }

  return {
    applied(life, commits, outcomes) {
      for (const [index, commit] of commits.entries()) {
        const outcome = outcomes[index]
        if (outcome?.ok !== true) continue
        for (const id of outcome.leased) heldSince.set(id, time.now())
        for (const write of commit.writes) wrote(life, commit, write)
        matchedLater(life, commit)
      }
    },
    claimed(life, work) {
      for (const row of work) {
        heldSince.set(row.id, time.now())
        countAhead(life, row)
      }
    },
    sent(call) {
      observations.counts.hooks += 1
      // A test that a user requested is no delivery: nothing of it is stored.
      const work = ids.get(call.span)
      if (work === undefined) return
      const row = data.work(call.tenant, work)
      if (row === null || row.consumer !== `${SUBSCRIPTION_PREFIX}${call.name}`) {
        complain('N10', `hook ${call.number} brings ${call.tenant}/${call.name} what is not its own`)
        return
      }
      if (data.event(call.tenant, call.id as EventId) === null && call.id === row.eventId)
        complain('N10', `hook ${call.number} brings ${call.tenant} an event of others`)
      const isHeld = checkHolder(call, row)
      checkAtOnce(call, row)
      checkBody(call, row)
      checkSignature(
        call,
        known(call.life, call.tenant, call.name)?.record?.document ?? folderDocs(call.tenant, call.name)[0],
      )
      checkAgain(call, row)
      checkStatus(call, row)
      if (isHeld) deps.lanes.started(row.id, (callsOf.get(row.id)?.length ?? 0) === 1)
    },
    started(life) {
      startedAt.set(life, time.now())
    },
    healed() {
      healedAt = time.now()
    },
    disables: (tenant, name) => void disabled.set(placeOf(tenant, name), time.now()),
    shown(text) {
      if (/whs(?:ec|k)_[\w+/]{8}/.test(text)) complain('N11', 'a secret is shown to a user')
    },
    end() {
      const all = JSON.stringify(data.dump())
      for (const secret of secrets.all()) {
        const bare = secret.replace(/^whs(?:ec|k)_/, '')
        if (all.includes(bare)) complain('N11', 'a secret is in the store in clear')
      }
      for (const [place, history] of changes) {
        const [tenant, name] = place.split('/') as [TenantId, string]
        const last = history.at(-1)
        const answered = deps.calls().findLast((call) => call.tenant === tenant && call.name === name)
        const isLate = answered?.outcomeAt != null && healedAt !== null && answered.outcomeAt > healedAt
        const isOff = last?.record == null || last.record.state.status === 'disabled'
        if (isLate && answered.answered === 410 && !isOff && deps.isGoneForGood(tenant, name))
          complain('SB16', `${place} answered 410, and is ${last?.record?.state.status ?? 'active'}`)
      }
    },
  }
}

function deliveriesOf({ writes }: Commit, id: EventId): readonly NewWork[] {
  return writes.flatMap((write) =>
    write.w === 'work.add' && write.work.kind === 'delivery' && write.work.eventId === id ? [write.work] : [],
  )
}

/** When the node that made the id says that it was. */
function madeAt(id: EventId): number {
  return Number.parseInt(id.slice('evt_'.length).replaceAll('-', '').slice(0, 12), 16)
}
