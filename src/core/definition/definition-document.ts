// Whatever can be put in force, by its kind.

import type { AgentDocument } from './agent-document.ts'
import type { ProfileDocument, RouteDocument, SourceDocument } from './documents.ts'
import type { SubscriptionDocument } from './subscription-document.ts'
import type { WorkflowDocument } from './workflow-document.ts'

export type DefinitionDocument =
  | SourceDocument
  | RouteDocument
  | ProfileDocument
  | WorkflowDocument
  | AgentDocument
  | SubscriptionDocument
