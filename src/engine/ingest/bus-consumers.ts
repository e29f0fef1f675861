// Runs the bus consumers: one for each source of every tenant that consumes from the bus, by the deployed definitions.
//
// Invariants: BU76 all sources of a node share one byte limit. BU64 a paused source goes on consuming; messages of a
// disabled one stay in the stream. BU65 a durable belongs to one source: if several tenants name it, one of them gets
// it. BU74 a source reads only the streams that its tenant may read. A source whose consumer changes is closed before
// it restarts.

import { patternsMeet } from '../../core/events/subject/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { durableOf, mayReadAnyStream, mayReadStream } from '../../core/ingest/bus-message/index.ts'
import type { Source } from '../../core/ingest/source/index.ts'
import type { Consumer, ConsumerState } from '../../ports/bus.ts'
import type { EngineConfig, EngineDeps } from '../config.ts'
import type { Registry } from '../definitions/index.ts'
import type { SharedPermits } from '../flow-control/index.ts'
import type { MessageContext, Messages } from './bus-messages.ts'
import { makeSourceRates } from './source-rates.ts'

export type BusConsumerState =
  | ConsumerState
  /** This node consumes nothing, by configuration. */
  | { readonly is: 'stopped'; readonly why: string }

export interface BusConsumers {
  start(): void
  /** The definitions changed. */
  look(): void
  /** Consumes no more; resolves when the messages in flight are settled. */
  stop(): Promise<void>
  /** null: the source does not consume from the bus, or does not exist. */
  state(tenant: TenantId, name: string): BusConsumerState | null
}

/** Messages of one source in flight on a node: enough for several commit groups. */
const IN_FLIGHT_MAX = 256
/** How long a message waits for its rate before the rate is read again. */
const PERMIT_WAIT_MS_MAX = 5_000

interface Wanted {
  readonly id: string
  readonly tenant: TenantId
  readonly source: string
  readonly stream: string | null
  readonly subjects: readonly string[]
  readonly durable: string
  /** Whether the definition names the durable. */
  readonly isNamed: boolean
  readonly knownForMs: number
}

interface BusConsumer extends Wanted {
  state: ConsumerState
  isClosed: boolean
  consumer: Consumer | null
  /** Messages wait for the rate one after another. */
  pending: Promise<void>
  /** Ends the current wait. */
  retryNow: () => void
}

