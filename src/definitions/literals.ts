// Finds credentials in clear text in a definition: many people can read definitions, and they go into repositories.

import type { DefinitionDocument } from '../core/definitions/documents/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { findLiterals, USER_INFO_WHAT } from '../core/secrets/index.ts'
import type { Remark } from './finding.ts'
import type { Fields } from './written.ts'

const INSTEAD =
  "write `auth: { bearer: { ref: name } }`, `{{ secret('name') }}` in its place, or call through a connection with a credential"

/** `isRefused`: whether such a credential prevents the document from being applied; otherwise it is a warning. */
export function checkLiterals(value: Fields, isRefused: (literal: string) => boolean): readonly Remark[] {
  const told = new Set<string>()
  return findLiterals(value).flatMap(({ path, offset, text, what }): readonly Remark[] => {
    const place = path.join('/')
    // Another finding reports a user and password in an address, which are errors everywhere.
    if (told.has(place) || what === USER_INFO_WHAT) return []
    told.add(place)
    const isError = isRefused(text)
    const message = `this is ${what}, in clear text${isError ? ', which PROD refuses' : ''}: ${INSTEAD}`
    const severity = isError ? {} : ({ severity: 'warning' } as const)
    return [{ rule: 'literalCredential', message, path, offset, ...severity }]
  })
}

/** Those that are deployed already: refusing them would not hide them. */
export function deployedLiterals(deployedDocuments: readonly DefinitionDocument[]): ReadonlySet<string> {
  return new Set(
    deployedDocuments.flatMap((document) =>
      findLiterals(document as unknown as JsonValue).map(({ text }) => text),
    ),
  )
}
