// Generated from src/definitions/kinds by `npm run docs`; do not edit. Optional fields of a subscription of one line.

export interface FormField {
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
