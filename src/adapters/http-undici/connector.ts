// Opens connections, and checks each one by the guard.
//
// A name is resolved once, every address of the answer is judged, and only judged addresses are dialled: the socket
// resolves nothing itself, so a name that changes its answer between check and use gains nothing. A literal address
// never reaches the resolver: it is judged first, after the URL parser has normalised spellings such as 0x7f000001 or
// 127.1. A kept-alive connection belongs to an address that was judged, whatever its name resolves to meanwhile.
//
// Invariant: whatever fails here failed before a byte of the request was written.

import { isIP, type LookupFunction, type Socket } from 'node:net'
import { buildConnector } from 'undici'
import {
  judgeAddress,
  judgeAddresses,
  type OutboundPolicy,
  type RefusedName,
  unreachableName,
} from '../../core/access/network/index.ts'
import type { HttpOutcome } from '../../ports/http-client.ts'
import type { Resolve } from './names.ts'

export type FailureCode = Extract<HttpOutcome, { kind: 'failed' }>['code']

/** Not one of undici's codes: those make it connect again for the same request. */
export class ConnectFailure extends Error {
  override readonly name = 'ConnectFailure'
  readonly failure: FailureCode
  /** A reason for operators, if the code does not say everything. */
  readonly reason: string | undefined
  constructor(failure: FailureCode, more: { readonly cause?: unknown; readonly reason?: string } = {}) {
    super(failure, { cause: more.cause })
    this.failure = failure
    this.reason = more.reason
  }
}

export interface ConnectorOptions {
  readonly policy: OutboundPolicy
  readonly resolve: Resolve
  readonly connectTimeoutMs: number
  /** Receives the reason why a name may not be called; the caller does not learn it. */
  readonly onRefusedName?: ((refused: RefusedName) => void) | undefined
  /** Certificates to trust instead of the usual ones. */
  readonly ca?: string
}

export function makeConnector(options: ConnectorOptions): buildConnector.connector {
  const { policy, resolve } = options

  const lookup: LookupFunction = (hostname, lookupOptions, callback) => {
    const host = hostname.replace(/\.$/, '')
    const fail = () =>
      callback(new ConnectFailure('unresolved', { reason: unreachableName(host, policy) }), [])
    resolve(hostname).then((addresses) => {
      const [first] = addresses
      if (first === undefined) return fail()
      const all = addresses.map(({ address }) => address)
      const verdict = judgeAddresses(host, all, policy)
      if (!verdict.ok) {
        options.onRefusedName?.({ host, rule: verdict.rule, addresses: all })
        fail()
      } else if (lookupOptions.all) callback(null, [...addresses])
      else callback(null, first.address, first.family)
    }, fail)
  }

  const dial = buildConnector({
    lookup,
    timeout: options.connectTimeoutMs,
    allowH2: false,
    ...(options.ca !== undefined && { ca: options.ca }),
  }) as (target: buildConnector.Options, callback: buildConnector.Callback) => Socket | undefined

  return (target, callback) => {
    const verdict = isIP(target.hostname) === 0 ? null : judgeAddress(target.hostname, policy)
    if (verdict?.ok === false) {
      // Deferred, as a connection would be: undici does not expect a callback within the call.
      setImmediate(callback, new ConnectFailure('blocked', { reason: verdict.message }), null)
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

function toConnectFailure(cause: Error, inHandshake: boolean): ConnectFailure {
  if (cause instanceof ConnectFailure) return cause
  const code = 'code' in cause ? cause.code : undefined
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT')
    return new ConnectFailure('timeout', { cause })
  return new ConnectFailure(inHandshake ? 'tls' : 'refused', { cause })
}
