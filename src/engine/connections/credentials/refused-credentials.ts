// What happens to a job whose call was refused with a credential, and whether calls may use one now.

import {
  type CredentialState,
  causeOfRefusal,
  decideRefusal,
  type RefusalCode,
  saysScopeMissing,
  type VaultVersion,
} from '../../../core/connections/credential/index.ts'
import type { CredentialDocument } from '../../../core/definitions/documents/index.ts'
import type { FailureClass } from '../../../core/failures/failure/index.ts'
import type { TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import { SECOND } from '../../../core/foundation/time/index.ts'
import type { AfterRefusal, Credentials } from '../connection-types.ts'
import type { BeginRotation } from './begin-rotation.ts'
import type { CredentialDeps } from './credential-deps.ts'
import { type CredentialStateCache, isClosed } from './credential-state-cache.ts'
import { type Values, vaultNameOf } from './credential-values.ts'
import { isDerived } from './derived-tokens.ts'
import type { Verify } from './verify-secret.ts'

/** The end of a rotation wakes the waiting jobs; this is for an end whose wake-up signal is lost. */
const WAIT_MS = 5 * SECOND
const BY = 'millrace'
/** A 403 may be about one resource only; a 401 is about the credential. */
const FORBIDDEN = /^answered 403\b/
const PASSING: readonly FailureClass[] = ['transient', 'rate_limited', 'unknown']
/** Only a user's consent fixes these. */
const HOPELESS = /^(refresh_token_expired|credential_missing_value)\b/

export function makeRefusals(
  deps: CredentialDeps & {
    readonly stateCache: CredentialStateCache
    readonly values: Values
    readonly begin: BeginRotation
    readonly verify: Verify
  },
): Pick<Credentials, 'accepted' | 'refused' | 'gate'> {
  const { time, ids, registry, stateCache, values, begin, verify, log } = deps

  /** Whether the account accepts the value in use: a 403 may be about one resource only. */
  const look = async (
    tenant: TenantId,
    credential: CredentialDocument,
  ): Promise<'opens' | 'refused' | 'unclear'> => {
    const provider = registry.provider(tenant, credential.provider)
    const connection = registry
      .connections(tenant)
      .map(({ document }) => document)
      .find((one) => one.credential === credential.name && one.status !== 'retired')
    if (provider === null || connection === undefined || provider.document.probe === null) return 'refused'
    const account = { tenant, provider: provider.document, credential, hash: '', connection }
    const id = `wrk_${ids.uuid()}` as WorkId
    const traced = { work: { id }, event: { traceId: ids.uuid().replaceAll('-', '') } }
    const { failure } = await verify(traced, account, 'current')
    if (failure === null) return 'opens'
    return PASSING.includes(failure.class) ? 'unclear' : 'refused'
  }

  return {
    gate(tenant, name) {
      const state = stateCache.find(tenant, name)
      if (!isClosed(state)) return null
      const why =
        state.status === 'waiting'
          ? `the credential ${name} was refused and waits for a person to bring its next secret`
          : `the credential ${name} was refused and gets another secret`
      return { is: 'closed', untilAt: null, why }
    },

    async accepted(tenant, name, version, since) {
      const document = registry.credential(tenant, name)?.document
      // A refused token says nothing about the secret.
      if (
        document === undefined ||
        version === null ||
        isDerived(document) ||
        !isClosed(stateCache.find(tenant, name))
      )
        return
      await stateCache.change(tenant, name, () => ({ type: 'accepted', at: time.now(), version, since }))
      log.info('credential.accepted', { tenant, credential: name, version })
      deps.wake()
    },

    async refused(tenant, name, { version, correlationId, error }): Promise<AfterRefusal> {
      const document = registry.credential(tenant, name)?.document
      if (document === undefined) return { is: 'dead', why: `not_found: there is no credential ${name}` }
      if (HOPELESS.test(error)) return { is: 'dead', why: error }
      const { state } = await stateCache.read(tenant, name)
      const found = await values.read(tenant, document, 'current', state)
      // The vault has another one by now, which is not recorded yet.
      const known =
        found.ok && state.rotation === null && !isSame(found, state.current)
          ? await stateCache.change(tenant, name, (now) =>
              now.rotation !== null || !isSame(now.current, state.current)
                ? null
                : { type: 'found', at: time.now(), current: found, by: 'vault' },
            )
          : state
      const decide = (now: CredentialState) =>
        decideRefusal({
          state: now,
          policy: document.rotation,
          version,
          isDerived: isDerived(document),
          canRotate: vaultNameOf(document) !== null,
          lacksScope: saysScopeMissing(error),
          now: time.now(),
        })
      let step = decide(known)
      if (step.do === 'wait' || step.do === 'rotate') {
        const seen = FORBIDDEN.test(error) && !isClosed(known) ? await look(tenant, document) : 'refused'
        if (seen === 'opens') return { is: 'dead', why: deadWords('credential_scope_missing', document) }
        if (seen === 'unclear') {
          const why = `${document.provider} answered 403, and whether it still knows the credential ${name} cannot be seen now`
          return { is: 'wait', delayMs: WAIT_MS, why }
        }
        const begun = await begin(tenant, name, {
          reason: 'auth-failure',
          cause: causeOfRefusal,
          note: null,
          by: BY,
          correlationId,
          isRefused: true,
          isWanted: (now) => decide(now).do === 'rotate',
        })
        if (begun.isNew)
          log.warn('credential.refused', { tenant, credential: name, version, work: begun.workId })
        // The rotation that was in progress when this was decided may be over by now.
        else if (begun.state.rotation === null) step = decide(begun.state)
      }
      switch (step.do) {
        case 'again':
          return { is: 'again' }
        case 'refresh':
          await stateCache.change(tenant, name, () =>
            version === null ? null : { type: 'tokenRefused', at: time.now(), version },
          )
          log.info('credential.token-refused', { tenant, credential: name, token: version })
          return { is: 'again' }
        case 'dead':
          return { is: 'dead', why: deadWords(step.code, document) }
        case 'wait':
        case 'rotate':
          return {
            is: 'wait',
            delayMs: WAIT_MS,
            why: `the credential ${name} was refused and gets another secret`,
          }
      }
    },
  }
}

function deadWords(code: RefusalCode, { name, secret, oauth2, provider }: CredentialDocument): string {
  switch (code) {
    case 'credential_scope_missing': {
      const scopes = oauth2?.scopes?.join(' ') ?? ''
      const known = scopes === '' ? '' : ` (it has: ${scopes})`
      return `${code}: the account of the credential ${name} may not do this at ${provider}${known}; give it the scopes that the operation names, then replay`
    }
    case 'credential_refused': {
      const place = 'env' in secret ? `the environment variable ${secret.env}` : 'its file'
      return `${code}: ${provider} refused the credential ${name}, whose value is in ${place}; change it there, then replay`
    }
    case 'rotation_cool_down':
      return `${code}: ${provider} refused the credential ${name} though a rotation was made or tried a short while ago; look at what its account may do, then replay`
  }
}

/** Versions alone do not tell: those of a secret that was removed and set again start over. */
function isSame(one: VaultVersion | null, other: VaultVersion | null): boolean {
  return one?.version === other?.version && one?.fingerprint === other?.fingerprint
}
