// What `check` says about a subscription beyond its single fields. Reads it as it was written, sound or not.

import type { JsonValue } from '../core/json/index.ts'
import { checkGroups, reads } from './buffers.ts'
import type { Remark } from './finding.ts'
import { checkProfileName } from './profiles.ts'
import { checkRetry } from './retries.ts'
import { checkSecrets } from './secrets.ts'
import type { Surroundings } from './surroundings.ts'

type Fields = { readonly [key: string]: JsonValue }

function fieldsOf(value: JsonValue | undefined): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

export function checkSubscriptionFields(value: Fields, around: Surroundings): readonly Remark[] {
  return [
    ...checkRetry(value.retry, around),
    ...checkProfileName(value.rateLimit, 'rate', ['rateLimit'], around.profiles),
    ...checkSecrets(value.secret, around, ['secret'], 'its deliveries wait'),
    ...checkGroups(value),
    ...checkHeaders(fieldsOf(value.headers)),
    ...checkMetadata(fieldsOf(value.metadata)),
    ...checkTransform(value.transform),
    ...checkEverything(value),
  ]
}

const HEADERS_MAX = 50

function checkHeaders(headers: Fields): readonly Remark[] {
  const names = Object.keys(headers)
  const remarks: Remark[] = []
  const seen = new Set<string>()
  for (const name of names) {
    const lower = name.toLowerCase()
    if (seen.has(lower)) {
      const message = `\`${lower}\` stands here twice: the names of headers do not differ by case. Keep one`
      remarks.push({ rule: 'header', message, path: ['headers', name], onKey: true })
    }
    seen.add(lower)
  }
  if (names.length > HEADERS_MAX) {
    remarks.push({
      rule: 'bounds',
      message: `at most ${HEADERS_MAX} headers`,
      path: ['headers'],
      onKey: true,
    })
  }
  return remarks
}

const METADATA_MAX = 50

function checkMetadata(metadata: Fields): readonly Remark[] {
  if (Object.keys(metadata).length <= METADATA_MAX) return []
  return [{ rule: 'bounds', message: `at most ${METADATA_MAX} entries`, path: ['metadata'], onKey: true }]
}

/** What tells one event from another. */
const TELLING = ['event', 'payload', 'header']

function checkTransform(transform: JsonValue | undefined): readonly Remark[] {
  if (transform === undefined) return []
  if (transform === null) {
    const message = 'the body is empty: leave `transform` out, and the event is sent as it is'
    return [{ rule: 'type', message, path: ['transform'] }]
  }
  if (TELLING.some((root) => reads(transform, root))) return []
  const message =
    'the body is the same for every event: whoever gets it knows that something happened, and not what. Add `{{ event.id }}` or `{{ payload }}`'
  return [{ rule: 'sameBody', severity: 'warning', message, path: ['transform'], onKey: true }]
}

function checkEverything({ on, where }: Fields): readonly Remark[] {
  const isList = Array.isArray(on)
  const patterns: readonly JsonValue[] = isList ? on : [on ?? null]
  const index = patterns.indexOf('>')
  if (index < 0 || where !== undefined) return []
  const message =
    '`>` is every event of the tenant, whichever source it has, and also what Millrace tells of itself, as `integration.failed` ' +
    '(but nothing of its own deliveries). Name the subjects, or choose among them with `where`'
  return [{ rule: 'everything', severity: 'warning', message, path: isList ? ['on', index] : ['on'] }]
}
