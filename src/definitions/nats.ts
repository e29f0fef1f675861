// Checks what a source consumes from NATS, as far as a schema of single fields cannot.

import type { DefinitionDocument, SourceDocument } from '../core/definitions/documents/index.ts'
import { parsePattern, patternsMeet } from '../core/events/subject/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { mayReadAnyStream, mayReadStream, type StreamList } from '../core/ingest/bus-message/index.ts'
import { BUS_PREFIX } from '../core/store/outbox/index.ts'
import type { FieldPath, Remark } from './finding.ts'
import type { Fields } from './written.ts'

/** There is no request: no sender to verify, and none to respond to. */
const OF_REQUESTS = ['verify', 'allow', 'respond', 'handshake']

export function checkBesideNats(source: Fields): readonly Remark[] {
  const has = (name: string) => Object.hasOwn(source, name)
  const requests = OF_REQUESTS.filter(has).map((name) => ({
    rule: 'together' as const,
    message: `\`${name}\` belongs to requests; messages of NATS come without: leave it out`,
    path: [name],
    onKey: true,
  }))
  if (!has('schedule')) return requests
  const message = '`nats` and `schedule` exclude each other: make two sources'
  return [...requests, { rule: 'together', message, path: ['schedule'], onKey: true }]
}

/** `prefix`: of the node's own subjects; undefined: not known. */
export function checkNats({ nats }: Fields, prefix: string | undefined): readonly Remark[] {
  if (typeof nats !== 'object' || nats === null || Array.isArray(nats)) return []
  const patterns = patternsOf((nats as Fields).subjects)
  /** Where events and tokens are published. */
  const own = `${prefix ?? BUS_PREFIX}.>`
  const assumed =
    prefix === undefined
      ? `. That is assumed: set MILLRACE_NATS_PREFIX to what the nodes have, if they have another one`
      : ''
  return patterns.flatMap(({ pattern, path }, index): readonly Remark[] => {
    if (patternsMeet(pattern, own)) {
      const message = `\`${pattern}\` takes in what Millrace itself publishes under \`${own}\`, and would go round for ever: name the subjects of others${assumed}`
      return [{ rule: 'natsLoop', message, path }]
    }
    const other = patterns.slice(0, index).find((one) => patternsMeet(one.pattern, pattern))
    if (other === undefined) return []
    const message = `\`${other.pattern}\` and \`${pattern}\` take in the same messages, which would come twice: keep the wider one, or make them differ`
    return [{ rule: 'natsOverlap', message, path }]
  })
}

/** What the sources of one tenant may read of the bus. */
export interface ReadableStreams {
  readonly tenant: string
  readonly list: StreamList
}

export function streamsOf(tenant: string, list: StreamList | undefined): ReadableStreams | undefined {
  return list === undefined ? undefined : { tenant, list }
}

export function checkStream(
  { nats }: Fields,
  {
    busPrefix,
    streams,
  }: { readonly busPrefix: string | undefined; readonly streams: ReadableStreams | undefined },
): readonly Remark[] {
  if (streams === undefined || typeof nats !== 'object' || nats === null || Array.isArray(nats)) return []
  const { tenant, list } = streams
  const { stream } = nats as Fields
  const allow = `the operator allows a stream with \`MILLRACE_NATS_STREAMS=${tenant}=STREAM\``
  if (typeof stream !== 'string') {
    if (mayReadAnyStream(list, tenant)) return []
    const message = `the tenant \`${tenant}\` may read no stream of NATS: ${allow}`
    return [{ rule: 'natsStream', message, path: ['nats'], onKey: true }]
  }
  if (mayReadStream(list, busPrefix ?? BUS_PREFIX, tenant, stream)) return []
  const message = `the tenant \`${tenant}\` may not read the stream \`${stream}\`: ${allow}`
  return [{ rule: 'natsStream', message, path: ['nats', 'stream'] }]
}

/** Those that are patterns; the field itself reports the others. */
function patternsOf(
  subjects: JsonValue | undefined,
): readonly { readonly pattern: string; readonly path: FieldPath }[] {
  const list = Array.isArray(subjects) ? subjects : [subjects]
  return list.flatMap((pattern: JsonValue | undefined, index) => {
    if (typeof pattern !== 'string' || !parsePattern(pattern).ok) return []
    const at: FieldPath = ['nats', 'subjects']
    return [{ pattern, path: Array.isArray(subjects) ? [...at, index] : at }]
  })
}

/** A source of the files that consumes from NATS, and how to report on it. */
export interface BundleConsumer {
  readonly document: SourceDocument
  report(remark: Remark): void
}

/** `documents`: all that will be deployed, those of the files first. */
export function reportDurables(
  consumers: readonly BundleConsumer[],
  documents: readonly DefinitionDocument[],
): void {
  const own = new Set(consumers.map(({ document }) => document.name))
  const all = documents.flatMap((one) => (one.kind === 'Source' && one.nats !== undefined ? [one] : []))
  for (const { document, report } of consumers) {
    const { name, nats } = document
    const durable = nats?.durable
    if (durable === undefined) continue
    const before = all.findIndex((one) => one.name === name)
    const other = all.find(
      (one, index) => one.nats?.durable === durable && (index < before || !own.has(one.name)),
    )
    if (other === undefined) continue
    const message = `the source \`${other.name}\` has the durable \`${durable}\` already, and each message would come to one of both: give this one another name, or leave it out`
    report({ rule: 'natsDurable', message, path: ['nats', 'durable'] })
  }
}
