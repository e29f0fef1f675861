// Which headers of a request are stored with its event: those that identify it, and those that a definition reads. All others
// are left out, because any of them may be a credential: proxies and senders add headers that are unknown here.

import { type JsonValue, stringifyJson } from '../../foundation/json/index.ts'

/** Content, sender and context. */
const NAMES = new Set([
  'accept-language',
  'b3',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-type',
  'correlation-id',
  'date',
  'host',
  'idempotency-key',
  'link',
  'origin',
  'traceparent',
  'tracestate',
  'user-agent',
  'x-cloud-trace-context',
  'x-request-uuid',
  'x-signature-timestamp',
])

/** Headers of one vendor or one standard, whatever follows the prefix. */
const FAMILIES =
  /^(?:ce|nats|aeg|linear|paddle|sentry-hook|shopify|square|stripe|svix|webhook|x-amz-sns|x-atlassian|x-b3|x-bitbucket|x-circleci|x-discord|x-docusign|x-dropbox|x-gitea|x-github|x-gitlab|x-gogs|x-goog|x-hook|x-hub|x-hubspot|x-intercom|x-mailgun|x-okta|x-pagerduty|x-sendgrid|x-shopify|x-signature|x-slack|x-square|x-tfe|x-twilio|x-wc-webhook|x-webhook|x-zendesk|x-zm)-/

/** The last word of a name by which vendors identify an event. */
const LAST_WORD =
  /-(?:action|attempt|attempts|count|delivery|event|events|hook|id|identifier|kind|key|number|resource|subject|time|timestamp|topic|trigger|type|uuid|version)$/

/** A credential-like name is never stored by default, whatever its family or form. */
const SECRET_WORD =
  /(?:^|-)(?:api-?key|access-?key|auth|authentication|authorization|bearer|code|cookie|credential|credentials|csrf|hmac|jwt|key-id|otp|pass|passwd|password|private|secret|security|session|sid|sign|signature|token|xsrf)(?:-|$|\d)|signature|token|secret|passw/

/** Headers that are stored even if no definition reads them. */
export function isStoredHeader(name: string): boolean {
  if (NAMES.has(name)) return true
  return (FAMILIES.test(name) || LAST_WORD.test(name)) && !SECRET_WORD.test(name) && !SECRET_KEY.test(name)
}

/** `x-event-key` names an event; `x-service-key` is a credential. */
const SECRET_KEY =
  /^(?!.*(?:^|-)(?:event|dedup|idempotency|object|resource|partition|routing|ordering)-key$).*-key$/

const READS = /\bheader\s*(?:\.\s*([A-Za-z0-9_-]+)|\[\s*\\?["']([^"'\\\]]{1,128})\\?["']\s*\])/g

/** Where a signature has its time. */
const TIMES = /"timestampHeader":"([^"\\]{1,128})"/g

/** Names of headers, in lower case, that a document reads by name: in its expressions and its verification. */
export function headersReadBy(document: object): ReadonlySet<string> {
  const names = new Set<string>()
  const text = stringifyJson(document as JsonValue)
  for (const [, plain, quoted] of text.matchAll(READS)) names.add((plain ?? quoted ?? '').toLowerCase())
  for (const [, name] of text.matchAll(TIMES)) names.add((name ?? '').toLowerCase())
  return names
}
