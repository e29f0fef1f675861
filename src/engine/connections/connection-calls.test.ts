// What is reserved beside the key of a call on a connection, by its gate at that moment.
import { expect, test } from 'vitest'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import type { Call } from '../effects/call.ts'
import { makeConnectionCalls } from './connection-calls.ts'
import type { CircuitGate } from './connection-state-cache.ts'
import { ACTION } from './connections.fixture.ts'

const WRITE = { w: 'run.put' } as const
const CLOSED: CircuitGate = { is: 'closed', untilAt: null, why: 'it waits for its first passed test' }
const REFUSED: CircuitGate = { is: 'refused', code: 'connection_unknown', why: 'there is none' }

function besideAt(gate: CircuitGate, isTry = false) {
  const unused = () => {
    throw new Error('nothing is sent')
  }
  const calls = makeConnectionCalls(
    {
      time: { now: () => 0 },
      lookups: { find: () => ({ ok: true, account: { provider: { name: 'shopware' } } }) },
      stateCache: { gate: () => gate, isTry: () => isTry },
      outboundClient: { send: unused },
      callAdmission: { leave: unused },
      credentials: { refused: unused },
      runs: { begin: async () => WRITE },
      judge: unused,
    } as unknown as Parameters<typeof makeConnectionCalls>[0],
    { responseBytesMax: 1_000 },
  )
  const call = {
    item: { work: { tenant: DEFAULT_TENANT, id: 'wrk_1', epoch: 1 } },
    route: { document: { do: ACTION } },
    key: 'k',
  } as unknown as Call
  return calls.around(calls.through(call) as Call).beside?.()
}

test('[DR11] a call that may be made has its run', async () => {
  expect(await besideAt({ is: 'open' })).toMatchObject({ ok: true, writes: [WRITE] })
  expect(await besideAt(CLOSED, true)).toMatchObject({ ok: true, writes: [WRITE] })
})

test('[CX2] a refused call has none, and ends', async () => {
  expect(await besideAt(REFUSED)).toMatchObject({ ok: true, writes: [] })
})

test('[CX1] [CX6] a call whose gate closed since it was admitted reserves nothing, and waits', async () => {
  expect(await besideAt(CLOSED)).toMatchObject({ ok: false, why: CLOSED.why })
})
