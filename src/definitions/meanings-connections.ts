// What the fields of providers, connections and credentials mean; the rest is in meanings.ts.

import type { FieldMeaning } from './meanings-workflows.ts'

type Meanings = Readonly<Record<string, FieldMeaning>>

/** The fields that every request of a provider has. */
function requestMeanings(at: string, method: string): Meanings {
  return {
    [`${at}.method`]: { meaning: 'The method.', default: method },
    [`${at}.path`]: { meaning: 'Behind the connection’s address; values in it are percent-encoded.' },
    [`${at}.query`]: {
      meaning:
        'What stands behind the path, by name; a value that is missing leaves its name out, a list repeats it.',
      otherwise: 'nothing',
    },
    [`${at}.query.*`]: { meaning: 'One value.' },
    [`${at}.headers`]: {
      meaning: 'Headers, by name; what shows who calls comes with the credential.',
      otherwise: 'none',
    },
    [`${at}.headers.*`]: { meaning: 'One header.' },
  }
}

function answerMeanings(at: string, otherwise: string): Meanings {
  return {
    [`${at}.classify`]: {
      meaning: 'What single statuses mean, instead of the table of failures.',
      otherwise,
    },
    [`${at}.classify.*`]: { meaning: 'Of one status.' },
    [`${at}.refine`]: {
      meaning: 'What an answer means where its status does not say it; the first that holds counts.',
      otherwise,
    },
    [`${at}.refine.when`]: { meaning: 'Sees `result.status`, `result.headers` and `result.body`.' },
    [`${at}.refine.as`]: { meaning: 'A class of failures, or `done`.' },
  }
}

function secretMeanings(kind: string): Meanings {
  return {
    [`${kind}.env`]: {
      meaning: 'An environment variable of the node.',
      otherwise: '`ref` or `file` is needed',
    },
    [`${kind}.ref`]: { meaning: 'A secret of the tenant’s vault.', otherwise: '`env` or `file` is needed' },
    [`${kind}.file`]: {
      meaning: 'A file of the node’s folder of secrets.',
      otherwise: '`env` or `ref` is needed',
    },
  }
}

const OPERATION = 'Provider.operations.*'

