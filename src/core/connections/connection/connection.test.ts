import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { USUAL_CIRCUIT } from '../../definitions/documents/index.ts'
import { FAILURE_CLASSES, type FailureClass } from '../../failures/failure/index.ts'
import { CLOSED } from '../../flow-control/circuit/index.ts'
import { HOUR } from '../../foundation/time/index.ts'
import {
  type ConnectionEvent,
  type ConnectionState,
  type ConnectionTerms,
  connectionStatus,
  locate,
  NEW_CONNECTION,
  overrideAt,
  type ProbeResult,
  resolveAddresses,
  stepConnection,
} from './index.ts'

const TERMS: ConnectionTerms = { hash: 'h1', isRetired: false, circuit: USUAL_CIRCUIT }
const seen = (at: number, failed: FailureClass | null = null): ProbeResult => ({
  window: at,
  at,
  ok: failed === null,
  durationMs: 1,
  httpStatus: failed === null ? 200 : 503,
  class: failed,
  error: failed,
})
const tested = (at: number, failed: FailureClass | null = null): ConnectionEvent => ({
  type: 'tested',
  at,
  result: seen(at, failed),
})
const told = (at: number, failed: FailureClass | null, isTry = false): ConnectionEvent => ({
  type: 'told',
  at,
  class: failed,
  isTry,
})
const probed = (at: number, failed: FailureClass | null, isTry = false): ConnectionEvent => ({
  type: 'probed',
  at,
  result: seen(at, failed),
  isTry,
})
const walk = (events: readonly ConnectionEvent[], from: ConnectionState = NEW_CONNECTION, terms = TERMS) =>
  events.reduce((state, event) => stepConnection(state, event, terms).state, from)
const ACTIVE = walk([tested(1)])
const OUT = walk(
  Array.from({ length: 5 }, (_, index) => told(10 + index, 'transient')),
  ACTIVE,
)

