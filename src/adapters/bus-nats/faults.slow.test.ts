// Faults that only a real server shows to a node: it is not up yet, dies, comes back without its data, refuses, or does
// not know a setting.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConsumerConfig } from '@nats-io/jetstream'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type NatsServer, startNats } from '../../../test/support/nats.ts'
import { collect } from '../../ports/bus.fixture.ts'
import type { Bus } from '../../ports/bus.ts'
import { MISSED, type Wake } from '../../ports/wakes.ts'
import { consumerName } from './binding.ts'
import { makeRealm } from './credentials.fixture.ts'
import { makeOutsider, makeTestBus, type Outsider, untilConnected } from './harness.fixture.ts'
import { ensureStream, ownStreams } from './streams.ts'

const SUBJECT = 'millrace.acme.events.crm.created'
const until = <Value>(check: () => Value | Promise<Value>) =>
  vi.waitFor(check, { timeout: 60_000, interval: 10 })
const message = (id: string, subject = SUBJECT) => ({
  id,
  subject,
  headers: {},
  body: new TextEncoder().encode(id),
})

let server: NatsServer
let outsider: Outsider
const opened: Bus[] = []

const open = (url = server.url): Bus => {
  const bus = makeTestBus([url])
  opened.push(bus)
  return bus
}
const connect = () => untilConnected(open())

