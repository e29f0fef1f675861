export {
  type CheckAnswers,
  type CheckedFiles,
  type CheckJob,
  type CheckQuestions,
  type CheckResult,
  type CheckResults,
  type KnownBeside,
  runCheck,
} from './check-files.ts'
export type { FieldFinding } from './check-given.ts'
export {
  type CheckedIntegration,
  checkIntegration,
  type IntegrationKind,
  type IntegrationSurroundings,
  patchIntegration,
  type WrittenIntegration,
} from './check-integration.ts'
export {
  type CheckedSubscription,
  checkSubscription,
  patchSubscription,
  type SubscriptionSurroundings,
  type WrittenSubscription,
} from './check-subscription.ts'
export type { CompileDeps, Compiled, Definition } from './compile.ts'
export { checkDocuments, compileDefinitions } from './compile.ts'
export { type DiffLine, diffLines } from './diff.ts'
export { renderYaml } from './document-as-yaml.ts'
export { findTooMuch, SENT_BYTES_MAX, SENT_FILES_MAX } from './document-size.ts'
export { editVars, emptyVars, type VarEdit } from './edit-vars.ts'
export type { Finding, RuleId } from './finding.ts'
export { compareFindings, RULES } from './finding.ts'
export { checkFlowTests, type Place, type ReadTest, readFlowTests } from './flow-tests/index.ts'
export { readCodeFiles, readFolder, readTestFiles } from './folder.ts'
export { formatFindings } from './format.ts'
export { makeJsonSchema } from './json-schema.ts'
export { KIND_NAMES } from './kinds/index.ts'
export { makeTemplate } from './kinds/template.ts'
export { hasErrors, type LoadDeps, type LoadedFolder, loadFolder } from './load.ts'
export { streamsOf } from './nats.ts'
export type { ReadDocument } from './read.ts'
export { readDocuments } from './read.ts'
export { lengthenFiles, type Shortened, shortenFiles } from './shorten.ts'
export type { DefinitionFile } from './source-text.ts'
export { type VetAddress, vetEndpoints } from './subscriptions.ts'
export { closest, closestSubject } from './suggest.ts'
export { touchedVars, varsReadBy } from './vars.ts'
export { type FolderWatch, watchFolder } from './watch.ts'
