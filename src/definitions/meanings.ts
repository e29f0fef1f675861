// What each field of the language means, for editors and for docs/definitions-reference.md. A test requires an entry
// per field and a field per entry. `*` stands for every kind.

import { AUTH_MEANINGS } from './meanings-auth.ts'
import { CONNECTION_LANGUAGE_MEANINGS } from './meanings-connections.ts'
import { SUBSCRIPTION_MEANINGS } from './meanings-subscriptions.ts'
import { type FieldMeaning, WORKFLOW_MEANINGS } from './meanings-workflows.ts'

export const MEANINGS: Readonly<Record<string, FieldMeaning>> = {
  '*.kind': { meaning: 'What this document defines.' },
  '*.apiVersion': { meaning: 'The version of the language.', default: 'millrace/v1' },
  '*.name': { meaning: 'Unique among the documents of its kind; letters, digits, `_` and `-`.' },
  '*.description': { meaning: 'For people; it changes nothing.', otherwise: 'none' },
  'Source.verify': {
    meaning: 'How senders prove who they are. Taking everything in must be written out.',
    otherwise: 'only a schedule and `nats` need none',
  },
  'Source.verify.scheme': {
    meaning: 'A vendor’s way, any HMAC, a password, a key, or nothing at all.',
  },
  'Source.verify.secret': {
    meaning: 'The secret to verify with; of several, each is tried, so that it can be rotated.',
  },
  'Source.verify.secret.env': { meaning: 'An environment variable of the node.' },
  'Source.verify.secret.ref': { meaning: 'A secret of the tenant’s vault.' },
  'Source.verify.secret.file': { meaning: 'A file of the node’s folder of secrets.' },
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
  'Source.subject': {
    meaning: 'The event’s subject.',
    otherwise: '`subjects` is needed; of `nats`, the message’s own',
  },
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
  'Source.nats': { meaning: 'Takes messages of a stream of NATS; nobody sends to it.', otherwise: 'none' },
  'Source.nats.stream': { meaning: 'The stream.', otherwise: 'the one that has the subjects' },
  'Source.nats.subjects': { meaning: 'Which of its messages: one pattern or several, as NATS has them.' },
  'Source.nats.durable': {
    meaning: 'The consumer that all nodes share, and that remembers how far they came.',
    otherwise: '`<prefix>_<tenant>_<source>`',
  },
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
  'Route.uniqueness': {
    meaning: '`operation`: an effect per version of an object. `record`: one object, made once.',
    default: 'operation',
  },
  'Route.keyMigration': {
    meaning: 'Says that another formula of `key` is meant; a changed one is refused without it.',
    otherwise: 'the formula is the one in force',
  },
  'Route.keyMigration.from': { meaning: 'The formula that was in force, as it was written.' },
  'Route.keyMigration.note': { meaning: 'Why no effect is repeated or lost by the change.' },
  'Route.ledger': { meaning: 'What the ledger remembers of its effects.', otherwise: 'as below' },
  'Route.ledger.keep': {
    meaning: 'For how long; `check` refuses less than it takes until nothing can come again.',
    otherwise: 'for as long as they may come again, and at least `90d`',
  },
  'Route.each': {
    meaning: 'One work item, one key and one effect for each element of a list.',
    otherwise: 'one for the event',
  },
  'Route.each.of': { meaning: 'The list.' },
  'Route.each.as': {
    meaning: 'What an element is called in `key`, in `by` and in `do`.',
    default: 'element',
  },
  'Route.each.max': {
    meaning: 'The longest list; a longer one is a dead letter, and nothing of it is done.',
    default: 500,
  },
  'Route.priority': {
    meaning: 'Whose work is taken up first where there is more than can be done.',
    default: 'normal',
  },
  'Route.drain': {
    meaning: 'The name of a profile, or a policy in place: work is taken up every so often, so much of it.',
    default: 'INSTANT',
  },
  '*.drain': { meaning: 'The policy.', otherwise: 'a profile of another sort' },
  '*.drain.every': { meaning: 'How often.' },
  '*.drain.events': { meaning: 'How many items a cycle takes.' },
  '*.drain.cycles': { meaning: 'How many cycles, one after another, each time.', default: 1 },
  'Route.rateLimit': {
    meaning:
      'How many calls it makes: a policy in place, or the name of a profile. Items wait for their turn.',
    otherwise: 'as many as it can',
  },
  'Route.rateLimit.perMinute': { meaning: 'How many calls a minute.' },
  'Route.rateLimit.burst': { meaning: 'How many at once.', otherwise: 'a sixth of a minute’s' },
  'Profile.rate': { meaning: 'The policy.', otherwise: 'a profile of another sort' },
  'Profile.rate.perMinute': { meaning: 'How many calls a minute.' },
  'Profile.rate.burst': { meaning: 'How many at once.', otherwise: 'a sixth of a minute’s' },
  'Route.concurrency': { meaning: 'How many of its items run at once.', otherwise: 'as the node can' },
  'Route.concurrency.limit': { meaning: 'So many; with `by` so many for each value of it.' },
  'Route.concurrency.by': {
    meaning: 'What the limit is counted by.',
    otherwise: 'all of the route together',
  },
  'Route.order': {
    meaning: 'Items of one value run one after another, in the order in which they were accepted.',
    otherwise: 'in any order',
  },
  'Route.order.by': { meaning: 'What has an order.' },
  'Route.order.version': {
    meaning: 'The version of the object in the event; numbers compare as numbers, anything else as text.',
    otherwise: 'none',
  },
  'Route.order.stale': {
    meaning: 'Of an item whose version is older than one that is done: it runs all the same, or is skipped.',
    default: 'run',
  },
  'Route.order.onBlocked': {
    meaning: 'Of the others while one is dead or parked: they wait for a person, or go on without it.',
    default: 'hold',
  },
  'Route.debounce': {
    meaning: 'Of events that come close together one stands for all; the others are skipped and point to it.',
    otherwise: 'each for itself',
  },
  'Route.debounce.by': { meaning: 'Which events belong together.' },
  'Route.debounce.window': { meaning: 'How long it must be quiet.' },
  'Route.debounce.maxWait': {
    meaning: 'How long the first may be kept waiting by those after it.',
    otherwise: 'ten windows',
  },
  'Route.debounce.keep': { meaning: 'Which one stands for all.', default: 'last' },
  'Route.batch': { meaning: 'One call for many items.', otherwise: 'one call for one item' },
  'Route.batch.size': { meaning: 'How many at most.' },
  'Route.batch.maxWait': { meaning: 'How long the first waits for others.', default: '5s' },
  'Route.batch.results': {
    meaning: 'The list of what became of each; sees `result`.',
    otherwise: 'all share the outcome of the call',
  },
  'Route.batch.item': { meaning: 'How to read one of `results`.', otherwise: 'needed with `results`' },
  'Route.batch.item.key': { meaning: 'Whose it is: the key of an item; sees `item`.' },
  'Route.batch.item.ok': { meaning: 'True when it went well; sees `item`.' },
  'Route.circuit': {
    meaning: 'When the route pauses itself because the other side fails; `off`: never.',
    otherwise: 'as below',
  },
  'Route.circuit.failures': { meaning: 'So many failures one after another.', default: 5 },
  'Route.circuit.ratio': { meaning: 'Or this share of the calls within a minute.', default: 0.5 },
  'Route.circuit.of': { meaning: 'The share is looked at from so many calls on.', default: 20 },
  'Route.circuit.openFor': { meaning: 'How long until it tries one.', default: '30s' },
  'Route.retry': { meaning: 'The name of a profile, or a policy in place.', default: 'STANDARD' },
  '*.retry': { meaning: 'The policy.', otherwise: 'a profile of another sort' },
  '*.retry.attempts': { meaning: 'How often, the first time included.' },
  '*.retry.delays': { meaning: 'The pauses in between, one fewer than attempts.', otherwise: 'none' },
  'Route.maxWait': { meaning: 'How long an item may wait beside its retries.', default: '24h' },
  'Route.deadLetter': { meaning: 'What its dead letters say.', otherwise: 'as below' },
  'Route.deadLetter.severity': { meaning: 'How bad it is.', default: 'medium' },
  'Route.deadLetter.runbook': { meaning: 'Where it is written what to do.', otherwise: 'none' },
  'Route.fanOut': {
    meaning:
      'Among the routes that match an event: `all` run; of those that say `first`, the first written; one that says `one` must be alone.',
    default: 'all',
  },
  'Route.do': {
    meaning:
      'One action: `http`, `upsert`, `operation`, `function`, `emit`, `start`, `schedule`, `unschedule` or `agent`.',
  },
  'Route.do.upsert': {
    meaning: 'One object at the other side per external reference: found and updated, or created.',
    otherwise: 'another action',
  },
  'Route.do.upsert.connection': {
    meaning: 'Whose address and credential it goes with.',
    otherwise: 'nobody’s',
  },
  'Route.do.upsert.baseUrl': {
    meaning:
      'Absolute, http or https; the paths are put behind it. With a connection a path behind its base.',
    otherwise: 'the connection’s',
  },
  'Route.do.upsert.headers': {
    meaning:
      "Headers of all its requests, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent.",
    otherwise: 'none',
  },
  'Route.do.upsert.headers.*': { meaning: 'One header.' },
  'Route.do.upsert.extRef': { meaning: 'The external reference of the object; `extRef` in what follows.' },
  'Route.do.upsert.find': { meaning: 'How to look for the object by its reference.' },
  'Route.do.upsert.find.method': { meaning: 'The method.', default: 'GET' },
  'Route.do.upsert.find.path': { meaning: 'Behind `baseUrl`; values in it are percent-encoded.' },
  'Route.do.upsert.find.found': { meaning: 'True when it is there; sees `result`.' },
  'Route.do.upsert.find.id': {
    meaning: 'What `update` calls it, as `found.id`; sees `result`.',
    otherwise: 'none',
  },
  'Route.do.upsert.find.after': {
    meaning: 'How long the vendor may still be busy with a call that was given up.',
    default: '30s',
  },
  'Route.do.upsert.create': { meaning: 'What makes the object; its body should set the reference.' },
  'Route.do.upsert.create.method': { meaning: 'The method.', default: 'POST' },
  'Route.do.upsert.create.path': { meaning: 'Behind `baseUrl`.' },
  'Route.do.upsert.create.body': { meaning: 'What is not a text is sent as JSON.', otherwise: 'none' },
  'Route.do.upsert.create.idempotent': {
    meaning: 'Repeating the call is harmless.',
    otherwise: 'true for PUT and DELETE',
  },
  'Route.do.upsert.create.keyTtl': {
    meaning: 'How long the vendor remembers the `Idempotency-Key`.',
    otherwise: 'it does not',
  },
  'Route.do.upsert.update': {
    meaning: 'What changes an object that was found; `none`: it is left alone.',
    default: 'none',
  },
  'Route.do.upsert.update.method': { meaning: 'The method.', default: 'PUT' },
  'Route.do.upsert.update.path': { meaning: 'Behind `baseUrl`; sees `found.id`.' },
  'Route.do.upsert.update.body': { meaning: 'What is not a text is sent as JSON.', otherwise: 'none' },
  'Route.do.upsert.update.idempotent': {
    meaning: 'Repeating the call is harmless.',
    otherwise: 'true for PUT and DELETE',
  },
  'Route.do.upsert.update.keyTtl': {
    meaning: 'How long the vendor remembers the `Idempotency-Key`.',
    otherwise: 'it does not',
  },
  'Route.do.upsert.lock': {
    meaning: '`single`: one item at a time for a reference, over all routes to the same host.',
    default: 'single',
  },
  'Route.do.http': { meaning: 'One request to somebody else’s server.', otherwise: 'another action' },
  'Route.do.http.method': { meaning: 'The method.', default: 'POST' },
  'Route.do.http.connection': {
    meaning: 'Whose address and credential it goes with.',
    otherwise: 'nobody’s',
  },
  'Route.do.http.url': {
    meaning:
      'Absolute, http or https; values in it are percent-encoded. With a connection a path behind its base, or an address of its host. ' +
      "In its query `{{ secret('name') }}` is a secret of the vault, read when it is sent.",
  },
  'Route.do.http.headers': {
    meaning: "Headers, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent.",
    otherwise: 'none',
  },
  'Route.do.http.headers.*': { meaning: 'One header.' },
  'Route.do.http.body': {
    meaning:
      "What is not a text is sent as JSON; `{{ secret('name') }}` is a secret of the vault, read when it is sent.",
    otherwise: 'none',
  },
  'Route.do.http.idempotent': {
    meaning: 'Repeating the call is harmless.',
    otherwise: 'true for GET, HEAD, OPTIONS, PUT and DELETE',
  },
  'Route.do.http.timeout': {
    meaning: 'The same as `timeout` beside `http`; where both are written they agree.',
    otherwise: '`timeout` beside `http`, or `10s`',
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
  'Route.do.http.probe.url': { meaning: 'As `url`.' },
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
  'Route.do.with': {
    meaning: 'The input of the function, the workflow, the agent or the operation.',
    otherwise: 'the payload; in a workflow the instance’s data',
  },
  'Route.do.emit': { meaning: 'The subject of an event to emit.', otherwise: 'another action' },
  'Route.do.data': {
    meaning: 'The emitted event’s payload.',
    otherwise: 'the payload; in a workflow the instance’s data',
  },
  'Route.do.start': { meaning: 'The name of a workflow to start.', otherwise: 'another action' },
  'Route.do.wait': {
    meaning: 'Only in a workflow: the step ends when the started instance does.',
    otherwise: 'it does not wait',
  },
  'Route.do.schedule': {
    meaning: 'Events by the clock from now on; doing it again under the same name replaces it.',
    otherwise: 'another action',
  },
  'Route.do.schedule.name': { meaning: 'What `unschedule` calls it.' },
  'Route.do.schedule.cron': { meaning: 'When: five fields, or six with seconds first.' },
  'Route.do.schedule.zone': { meaning: 'Whose clock, as in `Europe/Berlin`.', default: 'UTC' },
  'Route.do.schedule.emit': { meaning: 'The subject of each event.' },
  'Route.do.schedule.data': { meaning: 'The payload of each event.', otherwise: 'none' },
  'Route.do.unschedule': { meaning: 'The name of a schedule to end.', otherwise: 'another action' },
  'Route.do.agent': { meaning: 'The name of an agent to ask.', otherwise: 'another action' },
  'Route.do.operation': {
    meaning: 'A named call of a provider, as `github.createIssue`; pinned as it is when this is applied.',
    otherwise: 'another action',
  },
  'Route.do.connection': {
    meaning: 'Of an operation: the account that it is called by, a `kind: Connection`.',
    otherwise: 'another action',
  },
  'Route.do.timeout': {
    meaning: 'For the whole exchange, or one attempt of a function.',
    otherwise: 'the function’s or the operation’s own, or `10s`',
  },
  'Route.do.classify': {
    meaning: 'What single statuses mean, instead of the table of failures.',
    otherwise: 'the table',
  },
  'Route.do.classify.*': { meaning: 'Of one status.' },
  ...WORKFLOW_MEANINGS,
  ...SUBSCRIPTION_MEANINGS,
  ...AUTH_MEANINGS,
  ...CONNECTION_LANGUAGE_MEANINGS,
}

export function findMeaning(kind: string, path: string): FieldMeaning | null {
  return MEANINGS[`${kind}.${path}`] ?? MEANINGS[`*.${path}`] ?? null
}
