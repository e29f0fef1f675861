// Checks calls under a connection's address, of actions and agents. Reads them as written, valid or not.

import type { JsonValue } from '../../core/foundation/json/index.ts'
import type { Surroundings } from '../document-context.ts'
import { ABSOLUTE } from '../fields.ts'
import { type FieldPath, missing, type Remark } from '../finding.ts'
import { checkConnectionName, checkCredentialHeaders } from '../integrations.ts'
import { type Fields, fieldsOf } from '../written.ts'

/** For `http`: an address of its own, or a path under that of a connection. */
export function checkHttpConnection(http: Fields, at: FieldPath, around: Surroundings): readonly Remark[] {
  const { connection, url, headers, probe } = http
  const asked = fieldsOf(probe)
  return [
    ...checkConnectionName(connection, [...at, 'connection'], around.integrations),
    ...checkPathAlone(connection, url, [...at, 'url']),
    ...checkPathAlone(connection, asked.url, [...at, 'probe', 'url']),
    ...(connection === undefined
      ? []
      : [
          ...checkCredentialHeaders(headers, [...at, 'headers']),
          ...checkCredentialHeaders(asked.headers, [...at, 'probe', 'headers']),
        ]),
  ]
}

/** For `upsert` and agents: `baseUrl` can be omitted only with a connection. */
export function checkBaseConnection(fields: Fields, at: FieldPath, around: Surroundings): readonly Remark[] {
  const { connection, baseUrl, headers } = fields
  const path = [...at, 'baseUrl']
  if (connection === undefined && baseUrl === undefined) {
    const message = '`baseUrl` is missing: write it, or `connection`'
    return [{ ...missing(path), message }]
  }
  return [
    ...checkConnectionName(connection, [...at, 'connection'], around.integrations),
    ...checkPathAlone(connection, baseUrl, path),
    ...(connection === undefined ? [] : checkCredentialHeaders(headers, [...at, 'headers'])),
  ]
}

function checkPathAlone(
  connection: JsonValue | undefined,
  url: JsonValue | undefined,
  path: FieldPath,
): readonly Remark[] {
  if (connection !== undefined || typeof url !== 'string' || !/^\/(?!\/)/.test(url)) return []
  return [{ rule: 'url', message: `${ABSOLUTE}; a path alone needs a \`connection\``, path }]
}
