import { describe, expect, test } from 'vitest'
import type { AgentDocument } from '../../definitions/documents/index.ts'
import type { Scope } from '../../expression/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import { agentKind } from './agent.ts'
import { scheduleKind, unscheduleKind } from './schedule.ts'
import { startKind } from './start.ts'

const SCOPE: Scope = {
  payload: { id: 7, name: 'Ada', big: 12345678901234567890n, tags: ['a', 'b'], none: null, empty: '' },
  data: { total: 3 },
  vars: { host: 'models.example', team: 'red' },
}

describe('start', () => {
  test.each<readonly [with_: JsonValue, input: JsonValue]>([
    [null, null],
    ['{{ payload.id }}', 7],
    ['{{ payload.nothing }}', null],
    [
      { order: '{{ payload.id }}', note: 'for {{ payload.name }}' },
      { order: 7, note: 'for Ada' },
    ],
    [{ tags: ['{{ payload.tags }}', 'x'] }, { tags: [['a', 'b'], 'x'] }],
  ])('%j produces the input', (with_, input) => {
    const action = startKind.compile({ type: 'start', workflow: 'order', with: with_, wait: true }, {})
    expect(action).toMatchObject({ type: 'start', workflow: 'order', wait: true })
    expect(action.input(SCOPE)).toEqual(input)
  })
})

const NAMES: readonly (readonly [template: string, name: string | RegExp])[] = [
  ['reminder', 'reminder'],
  ['{{ payload.id }}', '7'],
  ['{{ payload.big }}', '12345678901234567890'],
  ['order-{{ payload.id }}', 'order-7'],
  ['{{ payload.empty }}', /gives no text/],
  ['{{ payload.none }}', /gives no text/],
  ['{{ payload.tags }}', /gives no text/],
  [`${'x'.repeat(513)}`, /longer than 512/],
]

describe('schedule and unschedule', () => {
  const schedule = (name: string, emit: string) =>
    scheduleKind.compile(
      {
        type: 'schedule',
        name,
        cron: '0 9 * * *',
        zone: 'Europe/Berlin',
        emit,
        data: { id: '{{ payload.id }}' },
      },
      {},
    )

  test.each(NAMES)('%s: accepted or refused as a name', (template, name) => {
    const byName = () => schedule(template, 'shop.due').render(SCOPE)
    const bySubject = () => schedule('n', template).render(SCOPE)
    const taken = () => unscheduleKind.compile({ type: 'unschedule', name: template }, {}).render(SCOPE)
    if (name instanceof RegExp) {
      for (const attempt of [byName, bySubject, taken]) expect(attempt).toThrow(name)
      return
    }
    const rest = { cron: '0 9 * * *', zone: 'Europe/Berlin', data: { id: 7 } }
    expect(byName()).toEqual({ name, subject: 'shop.due', ...rest })
    expect(bySubject()).toEqual({ name: 'n', subject: name, ...rest })
    expect(taken()).toBe(name)
  })
})

describe('agent', () => {
  const AGENT: AgentDocument = {
    kind: 'Agent',
    name: 'judge',
    description: null,
    baseUrl: 'https://{{ vars.host }}/v1/',
    secret: null,
    headers: { 'X-Team': '{{ vars.team }}' },
    model: 'small',
    system: null,
    user: '{{ text }}',
    output: null,
    temperature: null,
    timeoutMs: 30_000,
    budget: null,
    repairs: 1,
  }
  const render = (agent: Partial<AgentDocument>, with_: JsonValue) =>
    agentKind.compile({ type: 'agent', agent: { ...AGENT, ...agent }, with: with_ }, {}).render(SCOPE)

  test.each<readonly [what: string, agent: Partial<AgentDocument>, with_: JsonValue, user: string]>([
    ['a text', {}, { text: '{{ payload.name }}' }, 'Ada'],
    ['a number, as JSON', {}, { text: '{{ payload.id }}' }, '7'],
    ['a list, as JSON', {}, { text: '{{ payload.tags }}' }, '["a","b"]'],
    ['nothing, as no text', {}, { text: '{{ payload.none }}' }, ''],
    ['what is not a map, as value', { user: 'of {{ value }}' }, '{{ payload.id }}', 'of 7'],
    ['a list, as value', { user: '{{ value }}' }, '{{ payload.tags }}', '["a","b"]'],
    ['nothing of who names it', { user: '[{{ payload.name }}{{ data.total }}]' }, { text: 'x' }, '[]'],
  ])('gets %s', (_, agent, with_, user) => {
    expect(render(agent, with_)).toEqual({
      request: {
        method: 'POST',
        url: 'https://models.example/v1',
        headers: { 'x-team': 'red' },
        body: null,
      },
      system: null,
      user,
    })
  })

  test('renders the system text over the same scope, and uses its own time limit unless the step sets one', () => {
    expect(render({ system: 'judge {{ text }}' }, { text: 'it' })).toMatchObject({
      system: 'judge it',
      user: 'it',
    })
    const action = { type: 'agent', agent: AGENT, with: null } as const
    expect(agentKind.compile(action, {}).timeoutMs).toBe(30_000)
    expect(agentKind.compile({ ...action, timeoutMs: 5 }, {}).timeoutMs).toBe(5)
  })
})
