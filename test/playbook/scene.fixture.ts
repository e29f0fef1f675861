// The set-up for edge cases: definitions as a user writes them, the real compiler and engine over a memory store,
// manual time, and a vendor whose own log says what really happened.

import type { DefinitionDocument } from '../../src/core/definitions/documents/index.ts'
import { hashText } from '../../src/core/foundation/hash/index.ts'
import { DEFAULT_TENANT, type EventId } from '../../src/core/foundation/ids/index.ts'
import { type Finding, formatFindings } from '../../src/definitions/index.ts'
import { compileDefinitions } from '../../src/definitions/language.ts'
import {
  accept,
  LOST,
  makeWorld,
  type Node,
  type NodeOptions,
  type World,
} from '../../src/engine/engine.fixture.ts'
import type { HttpOutcome, HttpRequest } from '../../src/ports/http-client.ts'

export const T = DEFAULT_TENANT
export const ANNA = { actor: 'anna', reason: 'looked at the vendor' }

/** Remembers events by their id for a minute, so that a test need not wait long for a later one. */
export const SHOP = `
kind: Source
name: shop
verify: { scheme: none }
subject: "shop.events.{{ payload.kind }}"
event: { id: payload.id, objectType: order, objectId: payload.order }
dedup: { by: event.id, window: 1m }
`

const FILE = 'flows.yaml'

/** The findings of `check`; `deployedDocuments` is what was applied before. */
export function check(
  text: string,
  deployedDocuments: readonly DefinitionDocument[] = [],
): readonly Finding[] {
  return compileDefinitions([{ path: FILE, text }], { functions: () => '', deployedDocuments }).findings
}

export const rules = (findings: readonly Finding[]) =>
  findings.map(({ rule, severity }) => `${rule} ${severity}`)

/** Documents ready to be applied. Warnings are allowed; an error is not. */
export function compile(text: string): readonly DefinitionDocument[] {
  const { documents, findings } = compileDefinitions([{ path: FILE, text }], { functions: () => '' })
  const errors = findings.filter(({ severity }) => severity === 'error')
  if (errors.length > 0) throw new Error(formatFindings(errors, [{ path: FILE, text }]))
  return documents
}

/** `drop`: done, and the response got lost. `lose`: not done, without a response. `hold`: the test responds. */
export type Fate =
  | number
  | 'drop'
  | 'lose'
  | 'hold'
  | { readonly status: number; readonly retryAfter: string }

export interface Effect {
  readonly key: string
  readonly path: string
  readonly body: Record<string, unknown>
}

export interface Vendor {
  /** What it has done, in order: the oracle. */
  readonly effects: Effect[]
  keys(): readonly string[]
  serve(request: HttpRequest, call: number): HttpOutcome | null
  /** As if it had done this. */
  do(request: HttpRequest): void
}

/** A GET with `ref` says whether it has done that. `remembers`: it does nothing twice under one key. */
export function makeVendor(
  fate: (request: HttpRequest, call: number) => Fate = () => 201,
  { remembers = false } = {},
): Vendor {
  const effects: Effect[] = []
  const keys = () => effects.map(({ key }) => key)
  const act = (request: HttpRequest) => {
    const key = request.headers['idempotency-key'] ?? ''
    if (remembers && keys().includes(key)) return
    const { pathname, search } = new URL(request.url)
    effects.push({ key, path: pathname + search, body: JSON.parse(request.body ?? '{}') })
  }
  return {
    effects,
    keys,
    do: act,
    serve(request, call) {
      if (request.method === 'GET') {
        const ref = new URL(request.url).searchParams.get('ref') ?? ''
        return answer(200, { found: keys().includes(ref) })
      }
      const says = fate(request, call)
      if (says === 'hold') return null
      if (says === 'lose') return LOST
      if (typeof says === 'object') return answer(says.status, {}, { 'retry-after': says.retryAfter })
      if (says === 'drop' || says < 300) act(request)
      return says === 'drop' ? LOST : answer(says, { id: `v${effects.length}` })
    },
  }
}

export function answer(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): HttpOutcome {
  return { kind: 'response', status, headers, body: JSON.stringify(body), durationMs: 1 }
}

export interface Scene {
  readonly world: World
  readonly node: Node
  readonly vendor: Vendor
  /** Sends one after another. */
  send(...payloads: readonly object[]): Promise<readonly EventId[]>
  apply(text: string): Promise<void>
  heard<Value>(promise: Promise<Value>): Promise<Value>
}

export async function start(
  text: string,
  vendor: Vendor = makeVendor(),
  options: Omit<NodeOptions, 'documents'> = {},
): Promise<Scene> {
  const world = makeWorld(vendor.serve)
  const node = await world.node({ documents: compile(text), ...options })
  return {
    world,
    node,
    vendor,
    heard: (promise) => heard(world, promise),
    async send(...payloads) {
      const ids: EventId[] = []
      for (const payload of payloads) ids.push(await accept(world, node, payload))
      return ids
    },
    async apply(changed) {
      await heard(world, node.engine.apply(T, compile(changed)))
    },
  }
}

/** Lets the world run until the result is there. */
async function heard<Value>(world: World, promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {})
  await world.pass(50)
  return promise
}

let numbered = 0
/** A new event of an object; given fields stay as they are. */
export function paid(order: string, more: object = {}): object {
  numbered += 1
  return { kind: 'paid', id: `d${numbered}`, order, ...more }
}

export const letters = async (world: World) =>
  (await world.reads.deadLetters({ cursor: null, limit: 200 })).items.toReversed()
export const escalations = async (world: World) =>
  (await world.reads.escalations({ cursor: null, limit: 200 })).items.toReversed()
/** The oldest first. */
export const items = async (world: World) =>
  (await world.reads.workList({ cursor: null, limit: 500 })).items.toReversed()
export const states = async (world: World) => (await items(world)).map(({ state }) => state)
/** What Millrace emitted about itself. */
export const told = async (world: World, subject: string) =>
  (await world.reads.events({ source: 'millrace', subject, cursor: null, limit: 200 })).items

export const hashOf = hashText
