// Everything that can be deployed, by its kind.

import type { AgentDocument } from './agent-document.ts'
import type { ConnectionDocument } from './connection-document.ts'
import type { CredentialDocument } from './credential-document.ts'
import type { ProfileDocument, RouteDocument, SourceDocument } from './documents.ts'
import type { ProviderDocument } from './provider-document.ts'
import type { SubscriptionDocument } from './subscription-document.ts'
import type { WorkflowDocument } from './workflow-document.ts'

export type DefinitionDocument =
  | SourceDocument
  | RouteDocument
  | ProfileDocument
  | WorkflowDocument
  | AgentDocument
  | SubscriptionDocument
  | ProviderDocument
  | ConnectionDocument
  | CredentialDocument
