// Bundles in the store, so that any later process can finish a job that started with one, whatever the folder contains
// by then. A small signed record per bundle says that it is there; the text is read when it is needed.
//
// Invariants: FN27 only a text with a valid signature and hash is returned. FN28 a bundle that a former version stored
// unsigned is signed at the first start of this one, if a definition pins it and its text has the hash; later only by an
// operator (FN30).

import { createHash } from 'node:crypto'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { type JsonValue, parseJson, stringifyJson } from '../../core/foundation/json/index.ts'
import { CodeRefusedError } from '../../ports/code.ts'
import type { Store, StoredRecord, TenantReads, Write } from '../../ports/store.ts'
import type { Loadable } from './modules.ts'
import type { BundleSignatures } from './signatures.ts'

export interface Shelf {
  readonly store: Pick<Store, 'commit'> & {
    forTenant(tenant: TenantId): Pick<TenantReads, 'record' | 'records'>
  }
  readonly tenant: TenantId
  /** Omitted: bundles are neither signed nor verified, only compared with their hash. */
  readonly signatures?: BundleSignatures
}

/** The contents of the small record. */
interface Name {
  readonly file: string
  readonly bytes: number
  readonly signature?: string
}

export interface ListedBundle {
  readonly hash: string
  /** Why it must not be run; null: its signature is valid. */
  readonly refused: string | null
}

/** A stored bundle, for an operator who decides whether it may run. */
export interface ShownBundle {
  readonly file: string
  readonly bytes: number
  readonly text: string
  /** Why it must not be run; null: it may. */
  readonly refused: string | null
}

const NAMES = 'hash/'
const TEXTS = 'text/'
/** Says that unsigned bundles were checked: later unsigned ones are not trusted. */
const SIGNED = 'signed'
const PAGE = 100

export async function listBundles(shelf: Shelf): Promise<readonly ListedBundle[]> {
  return (await namesIn(shelf)).map(([hash, name]) => ({ hash, refused: refusalOf(shelf, hash, name) }))
}

async function namesIn({ store, tenant }: Shelf): Promise<readonly (readonly [string, Name])[]> {
  const names: (readonly [string, Name])[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<TenantReads['records']>> = await store
      .forTenant(tenant)
      .records({ kind: 'code', prefix: NAMES, cursor, limit: PAGE })
    names.push(...page.items.map((one: StoredRecord) => [one.key.slice(NAMES.length), nameOf(one)] as const))
    cursor = page.nextCursor
  } while (cursor !== null)
  return names
}

function nameOf({ body }: Pick<StoredRecord, 'body'>): Name {
  return parseJson(body) as unknown as Name
}

const REDEPLOY = 'Deploy its file again from a node that has the folder'
const OR_SIGN = `${REDEPLOY}, or look at it with \`millrace refused-code\` and sign it with \`millrace sign-code\``
const FORGED = `its signature is wrong: somebody without the master key changed the database. ${REDEPLOY}`
const CHANGED_TEXT = `its text is not what was stored: somebody changed the database. ${REDEPLOY}`

function refusalOf({ signatures, tenant }: Shelf, hash: string, { signature }: Name): string | null {
  if (signatures === undefined) return null
  if (signature === undefined) return `it is not signed. ${OR_SIGN}`
  switch (signatures.verify(tenant, hash, signature)) {
    case 'good':
    case 'old':
      return null
    case 'unknown':
      return `it is signed with a master key that this node was not given. Give the node that key as a former one, or: ${OR_SIGN}`
    case 'wrong':
      return FORGED
  }
}

/** Both records of a bundle as they are, verified or not; null: it is not there. */
async function recordsOf({ store, tenant }: Shelf, hash: string) {
  const reads = store.forTenant(tenant)
  const name = await reads.record('code', `${NAMES}${hash}`)
  const record = await reads.record('code', `${TEXTS}${hash}`)
  if (name === null || record === null) return null
  return { name: nameOf(name), text: (parseJson(record.body) as unknown as Loadable).text }
}

/** null: it does not exist. */
export async function showBundle(shelf: Shelf, hash: string): Promise<ShownBundle | null> {
  const found = await recordsOf(shelf, hash)
  if (found === null) return null
  const { name, text } = found
  const refused = hashOf(text) === hash ? refusalOf(shelf, hash, name) : CHANGED_TEXT
  return { file: name.file, bytes: name.bytes, text, refused }
}

/**
 * Signs a bundle that an operator vouches for: one without a signature, or with that of a master key that this node was not given.
 * A text without the hash and a forged signature show that somebody changed the database: such a bundle is not signed, and why is answered.
 */
