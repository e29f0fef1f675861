// One client for everybody who calls out: addresses of mail servers go to the one, all others to the other. Both have the same guard.

import type { HttpClient } from '../ports/http-client.ts'

const MAIL = /^smtps?:/i

export function combineClients(web: HttpClient, mail: HttpClient): HttpClient {
  return {
    send: (request) => (MAIL.test(request.url) ? mail : web).send(request),
    vet: (url) => (MAIL.test(url) ? mail : web).vet(url),
  }
}
