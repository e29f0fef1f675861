import { headers, type Msg } from '@nats-io/transport-node'
import { describe, expect, test } from 'vitest'
import { answer, readMessage } from './message.ts'
import { describeSync } from './server-durability.ts'

function makeMessage(reply: string, given: Readonly<Record<string, readonly string[]>> = {}) {
  const made = headers()
  for (const [name, values] of Object.entries(given)) for (const value of values) made.append(name, value)
  const answers: string[] = []
  const message = {
    subject: 'crm.a',
    reply,
    headers: made,
    data: new Uint8Array([1]),
    respond: (bytes: Uint8Array) => answers.push(new TextDecoder().decode(bytes)),
  }
  return { message: message as unknown as Msg, answers }
}

describe('a message of a stream', () => {
  const nanos = '1794895607758030965'

  test.each([
    ['up to 2.9', `$JS.ACK.CRM.reader.3.17.21.${nanos}.4`],
    ['since 2.10', `$JS.ACK._.hash.CRM.reader.3.17.21.${nanos}.4.random`],
    ['in a domain', `$JS.ACK.hub.hash.CRM.reader.3.17.21.${nanos}.4`],
  ])('[BU13] its place and time are read from its reply subject, as servers write it %s', (_, reply) => {
    expect(readMessage(makeMessage(reply).message)).toMatchObject({
      subject: 'crm.a',
      id: null,
      place: `CRM:17:${nanos}`,
      at: 1_794_895_607_758,
      deliveries: 3,
    })
  })

  test('[BU4] its id is found in any spelling, and of several values of a header the last counts', () => {
    const { message } = makeMessage(`$JS.ACK.CRM.reader.1.1.1.${nanos}.0`, {
      'nats-msg-id': ['m-1'],
      'X-Kind': ['one', 'two'],
    })
    const read = readMessage(message)
    expect(read?.id).toBe('m-1')
    expect(Object.values(read?.headers ?? {})).toContain('two')
  })

  test('[BU4] what no stream delivered is not a message', () => {
    expect(readMessage(makeMessage('').message)).toBeNull()
    expect(readMessage(makeMessage('$JS.ACK.CRM').message)).toBeNull()
  })

  test('[BU5] it is answered as the server understands it', () => {
    const { message, answers } = makeMessage('x')
    answer(message, { is: 'kept' })
    answer(message, { is: 'again', afterMs: 1.2 })
    expect(answers).toEqual(['+ACK', '-NAK {"delay": 2000000}'])
  })
})

describe('whether a server writes to its disk', () => {
  test.each([
    ['2.9.10', false, false, /NATS 2\.9\.10 acknowledges messages before they are on its disk/],
    ['2.10.0', false, null, /NATS 2\.10\.0 does not say.*sync_interval: always/],
    ['2.12.3', false, null, /does not say/],
    ['2.12.3', true, false, /in memory alone/],
    ['1.4.1', false, false, /acknowledges messages before/],
  ])('[BU17] %s, in memory %s', (version, isInMemory, isSynced, warning) => {
    const told = describeSync(version, isInMemory)
    expect(told.isSynced).toBe(isSynced)
    expect(told.warning).toMatch(warning)
    expect(told.warning).toContain('the store has them')
  })

  test('[BU17] nothing is said of a server that was never reached', () => {
    expect(describeSync(null, false)).toEqual({ isSynced: null, warning: null })
  })
})
