import { describe, expect, test } from 'vitest'
import { judgeUrl } from '../core/access/network/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import type { HttpClient, HttpRequest } from '../ports/http-client.ts'
import { combineClients, makeOutbound, outboundPolicyOf } from './outbound.ts'

function named(name: string): HttpClient {
  return {
    send: async () => ({ kind: 'response', status: 200, headers: {}, body: name, durationMs: 0 }),
    vet: async () => ({ ok: true, warning: name }),
  }
}

test('[VN21] addresses of mail servers go to the mail client, all others to the HTTP client', async () => {
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

describe('[OG30] which private addresses each tenant reaches', () => {
  const config = {
    environment: 'PROD',
    outboundAllow: ['10.0.0.0/8', 'crm.internal'],
    outboundTenants: [
      { tenant: 'acme', allow: ['10.1.0.0/16', '192.168.0.0/16'] },
      { tenant: 'default', allow: ['*'] },
    ],
  } as const
  const judge = (tenant: string, url: string, over: Partial<Parameters<typeof outboundPolicyOf>[0]> = {}) =>
    judgeUrl(url, outboundPolicyOf({ ...config, ...over }, tenant as TenantId))

  test('is its own part, within what the node may call', () => {
    expect(judge('acme', 'http://10.1.2.3/')).toEqual({ ok: true })
    expect(judge('acme', 'http://10.2.2.3/')).toMatchObject({
      ok: false,
      message: expect.stringContaining('MILLRACE_OUTBOUND_TENANTS'),
    })
    // Listed for the tenant, and not for the node.
    expect(judge('acme', 'http://192.168.1.1/').ok).toBe(false)
    expect(judge('default', 'http://10.2.2.3/')).toEqual({ ok: true })
    expect(judge('globex', 'http://10.1.2.3/').ok).toBe(false)
    expect(judge('globex', 'http://192.0.43.8/')).toEqual({ ok: true })
  })

  test('is everything that the node may call, if no tenant is named', () => {
    expect(judge('globex', 'http://10.1.2.3/', { outboundTenants: null })).toEqual({ ok: true })
    expect(judge('globex', 'http://127.0.0.1/', { environment: 'DEV' }).ok).toBe(false)
    const dev = { environment: 'DEV', outboundAllow: ['loopback'] } as const
    expect(judge('globex', 'http://127.0.0.1/', dev)).toEqual({ ok: true })
  })

  test('is called by its own client, so that no open connection is shared', async () => {
    const outbound = makeOutbound(config, ({ allow }) => named(allow.join(' ')))
    const whoGets = async (tenant?: string) => {
      const outcome = await outbound.http.send({ url: 'https://a', tenant } as HttpRequest)
      return outcome.kind === 'response' && outcome.body
    }
    expect(await whoGets('acme')).toBe('10.1.0.0/16 192.168.0.0/16')
    expect(await whoGets('default')).toBe('10.0.0.0/8 crm.internal')
    expect([await whoGets('globex'), await whoGets()]).toEqual(['', ''])
  })
})
