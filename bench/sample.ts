// What is sent: one signed GitHub event, synthetic and of 1 KiB or real and of 20 KiB. The body is the same every time,
// so that wrk can carry its signature; the delivery id, and with it the dedup key and the ledger key, is random every
// time.

import { createRequire } from 'node:module'
import { signRequest } from '../src/core/ingest/source/index.ts'

/** The package is JSON, which `import` takes on newer Node only. */
const require = createRequire(import.meta.url)

export const SECRET = 'bench-secret'
export const ADMIN_KEY = 'bench-admin-key'
const PATH = '/in/%s/github'
const BODY_BYTES = 1_024
const REAL_BYTES = 20 * 1_024

export function sampleBody(): string {
  const base = {
    action: 'opened',
    issue: { number: 7, title: 'The wheel squeaks', user: { login: 'mona' }, body: '' },
    repository: { id: 42, full_name: 'acme/mill' },
  }
  const length = JSON.stringify(base).length
  return JSON.stringify({ ...base, issue: { ...base.issue, body: 'w'.repeat(BODY_BYTES - length) } })
}

interface Sample {
  readonly event: string
  readonly body: string
}

export const SMALL: Sample = { event: 'issues', body: sampleBody() }

/** A payload that GitHub really sent, the one nearest to 20 KiB. */
export function realSample(): Sample {
  const all = require('@octokit/webhooks-examples') as readonly {
    readonly name: string
    readonly examples: readonly object[]
  }[]
  const samples = all.flatMap(({ name, examples }) =>
    examples.map((example) => ({ event: name, body: JSON.stringify(example) })),
  )
  const off = ({ body }: Sample) => Math.abs(Buffer.byteLength(body) - REAL_BYTES)
  return samples.reduce((nearest, one) => (off(one) < off(nearest) ? one : nearest))
}

/** The names of so many tenants. */
export function tenantNames(count: number): readonly string[] {
  return ['default', ...Array.from({ length: count - 1 }, (_, index) => `tenant-${index + 1}`)]
}

/**
 * A script for wrk: POSTs with a new random delivery id each, to the tenants in turn by chance; with `cases` each also names one of this
 * many.
 */
export function wrkScript({ event, body }: Sample, cases = 0, tenants = 1): string {
  const signed = signRequest(
    { scheme: 'github', secret: [] },
    { body: new TextEncoder().encode(body), secret: SECRET },
  )
  const headers = { 'content-type': 'application/json', 'x-github-event': event, ...signed }
  const lines = Object.entries(headers).map(([name, value]) => `  headers['${name}'] = '${value}'`)
  return `
local body = [==[${body}]==]
local headers = {}
local tenants = {${tenantNames(tenants)
    .map((name) => `'${PATH.replace('%s', name)}'`)
    .join(', ')}}
function init(args)
  math.randomseed(tonumber(args[1]))
${lines.join('\n')}
end
function request()
  local r = math.random
  headers['x-github-delivery'] = string.format('%08x-%08x-%08x', r(0, 2147483647), r(0, 2147483647), r(0, 2147483647))${cases === 0 ? '' : `\n  headers['x-bench-case'] = tostring(r(1, ${cases}))`}
  return wrk.format('POST', tenants[r(1, #tenants)], headers, body)
end
`
}
