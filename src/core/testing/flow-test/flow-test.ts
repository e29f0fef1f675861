// A flow test: what is sent to a set of definitions, how other systems answer, and what must come of it.

import type { JsonValue } from '../../foundation/json/index.ts'
import type { Instant } from '../../foundation/time/index.ts'

/** The place of a part in its file. */
export type TestPath = readonly (string | number)[]

export interface FlowTest {
  readonly name: string
  readonly path: TestPath
  readonly given: {
    readonly vars: Readonly<Record<string, JsonValue>>
    /** By the name in `{ env }`, `{ ref }` or `{ file }`. */
    readonly secrets: Readonly<Record<string, string>>
    /** When the test begins. */
    readonly time: Instant
  }
  readonly steps: readonly TestStep[]
  readonly answers: readonly ScriptedAnswer[]
  readonly expect: Expectations
}

export type TestStep =
  /** A webhook, signed as its source asks for. */
  | {
      readonly type: 'request'
      readonly path: TestPath
      readonly source: string
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
      /** The same request this many times, each signed again. */
      readonly times: number
      /** False: no signature is added. */
      readonly isSigned: boolean
      /** The error code with which it must be refused; null: it must be accepted. */
      readonly refused: string | null
    }
  /** An event as a client publishes it through the API. */
  | {
      readonly type: 'event'
      readonly path: TestPath
      readonly subject: string
      readonly data: JsonValue
      readonly id: string | null
      readonly objectId: string | null
      readonly times: number
    }
  | { readonly type: 'wait'; readonly path: TestPath; readonly ms: number }
  /** What a user does about definitions, dead letters and jobs. */
  | {
      readonly type: 'operator'
      readonly path: TestPath
      readonly act: OperatorAct
      readonly target: OperatorTarget
      /** Of dead letters and jobs: only those with this key. */
      readonly key: string | null
      /** Of `resolve`: whether the effect is there. */
      readonly as: 'done' | 'released' | null
    }

/** `replay`: dead letters; `resolve`: parked jobs; `retry`: jobs that wait, and parked ones; the others: a definition. */
export const OPERATOR_ACTS = ['replay', 'resolve', 'retry', 'pause', 'resume'] as const
export type OperatorAct = (typeof OPERATOR_ACTS)[number]

export interface OperatorTarget {
  readonly kind: 'route' | 'workflow' | 'subscription' | 'source'
  readonly name: string
}

/** `POST https://books.example/bookings`; `*` stands for any text. */
export interface CallAddress {
  readonly method: string
  readonly url: string
}

export type LostCall = 'timeout' | 'reset' | 'refused'

/** What another system answers to the next call of an address. */
export interface ScriptedAnswer {
  readonly path: TestPath
  readonly to: CallAddress
  /** For so many calls; null: for all that follow. */
  readonly times: number | null
  /** How long the other system takes. */
  readonly afterMs: number
  readonly answer:
    | {
        readonly kind: 'response'
        readonly status: number
        readonly headers: Readonly<Record<string, string>>
        readonly body: string
      }
    /** No answer: the call may have had its effect, except `refused`. */
    | { readonly kind: 'lost'; readonly how: LostCall }
}

/** null: it is not compared. A list is complete: what is not in it must not be there. */
export interface Expectations {
  readonly path: TestPath
  readonly calls: readonly ExpectedCall[] | null
  readonly keys: readonly string[] | null
  readonly emitted: readonly ExpectedPart[] | null
  readonly instances: readonly ExpectedPart[] | null
  readonly deadLetters: readonly ExpectedPart[]
  readonly parked: readonly ExpectedPart[]
  readonly waiting: readonly ExpectedPart[]
}

export interface ExpectedCall {
  readonly path: TestPath
  readonly to: CallAddress
  readonly times: number
  /** The fields to compare: `headers`, `body`. */
  readonly fields: Readonly<Record<string, JsonValue>>
}

/** An event, an instance or a job, by the fields that are compared. */
export interface ExpectedPart {
  readonly path: TestPath
  readonly fields: Readonly<Record<string, JsonValue>>
}

/** What really happened. */
export interface Observed {
  readonly calls: readonly ObservedCall[]
  /** Calls that no answer was left for. */
  readonly unanswered: readonly ObservedCall[]
  /** How often each answer was given, in the order of `answers`. */
  readonly answered: readonly number[]
  readonly requests: readonly ObservedRequest[]
  readonly keys: readonly string[]
  readonly emitted: readonly (ObservedPart & { readonly isCanonical: boolean })[]
  readonly instances: readonly ObservedPart[]
  readonly deadLetters: readonly ObservedPart[]
  readonly parked: readonly ObservedPart[]
  readonly waiting: readonly ObservedPart[]
}

export interface ObservedCall {
  readonly method: string
  readonly url: string
  /** `headers`, and `body` as JSON where it is JSON or a form. */
  readonly fields: Readonly<Record<string, JsonValue>>
}

/** What became of a request of the steps. */
export interface ObservedRequest {
  /** Which step. */
  readonly step: number
  /** null: it was accepted. */
  readonly refused: { readonly code: string; readonly message: string } | null
}

export type ObservedPart = Readonly<Record<string, JsonValue>>

/** One way in which what happened differs from what was expected. */
export interface Difference {
  /** The expectation; of what was not expected, the list that it is missing in. */
  readonly path: TestPath
  readonly message: string
  readonly fields: readonly FieldDifference[]
}

export interface FieldDifference {
  /** `body.lines[0].sku`; empty: the whole. */
  readonly at: string
  /** Left out: nothing was expected there. */
  readonly expected?: JsonValue
  /** Left out: nothing was there. */
  readonly got?: JsonValue
}
