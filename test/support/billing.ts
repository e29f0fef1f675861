// A billing system on the loopback that acts by the number: `bad-…` is refused, `lost-…` is done without a response,
// `busy-…` is rejected as busy, until it is healed.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Billing extends AsyncDisposable {
  readonly url: string
  /** References that it has written invoices for, in order. */
  readonly invoices: readonly string[]
  /** From now on everything is done and answered. */
  heal(): void
}

export async function startBilling(): Promise<Billing> {
  const invoices: string[] = []
  let isHealed = false
  const billing = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { reference, number } = JSON.parse(Buffer.concat(chunks).toString()) as {
      reference: string
      number: string
    }
    const answer = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (!isHealed && number.startsWith('bad-')) return answer(422, { error: 'the address is missing' })
    if (!isHealed && number.startsWith('busy-')) return answer(503, { error: 'come back later' })
    invoices.push(reference)
    if (!isHealed && number.startsWith('lost-')) return request.socket.destroy()
    return answer(201, { id: reference })
  })
  billing.listen(0, '127.0.0.1')
  await once(billing, 'listening')
  return {
    url: `http://127.0.0.1:${(billing.address() as AddressInfo).port}`,
    invoices,
    heal: () => {
      isHealed = true
    },
    async [Symbol.asyncDispose]() {
      billing.closeAllConnections()
      billing.close()
    },
  }
}
