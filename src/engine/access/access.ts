// Authenticates callers and decides what they may do: keys, sessions, links and tenants behind one interface.
//
// Invariant: a refused caller learns only that. An unknown tenant, an unknown key, a wrong secret, an expired one and a used
// link get the same response.

import { createHash, timingSafeEqual } from 'node:crypto'
import { parseToken, type Role, type TenantLimits } from '../../core/access/callers/index.ts'
import { AppError, messageOf } from '../../core/foundation/errors/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../../core/foundation/ids/index.ts'
import { type Instant, SECOND } from '../../core/foundation/time/index.ts'
import { weaknessOf } from '../../core/secrets/index.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Random } from '../../ports/random.ts'
import type { Store } from '../../ports/store.ts'
import type { Credential } from './access-records.ts'
import { type Keys, makeKeys } from './api-keys.ts'
import { makeSessions } from './sessions.ts'
import { BEARER_KEYS, makeAttempts, SIGN_INS } from './sign-in-attempts.ts'
import { makeTenants, type Tenants } from './tenants.ts'

export interface Caller {
  readonly tenant: TenantId
  readonly role: Role
  /** Of the key, beside its role; an admin has all of them. */
  readonly permissions: readonly string[]
  /** For the log and the audit. */
  readonly actor: string
  /** The node's own admin key: an admin of the first tenant who may create others. */
  readonly isNodeAdmin: boolean
  readonly credential: Credential
  /** When the key or the session ends; null: never. */
  readonly endsAt: Instant | null
  /** Signed in by the console; null for a key. */
  readonly sessionId: string | null
}

export interface SignedIn {
  readonly caller: Caller
  /** For the cookie. */
  readonly token: string
  readonly expiresAt: Instant
  readonly lifeMs: number
}

export interface Link {
  readonly token: string
  readonly expiresAt: Instant
}

export interface Access {
  /** Throws `not_authenticated`, or `limited` after too many failures of an address; omitted: they are not counted. */
  byKey(text: string, address?: string): Promise<Caller>
  bySession(text: string): Promise<Caller>
  /** Failures are counted by address. */
  signIn(shown: { readonly key: string } | { readonly link: string }, address: string): Promise<SignedIn>
  signOut(caller: Caller): Promise<void>
  /** The user who opens it is signed in as the caller; once, within the hour. */
  makeLink(caller: Caller): Promise<Link>
  /** For the node's own admin: printed at the start. */
  makeNodeLink(): Promise<Link>
  readonly keys: Keys
  readonly tenants: Tenants
  start(): Promise<void>
}

export interface AccessDeps {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly adminKey: string
  /** The limits of a tenant; omitted: the defaults. */
  readonly limits?: TenantLimits
}

const REFUSED_EVERY_MS = 10 * SECOND

const NODE: Credential = { kind: 'node' }
const NODE_CALLER: Caller = {
  tenant: DEFAULT_TENANT,
  role: 'admin',
  permissions: [],
  actor: 'admin',
  isNodeAdmin: true,
  credential: NODE,
  endsAt: null,
  sessionId: null,
}

