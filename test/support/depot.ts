// A depot on the loopback, a node whose orders become pickups there, and senders with a steady rate. The depot's own
// log is trusted: which token each call came with, and what it did.
//
// Its API is what many vendors have: `POST /pickups` recognises an idempotency key, `GET /me` only reads, `POST
// /tokens` creates another token, once per key, and `DELETE /tokens/:id` revokes one. An aged token is accepted only to
// be exchanged.

import { Pool } from 'undici'
import { eventually, type NodeOptions, type NodeProcess, startNode } from './node-process.ts'
import { makeVendor, type VendorApi, type VendorCall, type VendorOptions } from './vendor-api/index.ts'

export const FIRST_TOKEN = 'tok-the-first-one-planted-secret'

export interface Depot extends AsyncDisposable {
  readonly vendor: VendorApi
  /** By the depot's names, in order. */
  readonly made: ReadonlyMap<string, string>
  /** From now on the token is refused everywhere except where it is exchanged. */
  age(token: string): void
  /** How often each parcel was fetched: more than once is a doubled effect. */
  pickups(): ReadonlyMap<string, number>
  /** Calls for pickups that were refused for their token. */
  refused(): number
}

export async function startDepot(options: VendorOptions = {}): Promise<Depot> {
  const aged = new Set<string>()
  const made = new Map<string, string>()
  const refusal = { status: 401, body: { error: 'token_expired' } }
  const isAged = ({ token }: VendorCall) => token !== null && aged.has(token)
  const vendor = await makeVendor({
    tokens: [FIRST_TOKEN],
    keyHeader: 'idempotency-key',
    answers: {
      'GET /me': (call) => (isAged(call) ? refusal : { status: 200, body: { account: 'shop' } }),
      'POST /pickups': (call) =>
        isAged(call) ? refusal : { status: 201, body: { id: `P-${call.json.parcel}` } },
      'POST /tokens': () => {
        const token = vendor.tokens.create()
        const id = `T-${made.size + 1}`
        made.set(id, token)
        return { status: 201, body: { id, token } }
      },
      'DELETE /tokens/:id': ({ parts }) => {
        vendor.tokens.revoke(made.get(parts.id ?? '') ?? '')
        return { status: 204, body: null }
      },
    },
    ...options,
  })
  return {
    vendor,
    made,
    age: (token) => aged.add(token),
    pickups() {
      const counts = new Map<string, number>()
      for (const { isEffect, json } of vendor.callsOf('POST /pickups'))
        if (isEffect) counts.set(json.parcel, (counts.get(json.parcel) ?? 0) + 1)
      return counts
    },
    refused: () => vendor.callsOf('POST /pickups').filter(({ status }) => status === 401).length,
    [Symbol.asyncDispose]: () => vendor[Symbol.asyncDispose](),
  }
}

export interface DepotFlows {
  /** Lines of the provider, instead of a bearer token. */
  readonly provider?: string
  /** Lines of the credential. */
  readonly credential?: string
  readonly connection?: string
  /** Whether the depot creates tokens for us, or a user provides them. */
  readonly makesTokens?: boolean
}

export function depotFlows(url: string, flows: DepotFlows = {}): string {
  const { makesTokens = false } = flows
  return `
kind: Provider
name: depot
baseUrl: ${url}
probe: { path: /me }
${flows.provider ?? 'auth: bearer'}
operations:
  book:
    path: /pickups
    input: { type: object, required: [parcel], properties: { parcel: { type: string } } }
    idempotency: native
    keyTtl: 24h
    ref: result.body.id
  makeToken: { path: /tokens, idempotency: native, keyTtl: 24h, ref: result.body.id }
  endToken: { method: DELETE, path: "/tokens/{{ input.ref }}" }
${makesTokens ? 'rotation: { create: makeToken, secret: result.body.token, revoke: endToken }' : ''}
---
kind: Credential
name: depot-token
provider: depot
secret: { ref: depot-token }
${flows.credential ?? 'rotation: { overlap: 1s }'}
---
kind: Connection
name: depot
provider: depot
credential: depot-token
${flows.connection ?? 'probe: none'}
---
kind: Source
name: shop
verify: { scheme: none }
subject: "shop.order.{{ payload.status }}"
event: { id: payload.id }
---
kind: Route
name: book_pickup
on: shop.order.packed
key: "'DEPOT:PICKUP:' + payload.id"
uniqueness: record
retry: { attempts: 6, delays: [200ms, 500ms, 1s, 1s, 1s] }
do:
  operation: depot.book
  connection: depot
  with: { parcel: "{{ payload.id }}" }
`
}

interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextCursor: string | null
}

export interface ShownEvent {
  readonly id: string
  readonly subject: string
  readonly correlationId: string
  readonly data: { readonly [name: string]: unknown }
}

export interface ShownCredential {
  readonly status: string
  readonly version: number | null
  readonly versions: readonly { readonly version: number; readonly state: string }[]
  readonly rotation: {
    readonly underWay: { readonly reason: string; readonly workId: string } | null
    readonly lastAt: string | null
    readonly lastFailure: { readonly error: string; readonly version: number | null } | null
  }
}

