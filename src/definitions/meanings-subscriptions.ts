// What the fields of subscriptions mean; the rest is in meanings.ts.

import type { FieldMeaning } from './meanings-workflows.ts'

export const SUBSCRIPTION_MEANINGS: Readonly<Record<string, FieldMeaning>> = {
  'Subscription.url': {
    meaning:
      'Where events are sent to: http or https, without a user, a password or a `#`. Sees `vars` alone; what the node does not allow is refused.',
  },
  'Subscription.on': { meaning: 'Subjects that it wants; `*` is one token, `>` at the end one or more.' },
  'Subscription.where': {
    meaning: 'Which of these events: an expression or a filter.',
    otherwise: 'all of them',
  },
  'Subscription.status': {
    meaning: '`paused`: deliveries are kept and not sent. `disabled`: what arrives is skipped.',
    default: 'active',
  },
  'Subscription.transform': {
    meaning: 'The body that is sent.',
    otherwise: '`id`, `type`, `timestamp` and `data` of the event',
  },
  'Subscription.sensitive': {
    meaning: '`send`: what sources declare as sensitive is sent to this endpoint.',
    otherwise: 'it is sent as `[hidden]`',
  },
  'Subscription.headers': {
    meaning:
      "Headers beside our own, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent.",
    otherwise: 'none',
  },
  'Subscription.headers.*': { meaning: 'One header.' },
  'Subscription.secret': {
    meaning: 'What deliveries are signed with.',
    otherwise: 'one is generated, and shown once',
  },
  'Subscription.secret.env': {
    meaning: 'An environment variable of the node.',
    otherwise: '`ref` or `file` is needed',
  },
  'Subscription.secret.ref': {
    meaning: 'A secret of the tenant’s vault.',
    otherwise: '`env` or `file` is needed',
  },
  'Subscription.secret.file': {
    meaning: 'A file of the node’s folder of secrets.',
    otherwise: '`env` or `ref` is needed',
  },
  'Subscription.signing': {
    meaning:
      'How: with the headers of Standard Webhooks by a shared secret (`standard`) or a key pair (`ed25519`), or with `x-hub-signature-256` (`github`).',
    default: 'standard',
  },
  'Subscription.retry': { meaning: 'The name of a profile, or a policy in place.', default: 'DELIVERY' },
  'Subscription.timeout': { meaning: 'Of one attempt, `1s` to `60s`.', default: '15s' },
  'Subscription.maxWait': {
    meaning: 'How long a delivery may wait beside its retries, as when the endpoint asks for less.',
    default: '24h',
  },
  'Subscription.disableAfter': {
    meaning:
      'How long everything may fail before the subscription disables itself; `never`: it goes on for good.',
    default: '5d',
  },
  'Subscription.rateLimit': {
    meaning: 'How much is sent: a policy in place, or the name of a profile. Deliveries wait for their turn.',
    otherwise: 'as much as the endpoint bears',
  },
  'Subscription.rateLimit.perMinute': { meaning: 'How many requests a minute.' },
  'Subscription.rateLimit.burst': { meaning: 'How many at once.', otherwise: 'a sixth of a minute’s' },
  'Subscription.concurrency': {
    meaning: 'How many deliveries are under way at once.',
    otherwise: 'as many as the endpoint bears, up to 64 a node',
  },
  'Subscription.concurrency.limit': { meaning: 'So many.' },
  'Subscription.order': {
    meaning: 'Deliveries of one value go one after another, in the order in which events were accepted.',
    otherwise: 'in any order',
  },
  'Subscription.order.by': { meaning: 'What has an order.' },
  'Subscription.order.onBlocked': {
    meaning: 'Of the others while one is dead: they wait for a person, or go on without it.',
    default: 'hold',
  },
  'Subscription.deadLetter': { meaning: 'What its dead letters say.', otherwise: 'as below' },
  'Subscription.deadLetter.severity': { meaning: 'How bad it is.', default: 'medium' },
  'Subscription.deadLetter.runbook': { meaning: 'Where it is written what to do.', otherwise: 'none' },
  'Subscription.metadata': {
    meaning: 'Whose it is, in your own words; it changes nothing.',
    otherwise: 'none',
  },
  'Subscription.metadata.*': { meaning: 'One entry, a text.' },
}