export async function signBundle(shelf: Shelf, hash: string): Promise<string | null> {
  const { store, tenant, signatures } = shelf
  if (signatures === undefined) return 'this node signs no code: set MILLRACE_MASTER_KEY'
  const found = await recordsOf(shelf, hash)
  if (found === null) return 'the store does not have it'
  const { name, text } = found
  if (hashOf(text) !== hash) return CHANGED_TEXT
  if (name.signature !== undefined && signatures.verify(tenant, hash, name.signature) === 'wrong')
    return FORGED
  const write = putName(hash, { ...name, signature: signatures.sign(tenant, hash) })
  await store.commit({ tenant, guards: [], writes: [write] })
  return null
}

/** null: it does not exist. Throws `CodeRefusedError` for a bundle that must not be run. */
export async function readBundle(shelf: Shelf, hash: string): Promise<Loadable | null> {
  const { store, tenant, signatures } = shelf
  const reads = store.forTenant(tenant)
  const record = await reads.record('code', `${TEXTS}${hash}`)
  if (record === null) return null
  if (signatures !== undefined) {
    const name = await reads.record('code', `${NAMES}${hash}`)
    const refused = name === null ? `it is not signed. ${REDEPLOY}` : refusalOf(shelf, hash, nameOf(name))
    if (refused !== null) throw new CodeRefusedError(hash, refused)
  }
  const { text, map } = parseJson(record.body) as unknown as Loadable
  // Code runs with all rights of the process: never run anything other than what was deployed.
  if (hashOf(text) !== hash) {
    if (signatures === undefined) throw new Error(`the stored code of bundle ${hash} is not what was stored`)
    throw new CodeRefusedError(hash, CHANGED_TEXT)
  }
  return { hash, text, map }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export async function saveBundle(shelf: Shelf, bundle: Loadable & { readonly file: string }) {
  const { store, tenant, signatures } = shelf
  const { hash, file } = bundle
  const signed = signatures === undefined ? {} : { signature: signatures.sign(tenant, hash) }
  const name: Name = { file, bytes: Buffer.byteLength(bundle.text), ...signed }
  await store.commit({
    tenant,
    guards: [],
    writes: [put(`${TEXTS}${hash}`, { text: bundle.text, map: bundle.map }), putName(hash, name)],
  })
}

function put(key: string, body: JsonValue): Write {
  return { w: 'record.put', kind: 'code', key, version: 1, body: stringifyJson(body) }
}

function putName(hash: string, name: Name): Write {
  return put(`${NAMES}${hash}`, name as unknown as JsonValue)
}

/** Signs again what a former master key signed: that key can be removed then. */
export async function renewSignatures(shelf: Shelf): Promise<number> {
  const { store, tenant, signatures } = shelf
  if (signatures === undefined) return 0
  const old = (await namesIn(shelf)).filter(
    ([hash, { signature }]) =>
      signature !== undefined && signatures.verify(tenant, hash, signature) === 'old',
  )
  for (const [hash, name] of old) {
    const write = putName(hash, { ...name, signature: signatures.sign(tenant, hash) })
    await store.commit({ tenant, guards: [], writes: [write] })
  }
  return old.length
}

/** Whether a node of this version, or a later one, has started on this store. */
export async function isSignedShelf({ store, tenant }: Shelf): Promise<boolean> {
  return (await store.forTenant(tenant).record('code', SIGNED)) !== null
}

/** Signs what a former version stored, if `pinned` has it and its text has the hash. Returns the hashes. */
export async function signFormer(
  shelf: Shelf,
  pinned: () => Promise<ReadonlySet<string>>,
): Promise<readonly string[]> {
  const { store, tenant, signatures } = shelf
  if (signatures === undefined) return []
  const unsigned = (await namesIn(shelf)).filter(([, { signature }]) => signature === undefined)
  const wanted = unsigned.length === 0 ? new Set<string>() : await pinned()
  const writes: Write[] = []
  const hashes: string[] = []
  for (const [hash, name] of unsigned) {
    const record = wanted.has(hash) ? await store.forTenant(tenant).record('code', `${TEXTS}${hash}`) : null
    if (record === null || hashOf((parseJson(record.body) as unknown as Loadable).text) !== hash) continue
    writes.push(putName(hash, { ...name, signature: signatures.sign(tenant, hash) }))
    hashes.push(hash)
  }
  await store.commit({ tenant, guards: [], writes: [...writes, put(SIGNED, {})] })
  return hashes
}
