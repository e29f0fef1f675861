// Checks a provider, a connection or a credential that comes through the API as if it were in a file, and deploys it as
// a definition of the API with the written fields as its text.

import type {
  ConnectionDocument,
  CredentialDocument,
  ProviderDocument,
} from '../core/definitions/documents/index.ts'
import { checkGiven, type FieldFinding } from './check-given.ts'
import type { Definition } from './compile.ts'
import type { CompileDeps } from './compile-deps.ts'
import { writeYaml } from './document-as-yaml.ts'
import { RULES } from './finding.ts'
import type { GivenFields } from './given-fields.ts'
import { USUAL_ENVIRONMENT } from './integrations.ts'

interface IntegrationDocuments {
  readonly Provider: ProviderDocument
  readonly Connection: ConnectionDocument
  readonly Credential: CredentialDocument
}

export type IntegrationKind = keyof IntegrationDocuments

export type CheckedIntegration<K extends IntegrationKind = IntegrationKind> =
  | {
      readonly ok: true
      readonly document: IntegrationDocuments[K]
      /** The same with its text in YAML, to be applied. */
      readonly definition: Definition
      /** What a later change starts from. */
      readonly written: GivenFields
      readonly warnings: readonly FieldFinding[]
    }
  /** Errors first, followed by warnings. */
  | { readonly ok: false; readonly findings: readonly FieldFinding[] }

/** What is known besides it, of the tenant and of the node. Without `outbound`, the caller judges addresses. */
export type IntegrationSurroundings = Pick<
  CompileDeps,
  | 'secrets'
  | 'variables'
  | 'hasEnvironment'
  | 'isEnvReadable'
  | 'deployedDocuments'
  | 'outbound'
  | 'isProduction'
  | 'refusesLiterals'
  | 'environment'
>

/** `written`: its fields, with or without `kind`. A null field counts as omitted. */
export function checkIntegration<K extends IntegrationKind>(
  kind: K,
  written: unknown,
  surroundings: IntegrationSurroundings,
): CheckedIntegration<K> {
  const elsewhere = refuseElsewhere(kind, written, surroundings)
  if (elsewhere !== null) return { ok: false, findings: [elsewhere] }
  const checked = checkGiven(kind, written, surroundings)
  if (!checked.ok) return checked
  const { document, written: kept, warnings } = checked
  const text = writeYaml({ kind, ...kept })
  const authored = { path: `${kind.toLowerCase()}-${document.name}.yaml`, text }
  return {
    ok: true,
    document: document as IntegrationDocuments[K],
    definition: { document, authored },
    written: kept,
    warnings,
  }
}

/** A document that is created on a node is for that node's environment. */
function refuseElsewhere(
  kind: IntegrationKind,
  written: unknown,
  { environment = USUAL_ENVIRONMENT }: IntegrationSurroundings,
): FieldFinding | null {
  if (kind === 'Provider' || typeof written !== 'object' || written === null) return null
  const { environment: given } = written as { readonly environment?: unknown }
  if (typeof given !== 'string' || given === environment) return null
  return {
    severity: 'error',
    rule: RULES.elsewhere,
    message: `here is \`${environment}\`: leave \`environment\` out, or make it on a node of that one`,
    field: 'environment',
    suggestion: environment,
  }
}
