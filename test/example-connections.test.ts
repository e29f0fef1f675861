// The example of connections: its definitions are valid, and its operations make the requests that the depot expects.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import type { ProviderDocument } from '../src/core/definitions/documents/index.ts'
import { compileOperation } from '../src/core/effects/action/index.ts'
import { compileDefinitions } from '../src/definitions/language.ts'
import { root } from './support/docs.ts'

function compiled() {
  const files = ['depot.yaml', 'shop.yaml'].map((path) => ({
    path,
    text: readFileSync(`${root}/examples/connections/${path}`, 'utf8'),
  }))
  return compileDefinitions(files, { functions: () => null })
}

test('[PV19] the example is valid, and its route contains the operation', () => {
  const { documents, findings } = compiled()
  expect(findings).toEqual([])
  expect(documents.map(({ kind, name }) => `${kind}/${name}`)).toEqual([
    'Provider/depot',
    'Credential/depot-token',
    'Connection/depot',
    'Source/shop',
    'Route/book_pickup',
    'Route/note_return',
  ])
  const routes = documents.flatMap((one) => (one.kind === 'Route' ? [one.do] : []))
  expect(routes).toMatchObject([
    { type: 'operation', provider: 'depot', connection: 'depot', operation: { name: 'bookPickup' } },
    { type: 'http', connection: 'depot', url: '/parcels/{{ payload.order.parcel }}/return' },
  ])
})

test('the depot accepts what the operation sends, once per key, and nothing without the token', async () => {
  const depot = spawn(process.execPath, [`${root}/examples/depot.mjs`], {
    env: { PATH: process.env.PATH, PORT: '0', DEPOT_TOKEN: 't' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const lines = createInterface({ input: depot.stdout })
    const url = await new Promise<string>((done) => {
      lines.once('line', (line) => done(/http:\S+/.exec(line)?.[0] ?? ''))
    })
    const provider = compiled().documents.find((one): one is ProviderDocument => one.kind === 'Provider')
    const operation = provider?.operations.bookPickup
    if (operation === undefined) throw new Error('the example has no bookPickup')
    const { method, target, headers, body } = compileOperation(operation).render({
      input: { parcel: 'A7', on: '2026-01-05' },
      config: {},
      key: 'DEPOT:PICKUP:1',
      vars: {},
    })
    const send = async (token: string) => {
      const authorized = { ...headers, authorization: `Bearer ${token}` }
      const response = await fetch(`${url}/v1${target}`, { method, headers: authorized, body })
      return [response.status, await response.json()]
    }
    expect(await send('t')).toEqual([201, { id: 'P-1' }])
    expect(await send('t')).toEqual([200, { id: 'P-1' }])
    expect(await send('other')).toEqual([401, { error: 'unauthorized' }])
  } finally {
    depot.kill()
  }
})
