// How definitions are stored: documents and their written texts by the document's hash, the deployed bundle as `current`, every
// version of it as `v/00000012`, the summary of each for lists as `h/00000012`, and operators' overrides as `Route/name`.
//
// `changeCounter` counts every change of a tenant's definitions, whichever it was: one small row shows a node whether it is behind, and
// guards against concurrent changes.

import {
  type Authored,
  type DefinitionDocument,
  type DefinitionStatus,
  definitionId,
  type Entry,
  HMAC_LANGUAGE,
  hashDocument,
  LANGUAGE,
  languageOf,
} from '../../core/definitions/documents/index.ts'
import { type JsonValue, parseJson, stringifyJson } from '../../core/foundation/json/index.ts'
import type { Instant } from '../../core/foundation/time/index.ts'
import type { TenantReads, Write } from '../../ports/store.ts'
import { isUnreadable } from '../commit/index.ts'

export interface BundleEntry extends Entry {
  /** The bundle's version that introduced this hash; when, and by whom. */
  readonly version: number
  readonly at: Instant
  readonly by: string
}

/** The summary of a version in a list, stored separately: a bundle may name a thousand documents. */
export interface BundleHead {
  readonly hash: string
  readonly appliedAt: Instant
  readonly by: string
  readonly reason: string | null
  /** How many definitions differ from the version before. */
  readonly changes: number
}

export interface BundleRecord extends BundleHead {
  readonly documents: readonly BundleEntry[]
  /** Kind and name of the folder's definitions when it was last applied, whichever node has the folder. */
  readonly folder: readonly string[]
  /** Of those, what a rollback changed since: the folder deploys its own again. */
  readonly rolledBack: readonly string[]
}

/** An operator's override beside the document. */
export interface Control {
  readonly status: DefinitionStatus
  readonly at: Instant
  readonly by: string
  readonly reason: string | null
}

/** The stored definitions of a tenant. */
export interface StoredDefinitions {
  readonly changeCounter: number
  /** 0: nothing was ever applied. */
  readonly version: number
  readonly bundle: BundleRecord
  readonly controls: ReadonlyMap<string, Control>
}

const NOTHING: BundleRecord = {
  hash: '',
  appliedAt: 0,
  by: '',
  reason: null,
  changes: 0,
  documents: [],
  folder: [],
  rolledBack: [],
}
const CONTROLS_PER_PAGE = 500

/** Versions are kept for rolling back; the oldest are deleted. */
const VERSIONS_STORED = 1_000

function versionKey(version: number, part: 'v' | 'h' = 'v'): string {
  return `${part}/${String(version).padStart(8, '0')}`
}

export async function readChangeCounter(reads: TenantReads): Promise<number> {
  return (await reads.record('bundle', 'pulse'))?.version ?? 0
}

/** A change by another node between two reads would mix old and new: if the change counter moved, it is read again. */
const READ_TRIES = 5

/** If it never rests, the known change counter stays behind what was read: it is checked again at the next occasion. */
export async function readStoredDefinitions(reads: TenantReads): Promise<StoredDefinitions> {
  let stored = await readOnce(reads, await readChangeCounter(reads))
  for (let tries = 1; tries < READ_TRIES; tries += 1) {
    const changeCounter = await readChangeCounter(reads)
    if (changeCounter === stored.changeCounter) break
    stored = await readOnce(reads, changeCounter)
  }
  return stored
}

async function readOnce(reads: TenantReads, changeCounter: number): Promise<StoredDefinitions> {
  const current = await reads.record('bundle', 'current')
  const controls = new Map<string, Control>()
  for (let cursor: string | null = null; ; ) {
    const page: Awaited<ReturnType<TenantReads['records']>> = await reads.records({
      kind: 'control',
      cursor,
      limit: CONTROLS_PER_PAGE,
    })
    for (const { key, body } of page.items) controls.set(key, parseJson(body) as unknown as Control)
    cursor = page.nextCursor
    if (cursor === null) break
  }
  const bundle = current === null ? NOTHING : parseBundle(current.body)
  return { changeCounter, version: current?.version ?? 0, bundle, controls }
}

export async function readVersion(reads: TenantReads, version: number): Promise<BundleRecord | null> {
  const record = await reads.record('bundle', versionKey(version))
  return record === null ? null : parseBundle(record.body)
}

