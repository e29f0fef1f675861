// The value of a credential's secret, read from the vault when a call is about to be made, with the reason if there is none.

import type { CredentialState } from '../../../core/connections/credential/index.ts'
import type { CredentialDocument } from '../../../core/definitions/documents/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import { fingerprintOf } from '../../../core/secrets/index.ts'
import type { EngineDeps } from '../../config.ts'
import { type NoValue, unreadable } from '../../secrets/index.ts'

export interface Value {
  readonly ok: true
  readonly version: number
  readonly value: string
  readonly fingerprint: string
}

export interface Values {
  /** `state` says which version is known to be in use: an earlier one that the vault still remembers is not used. */
  read(
    tenant: TenantId,
    document: CredentialDocument,
    which: 'current' | 'pending',
    state: CredentialState,
  ): Promise<Value | NoValue>
}

/** The name of its secret in the vault that this system manages; null: it is stored and changed elsewhere. */
export function vaultNameOf({ secret }: Pick<CredentialDocument, 'secret'>): string | null {
  return 'ref' in secret ? secret.ref : null
}

export function makeValues({ vault, secrets }: Pick<EngineDeps, 'vault' | 'secrets'>): Values {
  const readStoredToken: Values['read'] = async (tenant, document, which, state) => {
    const name = vaultNameOf(document)
    if (name === null)
      return which === 'pending' ? missing(document, which) : readElsewhere(tenant, document, state)
    const atLeast = state.current?.version
    const found =
      which === 'pending'
        ? await secrets.pending(tenant, name)
        : await secrets.current(tenant, name, atLeast === undefined ? {} : { atLeast })
    return found === null ? missing(document, which) : { ok: true, ...found }
  }

  /** Without versions: a different value is the next version. */
  const readElsewhere = async (
    tenant: TenantId,
    document: CredentialDocument,
    { current }: CredentialState,
  ): Promise<Value | NoValue> => {
    const [value] = await vault.resolve(tenant, [document.secret])
    if (value === undefined || value === '') return missing(document, 'current')
    const fingerprint = fingerprintOf(tenant, document.name, value)
    const version = current?.fingerprint === fingerprint ? current.version : (current?.version ?? 0) + 1
    return { ok: true, version, value, fingerprint }
  }

  return {
    async read(tenant, document, which, state) {
      try {
        return await readStoredToken(tenant, document, which, state)
      } catch (error) {
        return unreadable(error)
      }
    },
  }
}

function missing(document: CredentialDocument, which: 'current' | 'pending'): NoValue {
  const { secret, name } = document
  const next =
    'ref' in secret
      ? `set it with \`millrace secrets set ${secret.ref}${which === 'pending' ? ' --pending' : ''}\``
      : 'env' in secret
        ? `set the environment variable ${secret.env} and restart the nodes`
        : `put it into the file ${secret.file} of the folder of secrets`
  return {
    ok: false,
    class: 'config',
    code: 'credential_missing_value',
    error: `the secret of the credential ${name} has no ${which === 'pending' ? 'pending ' : ''}value: ${next}`,
  }
}
