// One secret as an entry of the KV engine: `value` is the one in use, and a value that a user puts there under that
// name works. The rest is Millrace's: the pending value, former values that are still valid, who changed it. Foreign
// fields are left as they are.
//
// A version's number is that of the write that created it, so it only grows, whichever client wrote. The value's fingerprint is
// stored beside it: if it does not match, a user changed the value outside Millrace, and the entry's own number is the
// version.

import { AppError } from '../../core/foundation/errors/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import { fingerprintOf, type SecretVersions } from '../../core/secrets/index.ts'
import type { SecretValue } from '../../ports/vault.ts'

export type Data = Readonly<Record<string, unknown>>

export interface Entry extends SecretVersions<SecretValue> {
  /** The KV version that the next write is checked against. 0: there is none. */
  readonly kv: number
  readonly updatedAt: Instant
  readonly updatedBy: string
  /** Fields that are not Millrace's. */
  readonly others: Data
}

const OURS = ['value', 'version', 'fingerprint', 'pending', 'former', 'updatedBy'] as const

/** Throws `secret_unreadable` if its value is not a string. */
export function readEntry(
  data: Data,
  metadata: Data,
  { tenant, name }: { readonly tenant: string; readonly name: string },
): Entry {
  const kv = wholeIn(metadata.version) ?? 0
  const at = typeof metadata.created_time === 'string' ? Date.parse(metadata.created_time) : Number.NaN
  const held = (
    value: unknown,
    version: unknown,
    fingerprint: unknown,
    field: string,
  ): SecretValue | null => {
    if (value === undefined || value === null || value === '') return null
    if (typeof value !== 'string') {
      throw new AppError('secret_unreadable', `the secret ‘${name}’: its field \`${field}\` is not a text`)
    }
    const own = fingerprintOf(tenant, name, value)
    return { version: own === fingerprint ? (wholeIn(version) ?? kv) : kv, value, fingerprint: own }
  }
  const former = Array.isArray(data.former) ? data.former.map(fieldsOf) : []
  const waiting = typeof data.pending === 'string' ? { value: data.pending } : fieldsOf(data.pending)
  return {
    kv,
    current: held(data.value, data.version, data.fingerprint, 'value'),
    pending: held(waiting.value, waiting.version, waiting.fingerprint, 'pending'),
    former: former.flatMap(({ value, version, fingerprint, until }) => {
      const one = held(value, version, fingerprint, 'former')
      return one === null || typeof until !== 'number' ? [] : [{ ...one, until }]
    }),
    updatedAt: Number.isNaN(at) ? 0 : at,
    updatedBy: typeof data.updatedBy === 'string' ? data.updatedBy : 'the vault',
    others: Object.fromEntries(Object.entries(data).filter(([key]) => !OURS.some((own) => own === key))),
  }
}

export function writeEntry(versions: SecretVersions<SecretValue>, by: string, others: Data): Data {
  const { current, pending, former = [] } = versions
  return {
    ...others,
    ...(current ?? {}),
    ...(pending === null ? {} : { pending }),
    ...(former.length === 0 ? {} : { former }),
    updatedBy: by,
  }
}

function fieldsOf(value: unknown): Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Data) : {}
}

function wholeIn(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null
}
