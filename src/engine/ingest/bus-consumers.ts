// The ways in from the bus: one consumer for each source that takes from it, of every tenant, as the definitions in force say.
//
// Invariants: BU76 all sources of a node share one bound of bytes. BU64 a paused source goes on taking; of a disabled one, messages stay where they are. BU65 a durable is of one
// source: where several tenants name it, one of them has it. BU74 a source reads the streams that its tenant may read. A source whose consumer changes is closed before it begins anew.

import { patternsMeet } from '../../core/events/subject/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { durableOf, mayReadAnyStream, mayReadStream } from '../../core/ingest/bus-message/index.ts'
import type { Source } from '../../core/ingest/source/index.ts'
import type { Consumer, ConsumerState } from '../../ports/bus.ts'
import type { EngineConfig, EngineDeps } from '../config.ts'
import type { Registry } from '../definitions/index.ts'
import type { Draws } from '../flow-control/index.ts'
import type { Messages, Way } from './bus-messages.ts'
import { makeShares } from './source-rates.ts'

export type InletState =
  | ConsumerState
  /** This node takes nothing, and does not mean to. */
  | { readonly is: 'stopped'; readonly why: string }

export interface Inlets {
  start(): void
  /** Definitions changed. */
  look(): void
  /** Takes no more; settles when what is under way is over. */
  stop(): Promise<void>
  /** null: the source takes nothing from the bus, or is not there. */
  state(tenant: TenantId, name: string): InletState | null
}

/** Messages of one source under way at once on a node: enough for several groups of commits. */
const IN_FLIGHT_MAX = 256
/** How long one waits for its rate before it looks again what that is. */
const TURN_MS_MAX = 5_000

interface Wanted {
  readonly id: string
  readonly tenant: TenantId
  readonly source: string
  readonly stream: string | null
  readonly subjects: readonly string[]
  readonly durable: string
  /** Whether the definition names it. */
  readonly isNamed: boolean
  readonly knownForMs: number
}

interface Inlet extends Wanted {
  state: ConsumerState
  isClosed: boolean
  consumer: Consumer | null
  /** Whoever waits for its rate waits behind the one before. */
  turns: Promise<void>
  /** Ends the wait under way. */
  hurry: () => void
}

