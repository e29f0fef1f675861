// A server on this machine that implements the used part of HashiCorp Vault: the KV engine of version 2 (check-and-set,
// versions, soft deletion, lists, removal of all versions, its forms of "not found"), AppRole, renewal of tokens,
// namespaces, and being sealed, uninitialised, slow or gone.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach } from 'vitest'

type Data = Readonly<Record<string, unknown>>

interface Version {
  readonly data: Data
  readonly at: string
  deletedAt: string
}

interface Given {
  endsAt: number
  readonly isRenewable: boolean
  /** Renewals do not extend it further. */
  readonly endsAtMost: number
}

export interface VaultServer {
  readonly url: string
  /** `METHOD path`, in order of arrival. */
  readonly requests: string[]
  /** Headers of the latest request. */
  headers(): IncomingMessage['headers']
  /** What the engine stores at a path, the latest version. */
  data(path: string): Data | null
  /** As `vault kv put` by a user. */
  put(path: string, data: Data): void
  /** As `vault kv delete`. */
  softDelete(path: string): void
  state: 'up' | 'sealed' | 'new' | 'standby' | 'silent' | 'gone'
  /** Tokens that are valid, and until when. */
  give(
    token: string,
    life?: { readonly ttlS: number; readonly isRenewable?: boolean; readonly mostS?: number },
  ): void
  revoke(token: string): void
  /** Called before each write is executed: simulates a concurrent change. */
  beforeWrite: (() => void) | null
  close(): Promise<void>
}

const servers: VaultServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

