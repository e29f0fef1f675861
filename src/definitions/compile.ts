// The one entry point: from files to checked documents, with every finding at once.

import { BUILT_IN_PROVIDERS } from '../connectors/index.ts'
import type {
  Authored,
  DefinitionDocument,
  EnvironmentName,
  ProviderDocument,
} from '../core/definitions/documents/index.ts'
import { definitionId, withFilledVars } from '../core/definitions/documents/index.ts'
import { closest } from '../core/foundation/text/index.ts'
import { reportBundle, reportMigrations } from './bundle.ts'
import { reportAction, reportWorkflows } from './bundle-workflows.ts'
import { reportUnpublished } from './catalog.ts'
import type { CompileDeps } from './compile-deps.ts'
import type { SensitiveSource } from './document-context.ts'
import { expandSteps } from './expand-steps.ts'
import { fillVars, needRefill, type VarsByEnvironment, varsByEnvironment } from './fill-vars.ts'
import { compareFindings, type FieldPath, type Finding, missing, type Remark } from './finding.ts'
import { importSpelling } from './import.ts'
import { importSubscription } from './import-subscriptions.ts'
import { knownIntegrations, USUAL_ENVIRONMENT } from './integrations.ts'
import { checkShape } from './issues.ts'
import { declarationOf, KIND_NAMES, KINDS, type Kind, OTHER_KINDS, resolveDocument } from './kinds/index.ts'
import type { Known } from './kinds/kind.ts'
import { checkLiterals, deployedLiterals } from './literals.ts'
import { reportDurables } from './nats.ts'
import { type Proof, reportNets } from './nets.ts'
import { knownProfiles } from './profiles.ts'
import { type ReadDocument, readDocuments } from './read.ts'
import { checkSentSecrets } from './secrets.ts'
import { encryptedTargets, isSource, sensitiveSources } from './sensitive.ts'
import { expandShortForms } from './short-forms.ts'
import { type DefinitionFile, FINDINGS_MAX } from './source-text.ts'
import { type Endpoint, freshEndpoints, reportHeld, reportSubscriptions } from './subscriptions.ts'
import { listed } from './suggest.ts'
import { checkVarSettings, checkVars, knownVars, reportLostVars } from './vars.ts'

export interface Definition {
  readonly document: DefinitionDocument
  readonly authored: Authored
}

export interface Compiled {
  /** Those without an error of their own, in the order of the files. */
  readonly documents: readonly DefinitionDocument[]
  /** The same, each with what was written. */
  readonly definitions: readonly Definition[]
  /** Deployed definitions besides the files into which other values of `vars` are filled now. */
  readonly refilled: readonly Definition[]
  /** By position. An error anywhere means that the whole must not be applied. */
  readonly findings: readonly Finding[]
  /** What is proved about each workflow without an error of its own. */
  readonly proofs: readonly Proof[]
  /** Errors about formulas of keys that differ from the deployed ones; `findings` has them if `deployedDocuments` was given. */
  changedKeys(deployedDocuments: readonly DefinitionDocument[]): readonly Finding[]
  /**
   * Errors about credentials in clear text that are not deployed yet; `findings` has them if `refusesLiterals` was
   * given.
   */
  freshLiterals(deployedDocuments: readonly DefinitionDocument[]): readonly Finding[]
  /** Errors about names of subscriptions that the API has; `findings` has them if `isHeld` was given. */
  heldNames(isHeld: (name: string) => boolean): readonly Finding[]
  /** Subscriptions whose address is not the deployed one: the node judges these before they are applied. */
  endpoints(deployedDocuments: readonly DefinitionDocument[]): readonly Endpoint[]
}

