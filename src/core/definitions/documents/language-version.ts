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

export const LANGUAGE = 3
/** The first version with `hmac`. */
export const HMAC_LANGUAGE = 3

/**
 * 2: `auth` of actions, agents and subscriptions, and `{{ secret('…') }}`. A node that knows neither would call without them.
 * 3: `hmac(…)` in expressions.
 */
export function languageOf(document: DefinitionDocument): number {
  if (mayUseHmac(document)) return HMAC_LANGUAGE
  return hasAuth(document) || SECRET.test(stringifyJson(document as unknown as JsonValue)) ? 2 : 1
}

const SECRET = /\{\{\s*secret\s*\(/

function hasAuth(document: DefinitionDocument): boolean {
  if (document.kind === 'Subscription' || document.kind === 'Agent') return document.auth !== undefined
  return actionsOf(document).some((action) => actionFactsOf(action).isAuthorized?.(action) === true)
}