describe('a server that dies', () => {
  beforeEach(async () => {
    server = await startNats()
    outsider = await makeOutsider(server.url)
  })
  afterEach(async () => {
    for (const bus of opened.splice(0)) await bus[Symbol.asyncDispose]()
    await outsider.close()
    await server.close()
  })

  const makeCrm = () => outsider.manager.streams.add({ name: 'CRM', subjects: ['crm.>'] })

  test('[BU14] a bus starts without its server, says so, and works when the server is up', async () => {
    await server.stop()
    const bus = open()
    const { states } = collect(bus)
    await until(() => expect(bus.status().warnings.join()).toMatch(/cannot be reached.*MILLRACE_NATS_URL/))
    expect(states).toEqual(['NATS cannot be reached; it is tried again'])
    await expect(bus.publish([message('a')])).rejects.toMatchObject({ code: 'unavailable' })
    await server.start()
    await untilConnected(bus)
    expect(await bus.publish([message('a')])).toEqual([true])
    expect(bus.status()).toMatchObject({ isConnected: true, version: expect.stringMatching(/^2\./) })
    expect(bus.status().warnings.join()).not.toContain('cannot be reached')
  })

  test('[BU14] a bus that never found its server closes at once', async () => {
    await server.stop()
    const bus = open()
    await until(() => expect(bus.status().warnings).not.toEqual([]))
    await bus[Symbol.asyncDispose]()
    expect(bus.status().isConnected).toBe(false)
  })

  test('[BU15] a server that is killed and comes back: acknowledged messages are stored, and publishing and consuming go on', async () => {
    await makeCrm()
    const bus = await connect()
    const { got, ids, states } = collect(bus)
    for (let index = 0; index < 20; index += 1) {
      await outsider.send({ subject: 'crm.a', id: `in-${index}` })
      expect(await bus.publish([message(`out-${index}`)])).toEqual([true])
    }
    await until(() => expect(got).toHaveLength(20))
    await server.kill()
    await until(() => expect(bus.status().isConnected).toBe(false))
    await server.start()
    await until(async () => expect(await bus.publish([message('out-20')])).toEqual([true]))
    await until(() => outsider.send({ subject: 'crm.a', id: 'in-20' }))
    await until(() => expect(ids()).toContain('in-20'))
    expect((await outsider.stored(SUBJECT)).map(({ id }) => id)).toEqual(
      Array.from({ length: 21 }, (_, index) => `out-${index}`),
    )
    expect(states).toEqual(['consuming', 'NATS cannot be reached; it is tried again', 'consuming'])
    // A place belongs to one message, however often it was delivered.
    expect(new Map(got.map(({ place, id }) => [place, id])).size).toBe(21)
  })

  test('[BU15] a server that comes back empty: our streams are recreated, publishing and consumers go on', async () => {
    await makeCrm()
    const bus = await connect()
    const { got, ids, states } = collect(bus)
    await outsider.send({ subject: 'crm.a', id: 'before' })
    expect(await bus.publish([message('before')])).toEqual([true])
    await until(() => expect(got).toHaveLength(1))
    await server.kill()
    await server.start({ isEmpty: true })
    await until(async () => expect(await bus.publish([message('after')])).toEqual([true]))
    expect((await outsider.stored(SUBJECT)).map(({ id }) => id)).toEqual(['after'])
    await until(() => expect(states.at(-1)).toMatch(/no stream CRM/))
    await makeCrm()
    await outsider.send({ subject: 'crm.a', id: 'after' })
    await until(() => expect(ids()).toEqual(['before', 'after']))
    expect(states.at(-1)).toBe('consuming')
    expect(new Set(got.map(({ place }) => place)).size).toBe(2)
  })

  test('[BU15] a removed stream of ours is recreated when something is published', async () => {
    const bus = await connect()
    expect(await bus.publish([message('a')])).toEqual([true])
    await outsider.manager.streams.delete('MILLRACE_EVENTS')
    await expect(bus.publish([message('b')])).rejects.toMatchObject({ code: 'unavailable' })
    await until(async () => expect(await bus.publish([message('b')])).toEqual([true]))
  })

  test('[BU15] a consumer that was removed on the server is recreated', async () => {
    await makeCrm()
    const { got } = collect(await connect())
    await outsider.send({ subject: 'crm.a', id: 'a' })
    await until(() => expect(got).toHaveLength(1))
    await outsider.manager.consumers.delete('CRM', 'reader')
    await outsider.send({ subject: 'crm.a', id: 'b' })
    await until(() => expect(got.map(({ id }) => id)).toContain('b'))
    // It starts at the beginning again; the place shows that it is the same message.
    expect(new Set(got.map(({ place }) => place)).size).toBe(2)
  })

  test('[BU15] two nodes, the server killed three times under load: every message is handled', async () => {
    await makeCrm()
    const nodes = [collect(await connect()), collect(await connect())]
    const seen = () => new Set(nodes.flatMap(({ ids }) => ids()))
    const sent = new Set<string>()
    for (let round = 0; round < 3; round += 1) {
      for (let index = 0; index < 100; index += 1) {
        const id = `${round}-${index}`
        await until(() => outsider.send({ subject: `crm.${index % 5}`, id }))
        sent.add(id)
      }
      await server.kill()
      await server.start()
    }
    await until(() => expect(seen().size).toBe(sent.size))
    expect(seen()).toEqual(sent)
  })

  test('[BU1] a server killed while messages are published: none is missing, and each subject has them in order', async () => {
    const bus = await connect()
    const subjects = ['a', 'b', 'c'].map((one) => `millrace.acme.events.${one}`)
    const all = Array.from({ length: 600 }, (_, index) => message(`${index}`, subjects[(index % 7) % 3]))
    let waiting = all
    let kills = 0
    const killing = (async () => {
      for (; kills < 3; kills += 1) {
        await until(() => expect(bus.status().isConnected).toBe(true))
        await server.kill()
        await server.start()
      }
    })()
    while (waiting.length > 0 || kills < 3) {
      // As the relay does it: a batch at a time, and what was not stored comes first the next time.
      const part = waiting.slice(0, 50)
      const taken = await bus.publish(part).catch(() => part.map(() => false))
      waiting = waiting.filter((_, index) => taken[index] !== true)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await killing
    for (const subject of subjects) {
      const held = (await until(() => outsider.stored(subject))).map(({ id }) => Number(id))
      const wanted = all.filter((one) => one.subject === subject).map(({ id }) => Number(id))
      expect(held).toEqual(wanted)
    }
  })

  test('[BU1] two nodes that publish into one stream at once: all messages arrive, each node’s in order', async () => {
    const nodes = [await connect(), await connect()]
    const lists = nodes.map((_, node) =>
      Array.from({ length: 100 }, (_, index) => message(`${node}-${index}`, SUBJECT)),
    )
    const answers = await Promise.all(nodes.map((bus, index) => bus.publish(lists[index] ?? [])))
    expect(answers.flat().filter((is) => is)).toHaveLength(200)
    const held = (await outsider.stored(SUBJECT)).map(({ id }) => String(id))
    for (const [index, list] of lists.entries()) {
      expect(held.filter((id) => id.startsWith(`${index}-`))).toEqual(list.map(({ id }) => id))
    }
  })

  test('[BU15] a node that missed wake-ups looks for work when the server is back', async () => {
    const bus = await connect()
    const heard: Wake[] = []
    bus.wakes.listen((wake) => heard.push(wake))
    await server.kill()
    await until(() => expect(bus.status().isConnected).toBe(false))
    bus.wakes.send({ wake: 'work' })
    await server.start()
    await until(() => expect(heard).toEqual(MISSED))
  })
})

describe('what a server can do', () => {
  const isBefore = (minor: number) => Number(outsider.nats.info?.version.split('.')[1]) < minor

  beforeEach(async () => {
    server = await startNats()
    outsider = await makeOutsider(server.url)
  })
  afterEach(async () => {
    for (const bus of opened.splice(0)) await bus[Symbol.asyncDispose]()
    await outsider.close()
    await server.close()
  })

  test('[BU71] a durable with a limit on requests is never asked for more', async () => {
    await outsider.manager.streams.add({ name: 'CRM', subjects: ['crm.>'] })
    await outsider.manager.consumers.add('CRM', {
      durable_name: 'reader',
      ack_policy: 'explicit',
      filter_subject: 'crm.>',
      description: 'made by Millrace for reader',
      max_batch: 3,
      max_expires: 2_000_000_000,
    })
    for (let index = 0; index < 20; index += 1) await outsider.send({ subject: 'crm.a', id: `in-${index}` })
    const { got, states } = collect(await connect())
    await until(() => expect(got).toHaveLength(20))
    expect(states).toEqual(['consuming'])
    expect(new Set(got.map(({ deliveries }) => deliveries))).toEqual(new Set([1]))
  })

  test.each([1_000, 4_000_000])(
    '[BU75] a durable limited to %d bytes a request delivers all messages, large ones too',
    async (max_bytes) => {
      await outsider.manager.streams.add({ name: 'CRM', subjects: ['crm.>'] })
      await outsider.manager.consumers.add('CRM', {
        durable_name: 'reader',
        ack_policy: 'explicit',
        filter_subject: 'crm.>',
        description: 'made by Millrace for reader',
        max_bytes,
      })
      for (let index = 0; index < 12; index += 1)
        await outsider.send({ subject: 'crm.a', id: `in-${index}`, body: 'x'.repeat(index * 60_000) })
      const { got, states } = collect(await connect(), { maxBytes: () => 64 * 1_048_576 })
      await until(() => expect(got).toHaveLength(12))
      expect(states).toEqual(['consuming'])
      expect(new Set(got.map(({ deliveries }) => deliveries))).toEqual(new Set([1]))
    },
  )

  test('[BU17] a stream that a source reads and that is stored in memory only is named, until it is not', async () => {
    await outsider.manager.streams.add({ name: 'CRM', subjects: ['crm.>'], storage: 'memory' })
    const bus = await connect()
    const { states } = collect(bus)
    await until(() => expect(states).toEqual(['consuming']))
    const said = () => bus.status().warnings.filter((one) => one.includes('stream CRM'))
    expect(said()).toEqual([expect.stringMatching(/memory.*storage: file/)])
    await outsider.manager.streams.delete('CRM')
    await outsider.manager.streams.add({ name: 'CRM', subjects: ['crm.>'] })
    await until(() => expect(said()).toEqual([]))
  })

  test('[BU16] the streams are created as documented', async () => {
    const bus = await connect()
    await bus.publish([])
    const { config: events } = await outsider.manager.streams.info('MILLRACE_EVENTS')
    expect(events).toMatchObject({
      subjects: ['millrace.*.events.>'],
      retention: 'limits',
      storage: 'file',
      max_age: 7 * 86_400 * 1e9,
      duplicate_window: 120 * 1e9,
    })
    const { config: tokens } = await outsider.manager.streams.info('MILLRACE_TOKENS')
    expect(tokens).toMatchObject({
      subjects: ['millrace.*.workflows.>'],
      max_msgs_per_subject: 1,
      max_age: 30 * 86_400 * 1e9,
    })
  })

  test('[BU16] an existing stream is left as it is, and each difference is a warning', async () => {
    const subjects = ['millrace.*.events.>']
    await outsider.manager.streams.add({ name: 'MILLRACE_EVENTS', subjects, storage: 'memory' })
    const bus = await connect()
    await bus.publish([])
    const text = bus.status().warnings.join()
    expect(text).toMatch(/MILLRACE_EVENTS was there before with storage memory, Millrace would make it file/)
    expect(text).toMatch(/max_age 0, Millrace would make it 604800000000000/)
    expect((await outsider.manager.streams.info('MILLRACE_EVENTS')).config.storage).toBe('memory')
    expect(bus.status().isSynced).toBe(false)
  })

  test('[BU16] subjects that another stream has: the node says so, and publishes there', async () => {
    await outsider.manager.streams.add({ name: 'ALL', subjects: ['millrace.>'] })
    const bus = await connect()
    expect(await bus.publish([message('a')])).toEqual([true])
    expect(bus.status().warnings.join()).toMatch(
      /MILLRACE_EVENTS could neither be found nor made \(subjects overlap/,
    )
  })

  test('[BU16] a setting that the server silently drops is a warning', async () => {
    const [wanted] = ownStreams('other')
    if (wanted === undefined) throw new Error('there is a stream')
    const { warnings } = await ensureStream(outsider.manager, { ...wanted, allow_msg_ttl: true })
    const dropped =
      'the server did not take allow_msg_ttl of the stream OTHER_EVENTS: asked for true, it is not set; use a newer server, or mind the difference'
    // Servers know it since 2.11.
    expect(warnings).toEqual(isBefore(11) ? [dropped] : [])
  })

  test('[BU17] a server that acknowledges before its disk has the message is named', async () => {
    const bus = await connect()
    await bus.publish([])
    expect(bus.status().isSynced).toBe(isBefore(10) ? false : null)
    expect(bus.status().warnings.join()).toContain(`NATS ${outsider.nats.info?.version} `)
  })

  test('[BU12] a second subject gets another consumer, and the first one keeps its name and position', async () => {
    await outsider.manager.streams.add({ name: 'CRM', subjects: ['crm.>'] })
    const bus = await connect()
    const one = collect(bus, { subjects: ['crm.a'] })
    await outsider.send({ subject: 'crm.a', id: 'a-1' })
    await until(() => expect(one.ids()).toEqual(['a-1']))
    await one.consumer.close()
    const both = collect(bus, { subjects: ['crm.b', 'crm.a'] })
    await outsider.send({ subject: 'crm.a', id: 'a-2' })
    await outsider.send({ subject: 'crm.b', id: 'b-1' })
    await until(() => expect(both.ids().sort()).toEqual(['a-2', 'b-1']))
    await both.consumer.close()
    const names = (await outsider.manager.consumers.list('CRM').next()).map(({ name }) => name)
    expect(names.sort()).toEqual(['reader', consumerName('reader', 'crm.b')])
    const rest = collect(bus, { subjects: ['crm.b'] })
    await outsider.send({ subject: 'crm.b', id: 'b-2' })
    await until(() => expect(rest.ids()).toEqual(['b-2']))
  })

  test('[BU12] a subject that replaces another starts at the beginning, and the other continues where it was', async () => {
    await outsider.manager.streams.add({ name: 'CRM', subjects: ['crm.>'] })
    const bus = await connect()
    const narrow = collect(bus, { subjects: ['crm.a'] })
    await outsider.send({ subject: 'crm.a', id: 'a-1' })
    await until(() => expect(narrow.ids()).toEqual(['a-1']))
    await narrow.consumer.close()
    await outsider.send({ subject: 'crm.b', id: 'b-1' })
    const wide = collect(bus, { subjects: ['crm.*'] })
    await until(() => expect(wide.ids()).toEqual(['a-1', 'b-1']))
    expect(wide.got[0]?.place).toBe(narrow.got[0]?.place)
    await wide.consumer.close()
    await outsider.send({ subject: 'crm.a', id: 'a-2' })
    const back = collect(bus, { subjects: ['crm.a'] })
    await until(() => expect(back.ids()).toEqual(['a-2']))
  })

  test('[BU71] a durable that another system created is not used, and stays as it is', async () => {
    await outsider.manager.streams.add({ name: 'CRM', subjects: ['crm.>'] })
    const made = (durable: string, more: Partial<ConsumerConfig> = {}) =>
      outsider.manager.consumers.add('CRM', {
        ...{ durable_name: durable, filter_subject: 'crm.>', ack_policy: 'explicit', ...more },
      })
    await made('reader')
    await made('limited', { max_deliver: 2 })
    await made('narrow', { filter_subject: 'crm.a' })
    await made('push', { deliver_subject: 'elsewhere' })
    const bus = await connect()
    const durables = ['reader', 'limited', 'narrow', 'push']
    const others = durables.map((durable) => collect(bus, { durable }))
    const own = collect(bus, { durable: 'own' })
    await outsider.send({ subject: 'crm.a', id: 'a' })
    await until(() => expect(own.ids()).toEqual(['a']))
    for (const durable of durables) {
      const why = new RegExp(`${durable} of the stream CRM was not made by Millrace`)
      await until(() => expect(others.flatMap(({ states }) => states).join('\n')).toMatch(why))
    }
    expect(others.flatMap((one) => one.got)).toEqual([])
    const { num_pending } = await outsider.manager.consumers.info('CRM', 'reader')
    expect(num_pending).toBe(1)
    const { config } = await outsider.manager.consumers.info('CRM', 'narrow')
    expect(config.filter_subject).toBe('crm.a')
  })

  test('[BU71] a durable created for one owner is not taken by another, and a changed subject leaves it as it is', async () => {
    await outsider.manager.streams.add({ name: 'CRM', subjects: ['crm.>'] })
    const bus = await connect()
    const one = collect(bus, { subjects: ['crm.a'], owner: 'acme/crm' })
    await outsider.send({ subject: 'crm.a', id: 'a' })
    await until(() => expect(one.ids()).toEqual(['a']))
    await one.consumer.close()
    const other = collect(bus, { subjects: ['crm.a'], owner: 'globex/crm' })
    await until(() => expect(other.states.join()).toMatch(/reader of the stream CRM is of another source/))
    await other.consumer.close()
    const changed = collect(bus, { subjects: ['crm.b'], owner: 'acme/crm' })
    await outsider.send({ subject: 'crm.b', id: 'b' })
    await until(() => expect(changed.ids()).toEqual(['b']))
    const names = (await outsider.manager.consumers.list('CRM').next()).map(({ name }) => name)
    expect(names.sort()).toEqual(['reader', consumerName('reader', 'crm.b')])
  })

  test('[BU5] a limit of deliveries that was set on our durable is removed', async () => {
    await outsider.manager.streams.add({ name: 'CRM', subjects: ['crm.>'] })
    const bus = await connect()
    const first = collect(bus)
    await until(() => expect(first.states).toEqual(['consuming']))
    await first.consumer.close()
    await outsider.manager.consumers.update('CRM', 'reader', { max_deliver: 2 })
    const { got } = collect(bus, {
      handle: async ({ deliveries }) => (deliveries < 5 ? { is: 'again', afterMs: 0 } : { is: 'kept' }),
    })
    await outsider.send({ subject: 'crm.a', id: 'a' })
    await until(() => expect(got).toHaveLength(5))
  })

  test('[BU72] a recreated durable delivers nothing from before the deduplication window', async () => {
    await outsider.manager.streams.add({ name: 'CRM', subjects: ['crm.>'] })
    await outsider.send({ subject: 'crm.a', id: 'a' })
    const sentAt = Date.now()
    const { ids, states } = collect(await connect(), { knownForMs: 500 })
    await until(() => expect(ids()).toEqual(['a']))
    await until(() => expect(Date.now() - sentAt).toBeGreaterThan(1_000))
    await outsider.manager.consumers.delete('CRM', 'reader')
    await until(() => expect(states).toHaveLength(3))
    expect(states.at(-1)).toBe('consuming')
    await outsider.send({ subject: 'crm.a', id: 'b' })
    await until(() => expect(ids()).toContain('b'))
    expect(ids()).toEqual(['a', 'b'])
  })
})

describe('permissions', () => {
  const inbox = '"_INBOX.>"'
  const config = `
    accounts {
      ACME {
        jetstream: enabled
        users: [
          { user: node, password: "n0de-pass" }
          { user: crm, password: crm, permissions: { publish: ["acme.>"], subscribe: [${inbox}] } }
          { user: narrow, password: narrow, permissions: {
            publish: ["millrace.acme.>", "millrace.wakes", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.NAMES",
              "$JS.API.CONSUMER.INFO.ACME.*", "$JS.API.CONSUMER.MSG.NEXT.ACME.*", "$JS.API.CONSUMER.CREATE.ACME.>",
              "$JS.ACK.ACME.>"]
            subscribe: [${inbox}, "millrace.wakes"] } }
        ]
      }
      OTHER { jetstream: enabled, users: [{ user: other, password: other }] }
    }`

  const urlOf = (user: string, password: string) => `nats://${user}:${password}@127.0.0.1:${server.port}`

  beforeEach(async () => {
    server = await startNats({ config })
  })
  afterEach(async () => {
    for (const bus of opened.splice(0)) await bus[Symbol.asyncDispose]()
    await server.close()
  })
  const connectAs = (user: string, password = user) => untilConnected(open(urlOf(user, password)))

  test('[BU14] a node that is refused says what to correct, and connects when that is done', async () => {
    const bus = open(urlOf('node', 'wrong'))
    await until(() =>
      expect(bus.status().warnings.join()).toMatch(/does not let this node in.*MILLRACE_NATS_CREDS/),
    )
    expect(bus.status().isConnected).toBe(false)
    await server.stop()
    await server.start({ config: config.replace('n0de-pass', 'wrong') })
    await untilConnected(bus)
    expect(await bus.publish([message('a')])).toEqual([true])
    expect(bus.status().warnings.join()).not.toContain('does not let this node in')
  })

  test('[BU18] a user who may publish only acme.> reaches no subject of another tenant', async () => {
    const node = await connectAs('node', 'n0de-pass')
    await node.publish([message('own')])
    const all = collect(node, { stream: 'MILLRACE_EVENTS', subjects: ['millrace.*.events.>'] })
    await until(() => expect(all.ids()).toEqual(['own']))
    const crm = await connectAs('crm')
    await expect(crm.publish([message('forged', 'millrace.globex.events.x')])).rejects.toMatchObject({
      code: 'unavailable',
    })
    expect(crm.status().warnings.join()).toMatch(
      /does not let this node publish to millrace\.globex\.events\.x; allow it for its user/,
    )
    await node.publish([message('last')])
    await until(() => expect(all.ids()).toEqual(['own', 'last']))
  })

  test('[BU33] a subject that the node may not publish delays no other of its stream', async () => {
    const owner = await connectAs('node', 'n0de-pass')
    await owner.publish([])
    const narrow = await connectAs('narrow')
    const [not, own] = ['millrace.globex.events.x', SUBJECT]
    expect(await narrow.publish([message('a', not), message('b', own), message('c', not)])).toEqual([
      ...[false, true, false],
    ])
    expect(await narrow.publish([message('d', own), message('a', not), message('e', own)])).toEqual([
      ...[true, false, true],
    ])
  })

  test('[BU18] accounts see nothing of each other, not even under the same names', async () => {
    const [node, other] = [await connectAs('node', 'n0de-pass'), await connectAs('other')]
    const heard: Wake[] = []
    other.wakes.listen((wake) => heard.push(wake))
    const theirs = collect(other, { stream: null, subjects: ['millrace.*.events.>'] })
    expect(await node.publish([message('secret')])).toEqual([true])
    node.wakes.send({ wake: 'work' })
    expect(await other.publish([message('own')])).toEqual([true])
    await until(() => expect(theirs.ids()).toEqual(['own']))
    expect(heard).toEqual([])
  })

  test('[BU18] a node needs no more than the documented permissions', async () => {
    const owner = await connectAs('node', 'n0de-pass')
    await owner.publish([])
    const admin = await makeOutsider(urlOf('node', 'n0de-pass'))
    await admin.manager.streams.add({ name: 'ACME', subjects: ['acme.>'] })
    const narrow = await connectAs('narrow')
    expect(await narrow.publish([message('a')])).toEqual([true])
    const { got, states } = collect(narrow, { stream: 'ACME', subjects: ['acme.>'] })
    await admin.send({ subject: 'acme.x', id: 'x' })
    await until(() => expect(got.map(({ id }) => id)).toEqual(['x']))
    expect(states).toEqual(['consuming'])
    expect(narrow.status().warnings.filter((one) => one.includes('does not let'))).toEqual([])
    await admin.close()
  })
})

describe('a file with credentials', () => {
  afterEach(async () => {
    for (const bus of opened.splice(0)) await bus[Symbol.asyncDispose]()
    await server.close()
  })

  test('[BU14] a node connects with its .creds file, and with the one that replaced it', async () => {
    const realm = makeRealm()
    server = await startNats({ config: realm.config })
    const file = join(server.folder, '..', 'node.creds')
    const bus = makeTestBus([server.url], { credentialsFile: file })
    opened.push(bus)
    await until(() => expect(bus.status().warnings.join()).toMatch(/node\.creds/))
    writeFileSync(file, makeRealm().makeUser('stranger'))
    await until(() => expect(bus.status().warnings.join()).toMatch(/does not let this node in/))
    writeFileSync(file, realm.makeUser('node'))
    await untilConnected(bus)
    expect(await bus.publish([message('a')])).toEqual([true])
  })
})
