// Checks a provider beyond its single fields: whether its operations can be repeated as they declare, and whether what
// its parts name exists. Reads it as written, valid or not.

import { BUILT_IN_PROVIDERS } from '../../connectors/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { closest } from '../../core/foundation/text/index.ts'
import { isIdempotentMethod } from '../actions/index.ts'
import { checkVendorAddress } from '../addresses.ts'
import { checkJsonSchema } from '../catalog.ts'
import type { Surroundings } from '../document-context.ts'
import type { FieldPath, Remark } from '../finding.ts'
import { checkCredentialHeaders } from '../integrations.ts'
import { listed } from '../suggest.ts'
import { type Fields, fieldsOf, reads } from '../written.ts'

export function checkProvider(provider: Fields, around: Surroundings): readonly Remark[] {
  const operations = Object.entries(fieldsOf(provider.operations))
  return [
    ...checkName(provider.name),
    ...checkAuth(provider),
    ...checkAddresses(provider, around),
    ...checkBuckets(provider),
    ...checkJsonSchema(provider.config, ['config']),
    ...checkProbe(provider.probe),
    ...operations.flatMap(([name, one]) => checkOperation(fieldsOf(one), ['operations', name], provider)),
    ...checkRotation(fieldsOf(provider.rotation), operations),
  ]
}

function checkName(name: JsonValue | undefined): readonly Remark[] {
  if (!BUILT_IN_PROVIDERS.some((one) => one.name === name)) return []
  const message = `\`${name}\` comes with Millrace, and its name is taken: rename this one, or leave it out and use that`
  return [{ rule: 'providerTaken', message, path: ['name'] }]
}

// --- Authentication

/** Models whose value travels as the provider declares. */
const OPEN_MODELS = ['apiKey', 'bearer', 'hmac']

function modelsOf({ auth = 'none' }: Fields): readonly JsonValue[] {
  return Array.isArray(auth) ? auth : [auth]
}

function checkAuth(provider: Fields): readonly Remark[] {
  const models = modelsOf(provider)
  const remarks: Remark[] = []
  const { header, query } = fieldsOf(provider.authentication)
  if (provider.authentication !== undefined && !models.some((one) => OPEN_MODELS.includes(String(one)))) {
    const message = `\`authentication\` belongs to ${listed(OPEN_MODELS)}: the other models say themselves how they travel`
    remarks.push({ rule: 'authModel', message, path: ['authentication'], onKey: true })
  }
  if (header !== undefined && query !== undefined) {
    const message = 'a value travels in a `header` or in the `query`: keep one'
    remarks.push({ rule: 'oneOf', message, path: ['authentication', 'query'], onKey: true })
  }
  if (query !== undefined && !models.includes('apiKey')) {
    const message = 'only an `apiKey` travels in the query: write `header`'
    remarks.push({ rule: 'authModel', message, path: ['authentication', 'query'], onKey: true })
  }
  if (models.includes('oauth2') && provider.oauth2 === undefined) {
    const message = '`auth: oauth2` needs to know where tokens come from: write `oauth2`'
    const suggestion = 'oauth2: { tokenUrl: "https://…" }'
    remarks.push({ rule: 'authModel', message, path: ['oauth2'], suggestion })
  }
  if (provider.oauth2 !== undefined && !models.includes('oauth2')) {
    const message = '`oauth2` belongs to `auth: oauth2`: add it there, or leave this out'
    remarks.push({ rule: 'authModel', message, path: ['oauth2'], onKey: true })
  }
  return remarks
}

function checkAddresses(provider: Fields, around: Surroundings): readonly Remark[] {
  const hasCredential = modelsOf(provider).some((one) => one !== 'none')
  const oauth2 = fieldsOf(provider.oauth2)
  const all: readonly (readonly [FieldPath, JsonValue | undefined])[] = [
    [['baseUrl'], provider.baseUrl],
    [['oauth2', 'tokenUrl'], oauth2.tokenUrl],
    [['oauth2', 'authorizeUrl'], oauth2.authorizeUrl],
    ...Object.entries(fieldsOf(provider.endpoints)).map(
      ([name, address]) => [['endpoints', name], address] as const,
    ),
  ]
  return all.flatMap(([path, address]) => checkVendorAddress(address, path, hasCredential, around))
}

// --- Parts that are named

function checkBuckets({ rate, buckets }: Fields): readonly Remark[] {
  if (rate === undefined || !Object.hasOwn(fieldsOf(buckets), 'default')) return []
  const message = '`rate` is the bucket `default`: keep one of them'
  return [{ rule: 'oneOf', message, path: ['buckets', 'default'], onKey: true }]
}

/** A part of the provider that another part names. */
function checkPart(
  name: JsonValue | undefined,
  what: string,
  known: readonly string[],
  path: FieldPath,
): readonly Remark[] {
  if (typeof name !== 'string' || name === '' || name.includes('{{') || known.includes(name)) return []
  const near = closest(name, known)
  const otherwise = known.length === 0 ? 'and the provider has none' : `but ${listed(known.slice(0, 12))}`
  return [
    {
      rule: 'unknownPart',
      message: `there is no ${what} \`${name}\`, ${otherwise}`,
      path,
      ...(near === undefined ? {} : { suggestedText: near }),
    },
  ]
}

