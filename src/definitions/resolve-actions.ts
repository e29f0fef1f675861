// The normal form of the action of a route or of a workflow's step.

import type {
  ActionDocument,
  AgentDocument,
  HttpActionDocument,
  OperationActionDocument,
  ProviderDocument,
  UpsertActionDocument,
  UpsertCallDocument,
} from '../core/definitions/documents/index.ts'
import { operationOf } from '../core/definitions/documents/index.ts'
import { parseDuration } from '../core/expression/index.ts'
import { assert } from '../core/foundation/errors/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { SECOND } from '../core/foundation/time/index.ts'
import { resolveAuth } from './resolve-auth.ts'
import type { ActionInput, HttpInput, UpsertInput } from './schema-actions.ts'

const TIMEOUT_MS = 10 * SECOND
export const PROBE_AFTER_MS = 30 * SECOND

/** By RFC 9110: repeating the request is meant to be harmless. */
const IDEMPOTENT_METHODS = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']

export function isIdempotentMethod(method: string): boolean {
  return IDEMPOTENT_METHODS.includes(method)
}

export interface KnownFunctions {
  functions(name: string): string | null
  /** What a function declares. */
  timeouts(name: string): number | null
  /** Valid ones, by name. */
  readonly agents: ReadonlyMap<string, AgentDocument>
  readonly providers: ReadonlyMap<string, ProviderDocument>
}

/** Where it is: the default input is the payload of a route, and all jobs of a batch. A step has neither. */
type ActionOwner = 'route' | 'batch' | 'step'

/** null: it names an agent or a provider that is not valid. */
export function resolveAction(
  input: ActionInput,
  owner: ActionOwner,
  known: KnownFunctions,
): ActionDocument | null {
  const timeoutMs = milliseconds(input.timeout ?? input.http?.timeout, TIMEOUT_MS)
  if (input.http !== undefined) return resolveHttp(input.http, input.classify ?? {}, timeoutMs)
  if (input.upsert !== undefined) return resolveUpsert(input.upsert, input.classify ?? {}, timeoutMs)
  if (input.function !== undefined) {
    const codeHash = known.functions(input.function)
    assert(codeHash !== null, 'the function was looked up before')
    // Without `with` it gets the payload; a batch has none of its own.
    const otherwise = owner === 'batch' ? '{{ batch }}' : owner === 'step' ? '{{ data }}' : null
    return {
      type: 'function',
      name: input.function,
      codeHash,
      with: (input.with ?? otherwise) as JsonValue,
      timeoutMs: milliseconds(input.timeout, known.timeouts(input.function) ?? TIMEOUT_MS),
    }
  }
  const usual = owner === 'batch' ? '{{ batch }}' : owner === 'step' ? '{{ data }}' : '{{ payload }}'
  if (input.start !== undefined) {
    const given = (input.with ?? usual) as JsonValue
    return { type: 'start', workflow: input.start, with: given, wait: input.wait ?? false }
  }
  if (input.agent !== undefined) {
    const agent = known.agents.get(input.agent)
    if (agent === undefined) return null
    return {
      type: 'agent',
      agent,
      with: (input.with ?? usual) as JsonValue,
      ...(input.timeout === undefined ? {} : { timeoutMs: milliseconds(input.timeout, agent.timeoutMs) }),
    }
  }
  if (input.operation !== undefined) return resolveOperationAction(input, input.operation, usual, known)
  if (input.schedule !== undefined) {
    const { name, cron, zone = 'UTC', emit, data = null } = input.schedule
    return { type: 'schedule', name, cron, zone, emit, data: data as JsonValue }
  }
  if (input.unschedule !== undefined) return { type: 'unschedule', name: input.unschedule }
  assert(input.emit !== undefined, 'an action does one thing')
  // As with functions: the default is the payload, or the data of the instance.
  const data = owner === 'step' ? '{{ data }}' : '{{ payload }}'
  return { type: 'emit', subject: input.emit, data: (input.data ?? data) as JsonValue }
}

/** `github.createWebhook`: the provider's name has no dot. */
export function splitOperation(text: string): { readonly provider: string; readonly name: string } {
  const dot = text.indexOf('.')
  return dot < 0 ? { provider: '', name: text } : { provider: text.slice(0, dot), name: text.slice(dot + 1) }
}

function resolveOperationAction(
  { connection, timeout, classify = {}, with: given }: ActionInput,
  text: string,
  usual: string,
  { providers }: KnownFunctions,
): OperationActionDocument | null {
  const { provider, name } = splitOperation(text)
  const known = providers.get(provider)
  const operation = known === undefined ? null : operationOf(known, name)
  if (operation === null || connection === undefined) return null
  return {
    type: 'operation',
    provider,
    operation,
    connection,
    with: (given ?? usual) as JsonValue,
    ...(timeout === undefined ? {} : { timeoutMs: milliseconds(timeout, operation.timeoutMs) }),
    classify,
  }
}

function resolveHttp(
  input: HttpInput,
  classify: HttpActionDocument['classify'],
  timeoutMs: number,
): HttpActionDocument {
  const method = input.method ?? 'POST'
  return {
    type: 'http',
    ...(input.connection === undefined ? {} : { connection: input.connection }),
    ...resolveAuth(input.auth),
    method,
    url: input.url,
    headers: lowerCased(input.headers),
    body: (input.body ?? null) as JsonValue,
    idempotent: input.idempotent ?? isIdempotentMethod(method),
    keyTtlMs: input.keyTtl === undefined ? null : milliseconds(input.keyTtl, 0),
    probe:
      input.probe === undefined
        ? null
        : {
            method: input.probe.method ?? 'GET',
            url: input.probe.url,
            headers: lowerCased(input.probe.headers),
            ...resolveAuth(input.probe.auth),
            found: input.probe.found,
            afterMs: milliseconds(input.probe.after, PROBE_AFTER_MS),
          },
    timeoutMs,
    classify,
  }
}

function resolveUpsert(
  input: UpsertInput,
  classify: UpsertActionDocument['classify'],
  timeoutMs: number,
): UpsertActionDocument {
  const { connection, baseUrl = '', extRef, find, create, update = 'none', lock = 'single' } = input
  return {
    type: 'upsert',
    ...(connection === undefined ? {} : { connection }),
    ...resolveAuth(input.auth),
    baseUrl,
    headers: lowerCased(input.headers),
    extRef,
    find: {
      method: find.method ?? 'GET',
      path: find.path,
      found: find.found,
      id: find.id ?? null,
      afterMs: milliseconds(find.after, PROBE_AFTER_MS),
    },
    create: resolveCall(create, 'POST'),
    update: update === 'none' ? null : resolveCall(update, 'PUT'),
    lock,
    timeoutMs,
    classify,
  }
}

function resolveCall(input: UpsertInput['create'], otherwise: string): UpsertCallDocument {
  const method = input.method ?? otherwise
  return {
    method,
    path: input.path,
    body: (input.body ?? null) as JsonValue,
    idempotent: input.idempotent ?? isIdempotentMethod(method),
    keyTtlMs: input.keyTtl === undefined ? null : milliseconds(input.keyTtl, 0),
  }
}

function lowerCased(headers: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]))
}

function milliseconds(text: string | undefined, otherwise: number): number {
  return text === undefined ? otherwise : (parseDuration(text) ?? otherwise)
}
