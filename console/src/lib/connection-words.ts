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
      what: 'It is retired: nothing runs on it.',
      next: 'Work that names it becomes a dead letter. To use it again, apply its definition anew and test it.',
    }
  if (status === 'pending')
    return lastTest === null
      ? {
          tone: 'accent',
          what: 'It is being tested, and runs nothing until it passes.',
          next: 'A test is one call that changes nothing at the other side. It is made by itself; you can make it now.',
        }
      : {
          tone: lastTest.ok ? 'accent' : 'red',
          what: lastTest.ok
            ? 'It changed since its last test, and runs nothing until it is tested.'
            : 'Its test failed, and it runs nothing until one passes.',
          next: 'Mend what the answer says (the address, the secret, what the account may do), then test it again.',
        }
  if (circuit.override !== null) return null
  if (circuit.state === 'open' && circuit.openedBy === 'probe')
    return {
      tone: 'amber',
      what: 'Its latest probe failed: calls are held back.',
      next: 'Jobs wait without using up their attempts. They continue when a probe or a trial call passes.',
    }
  if (circuit.state === 'open')
    return {
      tone: 'red',
      what: 'The other side does not do its part: calls are held back.',
      next: 'Work waits without using up its attempts, and goes on by itself once a call succeeds.',
    }
  if (circuit.state === 'half-open')
    return {
      tone: 'amber',
      what: 'One call looks whether the other side is back.',
      next: 'When it succeeds, what waits follows by itself.',
    }
  if (status === 'degraded')
    return {
      tone: 'amber',
      what: 'Its probe fails, and its document turns the circuit off: it takes calls all the same.',
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
        what: 'There is no value for it.',
        next:
          credential.grant === 'authorizationCode'
            ? 'Set the secret of the client, then let the vendor ask somebody who may allow it.'
            : 'Set it: the value goes into the vault and is never shown again.',
      }
    case 'waiting':
      return {
        tone: 'amber',
        what: 'A rotation waits for its new value.',
        next: 'Make a new secret at the vendor and bring it here. It is tried before it takes the place of the one in use.',
      }
    case 'rotating':
      return {
        tone: 'accent',
        what: 'It is being rotated.',
        next: 'The new value is tried first; until then the one before stays in use.',
      }
    default:
      return null
  }
}

const REASONS: Readonly<Record<NonNullable<Credential['rotation']['underWay']>['reason'], string>> = {
  policy: 'by its policy',
  request: 'somebody asked',
  'auth-failure': 'the vendor refused the one in use',
  supplied: 'a new value was brought',
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
  verification: 'the trial of a new secret',
}
export const purposeInWords = (purpose: Run['purpose']): string => PURPOSES[purpose]

type Idempotency = 'native' | 'lookup' | 'idempotent' | 'none'
const IDEMPOTENCIES: Readonly<Record<Idempotency, readonly [short: string, text: string]>> = {
  native: ['knows our key', 'The vendor knows our key: doing it twice is doing it once.'],
  lookup: ['can be looked up', 'When its outcome is unknown, the vendor is asked whether it is there.'],
  idempotent: ['safe to repeat', 'Doing it twice is doing it once.'],
  none: ['not safe to repeat', 'When its outcome is unknown, a person decides.'],
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
