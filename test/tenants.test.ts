// No tenant sees or changes anything of another, over any operation of the OpenAPI document. An operation without a
// recipe here fails the test: its author says what a stranger may request, and what must happen.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TenantId } from '../src/core/foundation/ids/index.ts'
import { readDocument } from '../src/http/document.fixture.ts'
import type { Called } from './support/api-node.ts'
import {
  closeAccounts,
  keys,
  MARK,
  node,
  openAccounts,
  RECIPES,
  rows,
  STRANGER,
  send,
  VICTIM,
} from './support/every-operation.ts'

beforeAll(openAccounts)
afterAll(closeAccounts)

/** Tested separately below: they have no end, or no caller. */
const APART = new Set(['stream', 'signIn'])

const operations = Object.entries(readDocument().paths)
  .flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      id: operation.operationId,
      role: operation['x-millrace-role'],
      method: method.toUpperCase(),
      path,
    })),
  )
  .filter(({ path }) => path.startsWith('/v1/'))

/** Anyone of a tenant may ask for it, and it takes no name: what a stranger gets is its own. */
const isPlainList = ({ method, path, role, id }: (typeof operations)[number]) =>
  method === 'GET' && !path.includes('{') && role === 'viewer' && id.startsWith('list')

async function victimsRows() {
  const dump = await node.app.store.system('verification').dump()
  const own = (list: readonly { readonly tenant: TenantId }[]) =>
    list.filter(({ tenant }) => tenant === VICTIM)
  return {
    events: own(dump.events),
    work: own(dump.work),
    ledger: own(dump.ledger),
    deadLetters: own(dump.deadLetters),
    failures: own(dump.failures),
    escalations: own(dump.escalations),
    instances: own(dump.instances),
    history: own(dump.history),
    orphans: own(dump.orphans),
    // Rejections are written separately, some seconds later.
    records: own(dump.records.filter(({ kind }) => kind !== 'rejection')),
  }
}

describe('[AP3] every operation', () => {
  test('has a recipe here, and every recipe an operation', () => {
    const known = operations.filter(({ id }) => !APART.has(id))
    const needed = known.filter((one) => !isPlainList(one)).map(({ id }) => id)
    expect(needed.filter((id) => RECIPES[id] === undefined)).toEqual([])
    const ids = known.map(({ id }) => id)
    expect(Object.keys(RECIPES).filter((id) => !ids.includes(id))).toEqual([])
  })

  test.each(operations.filter(({ id }) => !APART.has(id)))(
    '$id gives a stranger nothing of the victim’s, and changes nothing there',
    async ({ id, method, path }) => {
      const before = await victimsRows()
      for (const { status, ...request } of [RECIPES[id]?.() ?? { status: 200 }].flat()) {
        const answer = await node.call(method, path, { ...request, key: String(keys[`${STRANGER} admin`]) })
        expect(answer.status, answer.text).toBe(status)
        expectNothingOfTheirs(answer, JSON.stringify(request))
      }
      expect(await victimsRows()).toEqual(before)
    },
  )

  // What only the node's own admin reads is of no tenant.
  const rowsByAddress = operations.filter(
    ({ id, method, path, role }) =>
      !APART.has(id) && role !== 'node' && method === 'GET' && path.includes('{'),
  )
  test.each(rowsByAddress)('$id responds to the owner of the very row', async ({ id, method, path }) => {
    const [recipe] = [RECIPES[id]?.() ?? []].flat()
    const role = operations.find((one) => one.id === id)?.role ?? 'viewer'
    const answer = await node.call(method, path, { ...recipe, key: String(keys[`${VICTIM} ${role}`]) })
    expect(answer.status).toBe(200)
  })

  let addresses = 0
  test.each(operations.filter(({ role }) => role !== 'open'))(
    '$id is closed without a key',
    async (operation) => {
      for (const key of [null, 'wrong', `${keys[`${VICTIM} admin`]}x`]) {
        // Wrong keys are throttled by address: each request comes from another.
        addresses += 1
        const headers = {
          'x-forwarded-for': `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`,
        }
        const answer = await node.call(operation.method, operation.path, { key, headers })
        expect(answer).toMatchObject({ status: 401, body: { code: 'not_authenticated' } })
      }
    },
  )

  const RANKS = ['viewer', 'operator', 'admin', 'node']
  test.each(operations.filter(({ role }) => RANKS.indexOf(role) > 0))(
    '$id is closed to a role below $role',
    async ({ role, method, path }) => {
      const below = RANKS[RANKS.indexOf(role) - 1]
      const answer = await node.call(method, path, { key: String(keys[`${VICTIM} ${below}`]) })
      expect(answer).toMatchObject({ status: 403, body: { code: 'not_allowed' } })
    },
  )
})

/** Ids that the stranger named itself: a response may repeat them later. */
const named = new Set<string>()

function expectNothingOfTheirs({ text }: Called, request: string): void {
  const ids = Object.values(rows).filter((row): row is string => typeof row === 'string')
  for (const id of ids) if (request.includes(id)) named.add(id)
  for (const id of ids) if (!named.has(id)) expect(text).not.toContain(id)
  if (!request.includes(MARK)) expect(text).not.toContain(MARK)
  expect(text).not.toContain(`${MARK} note`)
}

test('[AP3] a stream sends a stranger nothing of the victim’s', async () => {
  const stop = new AbortController()
  const response = await fetch(`${node.app.url}/v1/stream`, {
    headers: { authorization: `Bearer ${keys[`${STRANGER} viewer`]}` },
    signal: stop.signal,
  })
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let text = new TextDecoder().decode((await reader.read()).value)
  await send(VICTIM, MARK, 'streamed', 'unheard', 200)
  const mine = await send(STRANGER, 'mine', 'streamed', 'unheard', 200)
  while (!text.includes(mine.body.eventId)) text += new TextDecoder().decode((await reader.read()).value)
  stop.abort()
  expect(text).not.toContain(MARK)
})

test('[AP3] a stranger’s idempotency key returns no other tenant’s response', async () => {
  const headers = { 'idempotency-key': 'the-same' }
  // Refused by its route: that response is stored, too.
  const path = '/v1/dead-letters/replay'
  const body = { filter: { cause: 'nobody’s' } }
  const first = await node.call('POST', path, {
    key: String(keys[`${VICTIM} operator`]),
    headers,
    body,
  })
  const again = await node.call('POST', path, {
    key: String(keys[`${VICTIM} operator`]),
    headers,
    body,
  })
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  expect(again.text).toBe(first.text)
  const other = await node.call('POST', path, {
    key: String(keys[`${STRANGER} operator`]),
    headers,
    body,
  })
  expect(other.headers.get('idempotency-replayed')).toBeNull()
})

test('[AP2] every response here matched the document', () => {
  expect(node.faults).toEqual([])
})
