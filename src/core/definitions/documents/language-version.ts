// The version of the language that definitions are written in.
//
// It is raised with each change of what a document may contain, and is stored with each document as the version of its record:
// a node that reads a higher version than its own does not understand the whole document, and leaves it to nodes that do.
//
// A document is stored with the lowest version that covers its content, so that nodes of the former version keep processing the
// rest.

import { mayUseHmac } from '../../expression/index.ts'
import { type JsonValue, stringifyJson } from '../../foundation/json/index.ts'
import { actionFactsOf } from './action-documents.ts'
import { actionsOf } from './code-hashes.ts'
import type { DefinitionDocument } from './definition-kinds.ts'
import type { RetryPolicy } from './retry-policy.ts'

export const LANGUAGE = 5
/** The first version with `hmac`. */
export const HMAC_LANGUAGE = 3
/** The first version with `retryOn`, with limits and retries of triggers, and with classifications that are enforced. */
const RETRY_ON_LANGUAGE = 4
/** The first version with `delay`, with pollers, and with subscriptions that name a connection. */
const DELAY_LANGUAGE = 5

/**
 * 2: `auth` of actions, agents and subscriptions, and `{{ secret('…') }}`. A node that knows neither would call without them.
 * 3: `hmac(…)` in expressions.
 * 4: `retryOn`, and `retry`, `onLimit`, `maxProcessingTime` and `deadLetter` of triggers. A node that does not know them would retry what
 * its author excluded, or treat an event otherwise than its author wrote. Enforced classifications, `encrypt` of all values, and
 * `audit: basic` and `none`: it would store or show values that it must not, and compute with encrypted ones. Migrations by hand: it would
 * migrate every instance.
 * 5: `delay` of routes. A node that does not know it would run their jobs at once. Migrations to a new instance or by a function: it would
 * migrate otherwise. `connection` of subscriptions: it would send more than the limits of the connection allow. `classification` of
 * sources: it would store and show values that it must not. Pollers: it knows no such kind.
 */
export function languageOf(document: DefinitionDocument): number {
  if (document.kind === 'Route' && document.delayMs !== undefined) return DELAY_LANGUAGE
  if (document.kind === 'Subscription' && document.connection !== undefined) return DELAY_LANGUAGE
  if (migratesOtherwise(document)) return DELAY_LANGUAGE
  if (document.kind === 'Poller') return DELAY_LANGUAGE
  if (document.kind === 'Source' && document.classification !== undefined) return DELAY_LANGUAGE
  const hasRetryOn = retriesOf(document).some((retry) => retry?.retryOn !== undefined)
  if (hasRetryOn || hasTriggerTerms(document) || protectsValues(document) || migratesByHand(document))
    return RETRY_ON_LANGUAGE
  if (mayUseHmac(document)) return HMAC_LANGUAGE
  return hasAuth(document) || SECRET.test(stringifyJson(document as unknown as JsonValue)) ? 2 : 1
}

const SECRET = /\{\{\s*secret\s*\(/

function retriesOf(document: DefinitionDocument): readonly (RetryPolicy | undefined)[] {
  const own = 'retry' in document ? [document.retry] : []
  const steps = document.kind === 'Workflow' ? document.transitions.map(({ retry }) => retry) : []
  const agents = actionsOf(document).map((action) =>
    action.type === 'agent' ? action.agent.retry : undefined,
  )
  return [...own, ...steps, ...agents]
}

function hasTriggerTerms(document: DefinitionDocument): boolean {
  if (document.kind !== 'Workflow') return false
  return document.triggers.some(
    ({ retry, onLimit, maxProcessingMs, deadLetter }) =>
      retry !== undefined ||
      onLimit !== undefined ||
      maxProcessingMs !== undefined ||
      deadLetter !== undefined,
  )
}

function protectsValues(document: DefinitionDocument): boolean {
  if (document.kind !== 'Workflow' || document.security === undefined) return false
  const { enforced, audit } = document.security
  return enforced === true || audit === 'basic' || audit === 'none'
}

function migratesByHand(document: DefinitionDocument): boolean {
  return (
    document.kind === 'Workflow' &&
    document.migrations?.some(({ strategy }) => strategy === 'manual') === true
  )
}

function migratesOtherwise(document: DefinitionDocument): boolean {
  if (document.kind !== 'Workflow') return false
  return (document.migrations ?? []).some(
    ({ strategy, data }) => strategy === 'newInstance' || data.some((rule) => 'transform' in rule),
  )
}

function hasAuth(document: DefinitionDocument): boolean {
  if (document.kind === 'Subscription' || document.kind === 'Agent') return document.auth !== undefined
  return actionsOf(document).some((action) => actionFactsOf(action).isAuthorized?.(action) === true)
}
