// The surface for those who take definitions as they are deployed, without zod: language.ts has what reads them.

export type {
  CheckAnswers,
  CheckedFiles,
  CheckJob,
  CheckQuestions,
  CheckResult,
  CheckResults,
  KnownBeside,
} from './check-files.ts'
export type { FieldFinding } from './check-given.ts'
export type { CheckedIntegration, IntegrationKind, IntegrationSurroundings } from './check-integration.ts'
export type { CheckedSubscription, SubscriptionSurroundings } from './check-subscription.ts'
export type { Compiled, Definition } from './compile.ts'
export type { CompileDeps } from './compile-deps.ts'
export { type DiffLine, diffLines } from './diff.ts'
export { renderYaml } from './document-as-yaml.ts'
export { findTooMuch, SENT_BYTES_MAX, SENT_FILES_MAX } from './document-size.ts'
export { editVars, emptyVars, type VarEdit } from './edit-vars.ts'
export type { Finding, RuleId } from './finding.ts'
export { compareFindings, hasErrors, RULES } from './finding.ts'
export type { Place, ReadTest } from './flow-tests/index.ts'
export { formatFindings } from './format.ts'
export { type GivenFields, patchFields } from './given-fields.ts'
export type { LoadDeps, LoadedFolder } from './load.ts'
export { streamsOf } from './nats.ts'
export type { ReadDocument } from './read.ts'
export type { Shortened } from './shorten.ts'
export type { DefinitionFile } from './source-text.ts'
export { type VetAddress, vetEndpoints } from './subscriptions.ts'
export { closest, closestSubject } from './suggest.ts'
export { touchedVars, varsReadBy } from './vars-read.ts'
export { type FolderWatch, watchFolder } from './watch.ts'
