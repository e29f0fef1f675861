// The first line and the host of a request, before anything routes it (RFC 9112, 3.2): a target in absolute form names path and host
// itself, and a request has one host.

import type { IncomingMessage } from 'node:http'
import { AppError } from '../core/foundation/errors/index.ts'

const ABSOLUTE = /^https?:\/\/([^/?#]+)(\/[^#]*|\?[^#]*)?$/i
const HOST_LENGTH = 4

/** Puts a target in absolute form into the usual form. Throws AppError where it cannot be said which host is meant. */
export function normalizeTarget(request: IncomingMessage): void {
  const { rawHeaders, url = '' } = request
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === HOST_LENGTH && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts > 1) {
    throw new AppError('invalid_request', 'the request has more than one `host` header', {
      next: 'Send one `host` header; look for a proxy in between that adds another.',
    })
  }
  if (url.startsWith('/') || url === '*') return
  const match = ABSOLUTE.exec(url)
  if (match === null) {
    throw new AppError('invalid_request', 'the target of the request is neither a path nor an http address')
  }
  const rest = match[2] ?? '/'
  request.url = rest.startsWith('?') ? `/${rest}` : rest
  // The host of the target counts, and the header is ignored.
  request.headers.host = match[1] as string
}
