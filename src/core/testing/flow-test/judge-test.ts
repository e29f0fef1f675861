// The verdict of a flow test: compares what happened with what its author expects.

import type { JsonValue } from '../../foundation/json/index.ts'
import { closest } from '../../foundation/text/index.ts'
import { isCallTo, showCallAddress } from './call-address.ts'
import { compareFields } from './compare-fields.ts'
import type {
  Difference,
  ExpectedPart,
  FlowTest,
  Observed,
  ObservedCall,
  ObservedPart,
  TestStep,
} from './flow-test.ts'
import { matchLists } from './match-lists.ts'

/** Empty: the test passes. */
export function judgeTest(test: FlowTest, observed: Observed): readonly Difference[] {
  const { unanswered } = observed
  // What follows from a call without an answer says nothing: the run ended there.
  if (unanswered.length > 0) return unanswered.map((call) => unansweredCall(test, observed, call))
  return [
    ...judgeRequests(test, observed),
    ...judgeCalls(test, observed),
    ...judgeAnswers(test, observed),
    ...judgeKeys(test, observed),
    ...judgeEmitted(test, observed),
    ...judgeParts(test, observed.instances, test.expect.instances, INSTANCE),
    ...judgeParts(test, observed.deadLetters, test.expect.deadLetters, DEAD_LETTER),
    ...judgeParts(test, observed.parked, test.expect.parked, PARKED),
    ...judgeParts(test, observed.waiting, test.expect.waiting, WAITING),
  ]
}

function unansweredCall(test: FlowTest, observed: Observed, call: ObservedCall): Difference {
  const address = showCallAddress(call)
  const used = test.answers.findIndex(({ to }) => isCallTo(to, call))
  const path = used < 0 ? [...test.path, 'answers'] : (test.answers[used]?.path ?? test.path)
  const near =
    used < 0 ? closest(address, new Set(test.answers.map(({ to }) => showCallAddress(to)))) : undefined
  const count = observed.calls.filter((one) => one.method === call.method && one.url === call.url).length
  const why =
    used < 0
      ? `no answer is written for it under \`answers\`${near === undefined ? '' : `; did you mean \`${near}\` there?`}`
      : `it is call ${count}, and the answers for this address are used up`
  return {
    path,
    message: `the call ${address} was not expected: ${why}`,
    fields: [{ at: '', got: call.fields }],
  }
}

function judgeRequests(test: FlowTest, { requests }: Observed): readonly Difference[] {
  return requests.flatMap(({ step, refused }): readonly Difference[] => {
    const sent = test.steps[step]
    if (sent === undefined || sent.type === 'wait') return []
    const expected = sent.type === 'request' ? sent.refused : null
    if ((refused?.code ?? null) === expected) return []
    const path = expected === null ? sent.path : [...sent.path, 'refused']
    const what = nameOfStep(sent)
    if (refused === null)
      return [{ path, message: `${what} was accepted, expected to be refused with ${expected}`, fields: [] }]
    const also = expected === null ? '' : `, expected ${expected}`
    return [
      { path, message: `${what} was refused with ${refused.code}${also}: ${refused.message}`, fields: [] },
    ]
  })
}

function nameOfStep(step: Exclude<TestStep, { readonly type: 'wait' }>): string {
  if (step.type === 'request') return `the request to ${step.source}`
  if (step.type === 'event') return `the event ${step.subject}`
  return `\`${step.act}\` of ${step.target.kind} ${step.target.name}`
}

function judgeCalls({ expect }: FlowTest, { calls }: Observed): readonly Difference[] {
  if (expect.calls === null) return []
  const expected = expect.calls
  return matchLists(
    expected.map(({ path, times, to, fields }) => ({ path, times, title: showCallAddress(to), fields })),
    calls.map((call) => ({ title: showCallAddress(call), fields: call.fields })),
    {
      path: [...expect.path, 'calls'],
      noun: 'call',
      verb: 'made',
      isSame: (of, at) => {
        const [wanted, call] = [expected[of], calls[at]]
        return wanted !== undefined && call !== undefined && isCallTo(wanted.to, call)
      },
    },
  )
}

