// What each field of the language means, for editors and for docs/definitions-reference.md. A test asks for an entry per
// field and for a field per entry. `*` stands for every kind.

export interface FieldMeaning {
  readonly meaning: string
  /** What holds when the field is left out, as it could be written. */
  readonly default?: string | number | boolean
  /** The same in words, where it is no value. */
  readonly otherwise?: string
}

export const MEANINGS: Readonly<Record<string, FieldMeaning>> = {
  '*.kind': { meaning: 'What this document defines.' },
  '*.apiVersion': { meaning: 'The version of the language.', default: 'millrace/v1' },
  '*.name': { meaning: 'Unique among the documents of its kind; letters, digits, `_` and `-`.' },
  '*.description': { meaning: 'For people; it changes nothing.', otherwise: 'none' },
  'Source.verify': {
    meaning: 'How senders prove who they are. Taking everything in must be written out.',
    otherwise: 'only a schedule needs none',
  },
  'Source.verify.scheme': {
    meaning: 'A vendor’s way, any HMAC, a password, a key, or nothing at all.',
  },
  'Source.verify.secret': {
    meaning: 'The secret to verify with; of several, each is tried, so that it can be rotated.',
  },
  'Source.verify.secret.env': { meaning: 'An environment variable of the node.' },
  'Source.verify.secret.ref': { meaning: 'A secret of the tenant’s vault.' },
  'Source.verify.header': {
    meaning: 'The header with the signature or the key.',
    otherwise: '`x-signature`, or `x-api-key` of `api-key`',
  },
  'Source.verify.algorithm': { meaning: 'The hash under the HMAC.', default: 'sha256' },
  'Source.verify.encoding': { meaning: 'How the signature is written.', default: 'hex' },
  'Source.verify.prefix': { meaning: 'What stands before the signature or the key.', otherwise: 'nothing' },
  'Source.verify.signed': { meaning: 'What is signed; sees `body` and `header`.', default: '{{ body }}' },
  'Source.verify.timestampHeader': { meaning: 'A header with a time that must be near.', otherwise: 'none' },
  'Source.verify.url': {
    meaning: 'The address that the sender knows, without a query, where its scheme signs it.',
    otherwise: 'as the request came',
  },
  'Source.verify.username': { meaning: 'The user of Basic authentication.' },
  'Source.verify.tolerance': { meaning: 'How near, in both directions.', default: '300s' },
  'Source.subjects': {
    meaning: 'A ready mapping of a vendor’s events to subjects, instead of `subject`.',
    otherwise: '`subject` is needed',
  },
  'Source.subject': { meaning: 'The event’s subject.', otherwise: '`subjects` is needed' },
  'Source.event': { meaning: 'What the event says about itself.', otherwise: 'what `subjects` brings' },
  'Source.event.id': { meaning: 'Tells repeated events from new ones.', otherwise: 'none' },
  'Source.event.objectType': { meaning: 'The kind of object that the event is about.', otherwise: 'none' },
  'Source.event.objectId': { meaning: 'Which object it is.', otherwise: 'none' },
  'Source.event.occurredAt': {
    meaning: 'When it happened: ISO 8601 with its zone, or Unix seconds or milliseconds.',
    otherwise: 'not known',
  },
  'Source.dedup': { meaning: 'How repeated events are known.', otherwise: 'as below' },
  'Source.dedup.by': {
    meaning: 'The dedup key.',
    otherwise: '`event.id`; without one, payload hash and object id',
  },
  'Source.dedup.window': { meaning: 'How long a key is remembered.', default: '7d' },
  'Source.limits': { meaning: 'What is too much.', otherwise: 'as below' },
  'Source.limits.body': {
    meaning: 'The largest body; `MILLRACE_BODY_LIMIT` is above it.',
    default: '1MiB',
  },
  'Source.limits.depth': { meaning: 'The deepest nesting.', default: 64 },
  'Source.status': {
    meaning: '`paused`: what arrives is kept and waits. `disabled`: senders get 410.',
    default: 'active',
  },
  'Source.dispatch': { meaning: 'Internal events that are made from what arrives.', otherwise: 'none' },
  'Source.dispatch.mode': { meaning: 'Whether one rule or every rule that holds emits.', default: 'first' },
  'Source.dispatch.rules': { meaning: 'The rules, in order.' },
  'Source.dispatch.rules.when': {
    meaning: 'Which events: an expression or a filter.',
    otherwise: 'every event',
  },
  'Source.dispatch.rules.emit': { meaning: 'The subject of the internal event.' },
  'Source.dispatch.rules.data': { meaning: 'Its payload.', otherwise: 'the payload' },
  'Source.dispatch.otherwise': {
    meaning: 'What becomes of an event that no rule wants: it is kept, or a dead letter too.',
    default: 'keep',
  },
  'Source.allow': {
    meaning: 'Who may send: networks, addresses, or a vendor’s name for the ranges it publishes.',
    otherwise: 'everybody',
  },
  'Source.rateLimit': { meaning: 'How much may be sent; beyond it senders get 429.', otherwise: 'any' },
  'Source.rateLimit.perMinute': { meaning: 'How many requests a minute.' },
  'Source.rateLimit.burst': { meaning: 'How many at once.', otherwise: 'a sixth of a minute’s' },
  'Source.sensitive': {
    meaning: 'What is encrypted at rest, kept out of logs and hidden from viewers.',
    otherwise: 'nothing',
  },
  'Source.retention': { meaning: 'How long an event is kept once all its work is done.', default: '30d' },
  'Source.unmatched': {
    meaning: 'What becomes of an event that no route wants: it is listed, or a dead letter too.',
    default: 'keep',
  },
  'Source.schedule': { meaning: 'Makes events by the clock; nobody sends to it.', otherwise: 'none' },
  'Source.schedule.cron': { meaning: 'Minute, hour, day of month, month, day of week.' },
  'Source.schedule.zone': { meaning: 'The time zone that it is read in.', default: 'UTC' },
  'Source.schedule.missed': {
    meaning: 'Of what passed while nothing could fire: the latest, none, or all of it.',
    default: 'once',
  },
  'Source.schedule.data': { meaning: 'What the payload says beside the time.', otherwise: 'nothing' },
  'Source.catalog': { meaning: 'The subjects that it can publish.', otherwise: 'what `subjects` brings' },
  'Source.catalog.mismatch': {
    meaning: 'What becomes of a payload that does not fit its schema: nothing, a mark, or a dead letter.',
    default: 'pass',
  },
  'Source.catalog.subjects': { meaning: 'One entry per subject.', otherwise: 'what `subjects` brings' },
  'Source.catalog.subjects.subject': { meaning: 'The subject.' },
  'Source.catalog.subjects.description': { meaning: 'For people.', otherwise: 'none' },
  'Source.catalog.subjects.schema': { meaning: 'A JSON Schema of the payload.', otherwise: 'any payload' },
  'Source.catalog.subjects.example': { meaning: 'A payload to try things with.', otherwise: 'none' },
  'Source.respond': { meaning: 'What senders are answered.', otherwise: '202 and the event’s id' },
  'Source.respond.status': { meaning: 'From 200 to 299.', default: 200 },
  'Source.respond.contentType': {
    meaning: 'Of the body.',
    otherwise: 'plain text for a text, JSON for anything else',
  },
  'Source.respond.body': { meaning: 'A text, or a value that is sent as JSON.', otherwise: 'empty' },
  'Source.handshake': {
    meaning: 'A question that a sender asks before it sends events; no event comes of it.',
    otherwise: 'what the scheme brings',
  },
  'Source.handshake.method': { meaning: 'How it is asked.', default: 'POST' },
  'Source.handshake.when': { meaning: 'How it is known; sees `payload`, `header` and `query`.' },
  'Source.handshake.status': { meaning: 'From 200 to 299.', default: 200 },
  'Source.handshake.contentType': {
    meaning: 'Of the body.',
    otherwise: 'plain text',
  },
  'Source.handshake.body': { meaning: 'The answer.', otherwise: 'empty' },
  'Route.on': { meaning: 'Subjects that it wants; `*` is one token, `>` at the end one or more.' },
  'Route.where': { meaning: 'Which of these events: an expression or a filter.', otherwise: 'all of them' },
  'Route.status': {
    meaning: '`paused`: work is kept and not run. `disabled`: work is skipped.',
    default: 'active',
  },
  'Route.key': {
    meaning: 'Names the effect: one per key, over all events and replays.',
    otherwise: 'the route’s name and the event’s id',
  },
  'Route.uniqueness': { meaning: 'Taken already, and changes nothing yet.', otherwise: 'nothing' },
  'Route.retry': { meaning: 'The name of a profile, or a policy in place.', default: 'STANDARD' },
  '*.retry': { meaning: 'The policy.' },
  '*.retry.attempts': { meaning: 'How often, the first time included.' },
  '*.retry.delays': { meaning: 'The pauses in between, one fewer than attempts.', otherwise: 'none' },
  'Route.maxWait': { meaning: 'How long an item may wait beside its retries.', default: '24h' },
  'Route.deadLetter': { meaning: 'What its dead letters say.', otherwise: 'as below' },
  'Route.deadLetter.severity': { meaning: 'How bad it is.', default: 'medium' },
  'Route.deadLetter.runbook': { meaning: 'Where it is written what to do.', otherwise: 'none' },
  'Route.fanOut': { meaning: 'Every route that matches gets its own work item.', default: 'all' },
  'Route.do': { meaning: 'One action: `http`, `function` or `emit`.' },
  'Route.do.http': { meaning: 'One request to somebody else’s server.', otherwise: 'another action' },
  'Route.do.http.method': { meaning: 'The method.', default: 'POST' },
  'Route.do.http.url': { meaning: 'Absolute, http or https; values in it are percent-encoded.' },
  'Route.do.http.headers': { meaning: 'Headers, by name.', otherwise: 'none' },
  'Route.do.http.headers.*': { meaning: 'One header.' },
  'Route.do.http.body': { meaning: 'What is not a text is sent as JSON.', otherwise: 'none' },
  'Route.do.http.idempotent': {
    meaning: 'Repeating the call is harmless.',
    otherwise: 'true for GET, HEAD, OPTIONS, PUT and DELETE',
  },
  'Route.do.http.keyTtl': {
    meaning: 'How long the vendor remembers the `Idempotency-Key`.',
    otherwise: 'it does not',
  },
  'Route.do.http.probe': {
    meaning: 'How to ask whether the effect is there.',
    otherwise: 'it cannot be asked',
  },
  'Route.do.http.probe.method': { meaning: 'The method.', default: 'GET' },
  'Route.do.http.probe.url': { meaning: 'Absolute, http or https.' },
  'Route.do.http.probe.headers': { meaning: 'Headers, by name.', otherwise: 'none' },
  'Route.do.http.probe.headers.*': { meaning: 'One header.' },
  'Route.do.http.probe.found': {
    meaning: 'True when it is there; sees `result.status`, `result.headers`, `result.body`.',
  },
  'Route.do.http.probe.after': {
    meaning: 'How long the vendor may still be busy with a call that was given up.',
    default: '30s',
  },
  'Route.do.function': { meaning: 'The name of a function to run.', otherwise: 'another action' },
  'Route.do.with': { meaning: 'The function’s input.', otherwise: 'the payload' },
  'Route.do.emit': { meaning: 'The subject of an event to emit.', otherwise: 'another action' },
  'Route.do.data': { meaning: 'The emitted event’s payload.', otherwise: 'the payload' },
  'Route.do.timeout': {
    meaning: 'For the whole exchange, or one attempt of a function.',
    otherwise: 'the function’s own, or `10s`',
  },
  'Route.do.classify': {
    meaning: 'What single statuses mean, instead of the table of failures.',
    otherwise: 'the table',
  },
  'Route.do.classify.*': { meaning: 'Of one status.' },
}

export function findMeaning(kind: string, path: string): FieldMeaning | null {
  return MEANINGS[`${kind}.${path}`] ?? MEANINGS[`*.${path}`] ?? null
}