describe('a connection', () => {
  test('[CX1] is pending until a test passes, and again under another document', () => {
    expect(walk([tested(1, 'auth')])).toMatchObject({ status: 'pending', health: 'unhealthy' })
    expect(stepConnection(NEW_CONNECTION, tested(1), TERMS)).toMatchObject({
      state: { status: 'active', health: 'healthy', testedHash: 'h1' },
      notices: ['activated'],
      mustStore: true,
    })
    expect(connectionStatus(ACTIVE, { ...TERMS, hash: 'h2' })).toBe('pending')
  })

  test('[CX2] is retired for its document, whatever events arrive', () => {
    const retired = walk([{ type: 'retired', at: 5, by: 'ops', reason: 'over' }], ACTIVE)
    expect(retired.status).toBe('retired')
    expect(walk([tested(6), probed(7, null), told(8, null)], retired).status).toBe('retired')
    expect(connectionStatus(retired, { ...TERMS, hash: 'h2' })).toBe('pending')
    expect(connectionStatus(ACTIVE, { ...TERMS, isRetired: true })).toBe('retired')
  })

  test.each(FAILURE_CLASSES)(
    '[CX31] is held by one failed probe (%s), and freed by the next that passes',
    (failed) => {
      const once = stepConnection(ACTIVE, probed(10, failed), TERMS)
      expect(once).toMatchObject({
        state: {
          status: 'degraded',
          health: 'degraded',
          circuit: { state: 'open', tryAt: 30_010, class: failed, by: 'probe' },
        },
        circuit: 'opened',
        notices: ['failing', 'degraded'],
        mustStore: true,
      })
      expect(stepConnection(once.state, probed(20, null), TERMS)).toMatchObject({
        state: { status: 'active', health: 'healthy', circuit: CLOSED },
        circuit: 'closed',
        notices: ['resolved', 'recovered'],
      })
      // A call that was under way says nothing.
      expect(walk([told(20, null), told(21, 'transient')], once.state)).toEqual(once.state)
    },
  )

  test('[CX31] a trial call that passes frees it too; a second failed probe or trial is an outage', () => {
    const held = walk([probed(10, 'transient')], ACTIVE)
    const half = walk([{ type: 'tried', at: 30_010 }], held)
    expect(stepConnection(half, told(30_011, null, true), TERMS)).toMatchObject({
      state: { status: 'active', health: 'healthy', circuit: CLOSED },
      notices: ['resolved', 'recovered'],
    })
    for (const again of [probed(20, 'transient'), probed(20, 'transient', true)]) {
      const next = stepConnection(held, again, TERMS)
      expect(next).toMatchObject({
        state: { health: 'unhealthy', circuit: { state: 'open' } },
        notices: ['outage'],
      })
      expect(next.state.circuit).not.toHaveProperty('by')
      expect(stepConnection(next.state, tested(40), TERMS).notices).toEqual(['resolved', 'recovered'])
    }
    const failed = stepConnection(half, told(30_011, 'transient', true), TERMS)
    expect(failed).toMatchObject({
      state: { health: 'unhealthy', circuit: { state: 'open', tryAt: 60_011 } },
      circuit: 'reopened',
      notices: ['outage'],
    })
    // What calls opened, a probe closes as the trial alone.
    expect(walk([probed(30_012, null)], failed.state).circuit).toEqual(failed.state.circuit)
  })

  test('[CX31] a failed test of the deployed document holds it as a failed probe does; without a circuit nothing does', () => {
    expect(walk([tested(10, 'transient')], ACTIVE)).toMatchObject({
      status: 'degraded',
      circuit: { state: 'open', by: 'probe' },
    })
    expect(walk([tested(10, 'transient')]).circuit).toEqual(CLOSED)
    const off = walk([probed(10, 'transient')], ACTIVE, { ...TERMS, circuit: null })
    expect(off).toMatchObject({ status: 'degraded', circuit: CLOSED })
  })

  test('[FL12] its failure lasts from the first failed probe to the recovery, and is confirmed by a second one', () => {
    const once = walk([probed(10, 'transient')], ACTIVE)
    expect(once.failing).toEqual({ since: 10, toldAt: 10, class: 'transient', attempts: 1, isOutage: false })
    const twice = walk([probed(20, 'unknown', true)], once)
    expect(twice.failing).toEqual({ since: 10, toldAt: 20, class: 'unknown', attempts: 2, isOutage: true })
    const later = stepConnection(twice, probed(20 + 12 * HOUR, 'auth', true), TERMS)
    expect(later).toMatchObject({
      state: { failing: { since: 10, toldAt: 20 + 12 * HOUR, class: 'unknown', attempts: 3 } },
      notices: ['still-failing'],
    })
    const well = stepConnection(later.state, tested(12 * HOUR + 30), TERMS)
    expect(well).toMatchObject({ failing: { since: 10 }, notices: ['resolved', 'recovered'] })
    expect(well.state).not.toHaveProperty('failing')
    const retired = stepConnection(twice, { type: 'retired', at: 30, by: 'ops', reason: 'over' }, TERMS)
    expect(retired.notices).toEqual(['resolved', 'retired'])
    const off = walk([probed(10, 'transient'), probed(20, 'transient')], ACTIVE, { ...TERMS, circuit: null })
    expect(off.failing).toMatchObject({ class: 'transient', isOutage: false })
  })

  test('[FL12] a state that an earlier version wrote begins its failure with the next step', () => {
    const { failing: _none, ...former } = OUT
    const step = stepConnection(former, probed(30_020, 'transient', true), TERMS)
    expect(step.notices).toEqual(['failing', 'outage'])
    expect(stepConnection(former, tested(50), TERMS).notices).toEqual(['recovered'])
  })

  test('opens its circuit after five failures, and recovers after a successful trial', () => {
    const fourth = walk(
      Array.from({ length: 4 }, (_, index) => told(10 + index, 'transient')),
      ACTIVE,
    )
    expect(fourth.circuit.state).toBe('closed')
    const fifth = stepConnection(fourth, told(14, 'transient'), TERMS)
    expect(fifth).toMatchObject({
      circuit: 'opened',
      notices: ['failing', 'outage', 'degraded'],
      mustStore: true,
    })
    const half = walk([{ type: 'tried', at: 30_014 }], OUT)
    expect(half.circuit.state).toBe('half-open')
    expect(stepConnection(half, told(30_015, null, true), TERMS)).toMatchObject({
      state: { status: 'active', circuit: CLOSED },
      notices: ['resolved', 'recovered'],
    })
    expect(stepConnection(OUT, tested(100), TERMS)).toMatchObject({
      circuit: 'closed',
      state: { status: 'active' },
    })
  })

  test.each(['config', 'auth', 'validation'] as const)(
    '[CX9] a refusal of one call (%s) does not open the circuit for the others, and as a trial shows that the other side responds',
    (failed) => {
      const refused = Array.from({ length: 50 }, (_, index) => told(10 + index, failed))
      expect(walk(refused, ACTIVE).circuit).toEqual(CLOSED)
      const half = walk([{ type: 'tried', at: 30_014 }], OUT)
      expect(walk([told(30_015, failed, true)], half)).toMatchObject({ circuit: CLOSED, status: 'active' })
      expect(walk([probed(30_015, failed, true)], half)).toMatchObject({
        circuit: { state: 'open', tryAt: 60_015 },
        status: 'degraded',
      })
    },
  )

  test('[CX9] a probe that was not sent does not close it', () => {
    const half = walk([{ type: 'tried', at: 30_014 }], OUT)
    const result = { ...seen(30_015, 'config'), httpStatus: null }
    const next = walk([{ type: 'probed', at: 30_015, result, isTry: true }], half)
    expect(next.circuit).toMatchObject({ state: 'open', tryAt: 60_015 })
  })

  test('the counts of a closed circuit are not stored', () => {
    expect(stepConnection(ACTIVE, told(10, 'transient'), TERMS)).toMatchObject({
      mustStore: false,
      notices: [],
    })
    expect(stepConnection(ACTIVE, told(10, null), TERMS).state).toBe(ACTIVE)
    const off = walk(
      Array.from({ length: 50 }, (_, at) => told(at, 'transient')),
      ACTIVE,
      { ...TERMS, circuit: null },
    )
    expect(off).toBe(ACTIVE)
  })

  test('[CX3] an operator’s override of the circuit expires', () => {
    const override = { is: 'open', reason: 'move', by: 'ops', since: 5, until: 50 } as const
    const said = walk([{ type: 'overridden', at: 5, override }], ACTIVE)
    expect(overrideAt(said, 49)).toEqual(override)
    expect(overrideAt(said, 50)).toBeNull()
    expect(overrideAt(walk([{ type: 'overridden', at: 6, override: null }], said), 49)).toBeNull()
  })

  test('[CX1] [CX2] over any events', () => {
    const classes = fc.constantFrom(null, ...FAILURE_CLASSES)
    const event = fc.oneof(
      classes.map((one) => (at: number) => tested(at, one)),
      fc.tuple(classes, fc.boolean()).map(
        ([one, isTry]) =>
          (at: number) =>
            probed(at, one, isTry),
      ),
      fc.tuple(classes, fc.boolean()).map(
        ([one, isTry]) =>
          (at: number) =>
            told(at, one, isTry),
      ),
      fc.constant((at: number): ConnectionEvent => ({ type: 'tried', at })),
      fc.constant((at: number): ConnectionEvent => ({ type: 'retired', at, by: 'ops', reason: 'over' })),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(event, fc.nat(20_000)), { maxLength: 60 }), (events) => {
        let at = 0
        let state: ConnectionState = NEW_CONNECTION
        let hasPassed = false
        let isRetired = false
        for (const [make, gap] of events) {
          at += gap
          const one = make(at)
          const step = stepConnection(state, one, TERMS)
          state = step.state
          hasPassed ||= one.type === 'tested' && one.result.ok
          isRetired ||= one.type === 'retired'
          const status = connectionStatus(state, TERMS)
          expect(status === 'retired').toBe(isRetired)
          if (!hasPassed && !isRetired) expect(status).toBe('pending')
          if (status === 'active') expect(state.circuit.state).toBe('closed')
          const isUnwell = state.health === 'degraded' || state.health === 'unhealthy'
          if (isUnwell && hasPassed) expect(state.circuit.state).not.toBe('closed')
          if (step.notices.length > 0) expect(step.mustStore).toBe(true)
        }
      }),
    )
  })
})

