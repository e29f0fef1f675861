import { expect, test } from 'vitest'
import type { HttpClient, HttpRequest } from '../ports/http-client.ts'
import { combineClients } from './outbound.ts'

function named(name: string): HttpClient {
  return {
    send: async () => ({ kind: 'response', status: 200, headers: {}, body: name, durationMs: 0 }),
    vet: async () => ({ ok: true, warning: name }),
  }
}

test('[VN21] addresses of mail servers go to the mail client, all others to the other', async () => {
  const client = combineClients(named('web'), named('mail'))
  const whoGets = async (url: string) => {
    const outcome = await client.send({ url } as HttpRequest)
    const vetted = await client.vet(url)
    return [outcome.kind === 'response' && outcome.body, vetted.ok && vetted.warning]
  }
  expect(await whoGets('smtp://mail.example.com')).toEqual(['mail', 'mail'])
  expect(await whoGets('SMTPS://mail.example.com:465')).toEqual(['mail', 'mail'])
  expect(await whoGets('https://api.example.com/smtp://x')).toEqual(['web', 'web'])
})