/** `coded` are documents that were not read from text. */
export function compileDefinitions(
  files: readonly DefinitionFile[],
  deps: CompileDeps,
  coded: readonly ReadDocument[] = [],
): Compiled {
  const read = readDocuments(files)
  const imported = importAll([...read.documents, ...coded])
  const { notes } = imported
  const vars = varsByEnvironment(
    imported.documents.map(({ value }) => value),
    { ...deps, environment: deps.environment ?? USUAL_ENVIRONMENT },
  )
  const beside = readBeside(imported.documents, vars, deps)
  // Steps are expanded where they have no mistakes: numbers and durations are filled in before.
  const documents = [...imported.documents, ...beside].map((one) => expandSteps(fillIn(one, vars, deps)))
  const fromBeside = new Set(documents.slice(imported.documents.length))
  const checked = checkDocuments(documents, deps)
  const known = knownBy(checked.sound, deps)
  const values = documents.map(({ value }) => value)
  const sensitive = sensitiveSources([...values, ...sourcesBeside(values, deps)])
  const isElsewhere = elsewhere(documents, deps.environment)
  const resolved = checked.sound.flatMap((one) => {
    if (isElsewhere(one.document)) return []
    const document = withEncrypted(resolve(one, known), one.document, sensitive)
    const values = one.document.filled?.values ?? {}
    return document === null ? [] : [{ document: withFilledVars(document, values), read: one.document }]
  })
  const definitionsOf = (those: readonly Resolved[]) =>
    those.map(({ document, read: { file: path, text } }) => ({ document, authored: { path, text } }))
  const definitions = definitionsOf(resolved.filter(({ read: one }) => !fromBeside.has(one)))
  const refilled = definitionsOf(resolved.filter(({ read: one }) => fromBeside.has(one)))
  const findings: Finding[] = []
  reportTogether(resolved, findings, deps, !checked.isSourceLost)
  const nets = resolved.flatMap(({ document, read }) =>
    document.kind === 'Workflow' ? [{ document, read }] : [],
  )
  const proofs = reportNets(nets, findings, deps.markings)
  return {
    documents: definitions.map(({ document }) => document),
    definitions,
    refilled,
    proofs,
    findings: distinct([...read.findings, ...notes, ...checked.findings, ...findings].sort(compareFindings)),
    changedKeys(deployedDocuments) {
      const changed: Finding[] = []
      reportMigrations(routesOf(resolved, changed), deployedDocuments)
      return changed
    },
    freshLiterals(deployedDocuments) {
      const isRefused = literalRefusal({ deployedDocuments, refusesLiterals: true })
      return resolved.flatMap(({ read: one }) =>
        checkLiterals(one.value, isRefused).flatMap((remark) =>
          remark.severity === undefined ? (one.locate(remark) ?? []) : [],
        ),
      )
    },
    heldNames(isHeld) {
      const held: Finding[] = []
      reportHeld(subscriptionsOf(resolved, held), isHeld)
      return held
    },
    endpoints: (deployedDocuments) => freshEndpoints(subscriptionsOf(resolved, []), deployedDocuments),
  }
}

/** What is written once and means several parts is reported once. */
function distinct(findings: readonly Finding[]): readonly Finding[] {
  const seen = new Set<string>()
  return findings.filter(({ file, line, column, rule, message }) => {
    const id = `${file}:${line}:${column} ${rule} ${message}`
    if (seen.has(id)) return false
    seen.add(id)
    return true
  })
}

function fillIn(
  document: ReadDocument,
  vars: VarsByEnvironment,
  { fillsVars = true }: CompileDeps,
): ReadDocument {
  const kind = kindOf(document)
  return fillsVars && typeof kind === 'string' ? fillVars(document, kind, vars) : document
}

/** The id of what it will be, also before its steps are expanded. */
function deployedAs({ value: { kind, name, steps } }: ReadDocument): string {
  return `${kind === 'Route' && steps !== undefined ? 'Workflow' : String(kind)}/${String(name)}`
}

/** Deployed definitions whose numbers other values of `vars` would be filled into now. */
function readBeside(
  documents: readonly ReadDocument[],
  vars: VarsByEnvironment,
  deps: CompileDeps,
): readonly ReadDocument[] {
  const written = new Set(documents.map(deployedAs))
  const due = new Set(
    needRefill(varsBeside(deps), vars)
      .map((one) => definitionId(one))
      .filter((id) => !written.has(id)),
  )
  if (due.size === 0) return []
  // One text may be several definitions, each of which comes with it.
  const read = importAll(readDocuments(deps.filledBeside ?? []).documents).documents
  const byId = new Map(read.map((one) => [deployedAs(one), one]))
  return [...byId].flatMap(([id, one]) => {
    if (!due.has(id)) return []
    // Nobody wrote it just now: only errors matter.
    const locate = (remark: Remark) => (remark.severity === undefined ? one.locate(remark) : null)
    return [{ ...one, locate }]
  })
}

/** Fields that a workflow copies from sensitive events are encrypted in its instances, declared or not. */
function withEncrypted(
  document: DefinitionDocument | null,
  { value }: ReadDocument,
  sources: readonly SensitiveSource[],
): DefinitionDocument | null {
  if (document?.kind !== 'Workflow' || sources.length === 0) return document
  const { security = { permissions: [], encrypt: [], audit: 'full' } } = document
  const isCovered = (path: string) =>
    security.encrypt.some((one) => path === one || path.startsWith(`${one}.`))
  const more = encryptedTargets(value, sources).filter((path) => !isCovered(path))
  if (more.length === 0) return document
  return { ...document, security: { ...security, encrypt: [...security.encrypt, ...more] } }
}

