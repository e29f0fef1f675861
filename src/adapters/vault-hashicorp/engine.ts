// The KV engine (version 2) of the vault: reads entries, writes them with check-and-set, lists and removes them.

import { AppError } from '../../core/foundation/errors/index.ts'
import type { TenantId } from '../../core/foundation/ids/index.ts'
import { failureOf, saidIn, type VaultAnswer, type VaultClient } from './client.ts'
import { type Data, type Entry, readEntry } from './entry.ts'
import type { Tokens } from './login.ts'

export interface KvEngine {
  /** null: it does not exist. `kv` of a deleted entry is what a write is checked against. */
  read(tenant: TenantId, name: string): Promise<{ readonly entry: Entry | null; readonly kv: number }>
  /** Throws `conflict` if its version is not `kv`. */
  write(tenant: TenantId, name: string, data: Data, kv: number): Promise<{ readonly kv: number }>
  /** Sorted by name. */
  names(tenant: TenantId): Promise<readonly string[]>
  /** With all its versions. */
  remove(tenant: TenantId, name: string): Promise<void>
}

export function makeKvEngine(deps: {
  readonly client: Pick<VaultClient, 'ask'>
  readonly tokens: Tokens
  readonly mount: string
  readonly prefix: string
}): KvEngine {
  const { client, tokens } = deps
  const mount = encodePath(deps.mount)
  const prefix = encodePath(deps.prefix)
  const pathOf = (part: 'data' | 'metadata', tenant: TenantId, name: string) =>
    `${mount}/${part}/${prefix}/${encodeURIComponent(tenant)}/${encodeURIComponent(name)}`

  /** A refused token is replaced and the request tried once more: the token may have expired. */
  const ask = async (request: {
    readonly method: 'GET' | 'POST' | 'DELETE'
    readonly path: string
    readonly body?: unknown
  }): Promise<VaultAnswer> => {
    const token = await tokens.get()
    const answer = await client.ask({ ...request, token })
    if (answer.status !== 403 || !(await tokens.refused(token))) return answer
    return client.ask({ ...request, token: await tokens.get() })
  }

  return {
    async read(tenant, name) {
      const path = pathOf('data', tenant, name)
      const answer = await ask({ method: 'GET', path })
      const { data, metadata } = inner(answer)
      if (answer.status === 404) {
        refuseNoEngine(answer, path)
        // The latest version was deleted: the entry counts as missing, but writes continue its version numbers.
        return { entry: null, kv: typeof metadata?.version === 'number' ? metadata.version : 0 }
      }
      if (answer.status !== 200) throw failureOf(answer, path)
      if (metadata === null) throw notKv2(path)
      if (data === null) return { entry: null, kv: Number(metadata.version) || 0 }
      const entry = readEntry(data, metadata, { tenant, name })
      return { entry, kv: entry.kv }
    },
    async write(tenant, name, data, kv) {
      const path = pathOf('data', tenant, name)
      const answer = await ask({ method: 'POST', path, body: { options: { cas: kv }, data } })
      if (answer.status === 400 && /check-and-set/.test(saidIn(answer.body))) {
        throw new AppError('conflict', `somebody else changed the secret ‘${name}’ just now`)
      }
      if (answer.status === 404) refuseNoEngine(answer, path)
      if (answer.status !== 200) throw failureOf(answer, path)
      const version = fieldsOf(answer.body?.data).version
      if (typeof version !== 'number') throw notKv2(path)
      return { kv: version }
    },
    async names(tenant) {
      const path = `${mount}/metadata/${prefix}/${encodeURIComponent(tenant)}`
      const answer = await ask({ method: 'GET', path: `${path}/?list=true` })
      if (answer.status === 404) {
        refuseNoEngine(answer, path)
        return []
      }
      if (answer.status !== 200) throw failureOf(answer, path)
      const { keys } = fieldsOf(answer.body?.data)
      const names = Array.isArray(keys) ? keys : []
      // A name that ends with a slash is a folder.
      return names.filter((key): key is string => typeof key === 'string' && !key.endsWith('/')).sort()
    },
    async remove(tenant, name) {
      const path = pathOf('metadata', tenant, name)
      const answer = await ask({ method: 'DELETE', path })
      if (answer.status !== 204 && answer.status !== 200) throw failureOf(answer, path)
    },
  }
}

function refuseNoEngine(answer: VaultAnswer, path: string): void {
  const said = saidIn(answer.body)
  if (said === '') return
  throw new AppError(
    'vault_unavailable',
    `${path}: ${said}; is MILLRACE_VAULT_MOUNT a KV engine of version 2?`,
  )
}

function notKv2(path: string): AppError {
  return new AppError('vault_unavailable', `${path}: MILLRACE_VAULT_MOUNT is not a KV engine of version 2`)
}

function inner({ body }: VaultAnswer): { readonly data: Data | null; readonly metadata: Data | null } {
  const outer = fieldsOf(body?.data)
  const part = (value: unknown) => (typeof value === 'object' && value !== null ? (value as Data) : null)
  return { data: part(outer.data), metadata: part(outer.metadata) }
}

function fieldsOf(value: unknown): Data {
  return typeof value === 'object' && value !== null ? (value as Data) : {}
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}
