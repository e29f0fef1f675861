// The definitions that the scenarios run on. Those that name a port or number thousands are generated for the run.

import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const STRANGERS = 1_000

export const EMITTING = [
  'kind: Route',
  'name: emit',
  'on: [github.events.issues.*]',
  'do: { emit: bench.counted }',
  '',
].join('\n')

export function keptFlows(name: 'ingest' | 'end-to-end' | 'signed' | 'instances' | 'correlation'): string {
  return fileURLToPath(new URL(`flows/${name}`, import.meta.url))
}

/** A call to a vendor for each event; with `key` all events have the same effect. */
export async function effectFlows(folder: string, vendor: string, key?: string): Promise<string> {
  await startFrom('ingest', folder)
  await writeFile(
    join(folder, 'route.yaml'),
    [
      'kind: Route',
      'name: book',
      'on: [github.events.issues.*]',
      `key: ${JSON.stringify(key ?? "'BOOK:' + header.x-github-delivery")}`,
      'do:',
      `  http: { method: POST, url: "${vendor}/book", body: { issue: "{{ payload.issue.number }}" } }`,
      '',
    ].join('\n'),
  )
  return folder
}

/** The same call as an operation on a connection: with a credential, a bucket and an idempotency key. */
export async function connectionFlows(folder: string, vendor: string): Promise<string> {
  await startFrom('ingest', folder)
  await writeFile(
    join(folder, 'connection.yaml'),
    `kind: Provider
name: books
baseUrl: ${vendor}
auth: bearer
probe: { path: /me }
rate: { perMinute: 1000000, burst: 1000000 }
operations:
  book:
    path: /book
    input: { type: object, required: [issue], properties: { issue: { type: integer } } }
    idempotency: native
    keyTtl: 24h
    ref: result.body.id
---
kind: Credential
name: books
provider: books
secret: { env: BENCH_SECRET }
---
kind: Connection
name: books
provider: books
credential: books
probe: none
---
kind: Route
name: book
on: [github.events.issues.*]
key: "'BOOK:' + header.x-github-delivery"
do: { operation: books.book, connection: books, with: { issue: "{{ payload.issue.number }}" } }
`,
  )
  return folder
}

/** End to end, beside so many routes that match other subjects. */
export async function crowdedFlows(folder: string, count = STRANGERS): Promise<string> {
  await startFrom('end-to-end', folder)
  const strangers = Array.from({ length: count }, (_, index) =>
    [
      'kind: Route',
      `name: stranger-${index}`,
      // Half of them by another subject, half by the same first words.
      `on: [${index % 2 === 0 ? `gitlab.events.kind${index}.opened` : `github.events.kind${index}.>`}]`,
      `key: "'STRANGER-${index}:' + header.x-github-delivery"`,
      'do: { function: count }',
    ].join('\n'),
  )
  await writeFile(join(folder, 'strangers.yaml'), strangers.join('\n---\n'))
  return folder
}

/** Every tenant has a source and a route that emits: functions of the node belong to one tenant. */
export async function tenantFlows(folder: string): Promise<string> {
  await startFrom('ingest', folder)
  await writeFile(join(folder, 'route.yaml'), EMITTING)
  return folder
}

async function startFrom(name: 'ingest' | 'end-to-end', folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  await cp(keptFlows(name), folder, { recursive: true })
}
