// The servers' addresses and how to authenticate. The driver reads neither user names nor encryption from an address,
// so they are read here.

import { readFileSync } from 'node:fs'
import {
  type Authenticator,
  credsAuthenticator,
  type NodeConnectionOptions,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node'

export function resolveServers(
  addresses: readonly string[],
  credentialsFile: string | null,
): Pick<NodeConnectionOptions, 'servers' | 'authenticator' | 'tls'> {
  const urls = addresses.map((address) => new URL(address))
  const isEncrypted = urls.some((url) => url.protocol === 'tls:')
  const authenticator = authenticatorOf(urls, credentialsFile)
  return {
    servers: urls.map((url) => `${url.hostname}:${url.port === '' ? 4222 : url.port}`),
    ...(isEncrypted && { tls: {} }),
    ...(authenticator !== null && { authenticator }),
  }
}

/** The file is read for each connection: a replaced one counts from the next connection on. */
function authenticatorOf(urls: readonly URL[], credentialsFile: string | null): Authenticator | null {
  if (credentialsFile !== null) return credsAuthenticator(() => readFileSync(credentialsFile))
  const url = urls.find(({ username }) => username !== '')
  if (url === undefined) return null
  const user = decodeURIComponent(url.username)
  if (url.password === '') return tokenAuthenticator(user)
  return usernamePasswordAuthenticator(user, decodeURIComponent(url.password))
}
