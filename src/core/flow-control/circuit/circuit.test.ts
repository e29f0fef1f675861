import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { USUAL_CIRCUIT } from '../../definitions/documents/index.ts'
import { FAILURE_CLASSES, type FailureClass } from '../../failures/failure/index.ts'
import { type Circuit, type CircuitEvent, CLOSED, circuitOutcome, stepCircuit } from './index.ts'

const told = (at: number, cls: FailureClass | null, isTry = false): CircuitEvent => ({
  type: 'told',
  at,
  class: cls,
  isTry,
})
const walk = (events: readonly CircuitEvent[], from: Circuit = CLOSED): Circuit =>
  events.reduce((circuit, event) => stepCircuit(circuit, event, USUAL_CIRCUIT).circuit, from)
const fails = (count: number, at = 0) =>
  Array.from({ length: count }, (_, index) => told(at + index, 'transient'))
const OPEN = walk(fails(5))
const HALF = walk([{ type: 'tried', at: 30_004 }], OPEN)

describe('a closed circuit', () => {
  test('[PA1] opens with the fifth consecutive failure', () => {
    expect(walk(fails(4)).state).toBe('closed')
    expect(stepCircuit(walk(fails(4)), told(4, 'config'), USUAL_CIRCUIT)).toEqual({
      circuit: { state: 'open', since: 4, tryAt: 30_004, opened: 1, class: 'config' },
      change: 'opened',
    })
  })

  test('[PA1] a success resets the count', () => {
    expect(walk([...fails(4), told(4, null), ...fails(4, 5)]).state).toBe('closed')
  })

  /** In pairs, so that no sequence gets long. */
  const half = (count: number, everyMs: number) =>
    Array.from({ length: count }, (_, index) => told(index * everyMs, index % 4 < 2 ? 'unknown' : null))

  test('[PA1] opens when half of twenty in a minute failed', () => {
    expect(walk(half(18, 1_000)).state).toBe('closed')
    expect(walk([...half(20, 1_000), told(20_000, 'unknown')]).state).toBe('open')
    expect(walk([...half(40, 4_000), told(160_000, 'unknown')]).state).toBe('closed')
  })

  test.each(FAILURE_CLASSES)('[PA2] the effect of %s', (cls) => {
    const counts = ['transient', 'unknown', 'auth', 'config'].includes(cls)
    const after = walk(Array.from({ length: 100 }, (_, index) => told(index, cls)))
    expect(after.state).toBe(counts ? 'open' : 'closed')
    expect(circuitOutcome(cls)).toBe(counts ? 'bad' : 'neither')
  })

  test('[PA2] nothing is remembered while nothing fails', () => {
    expect(walk([told(1, null), told(2, 'validation')])).toBe(CLOSED)
    expect(walk([...fails(2), told(70_000, null)])).toBe(CLOSED)
  })
})

describe('an open circuit', () => {
  test('[PA3] ignores outcomes, and allows a trial after its time', () => {
    expect(walk([told(10, null, true), told(11, 'config', true)], OPEN)).toBe(OPEN)
    expect(stepCircuit(OPEN, { type: 'tried', at: 30_003 }, USUAL_CIRCUIT)).toEqual({
      circuit: OPEN,
      change: null,
    })
    expect(HALF).toMatchObject({ state: 'half-open', since: 4, tryAt: 60_004 })
  })

  test.each([
    [null, 'closed', 'closed'],
    ['validation', 'closed', 'closed'],
    ['transient', 'open', 'reopened'],
    ['auth', 'open', 'reopened'],
    ['rate_limited', 'open', 'reopened'],
  ] as const)('[PA3] a trial that ends as %s leaves it %s', (cls, state, change) => {
    const step = stepCircuit(HALF, told(40_000, cls, true), USUAL_CIRCUIT)
    expect(step).toMatchObject({ circuit: { state }, change })
    if (step.circuit.state === 'open') expect(step.circuit).toMatchObject({ since: 4, tryAt: 70_000 })
  })

  test('[PA3] other outcomes are ignored, and a trial without a result is free for another caller', () => {
    expect(walk([told(40_000, null), told(40_001, 'transient')], HALF)).toBe(HALF)
    expect(stepCircuit(HALF, { type: 'tried', at: 60_003 }, USUAL_CIRCUIT).change).toBeNull()
    expect(stepCircuit(HALF, { type: 'tried', at: 60_004 }, USUAL_CIRCUIT).change).toBe('trying')
  })

  test('[PA6] an operator closes it', () => {
    expect(stepCircuit(OPEN, { type: 'reset' }, USUAL_CIRCUIT)).toEqual({ circuit: CLOSED, change: 'closed' })
    expect(stepCircuit(CLOSED, { type: 'reset' }, USUAL_CIRCUIT).change).toBeNull()
  })
})

test('[PA1] [PA2] [PA3] over any events: opens only by failures, forgets old outcomes, and closes after a successful trial', () => {
  const event = fc.oneof(
    fc.record({
      type: fc.constant('told' as const),
      class: fc.constantFrom(null, ...FAILURE_CLASSES),
      isTry: fc.boolean(),
      gap: fc.nat(20_000),
    }),
    fc.record({ type: fc.constant('tried' as const), gap: fc.nat(60_000) }),
  )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 80 }), (events) => {
      let at = 0
      let circuit: Circuit = CLOSED
      for (const { gap, ...one } of events) {
        at += gap
        const before: Circuit = circuit
        const step = stepCircuit(before, { ...one, at } as CircuitEvent, USUAL_CIRCUIT)
        circuit = step.circuit
        if (step.change === 'opened')
          expect(circuitOutcome((one as { class: FailureClass }).class)).toBe('bad')
        if (before.state === 'open' && one.type === 'told') expect(circuit).toBe(before)
        if (circuit.state === 'closed') expect(circuit.recent.length).toBeLessThanOrEqual(USUAL_CIRCUIT.of)
        else expect(circuit.tryAt).toBeLessThanOrEqual(at + USUAL_CIRCUIT.openMs)
      }
      if (circuit.state === 'closed') return
      const tried = stepCircuit(circuit, { type: 'tried', at: circuit.tryAt }, USUAL_CIRCUIT).circuit
      expect(stepCircuit(tried, told(at, null, true), USUAL_CIRCUIT).circuit).toBe(CLOSED)
    }),
  )
})
