import type { NatsConnection } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Wake } from '../../ports/wakes.ts'
import type { Connection } from './connection.ts'
import { makeNatsWakes } from './wakes.ts'

const ACME = 'acme' as TenantId
const encode = (text: string) => new TextEncoder().encode(text)

function makeLine(maxPayload: number) {
  const timers: (() => void)[] = []
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    defer: () => {},
    after(_, callback) {
      timers.push(callback)
      return () => {}
    },
  }
  const sent: string[] = []
  let isBroken = false
  let hear = (_: unknown) => {}
  const nats = {
    info: { max_payload: maxPayload },
    publish(_: string, text: string) {
      if (isBroken) throw new Error('closed connection')
      if (encode(text).byteLength > maxPayload) throw new Error('max_payload size exceeded')
      sent.push(text)
    },
    subscribe(_: string, { callback }: { callback: (error: null, message: unknown) => void }) {
      hear = (value) => callback(null, { json: () => value })
    },
  } as unknown as NatsConnection
  const connection = {
    current: () => nats,
    onThere(listener) {
      listener(nats)
      return () => {}
    },
  } as Pick<Connection, 'current' | 'onThere'> as Connection
  const wakes = makeNatsWakes({ connection, subject: 'millrace.wakes', clock })
  return {
    wakes,
    sent,
    fire: () => {
      for (const timer of timers.splice(0)) timer()
    },
    breakLine: () => {
      isBroken = true
    },
    hear: (value: unknown) => hear(value),
  }
}

test('[WK4] wake-ups too large for a server with a small limit go in several messages, or say that there is more', () => {
  const { wakes, sent, fire } = makeLine(1_024)
  const told = Array.from({ length: 40 }, (_, index): Wake => {
    return { wake: 'changes', tenant: ACME, body: `${index} ${'ü'.repeat(index * 20)}` }
  })
  for (const wake of told) wakes.send(wake)
  fire()
  const heard = sent.flatMap((text) => JSON.parse(text).wakes as Wake[])
  expect(heard).toHaveLength(40)
  expect(heard.slice(0, 5)).toEqual(told.slice(0, 5))
  expect(heard.at(-1)).toEqual({ wake: 'changes', tenant: ACME, body: null })
  expect(sent.length).toBeGreaterThan(10)
})

test('[WK7] sending never fails, even while the connection ends, and after closing nothing is sent', () => {
  const { wakes, sent, fire, breakLine } = makeLine(1_024)
  wakes.send({ wake: 'work' })
  breakLine()
  expect(fire).not.toThrow()
  wakes.close()
  wakes.send({ wake: 'work' })
  fire()
  expect(sent).toEqual([])
})

test('[WK8] what is not a wake-up is ignored', () => {
  const { wakes, hear } = makeLine(1_024)
  const heard: Wake[] = []
  wakes.listen((wake) => heard.push(wake))
  const good: readonly Wake[] = [
    { wake: 'work' },
    { wake: 'watching', forMs: 5 },
    { wake: 'changes', tenant: ACME, body: null },
  ]
  const bad = [
    ...[null, 7, {}, { wake: 'other' }, { wake: 'definitions' }, { wake: 'definitions', tenant: 7 }],
    ...[{ wake: 'watching', forMs: 'x' }, { wake: 'watching' }, { wake: 'changes', tenant: 'a', body: {} }],
    ...[{ wake: 'changes', body: 'x' }],
  ]
  hear({ from: 'other', wakes: [...bad, ...good] })
  hear({ from: 'other', wakes: 'x' })
  hear(null)
  expect(heard).toEqual(good)
})
