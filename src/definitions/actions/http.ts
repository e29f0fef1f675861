// One request to an address, or on a connection.

import * as z from 'zod'
import type { HttpActionDocument } from '../../core/definitions/documents/index.ts'
import { parseDuration } from '../../core/expression/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { checkAuth, checkProbeHost } from '../auth.ts'
import { authPlace, field, named, optional, pick, reference, sends, urlOrPath } from '../fields.ts'
import type { FieldPath, Remark } from '../finding.ts'
import { method, resolveAuth } from '../kinds/parts.ts'
import { type Fields, fieldsOf, isMap, milliseconds } from '../written.ts'
import {
  type ActionDeclaration,
  after,
  headers,
  isIdempotentMethod,
  keyTtl,
  lowerCased,
  PROBE_AFTER_MS,
  REQUEST,
  timeout,
  UNTIL,
} from './action-kind.ts'
import { checkHttpConnection } from './connections.ts'

function makeHttp(roots: readonly string[]) {
  return named(
    'HttpRequestDefinition',
    z.strictObject({
      connection: optional(reference(), 'Whose address and credential it goes with.', 'nobody’s'),
      auth: optional(
        authPlace(),
        'What proves who calls, in place of a connection: for the request and its probe.',
        'nothing does',
      ),
      method: optional(method(), 'The method.', { default: 'POST' }),
      url: field(
        urlOrPath(roots, REQUEST),
        "Absolute, http or https; values in it are percent-encoded. With a connection a path behind its base, or an address of its host. In its query `{{ secret('name') }}` is a secret of the vault, read when it is sent.",
      ),
      headers: optional(
        headers(roots),
        "Headers, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent.",
        'none',
      ),
      body: optional(
        sends(roots, REQUEST),
        "What is not a text is sent as JSON; `{{ secret('name') }}` is a secret of the vault, read when it is sent.",
        'none',
      ),
      idempotent: optional(
        z.boolean(),
        'Repeating the call is harmless.',
        'true for GET, HEAD, OPTIONS, PUT and DELETE',
      ),
      keyTtl: optional(keyTtl(), 'How long the vendor remembers the `Idempotency-Key`.', 'it does not'),
      timeout: optional(
        timeout(),
        'The same as `timeout` beside `http`; where both are written they agree.',
        '`timeout` beside `http`, or `10s`',
      ),
      probe: optional(
        z.strictObject({
          auth: optional(
            authPlace(),
            'What proves who calls, where the probe needs another.',
            '`auth` of the action',
          ),
          method: optional(method(), 'The method.', { default: 'GET' }),
          url: field(urlOrPath(roots, REQUEST), 'As `url`.'),
          headers: optional(headers(roots), 'Headers, by name.', 'none'),
          found: field(
            pick([...roots, 'result']),
            'True when it is there; sees `result.status`, `result.headers`, `result.body`.',
          ),
          after: optional(after(), 'How long the vendor may still be busy with a call that was given up.', {
            default: '30s',
          }),
        }),
        'How to ask whether the effect is there.',
        'it cannot be asked',
      ),
    }),
  )
}

const httpField = (roots: readonly string[]) =>
  optional(makeHttp(roots), 'One request to somebody else’s server.', 'another action')

export const http: ActionDeclaration<HttpActionDocument, ReturnType<typeof httpField>> = {
  field: httpField,
  optional: ['timeout', 'classify'],
  resolve(input, { timeout: beside, classify = {} }, { timeoutMs }) {
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
      timeoutMs: milliseconds(beside ?? input.timeout, timeoutMs),
      classify,
    }
  },
  check(action, at, around) {
    const { http } = action
    if (!isMap(http)) return []
    const [asked, here] = [fieldsOf(http), [...at, 'http']]
    return [
      ...checkHttpConnection(asked, here, around),
      ...checkAuth(asked, around, here, UNTIL),
      ...checkAuth(probeOf(asked), around, [...here, 'probe'], UNTIL),
      ...checkProbeHost(asked, here),
      ...checkTimeouts(action, at),
      ...checkOutcome(asked, at),
    ]
  },
  screen: { icon: 'Globe', does: 'calls an address' },
}

/** The probe uses the connection of the request. */
function probeOf({ connection, probe }: Fields): Fields {
  const asked = fieldsOf(probe)
  return connection === undefined ? asked : { ...asked, connection }
}

/** `timeout` may be inside `http` or beside it. */
function checkTimeouts(action: Fields, at: FieldPath): readonly Remark[] {
  const { timeout } = fieldsOf(action.http)
  if (typeof timeout !== 'string' || typeof action.timeout !== 'string') return []
  const isSame = timeout === action.timeout || parseDuration(timeout) === parseDuration(action.timeout)
  if (isSame) return []
  const message = `\`timeout\` is \`${action.timeout}\` beside \`http\` and \`${timeout}\` inside: keep one`
  return [{ rule: 'together', message, path: [...at, 'http', 'timeout'], onKey: true }]
}

function checkOutcome(
  { method = 'POST', idempotent, keyTtl, probe }: Fields,
  at: FieldPath,
): readonly Remark[] {
  if (typeof method !== 'string' || isIdempotentMethod(method.toUpperCase())) return []
  if ((idempotent ?? false) !== false || keyTtl !== undefined || probe !== undefined) return []
  return [
    {
      rule: 'unknownOutcome',
      severity: 'warning',
      message:
        'an unknown outcome will park for a person: a time-out may hide that the call succeeded. ' +
        'Write `probe` to look, `keyTtl` if the vendor keeps `Idempotency-Key`, or `idempotent: true`',
      path: [...at, 'http'],
      onKey: true,
    },
  ]
}
