import { expect, test } from 'vitest'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import { makeManualTime } from '../engine/engine.fixture.ts'
import type { BusStatus } from '../ports/bus.ts'
import { NO_WAKES } from '../ports/wakes.ts'
import { logBusState, openTransport } from './transport.ts'

test('[ND8] a node with SQLite and no bus sends no wake-ups, and loads no driver', async () => {
  const deps = { node: 'one', clock: makeManualTime().clockFor(() => true), log: makeMemoryLog() }
  const transport = await openTransport({ nats: null, store: { kind: 'sqlite', file: 'x' } }, deps)
  expect(transport).toMatchObject({ bus: null, wakes: NO_WAKES })
  await transport[Symbol.asyncDispose]()
})

test('[ND8] the state of the bus is logged once for each change, and each warning once', () => {
  const log = makeMemoryLog()
  const well: BusStatus = {
    isConnected: true,
    version: '2.9.10',
    isSynced: null,
    tokensBirth: null,
    warnings: [],
  }
  let tell: (status: BusStatus) => void = () => {}
  logBusState(
    {
      status: () => well,
      watch: (listener) => {
        tell = listener
        return () => {}
      },
    },
    log,
  )
  for (const status of [
    well,
    { ...well, warnings: ['a'] },
    { ...well, warnings: ['a', 'b'] },
    { ...well, isConnected: false },
    { ...well, isConnected: false },
    well,
  ])
    tell(status)
  expect(log.messages.map(({ name, fields }) => fields.message ?? name)).toEqual([
    'bus.connected',
    'a',
    'b',
    'bus.away',
    'bus.connected',
  ])
})