/** Other spellings of workflows and subscriptions become the usual one; notes say what they were read as. */
function importAll(read: readonly ReadDocument[]) {
  const notes: Finding[] = []
  const documents = read.map((document) => {
    const imported = importSpelling(document) ?? importSubscription(document)
    if (imported === null) return expandShortForms(document)
    notes.push(...imported.notes.slice(0, FINDINGS_MAX).flatMap((note) => document.locate(note) ?? []))
    return expandShortForms(imported.document)
  })
  return { documents, notes }
}

interface Resolved {
  readonly document: DefinitionDocument
  readonly read: ReadDocument
}

function reporterOf(read: ReadDocument, findings: Finding[]) {
  return (remark: Remark) => {
    const finding = read.locate(remark)
    if (finding !== null && findings.length < FINDINGS_MAX) findings.push(finding)
  }
}

/** The routes among them, each with a way to report on it. */
function routesOf(resolved: readonly Resolved[], findings: Finding[]) {
  return resolved.flatMap(({ document, read }) => {
    if (document.kind !== 'Route') return []
    const at: FieldPath = ['on']
    const isList = Array.isArray(read.value.on)
    return [{ document, on: document.on, isList, at, report: reporterOf(read, findings) }]
  })
}

/** As for routes. */
function subscriptionsOf(resolved: readonly Resolved[], findings: Finding[]) {
  return resolved.flatMap(({ document, read }) => {
    if (document.kind !== 'Subscription') return []
    const at: FieldPath = ['on']
    const isList = Array.isArray(read.value.on)
    return [{ document, read, on: document.on, isList, at, report: reporterOf(read, findings) }]
  })
}

function consumersOf(resolved: readonly Resolved[], findings: Finding[]) {
  return resolved.flatMap(({ document, read }) =>
    document.kind === 'Source' && document.nats !== undefined
      ? [{ document, report: reporterOf(read, findings) }]
      : [],
  )
}

function workflowsOf(resolved: readonly Resolved[], findings: Finding[]) {
  return resolved.flatMap(({ document, read }) =>
    document.kind === 'Workflow' ? [{ document, read, report: reporterOf(read, findings) }] : [],
  )
}

/** Triggers that wait for subjects, as routes do. */
function waitingOf(workflows: ReturnType<typeof workflowsOf>) {
  return workflows.flatMap(({ document, read, report }) =>
    document.triggers.flatMap(({ on }, index) => {
      if (on === undefined) return []
      const { triggers } = read.value as { readonly triggers?: readonly { readonly on?: unknown }[] }
      return [{ on, isList: Array.isArray(triggers?.[index]?.on), at: ['triggers', index, 'on'], report }]
    }),
  )
}

/** Findings about documents that are valid by themselves. */
function reportTogether(
  resolved: readonly Resolved[],
  findings: Finding[],
  deps: CompileDeps,
  hasAllSources: boolean,
): void {
  const routes = routesOf(resolved, findings)
  const workflows = workflowsOf(resolved, findings)
  const own = resolved.map(({ document }) => document)
  const written = new Set(own.map(({ kind, name }) => `${kind}/${name}`))
  const { deployedDocuments = [], emits = [] } = deps
  const documents = [...own, ...deployedDocuments.filter(({ kind, name }) => !written.has(`${kind}/${name}`))]
  reportBundle(routes, documents, hasAllSources, workflows)
  reportLostVars(
    resolved.map(({ document, read }) => ({ document, report: reporterOf(read, findings) })),
    varsBeside(deps).filter(({ kind, name }) => !written.has(`${kind}/${name}`)),
    varsBeside(deps),
    knownVars(own as unknown as readonly ReadDocument['value'][], varsBeside(deps)),
  )
  reportMigrations(routes, deployedDocuments)
  for (const { document, report } of routes) {
    reportAction(document.do, ['do'], documents, report)
  }
  reportWorkflows(workflows, documents)
  reportDurables(consumersOf(resolved, findings), documents)
  const subscriptions = subscriptionsOf(resolved, findings)
  reportSubscriptions(subscriptions)
  if (deps.isHeld !== undefined) reportHeld(subscriptions, deps.isHeld)
  const waiting = [...routes, ...waitingOf(workflows), ...subscriptions]
  if (hasAllSources) reportUnpublished(waiting, documents, emits)
}

