// What the fields of workflows and agents mean; the rest is in meanings.ts.

export interface FieldMeaning {
  readonly meaning: string
  /** The default when the field is omitted, as it could be written. */
  readonly default?: string | number | boolean
  /** The same in words, if it is not a value. */
  readonly otherwise?: string
}

const ASSIGNED = 'Target and expression: `title` means `data.title`; also `metadata.x` and `correlation.x`.'

export const WORKFLOW_MEANINGS: Readonly<Record<string, FieldMeaning>> = {
  'Workflow.version': {
    meaning: 'For people and for migrations; an instance stays on the version that it began with.',
    default: '1.0.0',
  },
  'Workflow.status': {
    meaning: '`paused`: events and steps wait. `disabled`: its triggers want nothing.',
    default: 'active',
  },
  'Workflow.start': { meaning: 'The place in which the token of a new instance is.' },
  'Workflow.data': { meaning: 'A JSON Schema of an instance’s data.', otherwise: 'anything' },
  'Workflow.lock': {
    meaning: 'One instance at a time for each value: others wait, or are skipped.',
    otherwise: 'as many as there are',
  },
  'Workflow.lock.by': { meaning: 'The value, as a business object’s number.' },
  'Workflow.lock.ttl': {
    meaning: 'How long it may be held before somebody is told; it is never taken away.',
    default: '30m',
  },
  'Workflow.lock.whenHeld': { meaning: 'What a new instance does meanwhile.', default: 'wait' },
  'Workflow.lock.name': {
    meaning: 'Workflows with the same name share their locks.',
    otherwise: 'the workflow’s own',
  },
  'Workflow.maxConcurrent': {
    meaning: 'How many instances run at once; the others wait.',
    otherwise: 'as many as there are',
  },
  'Workflow.onFailure': {
    meaning: 'What becomes of an instance whose step failed for good; a transition may say otherwise.',
    otherwise: 'a dead letter, from which it goes on when that is replayed',
  },
  'Workflow.onFailure.undo': {
    meaning: 'Steps that are done are undone first, newest first.',
    otherwise: 'nothing is undone',
  },
  'Workflow.onFailure.through': {
    meaning: 'The place of the token while steps are undone.',
    otherwise: 'needed with `undo`',
  },
  'Workflow.onFailure.to': { meaning: 'The place of the token after that.' },
  'Workflow.deadLetter': { meaning: 'What its dead letters say.', otherwise: 'as below' },
  'Workflow.deadLetter.severity': { meaning: 'How bad it is.', default: 'medium' },
  'Workflow.deadLetter.runbook': { meaning: 'Where it is written what to do.', otherwise: 'none' },
  'Workflow.triggers': { meaning: 'What begins and changes instances, each `on`, `schedule` or `manual`.' },
  'Workflow.triggers.on': {
    meaning: 'Subjects that it wants; `*` is one token, `>` at the end one or more.',
    otherwise: 'a trigger of another sort',
  },
  'Workflow.triggers.schedule': {
    meaning: 'A new instance by the clock.',
    otherwise: 'a trigger of another sort',
  },
  'Workflow.triggers.schedule.cron': { meaning: 'When: five fields, or six with seconds first.' },
  'Workflow.triggers.schedule.zone': { meaning: 'Whose clock, as in `Europe/Berlin`.', default: 'UTC' },
  'Workflow.triggers.schedule.missed': {
    meaning: 'What becomes of the instants at which no node ran.',
    default: 'once',
  },
  'Workflow.triggers.schedule.maxInstances': {
    meaning: 'No new one while so many are active.',
    otherwise: 'no bound',
  },
  'Workflow.triggers.manual': {
    meaning: 'By a person, a program, or `start` of a route or another workflow.',
    otherwise: 'a trigger of another sort',
  },
  'Workflow.triggers.manual.permission': {
    meaning: 'What whoever starts it must be granted.',
    otherwise: 'the role is enough',
  },
  'Workflow.triggers.manual.input': { meaning: 'A JSON Schema of what is given.', otherwise: 'anything' },
  'Workflow.triggers.action': {
    meaning: 'Whether an event makes an instance, changes one, or whichever is needed.',
    default: 'create',
  },
  'Workflow.triggers.where': {
    meaning: 'Which of these events: an expression or a filter.',
    otherwise: 'all of them',
  },
  'Workflow.triggers.correlate': {
    meaning: 'By what an event finds its instance: keys by name, or one expression, whose name is `default`.',
    otherwise: 'no key',
  },
  'Workflow.triggers.correlate.*': { meaning: 'The value of one key.' },
  'Workflow.triggers.unique': {
    meaning: 'No second instance with the same key: while one lives (`live`, `true`), or `ever`.',
    otherwise: 'several may have the same',
  },
  'Workflow.triggers.map': { meaning: ASSIGNED, otherwise: 'nothing is taken over' },
  'Workflow.triggers.map.*': { meaning: 'What is assigned.' },
  'Workflow.triggers.fire': {
    meaning: 'The transition that an update fires, if it can.',
    otherwise: 'none',
  },
  'Workflow.triggers.buffer': {
    meaning: 'How long an update waits for its instance, before it is an orphan.',
    otherwise: '`1h`',
  },
  'Workflow.triggers.rateLimit': {
    meaning: 'How many events are taken: a policy in place, or the name of a profile. Others wait.',
    otherwise: 'as many as come',
  },
  'Workflow.triggers.rateLimit.perMinute': { meaning: 'How many a minute.' },
  'Workflow.triggers.rateLimit.burst': { meaning: 'How many at once.', otherwise: 'a sixth of a minute’s' },
  'Workflow.places': { meaning: 'Where tokens are, by name.' },
  'Workflow.places.*': { meaning: 'One place.' },
  'Workflow.places.*.description': { meaning: 'For people.', otherwise: 'none' },
  'Workflow.places.*.type': {
    meaning: '`final` and `error` end an instance; `waiting` and `review` are for people to see.',
    otherwise: '`normal`, or `final` with `final: true`',
  },
  'Workflow.places.*.final': { meaning: 'The same as `type: final`.', otherwise: 'what `type` says' },
  'Workflow.places.*.timeout': {
    meaning: 'For the whole stay of a token, retries of what it is used for included.',
    otherwise: 'it may stay for ever',
  },
  'Workflow.places.*.timeout.after': { meaning: 'How long.' },
  'Workflow.places.*.timeout.fire': { meaning: 'The transition that fires then.' },
  'Workflow.places.*.onEnter': {
    meaning: 'Done for every token that comes in; it goes on only after that.',
    otherwise: 'nothing',
  },
  'Workflow.transitions': {
    meaning: 'What moves tokens, by name, in the order in which they are tried.',
  },
  'Workflow.transitions.*': { meaning: 'One transition.' },
  'Workflow.transitions.*.description': { meaning: 'For people.', otherwise: 'none' },
  'Workflow.transitions.*.from': {
    meaning: 'Takes one token of each of these places.',
    otherwise: '`fromAny` is needed',
  },
  'Workflow.transitions.*.fromAny': {
    meaning: 'Takes one token of one of these, the first written that has one.',
    otherwise: '`from` is needed',
  },
  'Workflow.transitions.*.to': {
    meaning: 'Gives one token to each of these places.',
    otherwise: '`choose` is needed',
  },
  'Workflow.transitions.*.choose': {
    meaning: 'Where the token goes, where it depends: the first branch that holds.',
    otherwise: '`to` is needed',
  },
  'Workflow.transitions.*.choose.when': {
    meaning: 'An expression or a filter; sees `result`.',
    otherwise: 'always',
  },
  'Workflow.transitions.*.choose.to': { meaning: 'The places of this branch.' },
  'Workflow.transitions.*.on': {
    meaning:
      '`auto`: as soon as it can, unless a `fire` names it. `manual`: by a person. `event` and `timer`: when a `fire` says so.',
    default: 'auto',
  },
  'Workflow.transitions.*.when': {
    meaning: 'Whether it may fire: an expression or a filter over the instance.',
    otherwise: 'always',
  },
  'Workflow.transitions.*.do': { meaning: 'The step.', otherwise: 'it only moves tokens' },
  'Workflow.transitions.*.out': {
    meaning: `What is kept of the \`result\`. ${ASSIGNED}`,
    otherwise: 'nothing',
  },
  'Workflow.transitions.*.out.*': { meaning: 'What is assigned.' },
  'Workflow.transitions.*.key': {
    meaning: 'Names the effect: one per key, over all instances and replays.',
    otherwise: 'one effect per firing',
  },
  'Workflow.transitions.*.retry': {
    meaning: 'The name of a profile, or a policy in place.',
    otherwise: '`STEP`',
  },
  'Workflow.transitions.*.retry.attempts': { meaning: 'How often, the first time included.' },
  'Workflow.transitions.*.retry.delays': {
    meaning: 'The pauses in between, one fewer than attempts.',
    otherwise: 'none',
  },
  'Workflow.transitions.*.maxWait': {
    meaning: 'How long a step may wait beside its retries.',
    otherwise: '`24h`',
  },
  'Workflow.transitions.*.undo': {
    meaning: 'What takes the step back; sees its `result`.',
    otherwise: 'nothing has to be taken back',
  },
  'Workflow.transitions.*.onFailure': {
    meaning: 'As of the workflow; `none`: a dead letter.',
    otherwise: 'the workflow’s',
  },
  'Workflow.transitions.*.onFailure.undo': {
    meaning: 'Steps that are done are undone first, newest first.',
    otherwise: 'nothing is undone',
  },
  'Workflow.transitions.*.onFailure.through': {
    meaning: 'The place of the token while steps are undone.',
    otherwise: 'needed with `undo`',
  },
  'Workflow.transitions.*.onFailure.to': { meaning: 'The place of the token after that.' },
  'Workflow.transitions.*.permission': {
    meaning: 'What whoever fires it must be granted.',
    otherwise: 'the role is enough',
  },
  'Workflow.transitions.*.input': {
    meaning: 'A JSON Schema of what whoever fires it gives; `input` in expressions.',
    otherwise: 'anything',
  },
  'Workflow.transitions.*.notBy': {
    meaning: 'Whoever this names may not fire it.',
    otherwise: 'anybody may',
  },
  'Workflow.compatibility': { meaning: 'Which older versions are still good.', otherwise: 'all of them' },
  'Workflow.compatibility.supported': {
    meaning: 'Versions whose instances may go on.',
    otherwise: 'none but this one',
  },
  'Workflow.compatibility.deprecationWarnings': {
    meaning: 'Whether instances of other versions are told of.',
    default: true,
  },
  'Workflow.compatibility.strict': {
    meaning: 'An apply is refused while instances of other versions are active.',
    default: false,
  },
  'Workflow.migrations': {
    meaning: 'How instances of an older version go over to this one.',
    otherwise: 'they stay on theirs',
  },
  'Workflow.migrations.from': { meaning: 'The older version.' },
  'Workflow.migrations.to': { meaning: 'The newer version.' },
  'Workflow.migrations.strategy': {
    meaning: 'The instance goes on under the new version.',
    otherwise: '`inPlace`',
  },
  'Workflow.migrations.places': {
    meaning: 'Old place and new place.',
    otherwise: 'places keep their names',
  },
  'Workflow.migrations.places.*': { meaning: 'The new place.' },
  'Workflow.migrations.data': {
    meaning: 'What becomes of the data, in order: `rename`, `delete`, `default` or `set`.',
    otherwise: 'it stays as it is',
  },
  'Workflow.migrations.data.rename': { meaning: 'A path that gets another name.' },
  'Workflow.migrations.data.to': { meaning: 'The other name.' },
  'Workflow.migrations.data.delete': { meaning: 'A path that goes.' },
  'Workflow.migrations.data.default': { meaning: 'A path that gets a value where it has none.' },
  'Workflow.migrations.data.set': { meaning: 'A path that gets a computed value.' },
  'Workflow.migrations.data.value': {
    meaning: 'Of `default` any value; of `set` an expression over the data as it was.',
    otherwise: 'needed with `set`; nothing with `default`',
  },
  'Workflow.security': { meaning: 'Who may do what, and what is hidden.', otherwise: 'roles are enough' },
  'Workflow.security.permissions': {
    meaning: 'What keys may be granted for it; every `permission` of it is one of them.',
    otherwise: 'none',
  },
  'Workflow.security.required': {
    meaning: 'What is needed to see or touch its instances at all.',
    otherwise: 'nothing',
  },
  'Workflow.security.classification': { meaning: 'How secret it is, for people.', otherwise: 'not said' },
  'Workflow.security.encrypt': {
    meaning: 'Paths in `data` and `metadata` that are sealed at rest and hidden from viewers.',
    otherwise: 'none',
  },
  'Workflow.security.audit': {
    meaning: '`full`: history keeps values that changed. `changes`: only their paths.',
    otherwise: '`full`',
  },
  'Agent.connection': {
    meaning: 'Whose address and credential it goes with, instead of `baseUrl` and `secret`.',
    otherwise: 'nobody’s',
  },
  'Agent.baseUrl': {
    meaning:
      'An endpoint that speaks the OpenAI protocol, up to and without `/chat/completions`. With a connection a path behind its base.',
    otherwise: 'the connection’s',
  },
  'Agent.secret': { meaning: 'Sent as a bearer token.', otherwise: 'none is sent' },
  'Agent.secret.env': {
    meaning: 'An environment variable of the node.',
    otherwise: '`ref` or `file` is needed',
  },
  'Agent.secret.ref': { meaning: 'A secret of the tenant’s vault.', otherwise: '`env` or `file` is needed' },
  'Agent.secret.file': {
    meaning: 'A file of the node’s folder of secrets.',
    otherwise: '`env` or `ref` is needed',
  },
  'Agent.headers': {
    meaning:
      "Headers beside it, by name; `{{ secret('name') }}` is a secret of the vault, read when it is sent.",
    otherwise: 'none',
  },
  'Agent.headers.*': { meaning: 'One header.' },
  'Agent.model': { meaning: 'The model, as the endpoint calls it.' },
  'Agent.system': { meaning: 'What it is told first; sees the fields of `with`.', otherwise: 'nothing' },
  'Agent.user': { meaning: 'What it is asked; sees the fields of `with`.' },
  'Agent.output': {
    meaning: 'The form of its answer; what does not fit is asked for again.',
    otherwise: 'the answer is a text',
  },
  'Agent.output.schema': { meaning: 'A JSON Schema.', otherwise: 'any JSON' },
  'Agent.timeout': { meaning: 'For one attempt.', default: '60s' },
  'Agent.temperature': { meaning: 'How much it varies.', otherwise: 'as the endpoint has it' },
  'Agent.budget': { meaning: 'What all attempts may cost.', otherwise: 'no bound' },
  'Agent.budget.tokens': { meaning: 'Tokens, asked and answered.' },
  'Agent.retry': {
    meaning:
      'Of steps and routes that ask it and have no `retry`: the name of a profile, or a policy in place.',
    otherwise: 'as without an agent',
  },
  'Agent.retry.attempts': { meaning: 'How often, the first time included.' },
  'Agent.retry.delays': { meaning: 'The pauses in between, one fewer than attempts.', otherwise: 'none' },
  'Agent.repairs': {
    meaning: 'How often an answer that does not fit is asked for again within one attempt.',
    default: 1,
  },
}
