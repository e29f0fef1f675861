// The API's responses, under the names that the screens use. All of it comes from the OpenAPI document.

import type { DeadLetter, InstanceDetail, Operations, WorkflowDetail } from '../../src/sdk/client/index.ts'

export type {
  Attempt,
  Connection,
  ConnectionDetail,
  Credential,
  DeadLetter,
  DeadLetterDetail,
  Delivery,
  DeliveryDetail,
  Escalation,
  Event as EventRow,
  EventDetail,
  Failure,
  Instance,
  InstanceChange,
  InstanceDetail,
  InstanceHistory as HistoryEntry,
  LedgerEntry,
  Orphan,
  Probe,
  Problem,
  Provider,
  ProviderDetail,
  Run,
  Subscription,
  SubscriptionDetail,
  Work,
  Workflow,
  WorkflowDetail,
  WorkStory,
} from '../../src/sdk/client/index.ts'

type Answer<Name extends keyof Operations> = Operations[Name]['answer']
type Item<Name extends keyof Operations> =
  Answer<Name> extends { readonly items: readonly (infer Row)[] } ? Row : never
export type Args<Name extends keyof Operations> = Operations[Name]['args']
export type RowOf<Name extends ListName> = Item<Name>
/** Operations that answer with a page. */
export type ListName = {
  [Name in keyof Operations]: Answer<Name> extends Page<unknown> ? Name : never
}[keyof Operations]

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
export type EventReplayPreview = Extract<Answer<'replayEvents'>, { readonly totals: unknown }>
/** By their ids, or by a filter. */
export type EventSelection = Pick<Args<'replayEvents'>, 'ids' | 'filter'>
export type PreviewDiff = NonNullable<ReplayPreview['items'][number]['diff']>
export type Pace = Answer<'getPace'>
export type WorkflowCircuit = Answer<'listPace'>['workflows'][number]
export type HeldLane = Item<'listHeldLanes'>
export type Rejections = Answer<'listRejections'>
export type LetterState = DeadLetter['state']
export type Role = Key['role']
export type Net = WorkflowDetail['net']
export type Trigger = WorkflowDetail['triggers'][number]
export type Firing = InstanceDetail['firings'][number]
export type Attention = NonNullable<InstanceDetail['attention']>
export type Verdict = Answer<'checkDefinitions'>['proofs'][number]['verdict']
export type Explained = Answer<'explainInstance'>['transitions'][number]
export type Migration = Answer<'migrateInstance'>
export type Replay = Answer<'getReplay'>
export type SubscriptionMade = Answer<'createSubscription'>
export type SubscriptionTest = Answer<'testSubscription'>
export type ConnectionTest = Answer<'testConnection'>
export type RecoveryPreview = Extract<Answer<'recoverSubscription'>, { readonly totals: unknown }>
