// One object at the other side per external reference: found and updated, or created.

import * as z from 'zod'
import type { UpsertActionDocument, UpsertCallDocument } from '../../core/definitions/documents/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { checkAuth } from '../auth.ts'
import {
  authPlace,
  field,
  named,
  oneOf,
  optional,
  pick,
  reference,
  requestPath,
  send,
  sends,
  urlOrPath,
} from '../fields.ts'
import type { FieldPath, Remark } from '../finding.ts'
import { method, resolveAuth } from '../kinds/parts.ts'
import { type Fields, fieldsOf, isMap, milliseconds, reads } from '../written.ts'
import {
  type ActionDeclaration,
  after,
  headers,
  isIdempotentMethod,
  keyTtl,
  lowerCased,
  PROBE_AFTER_MS,
  REQUEST,
  UNTIL,
} from './action-kind.ts'
import { checkBaseConnection } from './connections.ts'

function makeUpsert(outer: readonly string[]) {
  const roots = [...outer, 'extRef']
  const call = (names: readonly string[], usual: 'POST' | 'PUT', where: string) =>
    named(
      'UpsertCallDefinition',
      z.strictObject({
        method: optional(method(), 'The method.', { default: usual }),
        path: field(requestPath(names, REQUEST), where),
        body: optional(sends(names, REQUEST), 'What is not a text is sent as JSON.', 'none'),
        idempotent: optional(z.boolean(), 'Repeating the call is harmless.', 'true for PUT and DELETE'),
        keyTtl: optional(keyTtl(), 'How long the vendor remembers the `Idempotency-Key`.', 'it does not'),
      }),
    )
  return named(
    'UpsertDefinition',
    z.strictObject({
      connection: optional(reference(), 'Whose address and credential it goes with.', 'nobody’s'),
      auth: optional(
        authPlace(),
        'What proves who calls, in place of a connection: for all its requests.',
        'nothing does',
      ),
      baseUrl: optional(
        urlOrPath(outer),
        'Absolute, http or https; the paths are put behind it. With a connection a path behind its base.',
        'the connection’s',
      ),
      headers: optional(
        headers(roots),
        "Headers of all its requests, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent.",
        'none',
      ),
      extRef: field(send(outer), 'The external reference of the object; `extRef` in what follows.'),
      find: field(
        z.strictObject({
          method: optional(method(), 'The method.', { default: 'GET' }),
          path: field(requestPath(roots, REQUEST), 'Behind `baseUrl`; values in it are percent-encoded.'),
          found: field(pick([...roots, 'result']), 'True when it is there; sees `result`.'),
          id: optional(
            pick([...roots, 'result']),
            'What `update` calls it, as `found.id`; sees `result`.',
            'none',
          ),
          after: optional(after(), 'How long the vendor may still be busy with a call that was given up.', {
            default: '30s',
          }),
        }),
        'How to look for the object by its reference.',
      ),
      create: field(
        call(roots, 'POST', 'Behind `baseUrl`.'),
        'What makes the object; its body should set the reference.',
      ),
      // The map first: its errors are reported, rather than that it is not `none`.
      update: optional(
        z.union([call([...roots, 'found'], 'PUT', 'Behind `baseUrl`; sees `found.id`.'), oneOf('none')]),
        'What changes an object that was found; `none`: it is left alone.',
        { default: 'none' },
      ),
      lock: optional(
        oneOf('single', 'none'),
        '`single`: one item at a time for a reference, over all routes to the same host.',
        { default: 'single' },
      ),
    }),
  )
}

const upsertField = (roots: readonly string[]) =>
  optional(
    makeUpsert(roots),
    'One object at the other side per external reference: found and updated, or created.',
    'another action',
  )

export const upsert: ActionDeclaration<UpsertActionDocument, ReturnType<typeof upsertField>> = {
  field: upsertField,
  optional: ['timeout', 'classify'],
  resolve(input, { classify = {} }, { timeoutMs }) {
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
  },
  check({ upsert }, at, around) {
    if (!isMap(upsert)) return []
    const [fields, here] = [fieldsOf(upsert), [...at, 'upsert']]
    return [
      ...checkBaseConnection(fields, here, around),
      ...checkAuth(fields, around, here, UNTIL),
      ...checkReferenceUse(fields, here),
      ...checkFoundId(fields, here),
      ...checkUpdate(fieldsOf(fields.update), here),
    ]
  },
  checkRoute: (route) => checkLock(route, fieldsOf(fieldsOf(route.do).upsert)),
  whyNoBatch:
    '`upsert` looks for one object at a time: leave out `batch`, or write a request for many with `http`',
  screen: { icon: 'RefreshCw', does: 'creates or updates an object' },
}

type CallInput = z.infer<ReturnType<typeof makeUpsert>>['create']

function resolveCall(input: CallInput, otherwise: string): UpsertCallDocument {
  const method = input.method ?? otherwise
  return {
    method,
    path: input.path,
    body: (input.body ?? null) as JsonValue,
    idempotent: input.idempotent ?? isIdempotentMethod(method),
    keyTtlMs: input.keyTtl === undefined ? null : milliseconds(input.keyTtl, 0),
  }
}

function checkReferenceUse({ find, create, headers }: Fields, at: FieldPath): readonly Remark[] {
  const remarks: Remark[] = []
  const { path: findPath } = fieldsOf(find)
  if (typeof findPath === 'string' && !reads(findPath, 'extRef') && !reads(headers, 'extRef')) {
    const message = 'nothing here looks for the reference: write `{{ extRef }}` where the vendor expects it'
    remarks.push({ rule: 'reference', severity: 'warning', message, path: [...at, 'find', 'path'] })
  }
  const { path, body } = fieldsOf(create)
  if (path !== undefined && ![path, body, headers].some((one) => reads(one, 'extRef'))) {
    const message =
      'what is created does not get the reference, so that it is never found again and created anew: write `{{ extRef }}` into its field of the body'
    remarks.push({
      rule: 'reference',
      severity: 'warning',
      message,
      path: [...at, 'create'],
      onKey: true,
    })
  }
  return remarks
}

function checkFoundId({ find, update }: Fields, at: FieldPath): readonly Remark[] {
  const { id, path } = fieldsOf(find)
  if (id !== undefined || path === undefined || !reads(update, 'found')) return []
  const message = '`update` reads `found.id`: say in `find.id` where it is, as in `result.body.items[0].id`'
  return [{ rule: 'foundId', message, path: [...at, 'find'], onKey: true }]
}

/** Finding the object proves that it exists, not that it was changed. */
function checkUpdate({ method = 'PUT', path, idempotent, keyTtl }: Fields, at: FieldPath): readonly Remark[] {
  if (path === undefined || typeof method !== 'string' || isIdempotentMethod(method)) return []
  if ((idempotent ?? false) !== false || keyTtl !== undefined) return []
  const message =
    'an unknown outcome of the update will park for a person: finding the object does not tell whether it was changed. ' +
    'Write `idempotent: true` if repeating it is harmless, or `keyTtl` if the vendor keeps `Idempotency-Key`'
  return [{ rule: 'unknownOutcome', severity: 'warning', message, path: [...at, 'update'], onKey: true }]
}

function checkLock({ uniqueness }: Fields, { lock }: Fields): readonly Remark[] {
  if (lock !== 'none' || uniqueness !== 'record') return []
  const message =
    'two items of one reference may both find nothing and create twice: `uniqueness: record` needs `lock: single`, unless the vendor refuses the second'
  return [{ rule: 'race', severity: 'warning', message, path: ['do', 'upsert', 'lock'] }]
}
