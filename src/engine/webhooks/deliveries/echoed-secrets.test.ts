import { describe, expect, test } from 'vitest'
import type { HttpOutcome, HttpRequest } from '../../../ports/http-client.ts'
import { accept, answered, workOf } from '../../engine.fixture.ts'
import { endpointWorld, HOOK } from './deliveries.fixture.ts'
import { makeScrubOfEchoes } from './echoed-secrets.ts'

const TOKEN = 'tok_5up3r-s3cret-value'
const QUERY = 'q/uery+s3cret'
const ECHOED = {
  ...HOOK,
  url: `https://crm.example/hooks?key=${encodeURIComponent(QUERY)}`,
  headers: { Authorization: `Bearer ${TOKEN}`, accept: 'application/json' },
}

/** As many test servers do, and some production servers when they refuse a request. */
function echoing(status: number): (request: HttpRequest) => HttpOutcome {
  return ({ url, headers }) => ({
    ...answered(status, { 'content-type': 'application/json', server: `x ${headers.authorization}` }),
    body: JSON.stringify({ message: `not with ${TOKEN} at ${url}`, headers, key: QUERY }),
  })
}

describe('[DY27] what an endpoint echoes of the request', () => {
  test.each([200, 400])('is not in its attempt, error, dead letter or emitted event: %i', async (status) => {
    const world = endpointWorld([null])
    const node = await world.start([{ ...ECHOED, retry: { ...HOOK.retry, attempts: 1 } }])
    const id = await accept(world, node)
    const { request, answer } = world.calls[0] as (typeof world.calls)[number]
    answer(echoing(status)(request))
    await world.pass()
    const work = await workOf(world, id)
    expect(work.state).toBe(status === 200 ? 'done' : 'dead')
    const attempts = await world.got(world.reads.attempts(work.id))
    const letters = await world.got(world.reads.deadLetters({ cursor: null, limit: 10 }))
    const emitted = await world.got(world.reads.events({ source: 'millrace', cursor: null, limit: 10 }))
    const events = await world.got(Promise.all(emitted.items.map((one) => world.reads.event(one.id))))
    expect(attempts[0]?.response).toContain('[hidden]')
    const signature = request.headers['webhook-signature']?.slice('v1,'.length) as string
    expect(signature.length).toBeGreaterThan(40)
    const all = JSON.stringify([work, attempts, letters, events, node.log.controls])
    for (const secret of [TOKEN, QUERY, encodeURIComponent(QUERY), signature])
      expect(all).not.toContain(secret)
    // No credential, and the response's own words.
    expect(attempts[0]?.response).toContain('content-type: application/json')
  })

  test('is found without its scheme, cut in its middle, and in GitHub’s form; ordinary words stay', () => {
    const hub = 'ab'.repeat(32)
    const sent = {
      url: 'https://crm.example/?v=2&plain-token-1',
      headers: { authorization: `Bearer ${TOKEN}`, 'x-env': 'prod', 'x-hub-signature-256': `sha256=${hub}` },
    }
    const scrub = makeScrubOfEchoes({ headers: { Authorization: '', 'X-Env': '' } }, sent)
    const cut = `prod v=2 ${TOKEN}, ${hub}, plain-token-1, Bearer ${TOKEN.slice(0, 12)}…`
    expect(scrub(cut)).toBe('prod v=2 [hidden], [hidden], [hidden], [hidden]…')
  })
})