export function makeAccess(deps: AccessDeps): Access {
  const { log, clock } = deps
  const keys = makeKeys(deps)
  const tenants = makeTenants(deps)
  const adminDigest = digest(deps.adminKey)
  const sessions = makeSessions({ ...deps, nodeBound: adminDigest.toString('base64url') })
  const attempts = makeAttempts(clock, SIGN_INS, 'to sign in')
  const shownKeys = makeAttempts(clock, BEARER_KEYS, 'with a key')
  const isAdminKeyStrong = weaknessOf(deps.adminKey) === null

  /** What a credential may do now; null: it is over. */
  const callerOf = async (tenant: TenantId, credential: Credential): Promise<Caller | null> => {
    if (credential.kind === 'node') return NODE_CALLER
    const key = await keys.find(tenant, credential.id)
    return key === null ? null : keyCaller(tenant, key)
  }

  const findByKey = async (text: string): Promise<Caller | null> => {
    if (timingSafeEqual(digest(text), adminDigest)) return NODE_CALLER
    const token = parseToken('key', text)
    const key = token === null ? null : await keys.check(token)
    return token === null || key === null ? null : keyCaller(token.tenant, key)
  }

  const enterByKey = async (text: string): Promise<SignedIn | null> => {
    const caller = await findByKey(text)
    if (caller === null) return null
    const made = await sessions.make('session', caller.tenant, caller.credential, { endsAt: caller.endsAt })
    return made === null ? null : signedIn(caller, made, clock.now())
  }

  const enterByLink = async (text: string): Promise<SignedIn | null> => {
    const token = parseToken('link', text)
    const link = token === null ? null : await sessions.check(token)
    if (link === null) return null
    const caller = await callerOf(link.tenant, link.credential)
    if (caller === null) return null
    const { tenant, credential } = link
    const made = await sessions.make('session', tenant, credential, {
      endsAt: earlier(caller.endsAt, link.endsAt),
      instead: link,
    })
    return made === null ? null : signedIn(caller, made, clock.now())
  }

  const linkFor = async ({ tenant, credential, endsAt, actor }: Caller): Promise<Link> => {
    const made = await sessions.make('link', tenant, credential, { endsAt })
    if (made === null) throw new AppError('conflict', 'a link of the same id was made at the same moment')
    log.info('access.link-created', { tenant, by: actor })
    return { token: made.token, expiresAt: made.grant.expiresAt }
  }

  const noteRefused = makeTally(clock, (count) => log.warn('access.key-refused', { count }))
  const noteLimited = makeTally(clock, (count, address) =>
    log.warn('access.sign-in-limited', { count, address }),
  )

  /** In the background: no caller waits for it. */
  const sweep = (tenant: TenantId) => {
    sessions.sweep(tenant).catch((error) => {
      log.warn('access.sweep-failed', { tenant, error: messageOf(error) })
    })
  }

  return {
    async byKey(text, address) {
      // A random key cannot be guessed: a valid one gets in, whatever other callers at the address did. If the node's own key
      // may be guessable, an address with too many failures is refused before the two are compared.
      const isSafe = isAdminKeyStrong || parseToken('key', text) !== null
      const takeBack =
        address === undefined || isSafe ? null : shownKeys.begin(address, () => noteRefused(address))
      const caller = await findByKey(text)
      if (caller === null) {
        noteRefused(address ?? '')
        if (address !== undefined && takeBack === null) shownKeys.begin(address)
        throw new AppError('not_authenticated', 'the key is not known')
      }
      takeBack?.()
      return caller
    },
    async bySession(text) {
      const token = parseToken('session', text)
      const session = token === null ? null : await sessions.check(token)
      const caller = session === null ? null : await callerOf(session.tenant, session.credential)
      if (session === null || caller === null)
        throw new AppError('not_authenticated', 'the session is over; sign in again')
      // A link that the session makes ends with it.
      const endsAt = Math.min(caller.endsAt ?? Number.POSITIVE_INFINITY, session.expiresAt)
      return { ...caller, endsAt, sessionId: session.id }
    },
    async signIn(shown, address) {
      const isKey = 'key' in shown
      // 256 random bits cannot be guessed: a valid key or link gets in, whatever other callers at the address did.
      const isWhole = (isKey ? parseToken('key', shown.key) : parseToken('link', shown.link)) !== null
      const begin = () => attempts.begin(address, () => noteLimited(address))
      const takeBack = isWhole ? () => {} : begin()
      const entered = await (isKey ? enterByKey(shown.key) : enterByLink(shown.link))
      if (entered === null) {
        if (isWhole) begin()
        log.warn('access.sign-in-refused', { by: isKey ? 'key' : 'link', address })
        throw new AppError(
          'not_authenticated',
          isKey
            ? 'the key is not known'
            : 'the link does not open anything: each works once, for an hour, as long as its key does',
        )
      }
      takeBack()
      await sessions.trim(entered.caller.tenant, entered.caller.credential)
      const { tenant, role, actor } = entered.caller
      log.info('access.signed-in', { tenant, role, actor, by: isKey ? 'key' : 'link', address })
      sweep(tenant)
      return entered
    },
    async signOut(caller) {
      if (caller.sessionId === null)
        throw new AppError('invalid_request', 'there is no session to end: the caller showed a key')
      await sessions.end(caller.tenant, caller.sessionId)
      log.info('access.signed-out', { tenant: caller.tenant, actor: caller.actor })
    },
    makeLink: linkFor,
    makeNodeLink: () => linkFor(NODE_CALLER),
    keys,
    tenants,
    async start() {
      await tenants.start()
      sweep(DEFAULT_TENANT)
    },
  }
}

/** One line for all of some seconds: a guesser must not fill the log. It has the address of the last one. */
function makeTally(clock: Clock, tell: (count: number, address: string) => void): (address: string) => void {
  let count = 0
  let loggedAt = Number.NEGATIVE_INFINITY
  return (address) => {
    count += 1
    if (clock.monotonic() - loggedAt < REFUSED_EVERY_MS) return
    tell(count, address)
    loggedAt = clock.monotonic()
    count = 0
  }
}

function keyCaller(
  tenant: TenantId,
  key: {
    readonly id: string
    readonly name: string
    readonly role: Role
    readonly permissions: readonly string[]
    readonly expiresAt: Instant | null
  },
): Caller {
  return {
    tenant,
    role: key.role,
    permissions: key.permissions,
    actor: `${key.name} (key ${key.id})`,
    isNodeAdmin: false,
    credential: { kind: 'key', id: key.id },
    endsAt: key.expiresAt,
    sessionId: null,
  }
}

function signedIn(
  caller: Caller,
  made: { readonly grant: { readonly id: string; readonly expiresAt: Instant }; readonly token: string },
  now: Instant,
): SignedIn {
  const { id, expiresAt } = made.grant
  return { caller: { ...caller, sessionId: id }, token: made.token, expiresAt, lifeMs: expiresAt - now }
}

function earlier(one: Instant | null, other: Instant | null): Instant | null {
  return one === null ? other : other === null ? one : Math.min(one, other)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
