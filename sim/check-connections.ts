// What is promised of connections, on every commit and on every call that reaches a vendor: who may call when (CX1, CX2, CX4, CX6, CX31), which secret
// is in use and since when (CD1, CD17), how many rotations and refreshes there are (CD2, CD3, CD4), what a refused credential costs (DR6), and
// that integration runs record all of it (DR11, RN1, RN2). N3, N4 and N6 are those of every other call; N10 and N11 are looked at here too.
//
// The vendors' own log is the oracle. What a node knows of connections may be some seconds old, so a closed gate is held against what this life
// must know: what it wrote itself, what was there before it started, or has been for a while since faults stopped.

import { type ConnectionState, overrideAt } from '../src/core/connections/connection/index.ts'
import type { CredentialState } from '../src/core/connections/credential/index.ts'
import { hashDocument } from '../src/core/definitions/documents/index.ts'
import { type NewRun, runIdOf } from '../src/core/effects/integration-run/index.ts'
import { DEFAULT_TENANT, type TenantId, type WorkId } from '../src/core/foundation/ids/index.ts'
import type { WorkRow } from '../src/core/queue/work/index.ts'
import { fingerprintOf } from '../src/core/secrets/index.ts'
import type { Commit, Write } from '../src/ports/store.ts'
import type { Accounts, TokenRequest } from './accounts.ts'
import type { VirtualTime } from './clock.ts'
import {
  ACCOUNTS,
  type AccountName,
  COOL_DOWN_MS,
  connectionsBeside,
  FUNCTION_TIMEOUT_MS,
  OPERATION_CONSUMERS,
  OVERLAP_MS,
} from './connections.ts'
import type { Data, Outcome } from './data.ts'
import { type Life, short } from './node.ts'
import type { Observations } from './run-observations.ts'
import type { Secrets } from './vault.ts'
import type { Send } from './vendor.ts'

export interface ConnectionChecks {
  applied(life: Life, commits: readonly Commit[], outcomes: readonly Outcome[]): void
  sent(send: Send): void
  /** A caller asks for a token; returns what to do when the answer arrives. */
  asked(request: TokenRequest): () => void
  /** A value takes the place of the one in use. */
  promoted(tenant: TenantId, name: string, value: string): void
  /** A function begins. */
  ran(life: Life, name: string, event: string): void
  started(life: Life): void
  paused(life: Life): void
  healed(): void
  shown(text: string): void
  /** Whether no rotation is under way. */
  isCalm(): boolean
  end(): void
}

interface Change<State> {
  readonly at: number
  readonly life: Life
  readonly state: State
}

type RunPut = Extract<Write, { w: 'run.put' }>
type WorkWrite = Extract<Write, { w: 'work.settle' | 'work.again' }>

/** A node that is well has heard of every change by then. */
const HEARD_MS = 30_000
/** A call that was let in when the gate closed may still reserve and leave. */
const UNDER_WAY_MS = 15_000
/** What the store's time may be off as a node knows it. */
const CLOCK_MARGIN_MS = 2_000
const FINAL_RUNS: ReadonlySet<string> = new Set(['completed', 'dead-lettered'])