export interface ShownConnection {
  readonly status: string
  readonly circuit: { readonly state: string; readonly override: { readonly is: string } | null }
}

export interface ShopNode {
  readonly node: NodeProcess
  /** Into the vault. `isPending`: to be verified before it replaces the one in use. */
  setSecret(name: string, value: string, isPending?: boolean): Promise<void>
  /** One order is packed; returns its event. */
  pack(id: string): Promise<string>
  /** This many orders a second, for this long; returns their names. Each is acknowledged by then. */
  packFor(ms: number, perSecond: number, prefix: string): Promise<readonly string[]>
  credential(name?: string): Promise<ShownCredential>
  connection(name?: string): Promise<ShownConnection>
  /** All pages. */
  list<Item>(path: string): Promise<readonly Item[]>
  /** The latest events of a subject. */
  told(subject: string): Promise<readonly ShownEvent[]>
}

const TICK_MS = 10
const SENDERS = 16

/** Settles when the node is up and knows the depot's token, if one is given, and the connection passed its test. */
export async function startShop(options: NodeOptions, token: string | null): Promise<ShopNode> {
  const node = await startNode(options)
  const shop = shopOf(node)
  if (token !== null) {
    await shop.setSecret('depot-token', token)
    const { ok } = await node.post<{ ok: boolean }>('/v1/integrations/connections/depot/test', {})
    if (!ok) throw new Error('the connection did not pass its test')
  }
  return shop
}

export function shopOf(node: NodeProcess): ShopNode {
  const list = async <Item>(path: string): Promise<readonly Item[]> => {
    const items: Item[] = []
    let cursor: string | null = null
    do {
      const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const page: Page<Item> = await node.get(`${path}${path.includes('?') ? '&' : '?'}limit=200${more}`)
      items.push(...page.items)
      cursor = page.nextCursor
    } while (cursor !== null)
    return items
  }
  const bodyOf = (id: string) => JSON.stringify({ id, status: 'packed' })
  const HEADERS = { 'content-type': 'application/json' }
  return {
    node,
    list,
    async setSecret(name, value, isPending = false) {
      await node.post('/v1/secrets', { name, value, ...(isPending && { pending: true }) })
    },
    async pack(id) {
      const init = { method: 'POST', headers: HEADERS, body: bodyOf(id) }
      const response = await fetch(`${node.url}/in/default/shop`, init)
      if (response.status !== 202) throw new Error(`the order was answered ${response.status}`)
      return ((await response.json()) as { eventId: string }).eventId
    },
    async packFor(ms, perSecond, prefix) {
      const pool = new Pool(node.url, { connections: SENDERS })
      const ids: string[] = []
      const sent: Promise<void>[] = []
      const send = async (id: string) => {
        const request = {
          method: 'POST',
          path: '/in/default/shop',
          headers: HEADERS,
          body: bodyOf(id),
        } as const
        const { statusCode, body } = await pool.request(request)
        await body.text()
        if (statusCode !== 202) throw new Error(`the order ${id} was answered ${statusCode}`)
      }
      const startedAt = performance.now()
      await new Promise<void>((done) => {
        const timer = setInterval(() => {
          const elapsedMs = Math.min(ms, performance.now() - startedAt)
          while (ids.length < (elapsedMs * perSecond) / 1_000) {
            const id = `${prefix}-${ids.length + 1}`
            ids.push(id)
            sent.push(send(id))
          }
          if (elapsedMs < ms) return
          clearInterval(timer)
          done()
        }, TICK_MS)
      })
      await Promise.all(sent)
      await pool.close()
      return ids
    },
    credential: (name = 'depot-token') => node.get(`/v1/integrations/credentials/${name}`),
    connection: (name = 'depot') => node.get(`/v1/integrations/connections/${name}`),
    told: async (subject) =>
      (await node.get<Page<ShownEvent>>(`/v1/events?system=true&subject=${subject}&limit=50`)).items,
  }
}

/** Every one of these orders was fetched, and each of them once. */
export async function fetchedOnce(depot: Depot, orders: readonly string[]): Promise<void> {
  await eventually(`${orders.length} pickups`, () => {
    const pickups = depot.pickups()
    return orders.every((id) => pickups.has(id))
  })
  const doubled = [...depot.pickups()].filter(([, count]) => count !== 1)
  if (doubled.length > 0) throw new Error(`fetched more than once: ${JSON.stringify(doubled.slice(0, 10))}`)
}

/** Nothing is due, waiting, parked or dead any more. */
export async function allDone(shop: ShopNode): Promise<void> {
  let found: Page<unknown>['items'] = []
  const isDone = async () => {
    for (const state of ['ready', 'waiting', 'leased', 'parked', 'dead']) {
      found = (await shop.node.get<Page<unknown>>(`/v1/work?state=${state}&limit=5`)).items
      if (found.length > 0) return false
    }
    return true
  }
  await eventually('all work is done', isDone, () => found)
}
