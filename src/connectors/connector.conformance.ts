// The rules for every connector (docs/spec/connectors.md): valid as data, and its calls are what the vendor expects. A
// connector's test is its samples and one call of this.

import { describe, expect, test } from 'vitest'
import { compileSchema } from '../core/definitions/catalog/index.ts'
import type {
  OperationDocument,
  OperationRequest,
  ProviderDocument,
} from '../core/definitions/documents/index.ts'
import { compileExpression, compileShape } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { type ConnectorSamples, inboundConformance } from './inbound.conformance.ts'
import { outboundConformance } from './outbound.conformance.ts'

export type { ConnectorSamples } from './inbound.conformance.ts'
export { markOf } from './outbound.conformance.ts'

const CONFIG = ['config']
const PROBE = ['config', 'vars']
const REQUEST = ['input', 'config', 'key', 'extRef', 'vars']
const ANSWER = ['result']
const READS = ['GET', 'HEAD', 'OPTIONS']
/** They authenticate the caller, which is the credential's job. */
const CREDENTIAL_HEADERS = ['authorization', 'cookie', 'proxy-authorization', 'x-api-key', 'private-token']

type Map = { readonly [name: string]: JsonValue }

export function connectorConformance(provider: ProviderDocument, samples: ConnectorSamples): void {
  describe(`connector: ${provider.name}`, () => {
    const operations = Object.entries(provider.operations)

    test('[VN3] its names are valid, and everything has a description', () => {
      expect(provider.name).toMatch(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/)
      for (const text of [provider.title, provider.description, provider.category])
        expect(text?.trim()).toBeTruthy()
      expect(operations.length).toBeGreaterThan(0)
      for (const [name, { name: own, description }] of operations) {
        expect(name).toMatch(/^[a-z][A-Za-z0-9]*$/)
        expect(own).toBe(name)
        expect(description, name).toMatch(/\.$/)
      }
    })

    test('[VN4] its texts compile, and read only names in scope', () => {
      const { baseUrl, endpoints, oauth2, probe } = provider
      for (const text of [baseUrl, ...Object.values(endpoints), oauth2?.authorizeUrl, oauth2?.tokenUrl])
        if (text != null) expectTexts(text, CONFIG)
      if (probe !== null) expectTexts(partsOf(probe), PROBE)
      for (const { when } of provider.refine) expectFormula(when, ANSWER)
      if (provider.rotation !== null) expectFormula(provider.rotation.secret, ANSWER)
      for (const [name, operation] of operations) {
        expectTexts([partsOf(operation), operation.body], REQUEST)
        const { lookup, result, ref, refine } = operation
        for (const text of [result, ref, ...refine.map(({ when }) => when)])
          if (text !== null) expectFormula(text, ANSWER)
        if (lookup === null) continue
        expectTexts(partsOf(lookup), REQUEST)
        for (const text of [lookup.found, lookup.id])
          if (text !== null) expectFormula(text, [...REQUEST, ...ANSWER], name)
      }
    })

    test('[VN5] its schemas are valid, and declare everything that its templates read', () => {
      expectSchema(provider.config, 'config')
      for (const [name, operation] of operations) {
        const input = expectSchema(operation.input, name)
        const { examples } = operation.input as { readonly examples?: readonly JsonValue[] }
        expect(examples?.length, `${name}: examples`).toBeGreaterThan(0)
        for (const example of examples ?? []) expect(input?.check(example), name).toBeNull()
        expectSchema(operation.output, name)
        expectSameFields(operation)
      }
    })

    test('[VN6] its declarations about repeating a call are consistent', () => {
      for (const [name, operation] of operations) {
        const { idempotency, keyTtlMs, keyHeader, lookup, method } = operation
        expect(lookup !== null, `${name}: lookup`).toBe(idempotency === 'lookup')
        expect(keyTtlMs !== null && keyTtlMs > 0, `${name}: keyTtlMs`).toBe(idempotency === 'native')
        if (idempotency === 'native')
          expect(keyHeader !== null || readsKey(operation), `${name}: the key is sent nowhere`).toBe(true)
        if (lookup !== null) expect(READS).toContain(lookup.method)
        if (READS.includes(method)) expect(idempotency, name).toBe('idempotent')
      }
    })

    test('[VN7] its probe only reads', () => {
      if (provider.probe !== null) expect(READS).toContain(provider.probe.method)
    })

    test('[VN8] what it names exists', () => {
      const { auth, authentication, buckets, oauth2, rotation } = provider
      expect(auth.length).toBeGreaterThan(0)
      expect(new Set(auth).size).toBe(auth.length)
      expect(oauth2 !== null).toBe(auth.includes('oauth2'))
      if (auth.includes('apiKey'))
        expect(authentication.header === null, 'an API key goes one way').toBe(authentication.query !== null)
      for (const { perMinute, burst } of Object.values(buckets)) {
        expect(perMinute).toBeGreaterThan(0)
        expect(burst).toBeGreaterThan(0)
      }
      for (const [name, operation] of operations) {
        for (const bucket of operation.buckets) expect(Object.keys(buckets), name).toContain(bucket)
        if (operation.endpoint !== null)
          expect(Object.keys(provider.endpoints), name).toContain(operation.endpoint)
      }
      for (const name of [rotation?.create, rotation?.revoke])
        if (name != null) expect(Object.keys(provider.operations)).toContain(name)
    })

    test('[VN9] it contains no credential, and it uses TLS', () => {
      const requests = operations.flatMap(([, one]) => (one.lookup === null ? [one] : [one, one.lookup]))
      for (const { headers } of [...requests, ...(provider.probe === null ? [] : [provider.probe])])
        for (const name of Object.keys(headers)) {
          expect(name).toBe(name.toLowerCase())
          expect(CREDENTIAL_HEADERS).not.toContain(name)
        }
      expect(JSON.stringify([provider.baseUrl, provider.endpoints, provider.oauth2])).not.toContain('http://')
    })

    outboundConformance(provider, samples)
    inboundConformance(provider, samples)
  })
}

