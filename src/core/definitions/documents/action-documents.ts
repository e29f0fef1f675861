// Actions in their stored form, and what the core knows of each without compiling it: a new action is a type, a member of
// `ActionDocument` and a line of `FACTS` here. src/definitions/actions makes these from what users write.

import type { FailureClass } from '../../failures/failure/index.ts'
import type { JsonValue } from '../../foundation/json/index.ts'
import type { AgentDocument } from './agent-document.ts'
import type { AuthDocument } from './auth-document.ts'
import type { OperationDocument } from './provider-document.ts'

export interface HttpActionDocument {
  readonly type: 'http'
  /**
   * The connection whose address and credential it uses: `url` is then a path below its base, or an address of its host. Left
   * out: none.
   */
  readonly connection?: string
  /** For the request and its probe. Left out: none. */
  readonly auth?: AuthDocument
  readonly method: string
  /** A template, rendered in url mode. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** A tree of templates; null: no body. */
  readonly body: JsonValue
  /** Repeating the call is harmless. */
  readonly idempotent: boolean
  /** How long the vendor remembers the `Idempotency-Key`; null: not at all. */
  readonly keyTtlMs: number | null
  readonly probe: {
    readonly method: string
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    /** Left out: that of the action. */
    readonly auth?: AuthDocument
    /** An expression over `result`, true when the effect is there. */
    readonly found: string
    /** How long after a call with an unknown outcome the vendor may still be applying it. */
    readonly afterMs: number
  } | null
  readonly timeoutMs: number
  readonly classify: Readonly<Record<string, FailureClass | 'done'>>
}

export interface FunctionActionDocument {
  readonly type: 'function'
  readonly name: string
  readonly codeHash: string
  readonly with: JsonValue
  readonly timeoutMs: number
}

export interface EmitActionDocument {
  readonly type: 'emit'
  /** A template. */
  readonly subject: string
  readonly data: JsonValue
}

/** One object at the other side per external reference: found and updated, or created with the reference on it. */
export interface UpsertActionDocument {
  readonly type: 'upsert'
  /** `baseUrl` is then empty, or a path below the connection's base. Left out: none. */
  readonly connection?: string
  /** For all its requests. Left out: none. */
  readonly auth?: AuthDocument
  /** A template, rendered in url mode; paths are appended. */
  readonly baseUrl: string
  /** For all its requests. */
  readonly headers: Readonly<Record<string, string>>
  /** A template. */
  readonly extRef: string
  readonly find: {
    readonly method: string
    /** A template, rendered in url mode. */
    readonly path: string
    /** Over `result`: whether the object exists. */
    readonly found: string
    /** Over `result`: the id that `update` uses (`found.id` there); null: it needs no id. */
    readonly id: string | null
    /** How long after a call with an unknown outcome the vendor may still be applying it. */
    readonly afterMs: number
  }
  readonly create: UpsertCallDocument
  /** null: an existing object is left unchanged. */
  readonly update: UpsertCallDocument | null
  /** `single`: one job at a time per reference, across all routes to the same host. */
  readonly lock: 'single' | 'none'
  readonly timeoutMs: number
  readonly classify: Readonly<Record<string, FailureClass | 'done'>>
}

export interface UpsertCallDocument {
  readonly method: string
  readonly path: string
  readonly body: JsonValue
  readonly idempotent: boolean
  readonly keyTtlMs: number | null
}

/** A new instance of a workflow, of the version deployed then. */
export interface StartActionDocument {
  readonly type: 'start'
  readonly workflow: string
  /** A tree of templates: its input. */
  readonly with: JsonValue
  /** In a workflow: the step ends when the instance does, with `{ instance, state, data }` as its result. */
  readonly wait: boolean
}

/** Events on a schedule from now on, under a name that `unschedule` removes. Repeating it replaces the schedule. */
export interface ScheduleActionDocument {
  readonly type: 'schedule'
  /** A template. */
  readonly name: string
  readonly cron: string
  readonly zone: string
  /** A template. */
  readonly emit: string
  readonly data: JsonValue
}

export interface UnscheduleActionDocument {
  readonly type: 'unschedule'
  /** A template. */
  readonly name: string
}

