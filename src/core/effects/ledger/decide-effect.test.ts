import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DEFAULT_TENANT, type EventId, type WorkId } from '../../foundation/ids/index.ts'
import { HOUR, MINUTE, SECOND } from '../../foundation/time/index.ts'
import {
  decideEffect,
  type EffectAbilities,
  type EffectQuestion,
  type EffectStep,
  EVIDENCE_ACKNOWLEDGED,
  LEDGER_STATES,
  LEDGER_STEPS,
  type LedgerEntry,
  type LedgerState,
} from './index.ts'

const MINE = 'wrk_mine' as WorkId
const OTHER = 'wrk_other' as WorkId
const BORN = 1_000_000
const SEND_BY = BORN + 5 * SECOND
const TIMEOUT = 10 * SECOND
const PROBE_AFTER = 30 * SECOND
const CALM = SEND_BY + TIMEOUT + PROBE_AFTER
const ACKNOWLEDGED = `${EVIDENCE_ACKNOWLEDGED} {"epoch":1,"effectRef":null}`

const entryOf = (known: Partial<LedgerEntry>): LedgerEntry => ({
  key: 'K',
  tenant: DEFAULT_TENANT,
  work: MINE,
  epoch: 1,
  consumer: 'route:book',
  eventId: 'evt_1' as EventId,
  objectId: null,
  payloadHash: 'sha256:0',
  correlationId: 'c',
  generation: 1,
  state: 'reserved',
  proof: null,
  sendBy: SEND_BY,
  effectRef: null,
  result: null,
  evidence: [],
  createdAt: BORN,
  settledAt: null,
  ...known,
})

const HELPLESS: EffectAbilities = {
  idempotent: false,
  keyTtlMs: null,
  probeAfterMs: null,
  timeoutMs: TIMEOUT,
}
const ABILITIES = {
  helpless: HELPLESS,
  idempotent: { ...HELPLESS, idempotent: true },
  remembered: { ...HELPLESS, keyTtlMs: HOUR },
  forgotten: { ...HELPLESS, keyTtlMs: SECOND },
  probed: { ...HELPLESS, probeAfterMs: PROBE_AFTER },
  'probed and idempotent': { ...HELPLESS, idempotent: true, probeAfterMs: PROBE_AFTER },
} as const
type Ability = keyof typeof ABILITIES
const NAMES = Object.keys(ABILITIES) as readonly Ability[]
const OWN = [true, false] as const
const EVIDENCE = [[], [ACKNOWLEDGED], ['something else'], ['something else', ACKNOWLEDGED]] as const
const TIMES = { early: SEND_BY, calm: CALM }

const ask = (entry: LedgerEntry, known: Partial<EffectQuestion> = {}): EffectStep =>
  decideEffect({
    entry,
    work: MINE,
    epoch: 2,
    consumer: 'route:book',
    waits: 0,
    abilities: HELPLESS,
    now: CALM,
    ...known,
  })

/** The whole table, written independently of the code. */
function expected(state: LedgerState, own: boolean, seen: boolean, ability: Ability, early: boolean): string {
  if (state === 'done') return own ? 'hit own' : 'hit'
  if (state === 'released') return 'reserve'
  if (state === 'reserved') return own ? (seen ? 'believe' : 'doubt') : 'wait other'
  if (seen) return 'believe'
  switch (ability) {
    case 'probed':
    case 'probed and idempotent':
      return early ? 'wait probe' : 'probe'
    case 'idempotent':
    case 'remembered':
      return 'reserve'
    case 'helpless':
    case 'forgotten':
      return own ? 'park' : 'wait other'
  }
}

const wordOf = (step: EffectStep): string =>
  step.step === 'hit' ? (step.own ? 'hit own' : 'hit') : step.step === 'wait' ? `wait ${step.for}` : step.step

