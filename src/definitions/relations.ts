// Checks what a schema of single fields cannot: fields that exclude or need each other, and names of other things.
// Reads values as written, valid or not, so that every finding comes in one run.

import { compileTemplate } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { checkRouteAction } from './actions.ts'
import { checkAgent } from './agents.ts'
import { checkBuffers } from './buffers.ts'
import { checkCatalog } from './catalog.ts'
import { checkConnection, checkCredential } from './connections.ts'
import type { Surroundings } from './document-context.ts'
import type { Remark } from './finding.ts'
import { checkGuards } from './guards.ts'
import { checkKeyless } from './keyless.ts'
import { checkKey } from './keys.ts'
import { checkBesideNats, checkNats, checkStream } from './nats.ts'
import { checkProfileName, checkProfileSort } from './profiles.ts'
import { checkProvider } from './providers.ts'
import { checkRetry } from './retries.ts'
import { checkSchedule } from './schedule.ts'
import type { Kind } from './schema.ts'
import { checkSecrets } from './secrets.ts'
import { checkSensitiveRoute, checkSensitiveSource, checkSensitiveWorkflow } from './sensitive.ts'
import { checkSubscriptionFields } from './subscriptions.ts'
import { checkUpsert } from './upserts.ts'
import { checkWorkflow } from './workflows.ts'

type Fields = { readonly [key: string]: JsonValue }

export function checkRelations(kind: Kind, value: Fields, around: Surroundings): readonly Remark[] {
  switch (kind) {
    case 'Source':
      return [
        ...checkSubject(value),
        ...checkPresence(value),
        ...checkVerify(value, around),
        ...checkGuards(value),
        ...checkSchedule(value),
        ...checkNats(value, around.busPrefix),
        ...checkStream(value, around),
        ...checkCatalog(value),
        ...checkSensitiveSource(value),
      ]
    case 'Route':
      return [
        ...checkRetry(value.retry, around),
        ...checkProfileName(value.drain, 'drain', ['drain'], around.profiles),
        ...checkProfileName(value.rateLimit, 'rate', ['rateLimit'], around.profiles),
        ...checkRouteAction(value, around),
        ...checkKey(value),
        ...checkBuffers(value),
        ...checkUpsert(value),
        ...checkSensitiveRoute(value, around.sensitive),
      ]
    case 'Workflow':
      return [...checkWorkflow(value, around), ...checkSensitiveWorkflow(value, around.sensitive)]
    case 'Agent':
      return checkAgent(value, around)
    case 'Subscription':
      return checkSubscriptionFields(value, around)
    case 'Provider':
      return [...checkProvider(value, around), ...checkKeyless(value, [])]
    case 'Connection':
      return [...checkConnection(value, around), ...checkKeyless(value, [])]
    case 'Credential':
      return [...checkCredential(value, around), ...checkKeyless(value, [])]
    case 'Profile':
      return [...checkProfileSort(value), ...checkRetry(value.retry, around)]
  }
}

function fieldsOf(value: JsonValue | undefined): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

// --- Source

function checkSubject(source: Fields): readonly Remark[] {
  const has = (name: string) => Object.hasOwn(source, name)
  if (has('subject') && has('subjects')) {
    const message = '`subject` and `subjects` exclude each other: keep one'
    return [{ rule: 'oneOf', message, path: ['subjects'], onKey: true }]
  }
  if (has('subject') || has('subjects') || has('schedule') || has('nats')) return []
  const suggestion = `subject: "${typeof source.name === 'string' ? source.name : 'my'}.events.{{ payload.type }}"`
  const message = 'a source names its events: write `subject`, a template, or `subjects`, a ready mapping'
  return [{ rule: 'oneOf', message, path: ['subject'], suggestion }]
}

const UNVERIFIED: Remark = {
  rule: 'verify',
  message:
    'a source says how its senders are verified; to accept what anybody sends, write `verify: { scheme: none }`',
  path: ['verify'],
  suggestion: 'verify: { scheme: hmac, secret: { env: WEBHOOK_SECRET } }',
}

/**
 * Only a source that receives requests has a sender: a schedule has none, and fields about senders do not belong to it.
 */
const OF_SENDERS = ['verify', 'subjects', 'dispatch', 'allow', 'rateLimit', 'respond', 'handshake', 'limits']

function checkPresence(source: Fields): readonly Remark[] {
  const has = (name: string) => Object.hasOwn(source, name)
  if (has('nats')) return checkBesideNats(source)
  if (!has('schedule')) return has('verify') ? [] : [UNVERIFIED]
  return OF_SENDERS.filter(has).map((name) => ({
    rule: 'together',
    message: `\`${name}\` belongs to what is sent in; nobody sends to a schedule`,
    path: [name],
    onKey: true,
  }))
}

function checkVerify(source: Fields, around: Surroundings): readonly Remark[] {
  const verify = fieldsOf(source.verify)
  return [
    ...checkSecrets(verify.secret, around, ['verify', 'secret'], 'senders get 503'),
    ...checkSignedBody(verify),
    ...checkKeyless(verify.signed, ['verify', 'signed']),
    ...checkTimestamp(verify),
  ]
}

const SIGNED = { roots: ['body', 'header'] }

/** Not an error: some senders sign only an id or a time, and there is no other way to accept them. */
function checkSignedBody({ scheme, signed }: Fields): readonly Remark[] {
  const compiled = scheme === 'hmac' && typeof signed === 'string' ? compileTemplate(signed, SIGNED) : null
  if (compiled?.ok !== true || compiled.template.paths.some((path) => /^body\b/.test(path))) return []
  const message =
    'the body is not signed, so whoever saw one request can send any body with its signature: add `{{ body }}`, as the sender does'
  return [{ rule: 'unsignedBody', severity: 'warning', message, path: ['verify', 'signed'] }]
}

function checkTimestamp(verify: Fields): readonly Remark[] {
  const { timestampHeader, signed, tolerance } = verify
  if (verify.scheme !== 'hmac') return []
  if (tolerance !== undefined && timestampHeader === undefined) {
    const message = '`tolerance` needs a `timestampHeader` to compare with'
    return [{ rule: 'together', message, path: ['verify', 'tolerance'], onKey: true }]
  }
  if (typeof timestampHeader !== 'string') return []
  const name = timestampHeader.toLowerCase()
  const compiled = compileTemplate(typeof signed === 'string' ? signed : '{{ body }}')
  if (!compiled.ok || compiled.template.paths.some((path) => path.toLowerCase().includes(name))) return []
  return [
    {
      rule: 'unsignedTime',
      severity: 'warning',
      message:
        'the time is not signed, so anybody can renew an old request: add it to `signed`, as the sender does',
      path: ['verify', 'timestampHeader'],
      suggestion: `signed: "{{ header.${name} }}.{{ body }}"`,
    },
  ]
}