export function makeBusConsumers(
  deps: Pick<EngineDeps, 'clock' | 'log' | 'bus'> & {
    readonly registry: Pick<Registry, 'source' | 'sources' | 'tenants'>
    readonly messages: Messages
    /** Rate permits shared by all nodes; null: this is the only node. */
    readonly sharedPermits: SharedPermits | null
  },
  config: Pick<EngineConfig, 'roles' | 'busPrefix' | 'natsStreams' | 'messageBytesMax'>,
): BusConsumers {
  const { clock, log, bus, registry, messages } = deps
  const sourceRates = makeSourceRates({ clock, sharedPermits: deps.sharedPermits })
  const busConsumers = new Map<string, BusConsumer>()
  const closing = new Map<string, Promise<void>>()
  /** Why a defined source is not consumed, by source. */
  const refused = new Map<string, string>()
  const logged = new Set<string>()
  const own = `${config.busPrefix}.>`
  const mayRead = (tenant: TenantId, stream: string) =>
    mayReadStream(config.natsStreams, config.busPrefix, tenant, stream)
  let isStarted = false
  let isStopped = false

  const sourceOf = (tenant: TenantId, name: string): Source | null => {
    const source = registry.source(tenant, name)
    return source?.document.nats === undefined || source.status === 'disabled' ? null : source
  }

  // --- Rate

  const wait = (busConsumer: BusConsumer, delayMs: number): Promise<void> =>
    new Promise((resolve) => {
      const cancel = clock.after(delayMs, resolve)
      busConsumer.retryNow = () => {
        cancel()
        resolve()
      }
    })

  const waitForPermit = async (busConsumer: BusConsumer): Promise<boolean> => {
    for (;;) {
      const source = busConsumer.isClosed ? null : sourceOf(busConsumer.tenant, busConsumer.source)
      if (source === null) return false
      const waitMs = await sourceRates.take(busConsumer.tenant, source)
      if (waitMs === 0) return true
      // It was closed before this wait began.
      if (busConsumer.isClosed) return false
      await wait(busConsumer, Math.min(waitMs, PERMIT_WAIT_MS_MAX))
    }
  }

  const contextOf = (busConsumer: BusConsumer): MessageContext => ({
    tenant: busConsumer.tenant,
    source: () => (busConsumer.isClosed ? null : sourceOf(busConsumer.tenant, busConsumer.source)),
    admit() {
      const source = sourceOf(busConsumer.tenant, busConsumer.source)
      if (source?.guards.rate === null) return Promise.resolve(!busConsumer.isClosed)
      const admitted = busConsumer.pending.then(() => waitForPermit(busConsumer))
      // A failed wait must not block those behind it.
      busConsumer.pending = admitted.then(
        () => {},
        () => {},
      )
      return admitted
    },
  })

  // --- Consumers

  const logState = (busConsumer: BusConsumer, state: ConsumerState) => {
    if (busConsumer.isClosed) return
    const isSame = busConsumer.state.is === state.is && whyOf(busConsumer.state) === whyOf(state)
    busConsumer.state = state
    if (isSame) return
    const { tenant, source, durable } = busConsumer
    if (state.is === 'consuming') log.info('source.consuming', { tenant, source, durable })
    else log.warn('source.waiting', { tenant, source, durable, why: state.why })
  }

  const open = (wanted: Wanted) => {
    const busConsumer: BusConsumer = {
      ...wanted,
      state: STARTING,
      isClosed: false,
      consumer: null,
      pending: Promise.resolve(),
      retryNow: () => {},
    }
    busConsumers.set(wanted.id, busConsumer)
    const way = contextOf(busConsumer)
    const begin = () => {
      if (busConsumer.isClosed || bus === null) return
      const { stream, subjects, durable, knownForMs } = wanted
      busConsumer.consumer = bus.consume({
        stream,
        subjects,
        durable,
        owner: `${config.busPrefix} ${wanted.id}`,
        mayRead: (name) => mayRead(wanted.tenant, name),
        knownForMs,
        maxInFlight: IN_FLIGHT_MAX,
        maxBytes: () => config.messageBytesMax / Math.max(1, busConsumers.size),
        handle: (message) => messages.handle(way, message),
        onState: (state) => logState(busConsumer, state),
      })
    }
    const before = closing.get(wanted.id)
    if (before === undefined) begin()
    else void before.then(begin)
  }

  const close = (busConsumer: BusConsumer): void => {
    const { id } = busConsumer
    busConsumer.isClosed = true
    busConsumer.retryNow()
    busConsumers.delete(id)
    const before = closing.get(id) ?? Promise.resolve()
    const closed = before
      .then(() => busConsumer.consumer?.close())
      .catch((error: unknown) => log.warn('source.not-closed', { source: id, error: String(error) }))
      .then(() => {
        if (closing.get(id) === closed) closing.delete(id)
      })
    closing.set(id, closed)
  }

  const logOnce = (id: string, tell: () => void) => {
    if (logged.has(id)) return
    logged.add(id)
    tell()
  }

  const look = () => {
    if (!isStarted || isStopped) return
    const all = wantedOf(registry, config.busPrefix)
    if (bus === null) {
      for (const { id, tenant, source } of all)
        logOnce(id, () => log.warn('source.no-bus', { tenant, source, next: NO_BUS }))
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
      logOnce(`${one.id} ${keyOf(one)}`, () => log.warn('source.waiting', { tenant, source, durable, why }))
    }
    const byId = new Map(wanted.map((one) => [one.id, one]))
    for (const busConsumer of [...busConsumers.values()]) {
      const now = byId.get(busConsumer.id)
      if (now === undefined || keyOf(now) !== keyOf(busConsumer)) close(busConsumer)
    }
    for (const one of wanted) if (!busConsumers.has(one.id)) open(one)
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
      for (const busConsumer of [...busConsumers.values()]) close(busConsumer)
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
      return busConsumers.get(id)?.state ?? { is: 'waiting', why: refused.get(id) ?? STARTING.why }
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

/** Only the node knows its prefix: `check` looks for the default one. */
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

/** The sources of every tenant, in the same order on all nodes. */
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

/**
 * A source that shared a durable with another tenant would get that tenant's messages. The default name
 * belongs to the source it is derived from.
 */
function withOwnDurables(all: readonly Wanted[]) {
  const owners = new Map<string, string>()
  const first = [...all.filter(({ isNamed }) => !isNamed), ...all.filter(({ isNamed }) => isNamed)]
  for (const { durable, id } of first) if (!owners.has(durable)) owners.set(durable, id)
  const isOwner = ({ durable, id }: Wanted) => owners.get(durable) === id
  return { wanted: all.filter(isOwner), refused: all.filter((one) => !isOwner(one)) }
}