function checkRotation(
  { create, revoke }: Fields,
  operations: readonly (readonly [string, JsonValue])[],
): readonly Remark[] {
  const known = operations.map(([name]) => name)
  return [
    ...checkPart(create, 'operation', known, ['rotation', 'create']),
    ...checkPart(revoke, 'operation', known, ['rotation', 'revoke']),
  ]
}

const READING = ['GET', 'HEAD', 'OPTIONS']

function checkProbe(probe: JsonValue | undefined): readonly Remark[] {
  if (probe === undefined) {
    const message =
      'without a `probe` nobody can tell whether a connection works, nor whether a new secret does: name a request that only reads, as `probe: { path: /me }`'
    return [{ rule: 'probe', severity: 'warning', message, path: ['probe'] }]
  }
  const { method = 'GET', headers } = fieldsOf(probe)
  const remarks = [...checkCredentialHeaders(headers, ['probe', 'headers'])]
  if (typeof method === 'string' && !READING.includes(method)) {
    const message =
      'a probe is sent every minute, and only reads: take a `GET` or a `HEAD`, unless this one changes nothing'
    remarks.push({ rule: 'probe', severity: 'warning', message, path: ['probe', 'method'] })
  }
  return remarks
}

// --- Operations

function checkOperation(operation: Fields, at: FieldPath, provider: Fields): readonly Remark[] {
  const { endpoint, buckets, input, output, headers } = operation
  const known = Object.keys(fieldsOf(provider.buckets))
  const bucketNames = provider.rate === undefined ? known : ['default', ...known]
  const isList = Array.isArray(buckets)
  return [
    ...checkPart(endpoint, 'endpoint', Object.keys(fieldsOf(provider.endpoints)), [...at, 'endpoint']),
    ...(isList ? buckets : []).flatMap((one: JsonValue, index) =>
      checkPart(one, 'bucket', bucketNames, [...at, 'buckets', index]),
    ),
    ...checkJsonSchema(input, [...at, 'input']),
    ...checkJsonSchema(output, [...at, 'output']),
    ...checkCredentialHeaders(headers, [...at, 'headers']),
    ...checkIdempotency(operation, at),
  ]
}

function checkIdempotency(operation: Fields, at: FieldPath): readonly Remark[] {
  const { idempotency, keyTtl, keyHeader, lookup, method = 'POST' } = operation
  const remarks: Remark[] = []
  const report = (message: string, field: string, more: Partial<Remark> = {}) =>
    remarks.push({ rule: 'idempotency', message, path: [...at, field], ...more })
  if (idempotency === 'native' && keyTtl === undefined) {
    report('`native` needs to know how long the vendor remembers a key: write `keyTtl`', 'idempotency', {
      suggestion: 'keyTtl: 24h',
    })
  }
  if (keyTtl !== undefined && idempotency !== undefined && idempotency !== 'native') {
    report('`keyTtl` belongs to `idempotency: native`: leave it out', 'keyTtl', { onKey: true })
  }
  if (idempotency === 'lookup' && lookup === undefined) {
    report('`lookup` needs to know how to look: write `lookup`, a request, and `found`', 'idempotency')
  }
  if (lookup !== undefined && idempotency !== undefined && idempotency !== 'lookup') {
    report('`lookup` belongs to `idempotency: lookup`: leave it out', 'lookup', { onKey: true })
  }
  const { path, query, headers, body } = operation
  const sent: readonly (JsonValue | undefined)[] = [path, query, headers, body]
  const isNative = idempotency === 'native' || (idempotency === undefined && keyTtl !== undefined)
  if (isNative && keyHeader === 'none' && !sent.some((one) => reads(one, 'key') || reads(one, 'extRef'))) {
    report(
      'nothing sends the key: write `{{ key }}` where the vendor expects it, or leave `keyHeader` out',
      'keyHeader',
    )
  }
  const looked = fieldsOf(lookup)
  const asked = [looked.path, looked.query, looked.headers, looked.found]
  const isTold = ['input', 'key', 'extRef'].some(
    (root) => asked.some((one) => reads(one, root)) || reads(`{{ ${String(looked.found)} }}`, root),
  )
  if (lookup !== undefined && looked.path !== undefined && !isTold) {
    report(
      'nothing here looks for this effect: write `{{ key }}`, `{{ extRef }}` or a value of `input` into it',
      'lookup',
      {
        severity: 'warning',
        onKey: true,
      },
    )
  }
  const isOpen = idempotency === undefined && keyTtl === undefined && lookup === undefined
  if (isOpen && typeof method === 'string' && !isIdempotentMethod(method)) {
    const message =
      'an unknown outcome will park for a person: a time-out may hide that the call succeeded. ' +
      'Write `idempotency`: `native` if the vendor keeps a key, `lookup` to look, `idempotent` if repeating is harmless, or `none`'
    remarks.push({ rule: 'unknownOutcome', severity: 'warning', message, path: at, onKey: true })
  }
  return remarks
}
