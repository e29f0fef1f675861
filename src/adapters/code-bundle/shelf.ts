// Bundles in the store, so that work which began with one can be finished by any later process, whatever the folder says
// by then. A small record per bundle says that it is there; the text is read when it is needed.

import { createHash } from 'node:crypto'
import type { TenantId } from '../../core/ids/index.ts'
import { type JsonValue, parseJson, stringifyJson } from '../../core/json/index.ts'
import type { Store, TenantReads } from '../../ports/store.ts'
import type { Loadable } from './modules.ts'

export interface Shelf {
  readonly store: Pick<Store, 'commit'> & {
    forTenant(tenant: TenantId): Pick<TenantReads, 'record' | 'records'>
  }
  readonly tenant: TenantId
}

const NAMES = 'hash/'
const TEXTS = 'text/'
const PAGE = 100

export async function listBundles({ store, tenant }: Shelf): Promise<readonly string[]> {
  const hashes: string[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<TenantReads['records']>> = await store
      .forTenant(tenant)
      .records({ kind: 'code', prefix: NAMES, cursor, limit: PAGE })
    hashes.push(...page.items.map(({ key }) => key.slice(NAMES.length)))
    cursor = page.nextCursor
  } while (cursor !== null)
  return hashes
}

export async function readBundle({ store, tenant }: Shelf, hash: string): Promise<Loadable | null> {
  const record = await store.forTenant(tenant).record('code', `${TEXTS}${hash}`)
  if (record === null) return null
  const { text, map } = parseJson(record.body) as unknown as Loadable
  // Code is run with all rights of the process: never something other than what was applied.
  if (createHash('sha256').update(text).digest('hex') !== hash) {
    throw new Error(`the stored code of bundle ${hash} is not what was stored`)
  }
  return { hash, text, map }
}

export async function saveBundle({ store, tenant }: Shelf, bundle: Loadable & { readonly file: string }) {
  const put = (key: string, body: JsonValue) =>
    ({ w: 'record.put', kind: 'code', key, version: 1, body: stringifyJson(body) }) as const
  await store.commit({
    tenant,
    guards: [],
    writes: [
      put(`${TEXTS}${bundle.hash}`, { text: bundle.text, map: bundle.map }),
      put(`${NAMES}${bundle.hash}`, { file: bundle.file, bytes: Buffer.byteLength(bundle.text) }),
    ],
  })
}