describe('the table', () => {
  test.each(LEDGER_STATES)(
    '[L1] [L2] [L3] [L4] [L5] [L6] [L7] what to do about an entry that is %s',
    (state) => {
      for (const own of OWN) {
        for (const evidence of EVIDENCE) {
          for (const ability of NAMES) {
            for (const [when, now] of Object.entries(TIMES)) {
              const entry = entryOf({ state, work: own ? MINE : OTHER, evidence })
              const seen = evidence.some((text) => text === ACKNOWLEDGED)
              const step = ask(entry, { abilities: ABILITIES[ability], now })
              expect(wordOf(step), `${own ? 'own' : 'other'} ${evidence} ${ability} ${when}`).toBe(
                expected(state, own, seen, ability, when === 'early'),
              )
            }
          }
        }
      }
    },
  )

  test('[L7] a reserve left by the same job has an unknown outcome, whatever the operation can do: it must first become unknown', () => {
    for (const ability of NAMES) {
      expect(ask(entryOf({}), { abilities: ABILITIES[ability] })).toEqual({ step: 'doubt' })
    }
  })

  test('[L4] evidence of anything but an acknowledgement settles nothing', () => {
    const entry = entryOf({ state: 'unknown', evidence: [`not ${EVIDENCE_ACKNOWLEDGED}`, '{"status":500}'] })
    expect(ask(entry)).toEqual({ step: 'park' })
  })
})

test('[L12] an unknown outcome of a different operation is waited for, whatever this operation can do', () => {
  for (const ability of NAMES) {
    const entry = entryOf({ state: 'unknown', work: OTHER, consumer: 'route:ship' })
    expect(wordOf(ask(entry, { abilities: ABILITIES[ability] })), ability).toBe('wait other')
    expect(ask({ ...entry, evidence: [ACKNOWLEDGED] }, { abilities: ABILITIES[ability] })).toEqual({
      step: 'believe',
    })
  }
})

describe('probing', () => {
  const abilities = ABILITIES.probed

  test.each([
    ['before it', CALM - 1, { step: 'wait', delayMs: 1, for: 'probe' }],
    ['at it', CALM, { step: 'probe' }],
    ['after it', CALM + HOUR, { step: 'probe' }],
    ['long before it', BORN, { step: 'wait', delayMs: CALM - BORN, for: 'probe' }],
  ])('[L8] waits until no call can be in flight: %s', (_name, now, step) => {
    expect(ask(entryOf({ state: 'unknown' }), { abilities, now })).toEqual(step)
  })

  test('[L8] without a send time, the settling or the creation counts', () => {
    const settledAt = BORN + MINUTE
    const calm = TIMEOUT + PROBE_AFTER
    const settled = entryOf({ state: 'unknown', sendBy: null, settledAt })
    expect(ask(settled, { abilities, now: settledAt + calm - 1 })).toMatchObject({ step: 'wait', delayMs: 1 })
    expect(ask(settled, { abilities, now: settledAt + calm })).toEqual({ step: 'probe' })
    const bare = entryOf({ state: 'unknown', sendBy: null })
    expect(ask(bare, { abilities, now: BORN + calm - 1 })).toMatchObject({ step: 'wait', delayMs: 1 })
    expect(ask(bare, { abilities, now: BORN + calm })).toEqual({ step: 'probe' })
  })

  test('[L8] waits only once', () => {
    fc.assert(
      fc.property(fc.nat(HOUR), fc.nat(HOUR), fc.nat(HOUR), (probeAfterMs, timeoutMs, sinceBirth) => {
        const question = { abilities: { ...HELPLESS, probeAfterMs, timeoutMs }, now: BORN + sinceBirth }
        const first = ask(entryOf({ state: 'unknown' }), question)
        if (first.step !== 'wait') return
        expect(first.delayMs).toBeGreaterThan(0)
        const second = ask(entryOf({ state: 'unknown' }), { ...question, now: question.now + first.delayMs })
        expect(second).toEqual({ step: 'probe' })
      }),
      { seed: 40 },
    )
  })
})

test.each([
  ['outlasts another call', HOUR - TIMEOUT - 1, 'reserve'],
  ['ends with it', HOUR - TIMEOUT, 'park'],
  ['is over', HOUR, 'park'],
])('[L9] the vendor’s memory of the key %s', (_name, sinceBirth, step) => {
  const abilities = ABILITIES.remembered
  expect(ask(entryOf({ state: 'unknown' }), { abilities, now: BORN + sinceBirth })).toEqual({ step })
})

test('[L10] waits for another job double from 1 s to 5 min and stay there', () => {
  const delays = Array.from({ length: 40 }, (_, waits) => {
    const step = ask(entryOf({ work: OTHER }), { waits })
    return step.step === 'wait' ? step.delayMs : Number.NaN
  })
  expect(delays.slice(0, 10).map((ms) => ms / SECOND)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300])
  expect(new Set(delays.slice(9))).toEqual(new Set([5 * MINUTE]))
})

