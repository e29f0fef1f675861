// What the core knows about each kind of definition: a new kind is a line here. The order is that of the API.

import type { ActionDocument } from './action-documents.ts'
import type { AgentDocument } from './agent-document.ts'
import type { ConnectionDocument } from './connection-document.ts'
import type { CredentialDocument } from './credential-document.ts'
import type { ProfileDocument, RouteDocument, SourceDocument } from './documents.ts'
import type { PollerDocument } from './poller-document.ts'
import type { ProviderDocument } from './provider-document.ts'
import type { SubscriptionDocument } from './subscription-document.ts'
import type { VarsDocument } from './vars-document.ts'
import type { WorkflowDocument } from './workflow-document.ts'

/** Everything that can be deployed. */
export type DefinitionDocument =
  | SourceDocument
  | PollerDocument
  | RouteDocument
  | ProfileDocument
  | WorkflowDocument
  | AgentDocument
  | SubscriptionDocument
  | ProviderDocument
  | ConnectionDocument
  | CredentialDocument
  | VarsDocument

export type DefinitionKind = DefinitionDocument['kind']
export type DefinitionStatus = RouteDocument['status']

export const CONTROL_VERBS = ['pause', 'resume', 'disable'] as const
export type ControlVerb = (typeof CONTROL_VERBS)[number]

export type DocumentOf<Kind extends DefinitionKind> = Extract<DefinitionDocument, { readonly kind: Kind }>

interface KindFacts<Document> {
  /** The status that it declares. Omitted: it has none. */
  status?(document: Document): DefinitionStatus
  /** Why an operator cannot pause it. Omitted: an operator can. */
  whyUncontrolled?(document: Document, verb: ControlVerb): string
  /** Everything that it runs. Omitted: nothing. */
  actions?(document: Document): readonly ActionDocument[]
}

const declared = ({ status }: { readonly status: DefinitionStatus }) => status
const USED = 'it does nothing by itself: open the circuits of the connections that use it'

const FACTS: { readonly [Kind in DefinitionKind]: KindFacts<DocumentOf<Kind>> } = {
  Source: { status: declared },
  Poller: { status: declared, actions: ({ list }) => [list] },
  Route: { status: declared, actions: (route) => [route.do] },
  Workflow: {
    status: declared,
    actions: ({ places, transitions }) => [
      ...places.flatMap(({ onEnter }) => onEnter ?? []),
      ...transitions.flatMap((one) => [one.do ?? [], one.undo ?? []].flat()),
    ],
  },
  Agent: {
    whyUncontrolled: () => 'an agent does nothing by itself: pause or disable the workflows that use it',
  },
  Subscription: {
    status: declared,
    whyUncontrolled({ name }, verb) {
      const word = verb === 'resume' ? 'enable' : verb
      return `a subscription has a status of its own: use \`POST /v1/webhooks/subscriptions/${name}/${word}\`, or \`millrace subscriptions ${word} ${name}\``
    },
  },
  Profile: {
    whyUncontrolled: () => 'a profile does nothing by itself: pause or disable the routes that use it',
  },
  Provider: { whyUncontrolled: () => USED },
  Connection: {
    whyUncontrolled: ({ name }) =>
      `a connection has a status of its own: use \`POST /v1/integrations/connections/${name}/circuit\` to stop or let go what calls there, or \`retire\` for good`,
  },
  Credential: { whyUncontrolled: () => USED },
  Vars: {
    whyUncontrolled: () => 'values do nothing by themselves: pause or disable the routes that use them',
  },
}

export const DEFINITION_KINDS = Object.keys(FACTS) as readonly DefinitionKind[]

export function factsOf(document: DefinitionDocument): KindFacts<DefinitionDocument> {
  return FACTS[document.kind] as KindFacts<DefinitionDocument>
}