interface Sound {
  readonly kind: Kind
  readonly document: ReadDocument
}

/** Findings about documents that could be read, and the documents that have no error. */
function checkDocuments(
  documents: readonly ReadDocument[],
  deps: CompileDeps,
): {
  readonly sound: readonly Sound[]
  readonly findings: readonly Finding[]
  /** A document that may be a source has an error: what it would publish is not known. */
  readonly isSourceLost: boolean
} {
  const findings: Finding[] = []
  const sound: Sound[] = []
  let isSourceLost = false
  const first = new Map<string, Finding>()
  const values = documents.map(({ value }) => value)
  const profiles = knownProfiles(values, deps.profiles ?? new Map())
  const {
    functions,
    secrets = () => true,
    variables = () => true,
    hasEnvironment = true,
    isEnvReadable = () => true,
  } = deps
  const around = {
    functions,
    profiles,
    secrets,
    hasVariable: variables,
    hasEnvironment,
    isEnvReadable,
    sensitive: sensitiveSources([...values, ...sourcesBeside(values, deps)]),
    outbound: deps.outbound,
    isProduction: deps.isProduction ?? false,
    refusesLiteral: literalRefusal(deps),
    busPrefix: deps.busPrefix,
    streams: deps.streams,
    environment: deps.environment ?? USUAL_ENVIRONMENT,
    integrations: knownIntegrations(values, deps.deployedDocuments, readProvider, deps.environment),
    agents: namesOf('Agent', values, deps),
    workflows: namesOf('Workflow', values, deps),
  }
  const vars = knownVars(values, varsBeside(deps))
  for (const document of documents) {
    const kind = kindOf(document)
    const whole = typeof kind === 'string' ? checkShape(kind, document.value) : []
    const shape = document.filled?.explain(whole) ?? whole
    const remarks =
      typeof kind === 'string'
        ? [
            ...shape,
            ...declarationOf(kind).check(document.value, around),
            ...(kind === 'Vars' ? [] : checkLiterals(document.value, around.refusesLiteral)),
            ...(document.filled?.remarks ?? []),
            ...besides(shape, checkVars(document, vars)),
            ...checkVarSettings(document, deps),
            ...checkSentSecrets(document.value, around),
            ...duplicate(document, first),
          ]
        : [kind]
    const found = remarks.slice(0, FINDINGS_MAX).flatMap((remark) => document.locate(remark) ?? [])
    findings.push(...found)
    const isTold = remarks.length <= FINDINGS_MAX
    const isSound = document.isWhole && isTold && !found.some((finding) => finding.severity === 'error')
    if (typeof kind === 'string' && isSound) sound.push({ kind, document })
    else if (kind !== 'Profile' && kind !== 'Vars') isSourceLost = true
  }
  return { sound, findings, isSourceLost }
}

function varsBeside({ varsBeside, deployedDocuments = [] }: CompileDeps): readonly DefinitionDocument[] {
  return varsBeside ?? deployedDocuments
}

/** One mistake is reported once: what is no expression there, or sees other names, has been told. */
function besides(told: readonly Remark[], remarks: readonly Remark[]): readonly Remark[] {
  const places = new Set(told.map(({ path }) => path.join('/')))
  return remarks.filter(({ path }) => !places.has(path.join('/')))
}

function readProvider(value: ReadDocument['value']): ProviderDocument | null {
  const { schema, resolve } = KINDS.Provider
  return schema().safeParse(value).success ? resolve(value as never) : null
}

function literalRefusal({
  refusesLiterals = false,
  deployedDocuments = [],
}: Pick<CompileDeps, 'refusesLiterals' | 'deployedDocuments'>): (literal: string) => boolean {
  if (!refusesLiterals) return () => false
  const deployed = deployedLiterals(deployedDocuments)
  return (literal) => !deployed.has(literal)
}

/** Of the files, valid or not, and of deployed documents besides them. */
function namesOf(
  kind: Kind,
  values: readonly ReadDocument['value'][],
  { deployedDocuments = [] }: CompileDeps,
): readonly string[] {
  const written = [...values, ...deployedDocuments].filter((one) => one.kind === kind).map(({ name }) => name)
  return [...new Set(written.filter((name) => typeof name === 'string'))]
}

/** Deployed sources and pollers that the files do not mention. In their normal form, sensitive paths and names are as written. */
function sourcesBeside(
  values: readonly ReadDocument['value'][],
  { deployedDocuments = [] }: CompileDeps,
): readonly ReadDocument['value'][] {
  const written = new Set(values.map(({ kind, name }) => `${String(kind)}/${String(name)}`))
  const beside = deployedDocuments.filter((one) => isSource(one) && !written.has(definitionId(one)))
  return beside as unknown as readonly ReadDocument['value'][]
}

