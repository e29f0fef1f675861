// What the API answers, under the names that the screens use. All of it comes from the description of the API.

import type { DeadLetter, EventDetail as Detail, Operations } from '../../src/sdk/client/index.ts'

export type {
  Attempt,
  DeadLetter,
  DeadLetterDetail,
  Event as EventRow,
  LedgerEntry,
  Problem,
  Work,
  WorkStory,
} from '../../src/sdk/client/index.ts'

/** Nodes of an older release leave these out. */
export type EventDetail = Detail & {
  readonly duplicates?: number
  readonly lastDuplicateAt?: string | null
  readonly sensitive?: readonly string[]
}

type Answer<Name extends keyof Operations> = Operations[Name]['answer']
type Item<Name extends keyof Operations> =
  Answer<Name> extends { readonly items: readonly (infer Row)[] } ? Row : never
export type Args<Name extends keyof Operations> = Operations[Name]['args']

export interface Page<Row> {
  readonly items: readonly Row[]
  readonly nextCursor: string | null
}

export type Me = Answer<'getMe'>
export type DeadLetterGroup = Item<'listDeadLetterGroups'>
export type Definition = Item<'listDefinitions'>
export type DefinitionDetails = Answer<'getDefinition'>
export type Explanation = Answer<'explainEvent'>
export type ExpressionResult = Answer<'tryExpression'>
export type Key = Item<'listKeys'>
export type Overview = Answer<'getOverview'>
export type Plan = Answer<'planDefinitions'>
export type DefinitionChange = Plan['changes'][number]
export type Finding = Plan['findings'][number]
export type Stats = Answer<'getStats'>
export type Trial = Answer<'tryRoute'>
export type WhyPart = Trial['why'][number]
export type ReplayFilter = Args<'replayDeadLetters'>['filter']
export type ReplayPreview = Extract<Answer<'replayDeadLetters'>, { readonly totals: unknown }>
export type LetterState = DeadLetter['state']
export type Role = Key['role']

export interface Rejections {
  readonly items: readonly {
    readonly at: string
    readonly source: string | null
    readonly reason: string
    readonly status: number
    readonly address: string
    readonly detail: string
  }[]
  readonly counts: readonly {
    readonly source: string | null
    readonly reason: string
    readonly count: number
    readonly latestAt: string
  }[]
  readonly nextCursor: string | null
}

export interface CatalogEntry {
  readonly subject: string
  readonly source: string
  readonly mapping: string | null
  readonly description: string | null
  readonly hasSchema: boolean
  readonly example?: unknown
}

export interface CatalogSubject extends CatalogEntry {
  readonly schema: unknown
  readonly routes: readonly string[]
}

export type EventSelection =
  | { readonly ids: readonly string[] }
  | {
      readonly filter: {
        readonly source?: string
        readonly subject?: string
        readonly from?: string
        readonly to?: string
        readonly unmatched?: boolean
      }
    }

export interface EventReplayPreview extends Pick<ReplayPreview, 'totals' | 'calls'> {
  readonly matched?: number
  readonly items: readonly {
    readonly id: string
    readonly subject: string
    readonly consumers: readonly {
      readonly name: string
      readonly verdict: ReplayPreview['items'][number]['verdict']
      readonly reason: string
    }[]
  }[]
}
