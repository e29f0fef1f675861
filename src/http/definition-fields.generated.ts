// Generated from src/definitions/kinds by `npm run docs`; do not edit. Fields of definitions, as requests have them.

export const SUBSCRIPTION_FIELDS = {
  "description": {
    "type": [
      "string",
      "null"
    ],
    "description": "For people; it changes nothing. Left out: none."
  },
  "url": {
    "type": "string",
    "description": "Where events are sent to: http or https, without a user, a password or a `#`. Sees `vars` alone; what the node does not allow is refused."
  },
  "on": {
    "description": "Subjects that it wants; `*` is one token, `>` at the end one or more.",
    "anyOf": [
      {
        "type": "string"
      },
      {
        "type": "array",
        "items": {
          "type": "string"
        }
      }
    ]
  },
  "where": {
    "description": "Which of these events: an expression or a filter. Left out: all of them."
  },
  "status": {
    "type": [
      "string",
      "null"
    ],
    "description": "One of `active`, `paused`, `disabled`. `paused`: deliveries are kept and not sent. `disabled`: what arrives is skipped. Left out: `active`."
  },
  "transform": {
    "description": "The body that is sent. Left out: `id`, `type`, `timestamp` and `data` of the event."
  },
  "headers": {
    "type": [
      "object",
      "null"
    ],
    "additionalProperties": true,
    "description": "Headers beside our own, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent. Left out: none."
  },
  "auth": {
    "type": [
      "object",
      "null"
    ],
    "additionalProperties": true,
    "description": "What proves who calls, beside the signature. It has `bearer`, `basic`, `header`. Left out: the signature alone does."
  },
  "secret": {
    "type": [
      "object",
      "null"
    ],
    "additionalProperties": true,
    "description": "What deliveries are signed with. It has `env`, `ref`, `file`. Left out: one is generated, and shown once."
  },
  "signing": {
    "type": [
      "string",
      "null"
    ],
    "description": "One of `standard`, `ed25519`, `github`. How: with the headers of Standard Webhooks by a shared secret (`standard`) or a key pair (`ed25519`), or with `x-hub-signature-256` (`github`). Left out: `standard`."
  },
  "retry": {
    "description": "The name of a profile, or a policy in place. Left out: `DELIVERY`."
  },
  "timeout": {
    "type": [
      "string",
      "null"
    ],
    "description": "Of one attempt, `1s` to `60s`. Left out: `15s`."
  },
  "maxWait": {
    "type": [
      "string",
      "null"
    ],
    "description": "How long a delivery may wait beside its retries, as when the endpoint asks for less. Left out: `24h`."
  },
  "disableAfter": {
    "type": [
      "string",
      "null"
    ],
    "description": "How long everything may fail before the subscription disables itself; `never`: it goes on for good. Left out: `5d`."
  },
  "rateLimit": {
    "description": "How much is sent: a policy in place, or the name of a profile. Deliveries wait for their turn. Left out: as much as the endpoint bears."
  },
  "concurrency": {
    "type": [
      "object",
      "null"
    ],
    "additionalProperties": true,
    "description": "How many deliveries are under way at once. It has `limit`. Left out: as many as the endpoint bears, up to 64 a node."
  },
  "connection": {
    "type": [
      "string",
      "null"
    ],
    "description": "The connection whose rate limits its deliveries share with the calls on it: the default bucket of its provider, also while that is closed after a 429. Address and proof stay those of the subscription. Left out: limits are those of the endpoint alone."
  },
  "order": {
    "type": [
      "object",
      "null"
    ],
    "additionalProperties": true,
    "description": "Deliveries of one value go one after another, in the order in which events were accepted. It has `by`, `onBlocked`. Left out: in any order."
  },
  "deadLetter": {
    "type": [
      "object",
      "null"
    ],
    "additionalProperties": true,
    "description": "What its dead letters say. It has `severity`, `runbook`."
  },
  "sensitive": {
    "type": [
      "string",
      "null"
    ],
    "description": "`send`: what sources declare as sensitive is sent to this endpoint. Left out: it is sent as `[hidden]`."
  },
  "metadata": {
    "type": [
      "object",
      "null"
    ],
    "additionalProperties": true,
    "description": "Whose it is, in your own words; it changes nothing. Left out: none."
  }
} as const