export async function startVaultServer(options: {
  /** Milliseconds, for the life of tokens. */
  readonly now: () => number
  readonly mount?: string
  readonly namespace?: string
  /** Paths after `mount/data/` that tokens may access. */
  readonly allowed?: RegExp
  readonly role?: {
    readonly roleId: string
    readonly secretId: string
    readonly ttlS: number
    readonly mostS?: number
  }
}): Promise<VaultServer> {
  const { now, mount = 'secret', allowed = /^/ } = options
  const entries = new Map<string, Version[]>()
  const tokens = new Map<string, Given>()
  const sockets = new Set<Socket>()
  let issued = 0
  let latest: IncomingMessage['headers'] = {}

  const put = (path: string, data: Data): number => {
    const versions = entries.get(path) ?? []
    versions.push({ data: structuredClone(data), at: new Date(now()).toISOString(), deletedAt: '' })
    entries.set(path, versions)
    return versions.length
  }
  const metadataOf = (versions: readonly Version[]) => {
    const last = versions.at(-1)
    return {
      created_time: last?.at ?? '',
      custom_metadata: null,
      deletion_time: last?.deletedAt ?? '',
      destroyed: false,
      version: versions.length,
    }
  }

  const answer = (request: IncomingMessage, path: string, query: string, body: Data): [number, unknown] => {
    const { method } = request
    const isList = method === 'LIST' || (method === 'GET' && query === 'list=true')
    if (server.state === 'new') return [501, { errors: ['server is not yet initialized'] }]
    if (server.state === 'sealed') return [503, { errors: ['Vault is sealed'] }]
    if (server.state === 'standby') return [307, null]
    if (options.namespace !== undefined && request.headers['x-vault-namespace'] !== options.namespace)
      return [404, { errors: [`no handler for route "${path}". route entry not found.`] }]
    if (path === 'auth/approle/login') {
      const { role } = options
      if (role === undefined || body.role_id !== role.roleId || body.secret_id !== role.secretId)
        return [400, { errors: ['invalid role or secret ID'] }]
      issued += 1
      const token = `hvs.role-${issued}`
      server.give(token, {
        ttlS: role.ttlS,
        isRenewable: true,
        ...(role.mostS === undefined ? {} : { mostS: role.mostS }),
      })
      return [200, { auth: { client_token: token, lease_duration: role.ttlS, renewable: true } }]
    }
    const token = String(request.headers['x-vault-token'] ?? '')
    const given = tokens.get(token)
    if (given === undefined || now() >= given.endsAt)
      return [403, { errors: ['2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n'] }]
    if (path === 'auth/token/lookup-self') {
      const ttl = given.endsAt === Number.POSITIVE_INFINITY ? 0 : Math.floor((given.endsAt - now()) / 1_000)
      return [200, { data: { ttl, renewable: given.isRenewable } }]
    }
    if (path === 'auth/token/renew-self') {
      if (!given.isRenewable) return [400, { errors: ['lease is not renewable'] }]
      const lifeMs = options.role === undefined ? 60_000 : options.role.ttlS * 1_000
      given.endsAt = Math.min(now() + lifeMs, given.endsAtMost)
      const left = Math.floor((given.endsAt - now()) / 1_000)
      return [200, { auth: { client_token: token, lease_duration: left, renewable: true } }]
    }
    const [part, ...rest] = path.startsWith(`${mount}/`) ? path.slice(mount.length + 1).split('/') : []
    if (part !== 'data' && part !== 'metadata')
      return [404, { errors: [`no handler for route "${path}". route entry not found.`] }]
    const at = rest.map(decodeURIComponent).join('/')
    if (!allowed.test(at)) return [403, { errors: ['1 error occurred:\n\t* permission denied\n\n'] }]
    if (isList) {
      const prefix = at.replace(/\/?$/, '/')
      const below = [...entries.keys()]
        .filter((key) => key.startsWith(prefix))
        .map((key) => key.slice(prefix.length))
      const keys = [...new Set(below.map((key) => key.replace(/\/.*$/, '/')))].sort()
      return keys.length === 0 ? [404, { errors: [] }] : [200, { data: { keys } }]
    }
    const versions = entries.get(at) ?? []
    if (part === 'metadata') {
      entries.delete(at)
      return [204, null]
    }
    if (method === 'GET') {
      const last = versions.at(-1)
      if (last === undefined) return [404, { errors: [] }]
      const metadata = metadataOf(versions)
      if (last.deletedAt !== '') return [404, { data: { data: null, metadata } }]
      return [200, { data: { data: last.data, metadata } }]
    }
    server.beforeWrite?.()
    const cas = (body.options as { cas?: number } | undefined)?.cas
    if (cas !== undefined && cas !== (entries.get(at) ?? []).length)
      return [400, { errors: ['check-and-set parameter did not match the current version'] }]
    put(at, body.data as Data)
    return [200, { data: metadataOf(entries.get(at) ?? []) }]
  }

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const [path = '', query = ''] = (request.url ?? '').replace(/^\/v1\//, '').split('?')
    server.requests.push(`${request.method} ${path}`)
    latest = request.headers
    if (server.state === 'silent') return
    const text = Buffer.concat(chunks).toString('utf8')
    const [status, body] = answer(request, path, query, text === '' ? {} : JSON.parse(text))
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(status === 307 ? { location: '/elsewhere' } : {}),
    })
    response.end(body === null ? '' : JSON.stringify(body))
  }

  const http: Server = createServer((request, response) => {
    if (server.state === 'gone') {
      request.socket.destroy()
      return
    }
    handle(request, response).catch(() => response.destroy())
  })
  http.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))

  const server: VaultServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    requests: [],
    headers: () => latest,
    data: (path) => entries.get(path)?.at(-1)?.data ?? null,
    put: (path, data) => {
      put(path, data)
    },
    softDelete: (path) => {
      const last = entries.get(path)?.at(-1)
      if (last !== undefined) last.deletedAt = new Date(now()).toISOString()
    },
    state: 'up',
    give(token, life) {
      const most = life?.mostS === undefined ? Number.POSITIVE_INFINITY : now() + life.mostS * 1_000
      tokens.set(token, {
        endsAt: life === undefined ? Number.POSITIVE_INFINITY : Math.min(now() + life.ttlS * 1_000, most),
        isRenewable: life?.isRenewable ?? false,
        endsAtMost: most,
      })
    },
    revoke: (token) => {
      tokens.delete(token)
    },
    beforeWrite: null,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
  servers.push(server)
  return server
}
