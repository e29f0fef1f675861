// What is declared about an action, once. index.ts is the list of actions; what the core and the engine add is in
// src/core/definitions/documents/action-documents.ts, src/core/effects/action and src/engine/queue/run-action.ts.

import * as z from 'zod'
import type {
  ActionDocument,
  AgentDocument,
  ProviderDocument,
} from '../../core/definitions/documents/index.ts'
import { FAILURE_CLASSES } from '../../core/failures/failure/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { closest } from '../../core/foundation/text/index.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../core/foundation/time/index.ts'
import type { Surroundings } from '../document-context.ts'
import {
  duration,
  field,
  headerName,
  oneOf,
  optional,
  reference,
  send,
  sends,
  statusCode,
} from '../fields.ts'
import type { FieldPath, Remark, RuleName } from '../finding.ts'
import { listed } from '../suggest.ts'
import type { Fields } from '../written.ts'

export interface KnownFunctions {
  functions(name: string): string | null
  /** What a function declares. */
  timeouts(name: string): number | null
  /** Valid ones, by name. */
  readonly agents: ReadonlyMap<string, AgentDocument>
  readonly providers: ReadonlyMap<string, ProviderDocument>
}

/** Where it is: the default input is the payload of a route, and all jobs of a batch. A step has neither. */
export type ActionOwner = 'route' | 'batch' | 'step'

export interface ActionContext {
  readonly owner: ActionOwner
  readonly known: KnownFunctions
  /** The input if `with` is not written. */
  readonly usual: string
  /** `timeout` as written, or 10 seconds. */
  readonly timeoutMs: number
}

export interface ActionDeclaration<
  Document extends ActionDocument,
  Field extends z.ZodOptional = z.ZodOptional,
> {
  /** What is written under its name, with the names that are in scope there. */
  field(roots: readonly string[]): Field
  /** The fields beside its own: those that it needs, and those that it may have. */
  readonly needed?: readonly CompanionName[]
  readonly optional?: readonly CompanionName[]
  /** null: it names an agent or a provider that is not valid. */
  resolve(value: NonNullable<z.infer<Field>>, given: Companions, context: ActionContext): Document | null
  /** What the schema cannot say, of the action as written. */
  check?(action: Fields, at: FieldPath, around: Surroundings): readonly Remark[]
  /** What depends on the other fields of a route. */
  checkRoute?(route: Fields): readonly Remark[]
  /** Why a route that batches cannot have it. Omitted: it can. */
  readonly whyNoBatch?: string
  /** It reads more of the event than its own texts say: a function by its context, an agent by its prompt. */
  readonly readsEvent?: true
  /** In the console: an icon of lucide, and what it does, as in "asks an agent". */
  readonly screen: { readonly icon: string; readonly does: string }
}

/** The fields that several actions have. */
export const companions = (roots: readonly string[]) => ({
  with: optional(
    sends(roots),
    'The input of the function, the workflow, the agent or the operation.',
    'the payload; in a workflow the instance’s data',
  ),
  data: optional(
    sends(roots),
    'The emitted event’s payload.',
    'the payload; in a workflow the instance’s data',
  ),
  wait: optional(
    z.boolean(),
    'Only in a workflow: the step ends when the started instance does.',
    'it does not wait',
  ),
  connection: optional(
    reference(),
    'Of an operation: the account that it is called by, a `kind: Connection`.',
    'another action',
  ),
  timeout: optional(
    timeout(),
    'For the whole exchange, or one attempt of a function.',
    'the function’s or the operation’s own, or `10s`',
  ),
  classify: optional(
    z.record(statusCode(), field(oneOf('done', ...FAILURE_CLASSES), 'Of one status.')),
    'What single statuses mean, instead of the table of failures.',
    'the table',
  ),
})

export type CompanionName = keyof ReturnType<typeof companions>
export type Companions = z.infer<z.ZodObject<ReturnType<typeof companions>>>

// --- What requests have in common

/** What is sent as rendered then: it may contain a secret. */
export const REQUEST = { secrets: true }
export const headers = (roots: readonly string[]) =>
  z.record(headerName(true), field(send(roots, REQUEST), 'One header.'))
export const keyTtl = () => duration(SECOND, 90 * DAY)
export const timeout = () => duration(1, 10 * MINUTE)
export const after = () => duration(0, HOUR)

export const PROBE_AFTER_MS = 30 * SECOND

/** By RFC 9110: repeating the request is meant to be harmless. */
const IDEMPOTENT_METHODS = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']

export function isIdempotentMethod(method: string): boolean {
  return IDEMPOTENT_METHODS.includes(method)
}

export function lowerCased(
  headers: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]))
}

/** What stays so until a secret of `auth` can be read. */
export const UNTIL = 'every call of it fails'

/** A workflow or an agent of the files, or a deployed one. */
export function checkNamed(
  name: JsonValue | undefined,
  path: FieldPath,
  { rule, kind }: { readonly rule: RuleName; readonly kind: string },
  known: readonly string[],
): readonly Remark[] {
  if (typeof name !== 'string' || name === '' || name.includes('{{') || known.includes(name)) return []
  const but = known.length === 0 ? `define it with \`kind: ${kind}\`` : `but ${listed(known)}`
  const near = closest(name, known)
  const suggestion = near === undefined ? {} : { suggestedText: near }
  return [{ rule, message: `there is no ${kind.toLowerCase()} \`${name}\`, ${but}`, path, ...suggestion }]
}