export function makeInlets(
  deps: Pick<EngineDeps, 'clock' | 'log' | 'bus'> & {
    readonly registry: Pick<Registry, 'source' | 'sources' | 'tenants'>
    readonly messages: Messages
    /** Tokens of all nodes; null: this one is alone. */
    readonly draws: Draws | null
  },
  config: Pick<EngineConfig, 'roles' | 'busPrefix' | 'natsStreams' | 'messageBytesMax'>,
): Inlets {
  const { clock, log, bus, registry, messages } = deps
  const shares = makeShares({ clock, draws: deps.draws })
  const inlets = new Map<string, Inlet>()
  const closing = new Map<string, Promise<void>>()
  /** Why those wait that are defined and not taken. */
  const refused = new Map<string, string>()
  const told = new Set<string>()
  const own = `${config.busPrefix}.>`
  const mayRead = (tenant: TenantId, stream: string) =>
    mayReadStream(config.natsStreams, config.busPrefix, tenant, stream)
  let isStarted = false
  let isStopped = false

  const sourceOf = (tenant: TenantId, name: string): Source | null => {
    const source = registry.source(tenant, name)
    return source?.document.nats === undefined || source.status === 'disabled' ? null : source
  }

  // --- The rate

  const wait = (inlet: Inlet, delayMs: number): Promise<void> =>
    new Promise((resolve) => {
      const cancel = clock.after(delayMs, resolve)
      inlet.hurry = () => {
        cancel()
        resolve()
      }
    })

  const takeTurn = async (inlet: Inlet): Promise<boolean> => {
    for (;;) {
      const source = inlet.isClosed ? null : sourceOf(inlet.tenant, inlet.source)
      if (source === null) return false
      const waitMs = await shares.take(inlet.tenant, source)
      if (waitMs === 0) return true
      // Whoever closed it meanwhile had no wait to end.
      if (inlet.isClosed) return false
      await wait(inlet, Math.min(waitMs, TURN_MS_MAX))
    }
  }

  const wayOf = (inlet: Inlet): Way => ({
    tenant: inlet.tenant,
    source: () => (inlet.isClosed ? null : sourceOf(inlet.tenant, inlet.source)),
    turn() {
      const source = sourceOf(inlet.tenant, inlet.source)
      if (source?.guards.rate === null) return Promise.resolve(!inlet.isClosed)
      const turn = inlet.turns.then(() => takeTurn(inlet))
      // A turn that failed is no reason for those behind it to wait.
      inlet.turns = turn.then(
        () => {},
        () => {},
      )
      return turn
    },
  })

  // --- Consumers

  const tellState = (inlet: Inlet, state: ConsumerState) => {
    if (inlet.isClosed) return
    const isSame = inlet.state.is === state.is && whyOf(inlet.state) === whyOf(state)
    inlet.state = state
    if (isSame) return
    const { tenant, source, durable } = inlet
    if (state.is === 'consuming') log.info('source.consuming', { tenant, source, durable })
    else log.warn('source.waiting', { tenant, source, durable, why: state.why })
  }

  const open = (wanted: Wanted) => {
    const inlet: Inlet = {
      ...wanted,
      state: STARTING,
      isClosed: false,
      consumer: null,
      turns: Promise.resolve(),
      hurry: () => {},
    }
    inlets.set(wanted.id, inlet)
    const way = wayOf(inlet)
    const begin = () => {
      if (inlet.isClosed || bus === null) return
      const { stream, subjects, durable, knownForMs } = wanted
      inlet.consumer = bus.consume({
        stream,
        subjects,
        durable,
        owner: `${config.busPrefix} ${wanted.id}`,
        mayRead: (name) => mayRead(wanted.tenant, name),
        knownForMs,
        maxInFlight: IN_FLIGHT_MAX,
        maxBytes: () => config.messageBytesMax / Math.max(1, inlets.size),
        handle: (message) => messages.handle(way, message),
        onState: (state) => tellState(inlet, state),
      })
    }
    const before = closing.get(wanted.id)
    if (before === undefined) begin()
    else void before.then(begin)
  }

  const close = (inlet: Inlet): void => {
    const { id } = inlet
    inlet.isClosed = true
    inlet.hurry()
    inlets.delete(id)
    const before = closing.get(id) ?? Promise.resolve()
    const closed = before
      .then(() => inlet.consumer?.close())
      .catch((error: unknown) => log.warn('source.not-closed', { source: id, error: String(error) }))
      .then(() => {
        if (closing.get(id) === closed) closing.delete(id)
      })
    closing.set(id, closed)
  }

  const tellOnce = (id: string, tell: () => void) => {
    if (told.has(id)) return
    told.add(id)
    tell()
  }

  const look = () => {
    if (!isStarted || isStopped) return
    const all = wantedOf(registry, config.busPrefix)
    if (bus === null) {
      for (const { id, tenant, source } of all)
        tellOnce(id, () => log.warn('source.no-bus', { tenant, source, next: NO_BUS }))
      return
    }
    const isForbidden = ({ tenant, stream }: Wanted) =>
      stream === null ? !mayReadAnyStream(config.natsStreams, tenant) : !mayRead(tenant, stream)
    const forbidden = all.filter(isForbidden)
    const round = all.filter((one) => !isForbidden(one) && goesRound(one, own))
    const rest = all.filter((one) => !isForbidden(one) && !goesRound(one, own))
    const { wanted, refused: taken } = withOwnDurables(rest)
    refused.clear()
    for (const { id } of taken) refused.set(id, TAKEN)
    for (const { id } of round) refused.set(id, ROUND)
    for (const { id } of forbidden) refused.set(id, FORBIDDEN)
    for (const one of [...taken, ...round, ...forbidden]) {
      const { tenant, source, durable } = one
      const why = refused.get(one.id)
      tellOnce(`${one.id} ${keyOf(one)}`, () => log.warn('source.waiting', { tenant, source, durable, why }))
    }
    const byId = new Map(wanted.map((one) => [one.id, one]))
    for (const inlet of [...inlets.values()]) {
      const now = byId.get(inlet.id)
      if (now === undefined || keyOf(now) !== keyOf(inlet)) close(inlet)
    }
    for (const one of wanted) if (!inlets.has(one.id)) open(one)
  }

  const takesIn = config.roles.has('ingest')
  return {
    start() {
      isStarted = takesIn
      look()
    },
    look,
    async stop() {
      isStopped = true
      for (const inlet of [...inlets.values()]) close(inlet)
      await Promise.all(closing.values())
    },
    state(tenant, name) {
      const source = registry.source(tenant, name)
      if (source?.document.nats === undefined) return null
      if (source.status === 'disabled')
        return { is: 'stopped', why: 'it is disabled: messages stay in the stream' }
      if (!takesIn)
        return { is: 'stopped', why: 'this node does not have the role `ingest`: others take them' }
      if (bus === null) return { is: 'waiting', why: NO_BUS }
      const id = idOf(tenant, name)
      return inlets.get(id)?.state ?? { is: 'waiting', why: refused.get(id) ?? STARTING.why }
    },
  }
}

