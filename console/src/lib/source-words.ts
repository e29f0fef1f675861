// Describes a source's settings and refusals.

export interface Verify {
  readonly scheme: string
  readonly secret?: readonly ({ readonly env: string } | { readonly ref: string })[]
  readonly header?: string
  readonly algorithm?: string
  readonly username?: string
  readonly toleranceMs?: number
}

/** The parts of a source's document that its page shows; omitted ones mean the default. */
export interface SourceShape {
  readonly verify: Verify
  readonly mapping?: string
  readonly dedup: { readonly by: string | null; readonly windowMs: number }
  readonly event: { readonly id: string | null }
  readonly allow?: readonly string[]
  readonly rateLimit?: { readonly perMinute: number; readonly burst: number }
  readonly limits: { readonly bodyBytes: number; readonly depth: number }
  readonly sensitive?: readonly string[]
  readonly retentionMs?: number
  readonly unmatched?: string
  readonly schedule?: { readonly cron: string; readonly zone: string; readonly missed: string }
  readonly nats?: {
    readonly stream?: string
    readonly subjects: readonly string[]
    readonly durable?: string
  }
  readonly catalog?: { readonly mismatch: string }
}

const VENDORS: Readonly<Record<string, string>> = {
  github: 'GitHub',
  gitlab: 'GitLab',
  bitbucket: 'Bitbucket',
  jira: 'Jira',
  shopify: 'Shopify',
  'terraform-cloud': 'Terraform Cloud',
  sentry: 'Sentry',
  intercom: 'Intercom',
  pagerduty: 'PagerDuty',
  workfront: 'Workfront',
  stripe: 'Stripe',
  slack: 'Slack',
  discord: 'Discord',
  linear: 'Linear',
  zoom: 'Zoom',
  paddle: 'Paddle',
  twilio: 'Twilio',
  square: 'Square',
  hubspot: 'HubSpot',
}

export function verifyInWords(verify: Verify): string {
  switch (verify.scheme) {
    case 'none':
      return 'Senders are not verified: anyone who knows the address can send.'
    case 'closed':
      return 'Nobody sends to it. It makes its events itself.'
    case 'hmac':
      return `An HMAC (${verify.algorithm ?? 'sha256'}) in the header ${verify.header ?? ''}, over the bytes as they came.`
    case 'basic':
      return `The name ${verify.username ?? ''} and its password.`
    case 'api-key':
      return `A key in the header ${verify.header ?? ''}.`
    case 'standard-webhooks':
      return 'A signature by Standard Webhooks, over the bytes as they came, with its time.'
    case 'workfront':
      return 'The token that Workfront was given with the subscription.'
    default:
      return `${VENDORS[verify.scheme] ?? verify.scheme}’s signature, over the bytes as they came.`
  }
}

/** Where its secrets are stored: never their values. */
export function secretsInWords({ secret = [] }: Verify): string | null {
  if (secret.length === 0) return null
  const names = secret.map((one) => {
    if ('env' in one) return `the variable ${one.env}`
    return 'file' in one ? `the file ${one.file}` : `the secret ${one.ref}`
  })
  return `${names.join(', then ')}${names.length > 1 ? ': each is good while one replaces the other' : ''}`
}

/** A subject's template with an ellipsis for computed parts: the source's page shows them. */
export function subjectInShort(template: string): string {
  return template.replaceAll(/(?:\{\{(?:'[^']*'|"[^"]*"|(?!\}\}).)*\}\})+/g, '…')
}

interface ReasonWords {
  readonly title: string
  readonly next: string
}

/** Why a request was rejected, by its code. */
const REASONS: Readonly<Record<string, ReasonWords>> = {
  unknown_source: {
    title: 'No such source',
    next: 'Compare the address at the sender with that of the source.',
  },
  source_disabled: {
    title: 'The source is disabled',
    next: 'Resume the source, or stop the sender.',
  },
  address_refused: {
    title: 'An address that is not allowed',
    next: 'If it is the sender’s, add it to ‘allow’; behind a proxy, set MILLRACE_TRUSTED_PROXIES.',
  },
  handshake_refused: {
    title: 'An invalid handshake',
    next: 'Compare ‘handshake’ in the definition with what the vendor asks.',
  },
  rate_limited: {
    title: 'Source rate limit exceeded',
    next: 'Senders wait and send again. If this is usual, raise ‘rateLimit’.',
  },
  signature_missing: {
    title: 'No signature',
    next: 'Enable signing at the sender. If it is enabled, the request came from elsewhere.',
  },
  signature_wrong: {
    title: 'A signature that does not match',
    next: 'Set the same secret at the sender and here. While one replaces the other, name both.',
  },
  signature_expired: {
    title: 'A signature that is too old',
    next: 'Check the clocks of both sides; old deliveries that are sent again have the same problem.',
  },
  secret_missing: {
    title: 'The secret is not set here',
    next: 'Set the variable or the secret that the definition names.',
  },
  not_json: { title: 'Not JSON', next: 'Let the sender use JSON, or check its content type.' },
  duplicate_key: {
    title: 'A duplicate key',
    next: 'Ask the sender to write each key once.',
  },
  number_out_of_range: {
    title: 'A number that is too long',
    next: 'Ask the sender for fewer digits or a smaller exponent, or for a text.',
  },
  body_unreadable: {
    title: 'A body that cannot be read',
    next: 'Check its type and compression at the sender.',
  },
  too_deep: { title: 'Nested too deeply', next: 'Raise ‘limits.depth’ if such payloads are expected.' },
  body_too_large: { title: 'Too large', next: 'Raise ‘limits.body’ if such payloads are expected.' },
  unnamed_event: {
    title: 'The subject cannot be computed',
    next: 'Compare ‘subject’ in the definition with the payload.',
  },
  wrong_type: { title: 'An unsupported content type', next: 'Let the sender use JSON, a form or text.' },
  method_not_allowed: { title: 'Not a POST', next: 'Events are sent with POST.' },
}

export function reasonInWords(code: string): ReasonWords {
  const known = REASONS[code]
  if (known !== undefined) return known
  const words = code.replaceAll('_', ' ')
  return { title: words.slice(0, 1).toUpperCase() + words.slice(1), next: 'Look at what the sender sends.' }
}

/** What the three positions of a source's switch mean. */
export const SOURCE_SWITCHES = {
  pause: {
    title: 'Pause',
    text: 'Senders get the usual response, and their events are stored. Nothing is lost; when you resume the source, the events are processed in order.',
    done: 'It is paused, and events are stored',
  },
  resume: {
    title: 'Resume',
    text: 'The stored events are processed now, oldest first, by the deployed routes.',
    done: 'It is active again',
  },
  disable: {
    title: 'Disable',
    text: 'Senders get 410, and their events are not stored. Some vendors disable an address that responds so.',
    done: 'It is disabled and refuses events',
  },
} as const

/** A route for a subject, to start with. */
export function routeFor(subject: string): string {
  const name = subject
    .replaceAll(/[^a-z0-9]+/gi, '_')
    .replaceAll(/^_+|_+$/g, '')
    .toLowerCase()
  return `kind: Route
name: on_${name}
on: [${JSON.stringify(subject)}]
do:
  http:
    method: POST
    url: "https://example.com/hooks"
    body: { ref: "{{ key }}", event: "{{ payload }}" }
`
}
