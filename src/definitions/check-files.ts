// One check as data: its input, its questions on the way, and its findings. Nothing here is a function or a class, so
// that the check may run on another thread than the one that knows the answers.

import { makeOutboundPolicy } from '../core/access/network/index.ts'
import type { DefinitionDocument, ProfileDocument } from '../core/definitions/documents/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { type EnvNames, isEnvReadable } from '../core/secrets/index.ts'
import { type CheckedIntegration, checkIntegration, type IntegrationKind } from './check-integration.ts'
import { type CheckedSubscription, checkSubscription } from './check-subscription.ts'
import { type Compiled, compileDefinitions } from './compile.ts'
import type { CompileDeps } from './compile-deps.ts'
import { findHeavyPatterns } from './document-size.ts'
import { compareFindings } from './finding.ts'
import type { GivenFields } from './given-fields.ts'
import { readDocuments } from './read.ts'
import type { DefinitionFile } from './source-text.ts'
import type { Endpoint } from './subscriptions.ts'

/** What is known besides the files. */
export interface KnownBeside
  extends Pick<
    CompileDeps,
    | 'profiles'
    | 'deployedDocuments'
    | 'emits'
    | 'hasEnvironment'
    | 'isProduction'
    | 'refusesLiterals'
    | 'environment'
    | 'busPrefix'
    | 'streams'
    | 'varSettings'
    | 'filledBeside'
  > {
  readonly profiles: ReadonlyMap<string, ProfileDocument>
  readonly deployedDocuments: readonly DefinitionDocument[]
  /** Names of the variables of the environment; omitted: not known. */
  readonly variableNames?: ReadonlySet<string>
  /** Secrets that are set; null: not known. */
  readonly secretNames: ReadonlySet<string> | null
  /** Environment variables that `{ env }` may read; omitted: all. */
  readonly envNames?: EnvNames | undefined
}

export type CheckJob =
  | {
      readonly job: 'files'
      readonly files: readonly DefinitionFile[]
      readonly beside: KnownBeside
      /** Where the node may call, entry by entry; omitted: not known. */
      readonly outboundAllow?: readonly string[]
      /** The upper bound of `outboundAllow`; omitted: none. */
      readonly outboundWithin?: readonly string[]
      readonly markings: number
    }
  | { readonly job: 'subscription'; readonly written: unknown; readonly beside: KnownBeside }
  | {
      readonly job: 'integration'
      readonly kind: IntegrationKind
      readonly written: unknown
      readonly beside: KnownBeside
      readonly outboundAllow?: readonly string[]
      /** The upper bound of `outboundAllow`; omitted: none. */
      readonly outboundWithin?: readonly string[]
    }

/** What only the node knows about names in the files. */
export interface CheckQuestions {
  readonly functions: readonly string[]
  readonly subscriptions: readonly string[]
}

export interface CheckAnswers {
  /** Of those functions that exist. */
  readonly functions: ReadonlyMap<string, { readonly hash: string; readonly timeoutMs: number | null }>
  /** Names of subscriptions that the API has. */
  readonly held: ReadonlySet<string>
}

export interface CheckedFiles
  extends Pick<Compiled, 'documents' | 'definitions' | 'refilled' | 'findings' | 'proofs'> {
  /** Subscriptions whose address is not the deployed one, each with the position of that address. */
  readonly endpoints: readonly Endpoint[]
}

export interface CheckResults {
  readonly files: CheckedFiles
  readonly subscription: CheckedSubscription
  readonly integration: CheckedIntegration
}

export type CheckResult = CheckResults[keyof CheckResults]

export async function runCheck(
  job: CheckJob,
  ask: (questions: CheckQuestions) => Promise<CheckAnswers>,
): Promise<CheckResult> {
  const { secretNames, variableNames, envNames, ...beside } = job.beside
  const deps = {
    ...beside,
    secrets: (name: string) => secretNames === null || secretNames.has(name),
    variables: (name: string) => variableNames === undefined || variableNames.has(name),
    ...(envNames === undefined ? {} : { isEnvReadable: (name: string) => isEnvReadable(name, envNames) }),
  }
  switch (job.job) {
    case 'files':
      return checkFiles(job, deps, ask)
    case 'subscription':
      return checkSubscription(job.written, deps)
    case 'integration':
      return checkIntegration(job.kind, job.written as GivenFields, { ...deps, ...outboundOf(job) })
  }
}

async function checkFiles(
  job: CheckJob & { readonly job: 'files' },
  deps: Partial<CompileDeps> & Pick<KnownBeside, 'deployedDocuments'>,
  ask: (questions: CheckQuestions) => Promise<CheckAnswers>,
): Promise<CheckedFiles> {
  const read = readDocuments(job.files)
  const values = read.documents.map(({ value }) => value)
  const { functions, held } = await ask({
    functions: functionNames(values),
    subscriptions: values.flatMap(({ kind, name }) =>
      kind === 'Subscription' && typeof name === 'string' ? [name] : [],
    ),
  })
  const compiled = compileDefinitions(
    [],
    {
      ...deps,
      ...outboundOf(job),
      functions: (name) => functions.get(name)?.hash ?? null,
      timeouts: (name) => functions.get(name)?.timeoutMs ?? null,
      isHeld: (name) => held.has(name),
      markings: job.markings,
    },
    read.documents,
  )
  const { documents, definitions, refilled, proofs } = compiled
  const heavy = findHeavyPatterns(definitions)
  const findings = [...read.findings, ...compiled.findings, ...heavy].sort(compareFindings)
  return {
    documents,
    definitions,
    refilled,
    proofs,
    findings,
    endpoints: compiled.endpoints(deps.deployedDocuments),
  }
}

function outboundOf({
  outboundAllow,
  outboundWithin,
}: {
  readonly outboundAllow?: readonly string[]
  readonly outboundWithin?: readonly string[]
}) {
  if (outboundAllow === undefined) return {}
  const within = outboundWithin === undefined ? undefined : makeOutboundPolicy(outboundWithin)
  return { outbound: makeOutboundPolicy(outboundAllow, within) }
}

/** Every text after a `function`, at any depth: for those that are no functions there is no answer. */
function functionNames(values: readonly JsonValue[]): readonly string[] {
  const names = new Set<string>()
  const visit = (value: JsonValue): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, inner] of Object.entries(value as { readonly [key: string]: JsonValue })) {
      if (name === 'function' && typeof inner === 'string') names.add(inner)
      else visit(inner)
    }
  }
  for (const value of values) visit(value)
  return [...names]
}
