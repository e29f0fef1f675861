// Opening connections, and the guard that every one passes.
//
// A name is resolved once, every address of the answer is checked, and only a checked one is dialled, so a name that
// changes its answer between check and use gains nothing. A literal address never reaches the resolver: it is checked
// first, after the URL parser has brought spellings such as 0x7f000001 or 127.1 to their usual form.
//
// Invariant: whatever fails here failed before a byte of the request was written.

import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import { buildConnector } from 'undici'
import type { HttpOutcome } from '../../ports/http-client.ts'

export type FailureCode = Extract<HttpOutcome, { kind: 'failed' }>['code']

/** Not one of undici's codes: those make it connect again for the same request. */
export class ConnectFailure extends Error {
  override readonly name = 'ConnectFailure'
  readonly failure: FailureCode
  constructor(failure: FailureCode, cause?: unknown) {
    super(failure, { cause })
    this.failure = failure
  }
}

export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>

export interface ConnectorOptions {
  isAllowed(address: string): boolean
  readonly resolve?: Resolve
  readonly connectTimeoutMs: number
  /** Certificates to trust instead of the usual ones. */
  readonly ca?: string
}

export function makeConnector(options: ConnectorOptions): buildConnector.connector {
  const { isAllowed, resolve = resolveBySystem } = options

  const lookup: LookupFunction = (hostname, lookupOptions, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const allowed = addresses.filter(({ address }) => isAllowed(address))
        const [first] = allowed
        if (first === undefined)
          callback(new ConnectFailure(addresses.length === 0 ? 'unresolved' : 'blocked'), [])
        else if (lookupOptions.all) callback(null, allowed)
        else callback(null, first.address, first.family)
      },
      (error) => callback(new ConnectFailure('unresolved', error), []),
    )
  }

  const dial = buildConnector({
    lookup,
    timeout: options.connectTimeoutMs,
    allowH2: false,
    ...(options.ca !== undefined && { ca: options.ca }),
  }) as (target: buildConnector.Options, callback: buildConnector.Callback) => Socket | undefined

  return (target, callback) => {
    if (isIP(target.hostname) !== 0 && !isAllowed(target.hostname)) {
      // Later, as a connection would: undici is not prepared for an answer within the call.
      setImmediate(callback, new ConnectFailure('blocked'), null)
      return
    }
    let reached = false
    const socket = dial(target, (error, connected) => {
      if (error === null) callback(null, connected)
      else callback(toConnectFailure(error, reached && target.protocol === 'https:'), null)
    })
    socket?.once('connect', () => {
      reached = true
    })
  }
}

function resolveBySystem(hostname: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true }, (error, addresses) =>
      error === null ? resolve(addresses) : reject(error),
    )
  })
}

function toConnectFailure(error: Error, inHandshake: boolean): ConnectFailure {
  if (error instanceof ConnectFailure) return error
  const code = 'code' in error ? error.code : undefined
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return new ConnectFailure('timeout', error)
  return new ConnectFailure(inHandshake ? 'tls' : 'refused', error)
}
