// Texts for connections, credentials, providers and runs.

import type { Connection, Credential, Provider, Run } from '../types.ts'

type AuthModel = Credential['auth']

export interface AuthWords {
  readonly label: string
  /** What its secret is. */
  readonly secret: string
  readonly isLong?: boolean
}

const AUTHS: Readonly<Record<AuthModel, AuthWords>> = {
  none: { label: 'None', secret: 'nothing' },
  apiKey: { label: 'API key', secret: 'The key' },
  bearer: { label: 'Bearer token', secret: 'The token' },
  basic: { label: 'User and password', secret: 'The password' },
  oauth2: { label: 'OAuth 2', secret: 'The secret of the client' },
  githubApp: { label: 'GitHub App', secret: 'The private key (PEM)', isLong: true },
  serviceAccount: { label: 'Service account', secret: 'The key file (JSON)', isLong: true },
  hmac: { label: 'Signed requests (HMAC)', secret: 'The key' },
}
export const authInWords = (auth: AuthModel): AuthWords => AUTHS[auth]

interface Standing {
  readonly tone: 'red' | 'amber' | 'accent'
  readonly what: string
  readonly next: string
}

/** The problem of a connection; null: none. */
export function connectionStanding(connection: Connection): Standing | null {
  const { status, circuit, lastTest } = connection
  if (status === 'retired')
    return {
      tone: 'amber',
      what: 'It is retired: no calls use it.',
      next: 'Jobs that use it are dead-lettered. To use it again, apply its definition again and test it.',
    }
  if (status === 'pending')
    return lastTest === null
      ? {
          tone: 'accent',
          what: 'It is being tested, and makes no calls until the test passes.',
          next: 'A test is one read-only call. It runs automatically; you can run it now.',
        }
      : {
          tone: lastTest.ok ? 'accent' : 'red',
          what: lastTest.ok
            ? 'It changed since its last test, and makes no calls until it is tested.'
            : 'Its test failed, and it makes no calls until one passes.',
          next: 'Fix the cause (the address, the secret, the account’s permissions), then test it again.',
        }
  if (circuit.override !== null) return null
  if (circuit.state === 'open' && circuit.openedBy === 'probe')
    return {
      tone: 'amber',
      what: 'Its latest probe failed: calls wait.',
      next: 'Jobs wait without using attempts. They continue when a probe or a trial call passes.',
    }
  if (circuit.state === 'open')
    return {
      tone: 'red',
      what: 'The vendor is failing: calls wait.',
      next: 'Jobs wait without using attempts, and continue automatically once a call succeeds.',
    }
  if (circuit.state === 'half-open')
    return {
      tone: 'amber',
      what: 'One trial call checks whether the vendor is back.',
      next: 'When it succeeds, the waiting jobs follow.',
    }
  if (status === 'degraded')
    return {
      tone: 'amber',
      what: 'Its probe fails, and its document turns the circuit off: it still makes calls.',
      next: 'Look at its latest runs and probes.',
    }
  return null
}

/** The problem of a credential; null: none. */
export function credentialStanding(credential: Credential): Standing | null {
  switch (credential.status) {
    case 'missing':
      return {
        tone: 'red',
        what: 'It has no value.',
        next:
          credential.grant === 'authorizationCode'
            ? 'Set the client secret, then authorize it at the vendor.'
            : 'Set it: the value goes into the vault and is never shown again.',
      }
    case 'waiting':
      return {
        tone: 'amber',
        what: 'A rotation waits for its new value.',
        next: 'Create a new secret at the vendor and set it here. It is verified before it replaces the current one.',
      }
    case 'rotating':
      return {
        tone: 'accent',
        what: 'It is being rotated.',
        next: 'The new value is verified first; until then the current one stays in use.',
      }
    default:
      return null
  }
}

const REASONS: Readonly<Record<NonNullable<Credential['rotation']['underWay']>['reason'], string>> = {
  policy: 'by its policy',
  request: 'on request',
  'auth-failure': 'the vendor refused the current value',
  supplied: 'a new value was set',
}
export const rotationReasonInWords = (reason: keyof typeof REASONS): string => REASONS[reason]

export const RUN_STATES: readonly (readonly [Run['state'], string])[] = [
  ['running', 'Running'],
  ['completed', 'Completed'],
  ['failed', 'Failed'],
  ['dead-lettered', 'Dead'],
]

const PURPOSES: Readonly<Record<Run['purpose'], string>> = {
  work: 'work',
  test: 'a test',
  verification: 'the verification of a new secret',
}
export const purposeInWords = (purpose: Run['purpose']): string => PURPOSES[purpose]

type Idempotency = 'native' | 'lookup' | 'idempotent' | 'none'
const IDEMPOTENCIES: Readonly<Record<Idempotency, readonly [short: string, text: string]>> = {
  native: ['idempotency key', 'The vendor recognizes our key: repeating the call has no further effect.'],
  lookup: [
    'can be looked up',
    'When its outcome is unknown, Millrace asks the vendor whether the effect exists.',
  ],
  idempotent: ['safe to repeat', 'Repeating it has no further effect.'],
  none: ['not safe to repeat', 'When its outcome is unknown, an operator decides.'],
}
export const idempotencyInWords = (name: Idempotency) => IDEMPOTENCIES[name]

/** Whether a provider matches the typed text. */
export function fitsProvider({ name, title, category, description }: Provider, typed: string): boolean {
  const wanted = typed.trim().toLowerCase()
  return `${name} ${title} ${category} ${description ?? ''}`.toLowerCase().includes(wanted)
}

/** Where a credential's value is stored: `ref SHOP_TOKEN`. */
export function placeOfSecret(secret: Credential['secret']): {
  readonly kind: 'ref' | 'env' | 'file'
  readonly name: string
} {
  const [[kind, name] = ['ref', '']] = Object.entries(secret)
  return { kind: kind === 'env' || kind === 'file' ? kind : 'ref', name }
}

const VIAS: Readonly<Record<Run['via'], string>> = {
  connection: 'A connection',
  http: 'Plain HTTP',
  upsert: 'Upsert',
  function: 'Function',
  agent: 'Agent',
  delivery: 'Delivery',
}

export function viaInWords(via: Run['via']): string {
  return VIAS[via]
}