const NO_BUS = 'this node knows no NATS: set MILLRACE_NATS_URL'
const TAKEN = 'its durable is that of another tenant’s source: give `nats.durable` another name'
const FORBIDDEN =
  'its tenant may not read that stream; the operator allows it with MILLRACE_NATS_STREAMS, and the source names it as `nats.stream`'
const ROUND =
  'its subjects meet what this node publishes (MILLRACE_NATS_PREFIX), and would go round for ever: name the subjects of others'
const STARTING = { is: 'waiting', why: 'it begins' } as const

/** The prefix is known to the node alone: `check` looks for the usual one. */
function goesRound({ subjects }: Wanted, own: string): boolean {
  return subjects.some((pattern) => patternsMeet(pattern, own))
}

function whyOf(state: ConsumerState): string | null {
  return state.is === 'waiting' ? state.why : null
}

function idOf(tenant: TenantId, name: string): string {
  return `${tenant}/${name}`
}

function keyOf({ stream, subjects, durable }: Wanted): string {
  return JSON.stringify([stream, subjects, durable])
}

/** Of every tenant, in an order that all nodes have. */
function wantedOf(registry: Pick<Registry, 'sources' | 'tenants'>, prefix: string): readonly Wanted[] {
  const all = registry.tenants().flatMap((tenant) =>
    registry.sources(tenant).flatMap(({ document, status }): readonly Wanted[] => {
      const { nats, name } = document
      if (nats === undefined || status === 'disabled') return []
      const { stream = null, subjects } = nats
      const durable = durableOf(prefix, tenant, name, nats)
      return [
        {
          id: idOf(tenant, name),
          tenant,
          source: name,
          stream,
          subjects,
          durable,
          isNamed: nats.durable !== undefined,
          knownForMs: document.dedup.windowMs,
        },
      ]
    }),
  )
  return all.sort((one, other) => (one.id < other.id ? -1 : 1))
}

/** Whoever shared a durable with another tenant would take its messages. The usual name is of the source that it is made of. */
function withOwnDurables(all: readonly Wanted[]) {
  const owners = new Map<string, string>()
  const first = [...all.filter(({ isNamed }) => !isNamed), ...all.filter(({ isNamed }) => isNamed)]
  for (const { durable, id } of first) if (!owners.has(durable)) owners.set(durable, id)
  const isOwner = ({ durable, id }: Wanted) => owners.get(durable) === id
  return { wanted: all.filter(isOwner), refused: all.filter((one) => !isOwner(one)) }
}