const PROVIDER_MEANINGS: Meanings = {
  'Provider.title': { meaning: 'What people read.', otherwise: 'its name' },
  'Provider.category': { meaning: 'What kind of system it is.', default: 'other' },
  'Provider.baseUrl': {
    meaning: 'Where it is called; sees `config` of the connection. A connection may have another.',
  },
  'Provider.auth': {
    meaning: 'What a credential of it may be; of several the first is the usual one.',
    default: 'none',
  },
  'Provider.authentication': {
    meaning: 'How a value travels, where the model leaves it open: of `apiKey`, `bearer` and `hmac`.',
    otherwise: '`x-api-key`, `authorization: Bearer`, `x-signature`',
  },
  'Provider.authentication.header': {
    meaning: 'The header that carries it.',
    otherwise: 'that of the model',
  },
  'Provider.authentication.prefix': {
    meaning: 'What stands before it in the header, with its blank.',
    otherwise: 'nothing; `Bearer ` of `bearer` in its usual header',
  },
  'Provider.authentication.query': {
    meaning: 'The name in the query that carries an `apiKey`, instead of a header.',
    otherwise: 'a header does',
  },
  'Provider.oauth2': { meaning: 'Where tokens come from.', otherwise: 'needed with `auth: oauth2`' },
  'Provider.oauth2.authorizeUrl': {
    meaning: 'Where people allow it; sees `config`.',
    otherwise: 'only the client itself can be allowed',
  },
  'Provider.oauth2.tokenUrl': { meaning: 'Where a token is asked for; sees `config`.' },
  'Provider.oauth2.scopes': { meaning: 'What is asked for.', otherwise: 'nothing in particular' },
  'Provider.oauth2.parameters': {
    meaning: 'Beside the usual fields, in the address that people are sent to.',
    otherwise: 'none',
  },
  'Provider.oauth2.parameters.*': { meaning: 'One of them.' },
  'Provider.oauth2.clientAuth': {
    meaning: 'How the client shows who it is: by Basic authentication, or in the body.',
    default: 'basic',
  },
  'Provider.endpoints': {
    meaning: 'Other addresses, by what operations call them in `endpoint`; see `config`.',
    otherwise: 'none',
  },
  'Provider.endpoints.*': { meaning: 'One address.' },
  'Provider.config': { meaning: 'A JSON Schema of a connection’s `config`.', otherwise: 'anything' },
  'Provider.capabilities': { meaning: 'What it can do, in words that people search by.', otherwise: 'none' },
  'Provider.rate': { meaning: 'The bucket `default`.', otherwise: 'none' },
  'Provider.rate.perMinute': { meaning: 'How many calls a minute.' },
  'Provider.rate.burst': { meaning: 'How many at once.', otherwise: 'a sixth of a minute’s' },
  'Provider.buckets': {
    meaning: 'How much the vendor bears, by name: shared by all that calls on one connection.',
    otherwise: 'as much as it says in its answers',
  },
  'Provider.buckets.*': { meaning: 'One of them.' },
  'Provider.buckets.*.perMinute': { meaning: 'How many calls a minute.' },
  'Provider.buckets.*.burst': { meaning: 'How many at once.', otherwise: 'a sixth of a minute’s' },
  'Provider.probe': {
    meaning:
      'A request that only reads: by it connections are tested and watched, and new secrets verified. Sees `config` and `vars`.',
    otherwise: 'they cannot be',
  },
  ...requestMeanings('Provider.probe', 'GET'),
  'Provider.probe.timeout': { meaning: 'How long it may take.', default: '10s' },
  ...answerMeanings('Provider', 'the table'),
  'Provider.operations': { meaning: 'What can be called, by name.', otherwise: 'none' },
  [OPERATION]: { meaning: 'One operation; its requests see `input`, `config`, `key`, `extRef` and `vars`.' },
  [`${OPERATION}.description`]: { meaning: 'For people.', otherwise: 'none' },
  ...requestMeanings(OPERATION, 'POST'),
  [`${OPERATION}.body`]: {
    meaning: 'What is not a text is sent as `encoding` says; empty: no body.',
    otherwise: '`{{ input }}` of `POST`, `PUT` and `PATCH`',
  },
  [`${OPERATION}.encoding`]: { meaning: 'How the body is written.', default: 'json' },
  [`${OPERATION}.endpoint`]: { meaning: 'Which of `endpoints` it goes to.', otherwise: 'the base' },
  [`${OPERATION}.input`]: { meaning: 'A JSON Schema of what it is given.', otherwise: 'anything' },
  [`${OPERATION}.output`]: { meaning: 'A JSON Schema of what it gives.', otherwise: 'anything' },
  [`${OPERATION}.idempotency`]: {
    meaning: 'What makes a repetition safe: the vendor’s own key, a look, its nature, or nothing.',
    otherwise: 'as `keyTtl`, `lookup` and the method say',
  },
  [`${OPERATION}.keyTtl`]: {
    meaning: 'Of `native`: how long the vendor remembers a key.',
    otherwise: 'needed with `native`',
  },
  [`${OPERATION}.keyHeader`]: {
    meaning: 'The header that carries the key; `none`: a template of the request does.',
    otherwise: '`idempotency-key` of `native`',
  },
  [`${OPERATION}.lookup`]: {
    meaning: 'Of `lookup`: how to ask whether the effect is there.',
    otherwise: 'needed with `lookup`',
  },
  ...requestMeanings(`${OPERATION}.lookup`, 'GET'),
  [`${OPERATION}.lookup.found`]: { meaning: 'True when it is there; sees `result`.' },
  [`${OPERATION}.lookup.id`]: { meaning: 'What it is called there; sees `result`.', otherwise: 'not known' },
  [`${OPERATION}.lookup.after`]: {
    meaning: 'How long the vendor may still be busy with a call that was given up.',
    default: '30s',
  },
  [`${OPERATION}.result`]: {
    meaning: 'What it gives; sees `result`.',
    otherwise: 'the body of the answer',
  },
  [`${OPERATION}.ref`]: {
    meaning: 'Where the effect is, in the vendor’s words; sees `result`.',
    otherwise: 'its `location` or `id`',
  },
  ...answerMeanings(OPERATION, 'what the provider says'),
  [`${OPERATION}.timeout`]: { meaning: 'For the whole exchange.', default: '30s' },
  [`${OPERATION}.buckets`]: {
    meaning: 'Of which buckets a call takes a token.',
    otherwise: '`default`, where there is one',
  },
  [`${OPERATION}.scopes`]: { meaning: 'What the account must be allowed to do.', otherwise: 'not known' },
  [`${OPERATION}.deprecated`]: {
    meaning: 'What to use in its place; whoever uses it is told.',
    otherwise: 'it is current',
  },
  'Provider.rotation': {
    meaning: 'How a new secret is made at the vendor.',
    otherwise: 'a person brings it',
  },
  'Provider.rotation.create': { meaning: 'The operation that makes one.' },
  'Provider.rotation.secret': { meaning: 'Where it is in what that gives; sees `result`.' },
  'Provider.rotation.revoke': {
    meaning: 'The operation that ends the former one, once nobody uses it.',
    otherwise: 'it ends by itself',
  },
  'Provider.inbound': { meaning: 'What comes in from it.', otherwise: 'nothing known' },
  'Provider.inbound.scheme': { meaning: 'How it signs: a scheme of a Source.' },
  'Provider.inbound.subjects': { meaning: 'The ready mapping of its events.', otherwise: 'none' },
  'Provider.deprecated': {
    meaning: 'What to use in its place; whoever uses it is told.',
    otherwise: 'it is current',
  },
}

const ENVIRONMENT: FieldMeaning = {
  meaning:
    'The one that it is for: a name may have a document for each, and a node takes that of its own `MILLRACE_ENV`.',
  otherwise: 'every one that has no document of its own',
}