function judgeAnswers({ answers }: FlowTest, { answered }: Observed): readonly Difference[] {
  return answers.flatMap(({ path, to, times }, index): readonly Difference[] => {
    const given = answered[index] ?? 0
    // An answer for all calls that follow may meet none.
    if (times === null || given >= times) return []
    const how = given === 0 ? 'was not asked for' : `was asked for ${given} of ${times} times`
    return [{ path, message: `the answer to ${showCallAddress(to)} ${how}`, fields: [] }]
  })
}

function judgeKeys({ expect }: FlowTest, { keys }: Observed): readonly Difference[] {
  if (expect.keys === null) return []
  const path = [...expect.path, 'keys']
  const wanted = new Set(expect.keys)
  const extra = keys.filter((key) => !wanted.has(key))
  const paired = new Set<string>()
  const missing = expect.keys.flatMap((key, index): readonly Difference[] => {
    if (keys.includes(key)) return []
    const near = extra.find((one) => !paired.has(one)) ?? null
    if (near !== null) paired.add(near)
    const fields = [{ at: '', expected: key, ...(near === null ? {} : { got: near }) }]
    return [{ path: [...path, index], message: `no effect has the key ${key}`, fields }]
  })
  const left = extra.filter((key) => !paired.has(key))
  return [
    ...missing,
    ...left.map((key) => ({ path, message: `the effect with the key ${key} was not expected`, fields: [] })),
  ]
}

/** Events that the system publishes about itself are compared where they are expected, and need not be listed. */
function judgeEmitted(test: FlowTest, { emitted }: Observed): readonly Difference[] {
  const { emitted: expected } = test.expect
  if (expected === null) return []
  const subjects = new Set(expected.map(({ fields }) => fields.subject))
  const counted = emitted
    .filter(({ isCanonical, subject }) => !isCanonical || subjects.has(subject as JsonValue))
    .map(({ isCanonical: _isCanonical, ...fields }) => fields as ObservedPart)
  return judgeParts(test, counted, expected, EVENT)
}

interface Sort {
  readonly list: string
  readonly noun: string
  readonly verb: string
  /** The fields that say which one it is. */
  readonly names: readonly string[]
}

const CONSUMERS = ['route', 'workflow', 'subscription', 'source', 'credential']
const EVENT: Sort = { list: 'emitted', noun: 'event', verb: 'emitted', names: ['subject'] }
const INSTANCE: Sort = { list: 'instances', noun: 'instance of', verb: 'there', names: ['workflow'] }
const DEAD_LETTER: Sort = { list: 'deadLetters', noun: 'dead letter of', verb: 'there', names: CONSUMERS }
const PARKED: Sort = { list: 'parked', noun: 'parked job of', verb: 'there', names: CONSUMERS }
const WAITING: Sort = { list: 'waiting', noun: 'waiting job of', verb: 'there', names: CONSUMERS }

function judgeParts(
  { expect }: FlowTest,
  found: readonly ObservedPart[],
  expected: readonly ExpectedPart[] | null,
  { list, noun, verb, names }: Sort,
): readonly Difference[] {
  if (expected === null) return []
  const titleOf = (fields: ObservedPart) => {
    const name = names.find((one) => fields[one] !== undefined && fields[one] !== null)
    if (name === undefined) return ''
    return names.length === 1 ? String(fields[name]) : `${name} ${String(fields[name])}`
  }
  const identity = (fields: ObservedPart) =>
    Object.fromEntries(names.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])))
  return matchLists(
    expected.map(({ path, fields }) => ({ path, times: 1, title: titleOf(fields), fields })),
    found.map((fields) => ({ title: titleOf(fields), fields })),
    {
      path: [...expect.path, list],
      noun,
      verb,
      isSame: (of, at) =>
        compareFields(identity(expected[of]?.fields ?? {}) as JsonValue, found[at] as JsonValue).length === 0,
    },
  )
}
