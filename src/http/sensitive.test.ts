import { describe, expect, test } from 'vitest'
import { makeMemoryLog } from '../adapters/log-memory/index.ts'
import type { Role } from '../core/access/callers/index.ts'
import type { StoredEvent } from '../core/events/event/index.ts'
import { DEFAULT_TENANT, type EventId } from '../core/foundation/ids/index.ts'
import type { Caller } from '../engine/access/index.ts'
import { readBodies, showBodies } from './sensitive.ts'

const EVENT = {
  id: 'evt_1' as EventId,
  tenant: DEFAULT_TENANT,
  data: '{ "user": {"email":"ada@example.com","id":12345678901234567890}, "users": [1] }',
  headers: '{"x-user":"ada","accept":"*/*"}',
  raw: null,
  sensitive: ['payload.user.email', 'header.x-user'],
} as unknown as StoredEvent

const callerOf = (role: Role) =>
  ({ role, isNodeAdmin: false, tenant: DEFAULT_TENANT, actor: `the ${role}` }) as Caller

describe('bodies of events', () => {
  test('[SE13] a viewer sees all but the sensitive places, digit for digit', () => {
    const log = makeMemoryLog()
    const shown = showBodies(EVENT, callerOf('viewer'), log)
    expect(shown.data).toBe('{"user":{"email":"[hidden]","id":12345678901234567890},"users":[1]}')
    expect(JSON.parse(shown.headers)).toEqual({ 'x-user': '[hidden]', accept: '*/*' })
    expect(shown.about).toEqual({ sensitive: EVENT.sensitive })
    expect(log.messages).toEqual([])
    expect(() => readBodies(EVENT, callerOf('viewer'), log)).toThrow(/needs the role operator/)
  })

  test('[SE14] the log names each caller who sees them, without the values', () => {
    for (const role of ['operator', 'admin'] as const) {
      const log = makeMemoryLog()
      expect(showBodies(EVENT, callerOf(role), log)).toMatchObject({
        data: EVENT.data,
        headers: EVENT.headers,
      })
      expect(readBodies(EVENT, callerOf(role), log)).toBe(EVENT)
      const line = { level: 'info', name: 'event.sensitive-read' }
      const fields = { tenant: DEFAULT_TENANT, event: 'evt_1', actor: `the ${role}` }
      expect(log.messages).toEqual([
        { ...line, fields },
        { ...line, fields },
      ])
    }
  })

  test('[SE19] an operator sees all but what is restricted, and gets no body', () => {
    const log = makeMemoryLog()
    const event = { ...EVENT, sensitive: ['restricted:payload.user.email', 'header.x-user'] }
    const shown = showBodies(event, callerOf('operator'), log)
    expect(shown.data).toBe('{"user":{"email":"[hidden]","id":12345678901234567890},"users":[1]}')
    expect(JSON.parse(shown.headers)).toEqual({ 'x-user': 'ada', accept: '*/*' })
    expect(() => readBodies(event, callerOf('operator'), log)).toThrow(/needs the role admin/)
    expect(showBodies(event, callerOf('admin'), log).data).toBe(EVENT.data)
    expect(readBodies(event, callerOf('admin'), log)).toBe(event)
    const viewed = showBodies(event, callerOf('viewer'), log)
    expect(JSON.parse(viewed.headers)['x-user']).toBe('[hidden]')
  })

  test('[SE13] other events are shown to all callers as they are, without a log line', () => {
    const log = makeMemoryLog()
    const usual = { ...EVENT, sensitive: [] }
    expect(showBodies(usual, callerOf('viewer'), log)).toEqual({
      data: EVENT.data,
      headers: EVENT.headers,
      about: { sensitive: [] },
    })
    expect(readBodies(usual, callerOf('viewer'), log)).toBe(usual)
    expect(log.messages).toEqual([])
  })

  test('[SE9] what does not open is left out, with the reason', () => {
    const log = makeMemoryLog()
    const lost = { ...EVENT, data: 'mrs1.ab12.W10.AAAA', headers: '{}', sensitive: ['payload', 'header'] }
    const shown = showBodies(lost, callerOf('admin'), log)
    expect(shown).toMatchObject({
      data: 'null',
      about: { unreadable: expect.stringContaining('the master key ab12') },
    })
    expect(() => readBodies(lost, callerOf('admin'), log)).toThrow(/is sealed and does not open/)
  })
})