const CONNECTION_MEANINGS: Meanings = {
  'Connection.environment': ENVIRONMENT,
  'Connection.provider': {
    meaning: 'Whose account it is: a `kind: Provider`, or one that comes with Millrace.',
  },
  'Connection.credential': {
    meaning: 'The name of a `kind: Credential` of the same provider.',
    otherwise: 'the provider takes none',
  },
  'Connection.config': {
    meaning: 'What the provider wants to know of the account; sees `vars`. No secrets.',
    otherwise: 'empty',
  },
  'Connection.endpoints': {
    meaning: 'Addresses in place of the provider’s; `default` is the base. Sees `vars` and `config`.',
    otherwise: 'the provider’s',
  },
  'Connection.endpoints.*': { meaning: 'One address.' },
  'Connection.status': { meaning: '`retired`: it runs nothing, for good.', default: 'active' },
  'Connection.probe': {
    meaning: 'How often it is looked whether the other side is well; `none`: never.',
    otherwise: 'as below',
  },
  'Connection.probe.every': { meaning: 'Once in so long.', default: '1m' },
  'Connection.probe.timeout': { meaning: 'How long an answer may take.', default: '10s' },
  'Connection.buckets': { meaning: 'In place of the provider’s, by name.', otherwise: 'the provider’s' },
  'Connection.buckets.*': { meaning: 'One of them.' },
  'Connection.buckets.*.perMinute': { meaning: 'How many calls a minute.' },
  'Connection.buckets.*.burst': { meaning: 'How many at once.', otherwise: 'a sixth of a minute’s' },
  'Connection.circuit': {
    meaning: 'When nothing is sent for a while because the other side fails; `off`: never.',
    otherwise: 'as below',
  },
  'Connection.circuit.failures': { meaning: 'So many failures one after another.', default: 5 },
  'Connection.circuit.ratio': { meaning: 'Or this share of the calls within a minute.', default: 0.5 },
  'Connection.circuit.of': { meaning: 'The share is looked at from so many calls on.', default: 20 },
  'Connection.circuit.openFor': { meaning: 'How long until it tries one.', default: '30s' },
}

const CREDENTIAL_MEANINGS: Meanings = {
  'Credential.environment': ENVIRONMENT,
  'Credential.provider': { meaning: 'At whom it is known.' },
  'Credential.auth': { meaning: 'How: one of the provider’s models.', otherwise: 'the provider’s first' },
  'Credential.secret': {
    meaning:
      'Where the value is: the key, the token, the password, the client’s secret, the private key (PEM) or the key file (JSON). Never the value itself.',
  },
  ...secretMeanings('Credential.secret'),
  'Credential.username': { meaning: 'Of `basic`.', otherwise: 'needed with `basic`' },
  'Credential.oauth2': { meaning: 'Of `oauth2`: who asks for tokens.', otherwise: 'needed with `oauth2`' },
  'Credential.oauth2.grant': {
    meaning: 'As the client itself, or on behalf of a person who allowed it.',
    default: 'clientCredentials',
  },
  'Credential.oauth2.clientId': { meaning: 'The client’s name at the provider.' },
  'Credential.oauth2.scopes': { meaning: 'What is asked for.', otherwise: 'the provider’s' },
  'Credential.oauth2.audience': { meaning: 'For whom the token is.', otherwise: 'not said' },
  'Credential.githubApp': {
    meaning: 'Of `githubApp`: which app, and where it is installed.',
    otherwise: 'needed with `githubApp`',
  },
  'Credential.githubApp.appId': { meaning: 'The app.' },
  'Credential.githubApp.installationId': { meaning: 'Its installation.' },
  'Credential.serviceAccount': { meaning: 'Of `serviceAccount`.', otherwise: 'as below' },
  'Credential.serviceAccount.scopes': { meaning: 'What is asked for.', otherwise: 'nothing in particular' },
  'Credential.serviceAccount.subject': { meaning: 'On whose behalf.', otherwise: 'its own' },
  'Credential.hmac': { meaning: 'Of `hmac`.', otherwise: 'as below' },
  'Credential.hmac.algorithm': { meaning: 'The hash under the HMAC.', default: 'sha256' },
  'Credential.rotation': { meaning: 'When another value takes its place.', otherwise: 'as below' },
  'Credential.rotation.every': {
    meaning: 'Once in so long.',
    otherwise: 'only when somebody asks, or when it is refused',
  },
  'Credential.rotation.coolDown': {
    meaning: 'How long after a rotation that failed none is begun by a refusal.',
    default: '10m',
  },
  'Credential.rotation.overlap': {
    meaning: 'For how long the former value stays good beside the new one.',
    default: '1m',
  },
}

export const CONNECTION_LANGUAGE_MEANINGS: Meanings = {
  ...PROVIDER_MEANINGS,
  ...CONNECTION_MEANINGS,
  ...CREDENTIAL_MEANINGS,
}