const question: fc.Arbitrary<EffectQuestion> = fc.record({
  entry: fc
    .record({
      state: fc.constantFrom(...LEDGER_STATES),
      work: fc.constantFrom(MINE, OTHER),
      epoch: fc.integer({ min: 1, max: 3 }),
      evidence: fc.constantFrom(...EVIDENCE),
      sendBy: fc.option(fc.integer({ min: BORN, max: BORN + HOUR })),
      settledAt: fc.option(fc.integer({ min: BORN, max: BORN + HOUR })),
      isForeign: fc.boolean(),
    })
    .map(({ isForeign, ...known }) =>
      entryOf({ ...known, consumer: isForeign && known.work === OTHER ? 'route:ship' : 'route:book' }),
    ),
  work: fc.constant(MINE),
  epoch: fc.integer({ min: 1, max: 3 }),
  consumer: fc.constant('route:book'),
  waits: fc.nat(1_000_000),
  abilities: fc.record({
    idempotent: fc.boolean(),
    keyTtlMs: fc.option(fc.nat(3 * HOUR)),
    probeAfterMs: fc.option(fc.nat(HOUR)),
    timeoutMs: fc.integer({ min: 1, max: MINUTE }),
  }),
  now: fc.integer({ min: BORN, max: BORN + 4 * HOUR }),
})

describe('for any input', () => {
  test('[L1] [L2] no job reserves over an unknown outcome that a call could double', () => {
    fc.assert(
      fc.property(question, (asked) => {
        if (decideEffect(asked).step !== 'reserve') return
        const { entry, abilities, now } = asked
        expect(['released', 'unknown']).toContain(entry.state)
        if (entry.state === 'released') return
        const remembers =
          abilities.keyTtlMs !== null && now + abilities.timeoutMs < entry.createdAt + abilities.keyTtlMs
        expect(abilities.idempotent || remembers).toBe(true)
        expect(abilities.probeAfterMs).toBeNull()
        expect(entry.consumer).toBe(asked.consumer)
      }),
      { seed: 41, numRuns: 5_000 },
    )
  })

  test('[L3] only the own job is parked, and only with an unknown outcome that cannot be settled', () => {
    fc.assert(
      fc.property(question, (asked) => {
        if (decideEffect(asked).step !== 'park') return
        expect(asked.entry).toMatchObject({ state: 'unknown', work: MINE })
        expect(asked.abilities).toMatchObject({ idempotent: false, probeAfterMs: null })
      }),
      { seed: 42, numRuns: 5_000 },
    )
  })

  test('[L10] every wait is whole, positive and bounded', () => {
    fc.assert(
      fc.property(question, (asked) => {
        const step = decideEffect(asked)
        if (step.step !== 'wait') return
        expect(Number.isInteger(step.delayMs) && step.delayMs > 0).toBe(true)
        const { probeAfterMs, timeoutMs } = asked.abilities
        const most = step.for === 'other' ? 5 * MINUTE : HOUR + timeoutMs + (probeAfterMs ?? 0)
        expect(step.delayMs).toBeLessThanOrEqual(most)
      }),
      { seed: 43, numRuns: 5_000 },
    )
  })

  test('[L11] every step leads where the table allows', () => {
    const leadsTo: Readonly<Record<EffectStep['step'], LedgerState | null>> = {
      reserve: 'reserved',
      believe: 'done',
      doubt: 'unknown',
      hit: null,
      probe: null,
      wait: null,
      park: null,
    }
    fc.assert(
      fc.property(question, (asked) => {
        const { step } = decideEffect(asked)
        const next = leadsTo[step]
        if (next !== null) expect(LEDGER_STEPS[asked.entry.state]).toContain(next)
        // A probe may find the effect, or find that it is absent.
        if (step === 'probe') {
          expect(LEDGER_STEPS[asked.entry.state]).toEqual(expect.arrayContaining(['done', 'released']))
        }
      }),
      { seed: 44, numRuns: 5_000 },
    )
  })
})

test('[L11] the table of the specification is the table of the code', () => {
  const spec = readFileSync(new URL('../../../../docs/spec/ledger.md', import.meta.url), 'utf8')
  const rows = [...spec.matchAll(/^\| `(\w+)` *\|(.*)\|$/gm)].map((row) => [
    row[1],
    [...row[2]!.matchAll(/`(\w+)`/g)].map((match) => match[1]),
  ])
  expect(Object.fromEntries(rows)).toEqual(LEDGER_STEPS)
  expect(LEDGER_STEPS.done).toEqual([])
})