/** A named call of a provider, on a connection to it. */
export interface OperationActionDocument {
  readonly type: 'operation'
  readonly provider: string
  /** As it was when this was applied. */
  readonly operation: OperationDocument
  readonly connection: string
  /** A tree of templates: the operation's `input`. */
  readonly with: JsonValue
  /** Of one attempt; left out: the operation's. */
  readonly timeoutMs?: number
  /** Over the operation's own. */
  readonly classify: Readonly<Record<string, FailureClass | 'done'>>
}

export interface AgentActionDocument {
  readonly type: 'agent'
  /** As it was when this was applied. */
  readonly agent: AgentDocument
  readonly with: JsonValue
  /** Of one attempt; left out: the agent's. */
  readonly timeoutMs?: number
}

export type ActionDocument =
  | HttpActionDocument
  | FunctionActionDocument
  | EmitActionDocument
  | UpsertActionDocument
  | StartActionDocument
  | ScheduleActionDocument
  | UnscheduleActionDocument
  | AgentActionDocument
  | OperationActionDocument

export type ActionType = ActionDocument['type']

/** The connection that an action uses, and the name of its runs. */
export interface ConnectionUse {
  readonly connection: string
  /** null: any. */
  readonly provider: string | null
  /** The name of a run. */
  readonly operation: string
  readonly endpoint: string | null
  /** Empty: `default`. */
  readonly buckets: readonly string[]
}

interface ActionFacts<Document> {
  /** Whether it changes something outside that a rollback would have to undo. Omitted: no, or the document does not say. */
  hasEffect?(document: Document): boolean
  /** Whether it has `auth`, which needs language version 2. Omitted: no. */
  isAuthorized?(document: Document): boolean
  /** Omitted: it uses none, or looks connections up itself. */
  connection?(document: Document): ConnectionUse | null
  /** The address of its calls, a template. Omitted: it has none, or its connection has it. */
  address?(document: Document): string
  /** The template of the subject that it emits, and how it is emitted. Omitted: it emits nothing. */
  emits?(document: Document): { readonly subject: string; readonly how: 'at once' | 'by the clock' }
  /** The bundle that its function is pinned to. Omitted: it runs no function. */
  codeHash?(document: Document): string
}

type ActionOf<Type extends ActionType> = Extract<ActionDocument, { readonly type: Type }>

const FACTS: { readonly [Type in ActionType]: ActionFacts<ActionOf<Type>> } = {
  http: {
    hasEffect: ({ method }) => !['GET', 'HEAD', 'OPTIONS'].includes(method),
    isAuthorized: ({ auth, probe }) => auth !== undefined || probe?.auth !== undefined,
    connection: ({ connection, method, url }) => plainUse(connection, `http ${method} ${url}`),
    address: ({ url }) => url,
  },
  upsert: {
    hasEffect: () => true,
    isAuthorized: ({ auth }) => auth !== undefined,
    connection: ({ connection, baseUrl, find }) => plainUse(connection, `upsert ${baseUrl}${find.path}`),
    address: ({ baseUrl }) => baseUrl,
  },
  function: { codeHash: ({ codeHash }) => codeHash },
  emit: { emits: ({ subject }) => ({ subject, how: 'at once' }) },
  start: { hasEffect: () => true },
  schedule: { hasEffect: () => true, emits: ({ emit }) => ({ subject: emit, how: 'by the clock' }) },
  unschedule: {},
  agent: {
    isAuthorized: ({ agent }) => agent.auth !== undefined,
    connection: ({ agent }) => plainUse(agent.connection, `agent ${agent.name}`),
  },
  operation: {
    connection({ connection, provider, operation: { name, endpoint, buckets } }) {
      return { connection, provider, operation: `${provider}.${name}`, endpoint, buckets }
    },
  },
}

export const ACTION_TYPES = Object.keys(FACTS) as readonly ActionType[]

const NONE: ActionFacts<ActionDocument> = {}

export function actionFactsOf(action: ActionDocument): ActionFacts<ActionDocument> {
  // A newer version may have stored an action of a type that is not in the table.
  const facts = FACTS as unknown as Readonly<Record<string, ActionFacts<ActionDocument>>>
  return facts[action.type] ?? NONE
}

const NAME_LENGTH_MAX = 200

function plainUse(connection: string | null | undefined, operation: string): ConnectionUse | null {
  if (connection === undefined || connection === null) return null
  const name = operation.slice(0, NAME_LENGTH_MAX)
  return { connection, provider: null, operation: name, endpoint: null, buckets: [] }
}
