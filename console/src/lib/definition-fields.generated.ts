// Generated from src/definitions/kinds by `npm run docs`; do not edit. Optional fields of definitions of one line.

export interface FormField {
  /** `probe.every`: within an object. */
  readonly name: string
  readonly meaning: string
  /** What it means that it is left out. */
  readonly leftOut: string
  /** Milliseconds in the document, where `null` is the word. */
  readonly isDuration?: boolean
  readonly word?: string
  readonly values?: readonly string[]
}

export const SUBSCRIPTION_FIELDS: readonly FormField[] = [
  {
    "name": "description",
    "meaning": "For people; it changes nothing.",
    "leftOut": "none"
  },
  {
    "name": "status",
    "meaning": "`paused`: deliveries are kept and not sent. `disabled`: what arrives is skipped.",
    "leftOut": "active",
    "values": [
      "active",
      "paused",
      "disabled"
    ]
  },
  {
    "name": "signing",
    "meaning": "How: with the headers of Standard Webhooks by a shared secret (`standard`) or a key pair (`ed25519`), or with `x-hub-signature-256` (`github`).",
    "leftOut": "standard",
    "values": [
      "standard",
      "ed25519",
      "github"
    ]
  },
  {
    "name": "timeout",
    "meaning": "Of one attempt, `1s` to `60s`.",
    "leftOut": "15s",
    "isDuration": true
  },
  {
    "name": "maxWait",
    "meaning": "How long a delivery may wait beside its retries, as when the endpoint asks for less.",
    "leftOut": "24h",
    "isDuration": true
  },
  {
    "name": "disableAfter",
    "meaning": "How long everything may fail before the subscription disables itself; `never`: it goes on for good.",
    "leftOut": "5d",
    "isDuration": true,
    "word": "never"
  },
  {
    "name": "connection",
    "meaning": "The connection whose rate limits its deliveries share with the calls on it: the default bucket of its provider, also while that is closed after a 429. Address and proof stay those of the subscription.",
    "leftOut": "limits are those of the endpoint alone"
  },
  {
    "name": "sensitive",
    "meaning": "`send`: what sources declare as sensitive is sent to this endpoint.",
    "leftOut": "it is sent as `[hidden]`",
    "values": [
      "send"
    ]
  }
]

export const CONNECTION_FIELDS: readonly FormField[] = [
  {
    "name": "description",
    "meaning": "For people; it changes nothing.",
    "leftOut": "none"
  },
  {
    "name": "environment",
    "meaning": "The one that it is for: a name may have a document for each, and a node takes that of its own `MILLRACE_ENV`.",
    "leftOut": "every one that has no document of its own",
    "values": [
      "DEV",
      "QA",
      "PROD"
    ]
  },
  {
    "name": "credential",
    "meaning": "The name of a `kind: Credential` of the same provider.",
    "leftOut": "the provider takes none"
  },
  {
    "name": "status",
    "meaning": "`retired`: it runs nothing, for good.",
    "leftOut": "active",
    "values": [
      "active",
      "retired"
    ]
  },
  {
    "name": "probe.every",
    "meaning": "Once in so long.",
    "leftOut": "1m",
    "isDuration": true
  },
  {
    "name": "probe.timeout",
    "meaning": "How long an answer may take.",
    "leftOut": "10s",
    "isDuration": true
  }
]

export const CREDENTIAL_FIELDS: readonly FormField[] = [
  {
    "name": "description",
    "meaning": "For people; it changes nothing.",
    "leftOut": "none"
  },
  {
    "name": "environment",
    "meaning": "The one that it is for: a name may have a document for each, and a node takes that of its own `MILLRACE_ENV`.",
    "leftOut": "every one that has no document of its own",
    "values": [
      "DEV",
      "QA",
      "PROD"
    ]
  },
  {
    "name": "auth",
    "meaning": "How: one of the provider’s models.",
    "leftOut": "the provider’s first",
    "values": [
      "none",
      "apiKey",
      "basic",
      "bearer",
      "oauth2",
      "githubApp",
      "serviceAccount",
      "hmac"
    ]
  },
  {
    "name": "username",
    "meaning": "Of `basic`.",
    "leftOut": "needed with `basic`"
  },
  {
    "name": "rotation.every",
    "meaning": "Once in so long.",
    "leftOut": "only when somebody asks, or when it is refused",
    "isDuration": true
  },
  {
    "name": "rotation.coolDown",
    "meaning": "How long after a rotation that failed none is begun by a refusal.",
    "leftOut": "10m",
    "isDuration": true
  },
  {
    "name": "rotation.overlap",
    "meaning": "For how long the former value stays good beside the new one.",
    "leftOut": "1m",
    "isDuration": true
  }
]
