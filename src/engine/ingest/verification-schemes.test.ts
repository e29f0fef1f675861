// Every verification scheme through ingest: a valid signature is accepted, and is not stored.
import { expect, test } from 'vitest'
import { open, SAMPLES, signSample } from '../../core/ingest/source/schemes/samples.fixture.ts'
import { makeWorld, ROUTE, SOURCE } from '../engine.fixture.ts'

test.each(SAMPLES)('[SV2] [SV13] $name is accepted, and its signature is not stored', async (sample) => {
  const world = makeWorld(() => null, [sample.otherSecret, sample.verifyWith])
  const node = await world.node({ documents: [{ ...SOURCE, verify: sample.document }] })
  const body = Buffer.from(JSON.stringify({ kind: 'paid', id: 'd1', webhookTimestamp: world.now() }))
  const { headers, url } = signSample(sample, body, { now: world.now() })
  const request = { tenant: 'default', source: 'shop', headers, body, publicUrl: url }
  const received = node.engine.receive(request)
  await world.pass()
  await expect(received).resolves.toHaveProperty('eventId')
  const [event] = (await world.store.system('verification').dump()).events
  expect(event?.headers).not.toContain(sample.header)
  expect(event?.headers).not.toContain(sample.signWith)
  const kept = JSON.parse(String(event?.headers))
  expect(open(sample, { headers: kept, body, url }, { now: world.now() })).toMatchObject({ ok: false })
  for (const name of sample.signedHeaders ?? []) expect(kept[name]).toBe(headers[name])
})

test('[SV20] a header is stored if it names the event, or if a definition reads it', async () => {
  const world = makeWorld(() => null)
  const source = {
    ...SOURCE,
    verify: { scheme: 'none' } as const,
    event: { ...SOURCE.event, id: 'header.x-own' },
  }
  const route = { ...ROUTE, when: "header['x-vip'] == 'yes' || true" }
  const node = await world.node({
    documents: [source, route],
    config: { keptHeaders: ['x-acme-*', 'x-plain'] },
  })
  const stored = {
    'x-own': '7',
    'x-vip': 'yes',
    'x-acme-area': 'north',
    'x-plain': '1',
    'x-github-event': 'push',
  }
  const dropped = { 'x-vault-token': 'hvs.planted', 'x-forwarded-for': '203.0.113.7', 'x-unknown': '1' }
  const body = Buffer.from(JSON.stringify({ kind: 'paid', id: 'd1' }))
  const received = node.engine.receive({
    tenant: 'default',
    source: 'shop',
    headers: { ...stored, ...dropped },
    body,
  })
  await world.pass()
  await expect(received).resolves.toHaveProperty('eventId')
  const [event] = (await world.store.system('verification').dump()).events
  expect(JSON.parse(String(event?.headers))).toEqual(stored)
})