/** Versions of an older form have no summary of their own. */
export async function readHead(reads: TenantReads, version: number): Promise<BundleHead | null> {
  const record = await reads.record('bundle', versionKey(version, 'h'))
  if (record !== null) return parseJson(record.body) as unknown as BundleHead
  const bundle = await readVersion(reads, version)
  return bundle === null ? null : headOf(bundle)
}

function headOf({ hash, appliedAt, by, reason, changes }: BundleRecord): BundleHead {
  return { hash, appliedAt, by, reason, changes }
}

/**
 * An older form listed hashes alone, without owners: the folder, which was the only one, applies them again. Another did not
 * say what the folder has: then all that belongs to it is there.
 */
function parseBundle(body: string): BundleRecord {
  const record = parseJson(body) as unknown as Omit<BundleRecord, 'folder'> & Partial<BundleRecord>
  if (record.documents.some((entry) => typeof entry === 'string')) return { ...NOTHING, hash: record.hash }
  const folder = () => record.documents.filter(({ managedBy }) => managedBy === 'folder').map(definitionId)
  return { ...record, folder: record.folder ?? folder(), rolledBack: record.rolledBack ?? [] }
}

/** null also if it cannot be decrypted: it is only shown, and nothing depends on it. */
export async function readAuthored(reads: TenantReads, hash: string): Promise<Authored | null> {
  const record = await reads.record('authored', hash).catch((error: unknown) => {
    if (isUnreadable(error)) return null
    throw error
  })
  return record === null ? null : (parseJson(record.body) as unknown as Authored)
}

export interface StoredDocument {
  readonly document: DefinitionDocument
  /** This version does not know its language: it may say more than this version understands. */
  readonly isNewer: boolean
  /** Its language has no `hmac`: a text in it that looks like a call is none. */
  readonly isBeforeHmac: boolean
}

/** Like `readDocument`, but returns why a document cannot be decrypted. */
export function tryDocument(
  reads: TenantReads,
  hash: string,
): Promise<StoredDocument | null | { readonly unreadable: string }> {
  return readDocument(reads, hash).catch((error: unknown) => {
    if (isUnreadable(error)) return { unreadable: error.message }
    throw error
  })
}

async function readDocument(reads: TenantReads, hash: string): Promise<StoredDocument | null> {
  const record = await reads.record('definition', hash)
  if (record === null) return null
  const document = parseJson(record.body) as unknown as DefinitionDocument
  const { version } = record
  return { document, isNewer: version > LANGUAGE, isBeforeHmac: version < HMAC_LANGUAGE }
}

export function putDocument(document: DefinitionDocument): Write {
  const body = stringifyJson(document as unknown as JsonValue)
  return {
    w: 'record.put',
    kind: 'definition',
    key: hashDocument(document),
    version: languageOf(document),
    body,
  }
}

export function putAuthored(hash: string, authored: Authored): Write {
  const body = stringifyJson({ path: authored.path, text: authored.text })
  return { w: 'record.put', kind: 'authored', key: hash, version: 1, body }
}

export function putChangeCounter(version: number): Write {
  return { w: 'record.put', kind: 'bundle', key: 'pulse', version, body: '{}' }
}

/** Replaces the deployed version without creating another: for its fields beside the documents. */
export function putCurrent(version: number, record: BundleRecord): Write {
  const body = stringifyJson(record as unknown as JsonValue)
  return { w: 'record.put', kind: 'bundle', key: 'current', version, body }
}

export function putBundle(version: number, record: BundleRecord): readonly Write[] {
  const body = stringifyJson(record as unknown as JsonValue)
  const head = stringifyJson(headOf(record) as unknown as JsonValue)
  const oldest = version - VERSIONS_STORED
  const forget = (part: 'v' | 'h'): Write => ({
    w: 'record.delete',
    kind: 'bundle',
    key: versionKey(oldest, part),
  })
  return [
    putCurrent(version, record),
    { w: 'record.put', kind: 'bundle', key: versionKey(version), version: 1, body },
    { w: 'record.put', kind: 'bundle', key: versionKey(version, 'h'), version: 1, body: head },
    ...(oldest > 0 ? [forget('v'), forget('h')] : []),
  ]
}

export function putControl(id: string, control: Control): Write {
  const body = stringifyJson(control as unknown as JsonValue)
  return { w: 'record.put', kind: 'control', key: id, version: 1, body }
}