describe('its addresses', () => {
  const PROVIDER = {
    baseUrl: 'https://api.{{ config.region }}.example/v1/',
    endpoints: { files: 'https://files.example' },
  }
  const addresses = resolveAddresses(
    PROVIDER,
    { config: { region: '{{ vars.region }}' }, endpoints: {} },
    { region: 'eu' },
  )

  test.each([
    [null, '/x?y=1', 'https://api.eu.example/v1/x?y=1'],
    [null, '?y=1', 'https://api.eu.example/v1?y=1'],
    ['files', '/x', 'https://files.example/x'],
    ['gone', '/x', 'https://api.eu.example/v1/x'],
    [null, 'https://api.eu.example/v2/next', 'https://api.eu.example/v2/next'],
    [null, '//evil.example/x', 'https://api.eu.example/v1//evil.example/x'],
  ])('[DR1] %s and %s', (endpoint, target, url) => {
    expect(locate(addresses, endpoint, target)).toEqual({ ok: true, url })
  })

  test.each([
    'https://evil.example/x',
    'http://api.eu.example/v1/x',
    'https://api.eu.example:8443/x',
    'https://api.eu.example@evil.example/x',
    'https://user:word@api.eu.example/x',
    '@evil.example/x',
    '.evil.example/x',
    'file:///etc/passwd',
    'javascript:1',
  ])('[DR1] no call goes to %s', (target) => {
    expect(locate(addresses, null, target).ok).toBe(false)
  })

  test('[DR1] whatever target is named, the call goes to one of the connection’s origins', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webUrl(), fc.webPath()), (target) => {
        const place = locate(addresses, null, target)
        if (place.ok) expect(addresses.origins.has(new URL(place.url).origin)).toBe(true)
      }),
    )
  })

  test('an address that is invalid or lacks a value is reported', () => {
    const none = { config: {}, endpoints: {} }
    expect(() => resolveAddresses({ baseUrl: 'ftp://x', endpoints: {} }, none, {})).toThrow('no http address')
    expect(() => resolveAddresses({ baseUrl: '{{ config.url }}', endpoints: {} }, none, {})).toThrow(
      'no text',
    )
    const own = { config: { url: 'https://own.example/' }, endpoints: { default: '{{ config.url }}' } }
    expect(resolveAddresses(PROVIDER, { ...own, config: { ...own.config, region: 'eu' } }, {}).base).toBe(
      'https://own.example',
    )
  })
})