function partsOf({ path, query, headers }: OperationRequest): JsonValue {
  return [path, query, headers]
}

function pathsOf(texts: JsonValue): readonly string[] {
  const compiled = compileShape(texts)
  if (!compiled.ok) throw new Error(`${compiled.problem.message} in ${JSON.stringify(texts)}`)
  return compiled.shape.paths
}

function expectTexts(texts: JsonValue, roots: readonly string[]): void {
  const compiled = compileShape(texts)
  if (!compiled.ok) throw new Error(`${compiled.problem.message} in ${JSON.stringify(texts)}`)
  expect(
    compiled.shape.roots.filter((root) => !roots.includes(root)),
    JSON.stringify(texts),
  ).toEqual([])
}

function expectFormula(text: string, roots: readonly string[], name = ''): void {
  const compiled = compileExpression(text)
  if (!compiled.ok) throw new Error(`${name}: ${compiled.problem.message} in ${text}`)
  expect(
    compiled.expression.roots.filter((root) => !roots.includes(root)),
    text,
  ).toEqual([])
}

function expectSchema(schema: JsonValue, name: string) {
  if (schema === null) return null
  const compiled = compileSchema(schema)
  if (!compiled.ok) throw new Error(`${name}: ${JSON.stringify(compiled.problems)}`)
  return compiled
}

/**
 * A field that a template reads and the input does not allow is a mistake; so is one that is allowed and never read.
 */
function expectSameFields(operation: OperationDocument): void {
  const { name, body, lookup } = operation
  const formulas = [lookup?.found, lookup?.id].flatMap((text) => {
    const compiled = text == null ? null : compileExpression(text)
    return compiled?.ok ? compiled.expression.paths : []
  })
  const requests = pathsOf([partsOf(operation), body, lookup === null ? null : partsOf(lookup)])
  const read = new Set(
    [...requests, ...formulas].flatMap((path) => {
      const field = /^input\.(\w+)/.exec(path)?.[1]
      return field === undefined ? [] : [field]
    }),
  )
  if (requests.includes('input')) return
  const { properties = {} } = operation.input as { readonly properties?: Map }
  expect([...read].sort(), `${name}: fields that its templates read`).toEqual(Object.keys(properties).sort())
}

function readsKey(operation: OperationDocument): boolean {
  return pathsOf([partsOf(operation), operation.body]).some((path) => path === 'key' || path === 'extRef')
}