function kindOf({ value }: ReadDocument): Kind | Remark {
  const { kind } = value
  const known: readonly string[] = KIND_NAMES
  const path = ['kind']
  if (kind === undefined)
    return { ...missing(path), rule: 'kind', message: `\`kind\` is missing: one of ${listed(known)}` }
  if (typeof kind !== 'string') return { rule: 'kind', message: `this is one of ${listed(known)}`, path }
  if (known.includes(kind)) return kind as Kind
  if ((OTHER_KINDS as readonly string[]).includes(kind)) {
    return { rule: 'notAvailable', message: `\`kind: ${kind}\` is not available in this version`, path }
  }
  const near = closest(kind, [...known, ...OTHER_KINDS])
  const message = `there is no kind \`${kind}\`, but ${listed(known)}`
  return { rule: 'kind', message, path, ...(near === undefined ? {} : { suggestedText: near }) }
}

function duplicate(document: ReadDocument, first: Map<string, Finding>): readonly Remark[] {
  const { kind, name } = document.value
  if (typeof name !== 'string') return []
  const environment = environmentOf(document)
  const id = `${String(kind)}/${name}/${environment ?? ''}`
  const earlier = first.get(id)
  if (earlier !== undefined) {
    const place = `${earlier.file}:${earlier.line}:${earlier.column}`
    const what = environment === null ? '' : ` for \`${environment}\``
    const message = `there is a ${String(kind)} \`${name}\`${what} already, at ${place}: rename one`
    return [{ rule: 'duplicate', message, path: ['name'] }]
  }
  const here = document.locate({ rule: 'duplicate', message: '', path: ['name'] })
  if (here !== null) first.set(id, here)
  return []
}

/** A name may have a document for each environment. */
function environmentOf({ value }: ReadDocument): string | null {
  const { kind, environment } = value
  if (!KIND_NAMES.some((one) => one === kind && declarationOf(one).hasEnvironments === true)) return null
  return typeof environment === 'string' ? environment : null
}

/**
 * Documents that another one of the same name replaces here, or that are for other environments: checked, and not
 * deployed.
 */
function elsewhere(
  documents: readonly ReadDocument[],
  environment: EnvironmentName = USUAL_ENVIRONMENT,
): (document: ReadDocument) => boolean {
  const idOf = ({ value }: ReadDocument) => `${String(value.kind)}/${String(value.name)}`
  const own = new Set(documents.filter((one) => environmentOf(one) === environment).map(idOf))
  return (document) => {
    const written = environmentOf(document)
    return written === null ? own.has(idOf(document)) : written !== environment
  }
}

/** Valid ones of the files, in their normal form. */
function resolvedOf<Name extends Kind>(
  kind: Name,
  sound: readonly Sound[],
  known: Known,
): readonly Extract<DefinitionDocument, { readonly kind: Name }>[] {
  const own = sound.filter((one) => one.kind === kind).flatMap((one) => resolve(one, known) ?? [])
  return own as Extract<DefinitionDocument, { readonly kind: Name }>[]
}

function byName<Document extends { readonly name: string }>(
  documents: readonly Document[],
): ReadonlyMap<string, Document> {
  return new Map(documents.map((one) => [one.name, one]))
}

/** What documents refer to: the valid ones of the files, the deployed ones besides them, and what comes with Millrace. */
function knownBy(sound: readonly Sound[], deps: CompileDeps): Known {
  const { functions, timeouts = () => null, deployedDocuments = [] } = deps
  const nothing: Known = { functions, timeouts, profiles: new Map(), agents: new Map(), providers: new Map() }
  const profiles = new Map([...(deps.profiles ?? []), ...byName(resolvedOf('Profile', sound, nothing))])
  const withProfiles = { ...nothing, profiles }
  const agents = deployedDocuments.filter((one) => one.kind === 'Agent')
  const providers = deployedDocuments.filter((one) => one.kind === 'Provider')
  return {
    ...withProfiles,
    agents: byName([...agents, ...resolvedOf('Agent', sound, withProfiles)]),
    providers: byName([...providers, ...resolvedOf('Provider', sound, withProfiles), ...BUILT_IN_PROVIDERS]),
  }
}

function resolve({ kind, document }: Sound, known: Known): DefinitionDocument | null {
  // The schema has checked it; its own copy would cost a second walk and change nothing.
  return resolveDocument(kind, document.value, known)
}