export function makeConnectionChecks(deps: {
  readonly observations: Observations
  readonly data: Data
  readonly time: VirtualTime
  readonly secrets: Secrets
  readonly accounts: () => Accounts
  /** No other documents are deployed. */
  readonly isSteady: boolean
}): ConnectionChecks {
  const { observations, data, time, secrets } = deps
  const connections = new Map<string, Change<ConnectionState>[]>()
  const credentials = new Map<string, Change<CredentialState>[]>()
  const runs = new Map<string, NewRun>()
  const attempts = new Map<WorkId, number>()
  const tokens = new Set<string>()
  const startedAt = new Map<Life, number>()
  /** When a function began for an event. */
  const ranAt = new Map<Life, Map<string, number>>()
  const pausedAt = new Map<Life, number>()
  const asking = new Set<TokenRequest>()
  /** Calls since the connection changed last. */
  const callsSince = new Map<string, Send[]>()
  const hashes = new Map(
    ([0, 1] as const).flatMap((bundle) =>
      connectionsBeside(bundle).flatMap((document) =>
        document.kind === 'Connection' ? [[hashDocument(document), bundle] as const] : [],
      ),
    ),
  )
  let healedAt: number | null = null

  const placeOf = (tenant: TenantId, name: string) => `${tenant}/${name}`
  const wasPaused = (life: Life, since: number) => (pausedAt.get(life) ?? 0) >= since

  const isKnown = (life: Life, { at, life: writer }: Change<unknown>): boolean => {
    const now = time.now()
    if ((startedAt.get(life) ?? Number.POSITIVE_INFINITY) <= now && at < (startedAt.get(life) ?? 0))
      return true
    if (wasPaused(life, at - UNDER_WAY_MS)) return false
    if (writer === life) return now > at + UNDER_WAY_MS
    return healedAt !== null && now > healedAt + HEARD_MS && now > at + HEARD_MS
  }

  // --- Calls

  const checkGate = (send: Send, connection: string) => {
    const name = `send ${send.id} (${send.operation.name}) on ${connection}`
    const history = connections.get(placeOf(DEFAULT_TENANT, connection)) ?? []
    // A node that has just passed one may call before it is written down.
    const isTested =
      history.some(({ state }) => state.testedHash !== null && hashes.has(state.testedHash)) ||
      deps
        .accounts()
        .looks.some(
          ({ tenant, provider, answered }) =>
            tenant === DEFAULT_TENANT && provider === connection && answered === 200,
        )
    if (!isTested) observations.violate('CX1', `${name} is made before any test was passed`)
    const last = history.at(-1)
    if (last === undefined || !isKnown(send.life, last)) return
    const { retired, circuit } = last.state
    // The deployed document is known only if nothing changes it.
    if (retired !== null && deps.isSteady) {
      observations.violate('CX2', `${name} is made, and it is retired`)
      return
    }
    const override = overrideAt(last.state, time.now())
    const isOpened = override?.is === 'open' && (override.until ?? 0) > time.now() + CLOCK_MARGIN_MS
    if (isOpened) observations.violate('CX6', `${name} is made, and a person opened its circuit`)
    // A call that an override let in may reserve and leave after the override's end.
    const wasLetIn = overrideAt(last.state, time.now() - UNDER_WAY_MS)?.is === 'closed'
    if (override === null && !wasLetIn && circuit.state === 'open')
      observations.violate('CX6', `${name} is made, and its circuit is open`)
    if (override === null && circuit.state === 'half-open') checkTry(send, last, name)
  }

  /** The job that recorded the attempt makes one call at a time. */
  const checkTry = (send: Send, { life }: Change<ConnectionState>, name: string) => {
    if (send.life !== life) return
    const others = callsSince.get(send.operation.connection ?? '') ?? []
    const open = others.find(
      (other) =>
        other.life === life && other.outcome === null && time.now() < other.at + other.operation.timeoutMs,
    )
    if (open !== undefined) observations.violate('CX4', `${name} is a second try beside send ${open.id}`)
  }

  /** It began with the reserve that the call rests on. Whether a call may be made without that one is N3's to say. */
  const checkBegun = (send: Send) => {
    const reserve = observations.reserves.get(send.key)?.findLast(({ life }) => life === send.life)
    const entry = data.ledger(DEFAULT_TENANT, send.key)
    const isOpen =
      entry?.state === 'reserved' && entry.work === reserve?.work && entry.epoch === reserve.epoch
    if (!isOpen) return
    const run = runs.get(runIdOf(reserve.work))
    if (OPERATION_CONSUMERS.has(send.operation.consumer) && run?.state !== 'running')
      observations.violate(
        'DR11',
        `send ${send.id} of ${send.key} is made, its run is ${run?.state ?? 'absent'}`,
      )
  }

  const checkRevoke = (send: Send) => {
    const token = send.key.slice('revoke:'.length)
    const history = credentials.get(placeOf(DEFAULT_TENANT, 'mintkey')) ?? []
    const index = history.findIndex(
      ({ state }, at) => state.rotation === null && history[at - 1]?.state.rotation?.token === token,
    )
    const ended = history[index]
    if (ended === undefined || send.at < ended.at + OVERLAP_MS)
      observations.violate('CD17', `send ${send.id} ends a secret that calls may still use`)
  }

  // --- Records

  const accountOf = (tenant: TenantId, credential: string): AccountName | undefined =>
    ACCOUNTS.find((one) => one.tenant === tenant && one.credential === credential)

  const wasLookedAt = (tenant: TenantId, value: string, since: number): boolean =>
    deps
      .accounts()
      .looks.some(
        (look) =>
          look.tenant === tenant &&
          look.secret === value &&
          look.answered === 200 &&
          look.answeredAt >= since,
      )

  const changedCredential = (life: Life, tenant: TenantId, name: string, state: CredentialState) => {
    const place = placeOf(tenant, name)
    const history = credentials.get(place) ?? []
    const before = history.at(-1)?.state ?? null
    credentials.set(place, [...history, { at: time.now(), life, state }])
    const was = before?.rotation ?? null
    const is = state.rotation
    if (is !== null && is.token !== was?.token) {
      observations.counts.rotations += 1
      if (was !== null) observations.violate('CD2', `a rotation of ${place} begins beside another`)
      const last = Math.max(before?.lastRotatedAt ?? 0, before?.lastFailure?.at ?? 0)
      if (is.reason === 'auth-failure' && last > 0 && is.begunAt - last < COOL_DOWN_MS)
        observations.violate('CD3', `a refusal begins a rotation of ${place} within the cool-down`)
    }
    if (was === null || is !== null) return
    if (state.lastRotatedAt === before?.lastRotatedAt) {
      observations.counts.rotationsFailed += 1
      const isOther = state.current?.fingerprint !== before?.current?.fingerprint
      if (isOther)
        observations.violate('CD1', `a rotation of ${place} that failed leaves another secret in use`)
      return
    }
    observations.counts.rotated += 1
    checkPromoted(tenant, name, state, history)
  }

  const checkPromoted = (
    tenant: TenantId,
    name: string,
    { current }: CredentialState,
    history: readonly Change<CredentialState>[],
  ) => {
    const account = accountOf(tenant, name)
    if (account === undefined || current === null) return
    const token = history.at(-1)?.state.rotation?.token
    const begun = history.find(({ state }) => state.rotation?.token === token)
    const value = deps
      .accounts()
      .values()
      .find((one) => fingerprintOf(tenant, account.secret, one) === current.fingerprint)
    if (value === undefined || !wasLookedAt(tenant, value, begun?.at ?? 0))
      observations.violate(
        'CD1',
        `version ${current.version} of ${placeOf(tenant, name)} is in use without verification`,
      )
  }

  const changedConnection = (life: Life, tenant: TenantId, name: string, state: ConnectionState) => {
    const place = placeOf(tenant, name)
    const history = connections.get(place) ?? []
    const before = history.at(-1)?.state
    connections.set(place, [...history, { at: time.now(), life, state }])
    if (tenant === DEFAULT_TENANT) callsSince.set(name, [])
    if (state.circuit.state === 'open' && before?.circuit.state === 'closed') observations.counts.outages += 1
    if (state.circuit.state === 'closed' && before !== undefined && before.circuit.state !== 'closed')
      observations.counts.outagesOver += 1
    if (state.retired !== null && before?.retired == null) observations.counts.retired += 1
    // A test of another document says nothing of the one that was tested before.
    const isUnwell = state.health === 'degraded' || state.health === 'unhealthy'
    if (
      isUnwell &&
      state.testedHash !== null &&
      state.lastTest?.ok === true &&
      state.circuit.state === 'closed'
    )
      observations.violate('CX31', `${place} is ${state.health}, and takes calls`)
    if (state.testedHash !== null && before?.testedHash == null && state.lastTest?.ok !== true)
      observations.violate('CX1', `${place} is active without a passed test`)
  }

  // --- Runs

  const putRun = ({ row }: RunPut) => {
    observations.counts.runs += 1
    const before = runs.get(row.id)
    runs.set(row.id, row)
    if (row.purpose === 'verification') observations.counts.verifications += 1
    // Calls outside of an effect run again with their function.
    if (before === undefined || row.operation.endsWith('.fnput')) return
    const name = `run ${short(row.id)} of ${row.operation}`
    if (FINAL_RUNS.has(before.state) && row.state !== before.state)
      observations.violate('RN1', `${name} goes from ${before.state} to ${row.state}`)
    if (row.attemptCount < before.attemptCount)
      observations.violate('RN2', `${name} forgets attempts: ${before.attemptCount} to ${row.attemptCount}`)
  }

  /**
   * An item that made no call began no run. An operator may settle it, also where the entry of its key was settled before with another
   * item of the same key: then this commit has no word about the ledger.
   */
  const isSaidOfNoRun = ({ id, key }: WorkRow, known: NewRun | undefined) =>
    known === undefined &&
    key !== null &&
    observations.words.get(key)?.includes('done') === true &&
    !observations.calls.has(id)

  const checkRun = (write: WorkWrite) => {
    const row = observations.works.get(write.work)
    if (row === undefined || !OPERATION_CONSUMERS.has(row.consumer) || write.w !== 'work.settle') return
    const known = runs.get(runIdOf(row.id))
    if (write.to === 'done' && known?.state !== 'completed' && !isSaidOfNoRun(row, known))
      observations.violate(
        'DR11',
        `work ${short(row.id)} of ${row.consumer} is done, its run ${known?.state ?? 'absent'}`,
      )
    if (write.to === 'dead' && known !== undefined && !FINAL_RUNS.has(known.state))
      observations.violate('DR11', `work ${short(row.id)} of ${row.consumer} is dead, its run ${known.state}`)
  }

  /** The call was made for this very hold of the item, and it was all that went wrong. */
  const isLastWord = (send: Send, { id, epoch, consumer, eventId }: WorkRow): boolean => {
    const reserve = observations.reserves
      .get(send.key)
      ?.findLast((one) => one.work === id && one.epoch === epoch)
    if (reserve === undefined || send.at < reserve.at) return false
    // A function that is out of time has failed by itself.
    const began = ranAt.get(send.life)?.get(`${consumer} ${eventId}`)
    return began === undefined || time.now() < began + FUNCTION_TIMEOUT_MS
  }

  /** What was refused for its credential waits, or is dead; it uses up nothing. */
  const checkAttempts = (life: Life, write: WorkWrite) => {
    const before = attempts.get(write.work) ?? 0
    attempts.set(write.work, write.counters.attempts)
    const row = observations.works.get(write.work)
    const last = observations.calls.get(write.work)?.at(-1)
    if (write.w !== 'work.again' || row?.kind !== 'route' || last === undefined || last.life !== life) return
    if (last.operation.connection === undefined || last.outcome?.kind !== 'response') return
    const entry = observations.entries.get(last.key)
    if (entry?.work !== row.id || entry.epoch !== row.epoch) return
    if (last.outcome.status !== 401 || !isLastWord(last, row)) return
    observations.counts.refusedCalls += 1
    if (write.counters.attempts !== before)
      observations.violate(
        'DR6',
        `work ${short(row.id)} uses up an attempt for a credential that was refused`,
      )
  }

  const begins = (commit: Commit, write: Write) => {
    if (write.w !== 'event.append' || write.event.subject !== 'integration.credential.rotating') return
    // A copy that an operator edited reports it once more, and starts nothing.
    if (!commit.writes.some((one) => one.w === 'work.add' && one.work.kind === 'rotation')) return
    const { token } = JSON.parse(write.event.data) as { token: string }
    if (tokens.has(`${commit.tenant} ${token}`))
      observations.violate('CD2', `the rotation ${token} begins twice`)
    tokens.add(`${commit.tenant} ${token}`)
  }

  const wrote = (life: Life, commit: Commit, write: Write) => {
    begins(commit, write)
    if (write.w === 'run.put') putRun(write)
    if (write.w !== 'record.put') return
    if (write.kind === 'connection')
      changedConnection(life, commit.tenant, write.key, JSON.parse(write.body) as ConnectionState)
    if (write.kind === 'credential' && accountOf(commit.tenant, write.key) !== undefined)
      changedCredential(life, commit.tenant, write.key, JSON.parse(write.body) as CredentialState)
  }

  const checkShown = (text: string, where: string) => {
    for (const value of deps.accounts().values())
      if (text.includes(value)) observations.violate('N11', `a secret is ${where} in clear`)
  }

  return {
    applied(life, commits, outcomes) {
      for (const [index, commit] of commits.entries()) {
        if (outcomes[index]?.ok !== true) continue
        for (const write of commit.writes) wrote(life, commit, write)
        for (const write of commit.writes) {
          if (write.w !== 'work.settle' && write.w !== 'work.again') continue
          checkRun(write)
          checkAttempts(life, write)
        }
      }
    },
    sent(send) {
      const { connection, isRotation, name } = send.operation
      if (connection === undefined) return
      if (name === 'deletekey') checkRevoke(send)
      if (isRotation) return
      observations.counts.connectionCalls += 1
      checkGate(send, connection)
      if (!send.isProbe) checkBegun(send)
      callsSince.set(connection, [...(callsSince.get(connection) ?? []), send])
    },
    asked(request) {
      observations.counts.refreshes += 1
      const mint = ACCOUNTS.find(({ provider }) => provider === 'mint') as AccountName
      // The verifying job itself tries a secret that is being verified.
      const isInUse = secrets.current(mint.tenant, mint.secret) === request.secret
      for (const other of asking) {
        const isLost = other.life.isDead() || wasPaused(other.life, other.at - HEARD_MS)
        if (
          isLost ||
          !isInUse ||
          other.secret !== request.secret ||
          wasPaused(request.life, other.at - HEARD_MS)
        )
          continue
        observations.violate(
          'CD4',
          `${request.life.name} asks for a token (${request.number}) beside ${other.number}`,
        )
      }
      if (isInUse) asking.add(request)
      return () => void asking.delete(request)
    },
    promoted(tenant, name, value) {
      const account = ACCOUNTS.find((one) => one.tenant === tenant && one.secret === name)
      if (account !== undefined && !wasLookedAt(tenant, value, 0))
        observations.violate('CD1', `${placeOf(tenant, name)} is replaced by an unverified version`)
    },
    ran(life, name, event) {
      const began = ranAt.get(life) ?? new Map<string, number>()
      ranAt.set(life, began.set(`route:${name} ${event}`, time.now()))
    },
    started: (life) => void startedAt.set(life, time.now()),
    paused: (life) => void pausedAt.set(life, time.now()),
    healed() {
      healedAt = time.now()
    },
    shown: (text) => checkShown(text, 'shown to a user'),
    isCalm: () => [...credentials.values()].every((history) => history.at(-1)?.state.rotation === null),
    end() {
      checkShown(JSON.stringify(data.dump()), 'in the store')
      for (const [place, history] of credentials) {
        if (history.at(-1)?.state.rotation !== null)
          observations.violate('N12', `a rotation of ${place} never ends`)
      }
      for (const run of data.dump().runs) {
        const work = run.workId === null ? null : data.work(run.tenant, run.workId)
        if (work === null || !OPERATION_CONSUMERS.has(work.consumer)) continue
        const isRight =
          work.state === 'done'
            ? run.state === 'completed'
            : work.state === 'dead'
              ? run.state === 'dead-lettered'
              : work.state === 'cancelled' || !FINAL_RUNS.has(run.state) || work.state === 'skipped'
        if (!isRight)
          observations.violate('DR11', `work ${short(work.id)} is ${work.state}, its run ${run.state}`)
      }
    },
  }
}
