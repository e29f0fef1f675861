// A store that encrypts sensitive events: the payload and the body as a whole, and the headers if one of them is
// sensitive. Readers get them decrypted, with their sensitive paths, which are part of the encrypted text.
//
// The key of `hmac` is always encrypted: a record of it in clear text is refused, because no node wrote it.
//
// Records of definitions and subscriptions that may hold a credential in clear text are handled the same way: the text
// of the record is encrypted, its key is not. A record that cannot be decrypted is an error when it is read by its key;
// in a list it is returned encrypted.
//
// Everything else passes unchanged, and costs one check: of the paths of an appended event, and of the first characters
// of a read one.
//
// Invariants: SE8 nothing of a sensitive payload reaches the underlying store in clear text. SE9 an event that cannot
// be decrypted is returned encrypted and never throws: it must not stop a claim or a list of others.

import type { NewEvent, StoredEvent } from '../../core/events/event/index.ts'
import { compileSensitive, isEncrypted, splitEncrypted } from '../../core/events/sensitive/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { mayHoldLiteral } from '../../core/secrets/index.ts'
import { type Encryption, type EncryptionContext, EncryptionError } from '../../ports/encryption.ts'
import type { Log } from '../../ports/log.ts'
import type {
  Commit,
  Guard,
  Page,
  RecordKind,
  Store,
  StoredRecord,
  TenantReads,
  Write,
} from '../../ports/store.ts'

/** For an event that cannot be decrypted: all of it may be sensitive. */
const EVERYTHING: readonly string[] = ['payload', 'header']
const TOLD_MAX = 1_000

export interface EncryptedStoreDeps {
  readonly encryption: Encryption
  readonly log: Pick<Log, 'error'>
}

export function makeEncryptedStore<Behind extends Store>(store: Behind, deps: EncryptedStoreDeps): Behind {
  const { encryption } = deps
  const logUnreadable = makeUnreadableLog(deps.log)

  const open = (event: StoredEvent): StoredEvent => {
    if (!isEncrypted(event.data)) return event
    try {
      return openEvent(encryption, event)
    } catch (error) {
      if (!(error instanceof EncryptionError)) throw error
      logUnreadable(event, error)
      return { ...event, raw: null, headers: '{}', sensitive: EVERYTHING }
    }
  }
  const openAll = (events: readonly StoredEvent[]): readonly StoredEvent[] => events.map(open)

  const forTenant = (tenant: TenantId): TenantReads => {
    const reads = store.forTenant(tenant)
    return {
      ...reads,
      async event(id) {
        const event = await reads.event(id)
        return event === null ? null : open(event)
      },
      async record(kind, key) {
        const record = await reads.record(kind, key)
        return record === null ? null : openRecord(encryption, tenant, kind, key, record)
      },
      async records(query) {
        const page = await reads.records(query)
        if (!WRITTEN.has(query.kind)) return page
        return { ...page, items: page.items.map((one) => openListed(encryption, tenant, query.kind, one)) }
      },
    }
  }

  return {
    ...store,
    commit: (commit: Commit) => store.commit(encryptCommit(encryption, commit)),
    async claim(request: Parameters<Store['claim']>[0]) {
      const result = await store.claim(request)
      if (!result.items.some(({ event }) => isEncrypted(event.data))) return result
      return { ...result, items: result.items.map(({ work, event }) => ({ work, event: open(event) })) }
    },
    forTenant,
    system(reason: Parameters<Store['system']>[0]) {
      const reads = store.system(reason)
      return {
        ...reads,
        async outbox(limit, after) {
          const { rows, events } = await reads.outbox(limit, after)
          return { rows, events: openAll(events) }
        },
        async dump() {
          const dump = await reads.dump()
          const records = dump.records.map((one) =>
            WRITTEN.has(one.kind) ? openListed(encryption, one.tenant, one.kind, one) : one,
          )
          return { ...dump, records, events: openAll(dump.events) }
        },
      }
    },
  }
}

function encryptCommit(encryption: Encryption, commit: Commit): Commit {
  const { tenant, writes } = commit
  const literals = new Set(writes.filter(mustBeEncrypted))
  if (literals.size === 0 && !writes.some(isSensitive)) return commit
  const definitions = new Set([...literals].flatMap(({ kind, key }) => (kind === 'definition' ? [key] : [])))
  return {
    ...commit,
    writes: writes.map((write) => {
      if (isSensitive(write)) return { ...write, event: encryptEvent(encryption, tenant, write.event) }
      if (write.w !== 'record.put') return write
      // The authored text has the same content as its definition, in whatever notation.
      const isText = write.kind === 'authored' && definitions.has(write.key)
      if (!isText && !literals.has(write)) return write
      return {
        ...write,
        body: encryption.encrypt(recordPlace(tenant, write.kind, write.key), write.body, []),
      }
    }),
  }
}

type RecordPut = Extract<Write, { w: 'record.put' }>

/** Kinds whose records hold what users wrote. */
const WRITTEN: ReadonlySet<RecordKind> = new Set(['definition', 'authored', 'subscription'])

/** Kinds whose records are a secret as a whole. */
const SECRET: ReadonlySet<RecordKind> = new Set(['hmac'])

function mustBeEncrypted(write: Write): write is RecordPut {
  if (write.w !== 'record.put') return false
  return SECRET.has(write.kind) || (WRITTEN.has(write.kind) && mayHoldLiteral(write.body))
}

