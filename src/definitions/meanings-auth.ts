// What the fields of inline auth mean, wherever it stands; the rest is in meanings.ts.

import type { FieldMeaning } from './meanings-workflows.ts'

const PLACES: Readonly<Record<string, FieldMeaning>> = {
  'Route.do.http.auth': {
    meaning: 'What proves who calls, in place of a connection: for the request and its probe.',
    otherwise: 'nothing does',
  },
  'Route.do.http.probe.auth': {
    meaning: 'What proves who calls, where the probe needs another.',
    otherwise: '`auth` of the action',
  },
  'Route.do.upsert.auth': {
    meaning: 'What proves who calls, in place of a connection: for all its requests.',
    otherwise: 'nothing does',
  },
  'Agent.auth': {
    meaning: 'What proves who calls, in place of `secret` or a connection.',
    otherwise: '`secret`, or nothing does',
  },
  'Subscription.auth': {
    meaning: 'What proves who calls, beside the signature.',
    otherwise: 'the signature alone does',
  },
}

const WAYS: Readonly<Record<string, FieldMeaning>> = {
  bearer: { meaning: 'A secret that is sent as `Authorization: Bearer …`.', otherwise: 'another way' },
  basic: { meaning: 'A user and a password, sent as `Authorization: Basic …`.', otherwise: 'another way' },
  'basic.user': { meaning: 'The user name, without a colon.' },
  'basic.password': { meaning: 'The secret that is the password.' },
  header: { meaning: 'A secret that is sent in a header of its own.', otherwise: 'another way' },
  'header.name': { meaning: 'The name of the header.' },
  'header.value': { meaning: 'The secret that is its whole value.' },
}

const SECRET: Readonly<Record<string, FieldMeaning>> = {
  env: { meaning: 'An environment variable of the node.', otherwise: '`ref` or `file` is needed' },
  ref: { meaning: 'A secret of the tenant’s vault.', otherwise: '`env` or `file` is needed' },
  file: { meaning: 'A file of the node’s folder of secrets.', otherwise: '`env` or `ref` is needed' },
}

export const AUTH_MEANINGS: Readonly<Record<string, FieldMeaning>> = Object.fromEntries(
  Object.entries(PLACES).flatMap(([place, meaning]) => [
    [place, meaning],
    ...Object.entries(WAYS).map(([way, one]) => [`${place}.${way}`, one]),
    ...['bearer', 'basic.password', 'header.value'].flatMap((at) =>
      Object.entries(SECRET).map(([kind, one]) => [`${place}.${at}.${kind}`, one]),
    ),
  ]),
)