function recordPlace(tenant: TenantId, kind: RecordKind, key: string): EncryptionContext {
  return { tenant, row: `${kind}/${key}`, part: 'record' }
}

function openRecord<Row extends { readonly body: string }>(
  encryption: Encryption,
  tenant: TenantId,
  kind: RecordKind,
  key: string,
  record: Row,
): Row {
  if (!SECRET.has(kind) && (!WRITTEN.has(kind) || !isEncrypted(record.body))) return record
  try {
    return { ...record, body: encryption.open(recordPlace(tenant, kind, key), record.body).text }
  } catch (error) {
    if (!(error instanceof EncryptionError)) throw error
    const detail = `the ${kind} ${key} is encrypted and cannot be read: ${error.message}`
    throw new AppError('secret_unreadable', detail, { cause: error })
  }
}

/** A record that cannot be decrypted does not affect the others. */
function openListed<Row extends { readonly key: string; readonly body: string }>(
  encryption: Encryption,
  tenant: TenantId,
  kind: RecordKind,
  record: Row,
): Row {
  try {
    return openRecord(encryption, tenant, kind, record.key, record)
  } catch (error) {
    if (isUnreadable(error)) return record
    throw error
  }
}

/** Whether it is the error of a record that cannot be decrypted. */
export function isUnreadable(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'secret_unreadable'
}

const PAGE = 100

/**
 * Re-encrypts records of another master key with the current one, in the underlying store. The version of a
 * record stays, because its content does. Records that cannot be decrypted stay as they are and are reported.
 */
export async function rewrapRecords(
  behind: Pick<Store, 'commit' | 'forTenant'>,
  deps: EncryptedStoreDeps & { readonly keyId: string },
  tenants: readonly TenantId[],
): Promise<{
  readonly rewrapped: number
  readonly unreadable: readonly { readonly tenant: TenantId; readonly name: string }[]
}> {
  const { encryption, keyId, log } = deps
  let rewrapped = 0
  const unreadable: { tenant: TenantId; name: string }[] = []
  const rewrap = async (tenant: TenantId, kind: RecordKind, { key, version, body }: StoredRecord) => {
    if (!isEncrypted(body) || splitEncrypted(body)?.keyId === keyId) return
    const place = recordPlace(tenant, kind, key)
    try {
      const write: Write = {
        ...{ w: 'record.put', kind, key, version },
        body: encryption.encrypt(place, encryption.open(place, body).text, []),
      }
      const guards: Guard[] = [{ g: 'version', of: kind, key, version }]
      // Refused: the record was changed meanwhile, and encrypted with the current key.
      if ((await behind.commit({ tenant, guards, writes: [write] })).ok) rewrapped += 1
    } catch (error) {
      if (!(error instanceof EncryptionError)) throw error
      const { reason, message } = error
      unreadable.push({ tenant, name: place.row })
      log.error('seal.unreadable', { tenant, record: place.row, reason, message })
    }
  }
  for (const tenant of tenants) {
    for (const kind of [...WRITTEN, ...SECRET]) {
      let cursor: string | null = null
      do {
        const page: Page<StoredRecord> = await behind.forTenant(tenant).records({ kind, cursor, limit: PAGE })
        for (const record of page.items) await rewrap(tenant, kind, record)
        cursor = page.nextCursor
      } while (cursor !== null)
    }
  }
  return { rewrapped, unreadable }
}

function isSensitive(write: Write): write is Extract<Write, { w: 'event.append' }> {
  return write.w === 'event.append' && write.event.sensitive.length > 0
}

/** An event belongs to the tenant of the commit, whatever the event says. */
function encryptEvent(encryption: Encryption, tenant: TenantId, event: NewEvent): NewEvent {
  const { id, sensitive, data, raw, headers } = event
  const close = (part: EncryptionContext['part'], text: string) =>
    encryption.encrypt({ tenant, row: id, part }, text, sensitive)
  return {
    ...event,
    data: close('data', data),
    raw: raw === null ? null : close('raw', raw),
    headers: compileSensitive(sensitive).header === null ? headers : close('headers', headers),
    sensitive: [],
  }
}

function openEvent(encryption: Encryption, event: StoredEvent): StoredEvent {
  const { data, raw, headers } = event
  const open = (part: EncryptionContext['part'], text: string) =>
    encryption.open({ tenant: event.tenant, row: event.id, part }, text)
  const opened = open('data', data)
  return {
    ...event,
    data: opened.text,
    // Encrypted together with the payload or not at all: a text that a sender made to look encrypted was not.
    raw: raw === null ? null : open('raw', raw).text,
    headers: isEncrypted(headers) ? open('headers', headers).text : headers,
    sensitive: opened.paths,
  }
}

/** A missing key is logged once, not for each of the thousand events that it encrypted. */
function makeUnreadableLog(
  log: EncryptedStoreDeps['log'],
): (event: StoredEvent, error: EncryptionError) => void {
  const logged = new Set<string>()
  return ({ tenant, id, data }, { reason, message }) => {
    const about = reason === 'unknown-key' ? `${tenant} ${splitEncrypted(data)?.keyId}` : id
    if (logged.has(about)) return
    if (logged.size >= TOLD_MAX) logged.clear()
    logged.add(about)
    log.error('seal.unreadable', { tenant, event: id, reason, message })
  }
}
