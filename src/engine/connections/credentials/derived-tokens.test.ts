import { describe, expect, test } from 'vitest'
import { AppError } from '../../../core/foundation/errors/index.ts'
import type { TenantId } from '../../../core/foundation/ids/index.ts'
import type { HttpRequest } from '../../../ports/http-client.ts'
import { answered, CLIENT, makeKeepingWorld, TENANT } from './credentials.fixture.ts'

const isTokenRequest = ({ url }: HttpRequest) => url === 'https://crm.example/token'
const SECRET = 'the-secret-of-the-client'

/** Issues numbered tokens, and accepts those that it issued. */
function makeVendor(lifeS = 3_600) {
  let given = 0
  let refused: readonly string[] = []
  return {
    given: () => given,
    refuse(...tokens: string[]) {
      refused = tokens
    },
    script(request: HttpRequest) {
      if (!isTokenRequest(request)) {
        const token = (request.headers.authorization ?? '').replace('Bearer ', '')
        return answered(token.startsWith('token-') && !refused.includes(token) ? 200 : 401)
      }
      if (!(request.body ?? '').includes(`client_secret=${SECRET}`))
        return answered(401, { error: 'invalid_client' })
      given += 1
      return answered(200, { access_token: `token-${given}`, expires_in: lifeS })
    },
  }
}

async function start(lifeS?: number) {
  const other = makeVendor(lifeS)
  const world = makeKeepingWorld(other.script, { credential: CLIENT })
  await world.run(world.vault.set(TENANT, 'crm-key', SECRET, { isPending: false, by: 'ada' }))
  return { world, other }
}

const statusOf = (answer: { outcome: { kind: string; status?: number } }) => answer.outcome.status

describe('a token', () => {
  test('[CD4] is requested once, for two hundred waiting calls on two nodes', async () => {
    const { world, other } = await start()
    const nodes = [await world.node('one'), await world.node('two')]
    const calls = Array.from({ length: 200 }, (_, at) => nodes[at % 2]!.call())
    const answers = await world.run(Promise.all(calls))
    expect(other.given()).toBe(1)
    expect(new Set(answers.map(statusOf))).toEqual(new Set([200]))
    expect(world.sent.filter(isTokenRequest)).toHaveLength(1)
    expect((await world.state()).token).toMatchObject({ version: 1, expiresAt: expect.any(Number) })
  })

  test('[CD4] whose refresh is lost with its node is requested by another, after the lock', async () => {
    const { world, other } = await start()
    const [first, second] = [await world.node('one'), await world.node('two')]
    first.stopAt(2, false)
    first.call().catch(() => {})
    await world.pass(second, 500)
    expect(first.isStopped()).toBe(true)
    const answer = await world.run(second.call())
    expect(statusOf(answer)).toBe(200)
    expect(other.given()).toBeLessThanOrEqual(2)
  })

  test('[CD9] is replaced before it expires, and calls continue with it meanwhile', async () => {
    const { world, other } = await start(600)
    const node = await world.node()
    await world.run(node.call())
    await world.pass(node, 600_000 - 61_000)
    await world.run(node.call())
    expect(other.given()).toBe(1)
    await world.pass(node, 2_000)
    const answer = await world.run(node.call())
    expect(statusOf(answer)).toBe(200)
    await world.pass(node)
    expect(other.given()).toBe(2)
    // A restart uses the token in the vault.
    const later = await world.node('later')
    expect(statusOf(await world.run(later.call()))).toBe(200)
    expect(other.given()).toBe(2)
  })

  test('[CD4] that is refused before it expires is replaced once, whichever calls were refused', async () => {
    const { world, other } = await start()
    const nodes = [await world.node('one'), await world.node('two')]
    await world.run(Promise.all(nodes.map((node) => node.call())))
    await world.pass(nodes[0]!, 120_000)
    other.refuse('token-1')
    const refused = await world.run(Promise.all(nodes.map((node) => node.call())))
    expect(refused.map(statusOf)).toEqual([401, 401])
    const about = { version: refused[0]!.credentialVersion, correlationId: 'c', error: 'answered 401' }
    const after = await world.run(
      Promise.all(nodes.map((node) => node.keeping.credentials.refused(TENANT, 'crm', about))),
    )
    expect(after).toEqual([{ is: 'again' }, { is: 'again' }])
    const answers = await world.run(Promise.all(nodes.map((node) => node.call())))
    expect(answers.map(statusOf)).toEqual([200, 200])
    expect(other.given()).toBe(2)
    expect((await world.state()).rotation).toBeNull()
  })

  test('[CD8] that is not issued is reported with what to do, and without any part of the secret', async () => {
    const { world } = await start()
    world.script = () => answered(401, { error: 'invalid_client', error_description: `bad ${SECRET}` })
    const node = await world.node()
    const { problem } = await world.run(node.call())
    // A rotation is in progress: the caller retries.
    expect(problem).toMatchObject({
      class: 'transient',
      error: expect.stringMatching(/^oauth_refused: .*look whether/),
    })
    expect(node.keeping.credentials.gate(TENANT, 'crm')).toMatchObject({ is: 'closed' })
    expect(JSON.stringify([problem, node.log.messages])).not.toContain(SECRET)
    world.script = () => answered(503)
    expect((await world.run(node.call())).problem).toMatchObject({ class: 'transient' })
    expect((await world.state()).refresh).toBeNull()
  })
})

describe('a token and the vault', () => {
  test('[CD19] that the record knows and the vault lost is requested again, and used from then on', async () => {
    const { world, other } = await start()
    await world.run((await world.node('one')).call())
    await world.run(world.vault.remove(TENANT, 'credentials.crm', 'ada'))
    const node = await world.node('two')
    const before = world.now()
    expect(statusOf(await world.run(node.call()))).toBe(200)
    expect(world.now() - before).toBeLessThan(5_000)
    expect(statusOf(await world.run(node.call()))).toBe(200)
    expect(other.given()).toBe(2)
    expect((await world.state()).token?.version).toBe(1)
  })

  test('[CD22] a user’s secret under the name of tokens is reported without any part of it', async () => {
    const { world } = await start()
    await world.run(world.vault.set(TENANT, 'credentials.crm', 'sk-12345', { isPending: false, by: 'ada' }))
    const node = await world.node()
    const { problem } = await world.run(node.call())
    expect(problem?.error).toMatch(/^secret_unreadable: .*millrace secrets remove credentials\.crm/)
    world.vault.current = async () => {
      throw new SyntaxError('Unexpected token, "sk-12345" is no JSON')
    }
    const failed = await world.run((await world.node('later')).call())
    expect(failed.problem?.error).toBe('vault_unavailable: the vault failed')
    expect(JSON.stringify([problem, node.log.messages])).not.toContain('sk-1')
  })

  test('[CD23] an address that is down is called less and less, and with another secret at once', async () => {
    const { world } = await start()
    const node = await world.node()
    world.script = () => answered(503)
    for (let turn = 0; turn < 240; turn += 1) {
      expect((await world.run(node.call())).problem?.class).toBe('transient')
      await world.pass(node, 250)
    }
    const asked = world.sent.filter(isTokenRequest).length
    expect(asked).toBeGreaterThan(3)
    expect(asked).toBeLessThan(15)
    await world.run(world.vault.set(TENANT, 'crm-key', 'another', { isPending: false, by: 'ada' }))
    await world.run(node.call())
    expect(world.sent.filter(isTokenRequest)).toHaveLength(asked + 1)
  })
})

test('[CD29] a client secret that a rotation has replaced is read again, and no rotation starts', async () => {
  const { world, other } = await start()
  const one = await world.node('one')
  await world.run(one.call())
  const old = await world.run(world.vault.current(TENANT, 'crm-key'))
  const script = world.script
  world.script = (request) =>
    isTokenRequest(request) && (request.body ?? '').includes(SECRET)
      ? answered(401, { error: 'invalid_client' })
      : script({ ...request, body: (request.body ?? '').replace('next-secret', SECRET) })
  await world.run(world.vault.set(TENANT, 'crm-key', 'next-secret', { isPending: true, by: 'ada' }))
  await world.run(one.keeping.operatorApi.supplied(TENANT, 'crm-key', 'ada'))
  await world.pass(one, 5_000)
  expect((await world.state()).current?.version).toBe(2)
  const { current } = world.vault
  // Like a vault that remembers for a while.
  world.vault.current = async (tenant, name, options = {}) =>
    name === 'crm-key' && (options.atLeast ?? 0) < 2 ? old : current(tenant, name, options)
  const two = await world.node('two')
  expect(statusOf(await world.run(two.call()))).toBe(200)
  expect(other.given()).toBeGreaterThan(1)
  expect((await world.state()).rotation).toBeNull()
})

describe('missing values', () => {
  test('[CD12] a value, or a vault that does not answer: each error says what to do', async () => {
    const { world } = await start()
    const node = await world.node()
    await world.run(world.vault.remove(TENANT, 'crm-key', 'ada'))
    expect((await world.run(node.call())).problem).toEqual({
      class: 'config',
      error: expect.stringMatching(/^credential_missing_value: .*millrace secrets set crm-key/),
    })
    const other = await world.run(
      node.keeping.operatorApi.credential('acme' as TenantId, 'crm').then(
        () => null,
        (error: unknown) => error,
      ),
    )
    expect(other).toMatchObject({ code: 'not_found' })
  })
})

test.each(['vault_sealed', 'vault_unavailable', 'vault_denied'] as const)(
  '[CD12] a vault that says %s is waited for, and the error says what to do',
  async (code) => {
    const { world } = await start()
    world.vault.current = async () => {
      throw new AppError(code, 'what to do next')
    }
    const node = await world.node()
    expect((await world.run(node.call())).problem).toEqual({
      class: 'transient',
      error: `${code}: what to do next`,
    })
  },
)

describe('consent', () => {
  const CONSENTED = {
    ...CLIENT,
    oauth2: { grant: 'authorizationCode', clientId: 'me', scopes: null, audience: null },
  } as const

  async function startConsent() {
    let refresh = 0
    const world = makeKeepingWorld(
      (request) => {
        if (!isTokenRequest(request)) return answered(200)
        const form = new URLSearchParams(request.body ?? '')
        if (form.get('grant_type') === 'authorization_code') {
          if (form.get('code') !== 'code-1' || (form.get('code_verifier') ?? '').length !== 43)
            return answered(400, { error: 'invalid_grant' })
          refresh = 1
          return answered(200, { access_token: 'access-0', refresh_token: 'refresh-1', expires_in: 600 })
        }
        if (form.get('refresh_token') !== `refresh-${refresh}`)
          return answered(400, { error: 'invalid_grant' })
        refresh += 1
        return answered(200, {
          access_token: `access-${refresh}`,
          refresh_token: `refresh-${refresh}`,
          expires_in: 600,
        })
      },
      { credential: CONSENTED },
    )
    await world.run(world.vault.set(TENANT, 'crm-key', SECRET, { isPending: false, by: 'ada' }))
    const node = await world.node()
    const asked = { by: 'ada', reason: null }
    const { url } = await world.run(
      node.keeping.operatorApi.authorizeUrl(TENANT, 'crm', 'https://m.example/callback', asked),
    )
    return { world, node, state: new URL(url).searchParams.get('state') ?? '', lose: () => (refresh = 99) }
  }

  const refusal = (promise: Promise<unknown>) =>
    promise.then(
      () => 'taken',
      (error: { readonly code: string }) => error.code,
    )

  test('[CD15] a state is valid once, and for ten minutes', async () => {
    const { world, node, state } = await startConsent()
    const back = { state, code: 'code-1', error: null }
    const both = await world.run(
      Promise.all([
        refusal(node.keeping.operatorApi.authorized(back)),
        refusal(node.keeping.operatorApi.authorized(back)),
      ]),
    )
    expect(both.toSorted()).toEqual(['oauth_state_invalid', 'taken'])
    expect(await world.run(refusal(node.keeping.operatorApi.authorized(back)))).toBe('oauth_state_invalid')
    expect(statusOf(await world.run(node.call()))).toBe(200)
    for (const wrong of ['', 'x', 'x.eA', `${state}x`])
      expect(await world.run(refusal(node.keeping.operatorApi.authorized({ ...back, state: wrong })))).toBe(
        'oauth_state_invalid',
      )
    const late = await startConsent()
    await late.world.pass(late.node, 600_000)
    expect(
      await late.world.run(refusal(late.node.keeping.operatorApi.authorized({ ...back, state: late.state }))),
    ).toBe('oauth_state_invalid')
  })

  test('[CD15] an error instead of a code, and an invalid code', async () => {
    const said = await startConsent()
    const no = { state: said.state, code: null, error: 'access_denied' }
    expect(await said.world.run(refusal(said.node.keeping.operatorApi.authorized(no)))).toBe('oauth_refused')
    const wrong = await startConsent()
    const code = { state: wrong.state, code: 'other', error: null }
    expect(await wrong.world.run(refusal(wrong.node.keeping.operatorApi.authorized(code)))).toBe(
      'oauth_refused',
    )
    expect((await wrong.world.run(wrong.node.call())).problem?.error).toMatch(
      /^credential_missing_value: .*millrace credentials authorize crm/,
    )
  })

  test('[CD8] refresh tokens that change are stored, and an expired one asks for consent again', async () => {
    const { world, node, state, lose } = await startConsent()
    await world.run(node.keeping.operatorApi.authorized({ state, code: 'code-1', error: null }))
    for (let hour = 0; hour < 3; hour += 1) {
      await world.pass(node, 601_000)
      expect(statusOf(await world.run(node.call()))).toBe(200)
    }
    lose()
    await world.pass(node, 601_000)
    const { problem } = await world.run(node.call())
    expect(problem).toMatchObject({ class: 'auth', error: expect.stringMatching(/^refresh_token_expired: /) })
    const about = { version: null, correlationId: 'c', error: problem?.error ?? '' }
    expect(await world.run(node.keeping.credentials.refused(TENANT, 'crm', about))).toMatchObject({
      is: 'dead',
    })
    expect((await world.state()).rotation).toBeNull()
  })

  test('[CD1] another client secret is verified by a refresh, however valid the token is', async () => {
    const { world, node, state } = await startConsent()
    await world.run(node.keeping.operatorApi.authorized({ state, code: 'code-1', error: null }))
    await world.run(world.vault.set(TENANT, 'crm-key', 'the-next-secret', { isPending: true, by: 'ada' }))
    await world.run(node.keeping.operatorApi.supplied(TENANT, 'crm-key', 'ada'))
    await world.pass(node, 5_000)
    const refreshes = world.sent.filter(({ body }) => (body ?? '').includes('grant_type=refresh_token'))
    expect(refreshes.map(({ body }) => new URLSearchParams(body ?? '').get('client_secret'))).toEqual([
      'the-next-secret',
    ])
    expect((await world.state()).current?.version).toBe(2)
    expect(statusOf(await world.run(node.call()))).toBe(200)
  })

  const allowIn = async ({ world, node, state }: Awaited<ReturnType<typeof startConsent>>) => {
    await world.run(node.keeping.operatorApi.authorized({ state, code: 'code-1', error: null }))
    await world.pass(node, 601_000)
  }
  const refreshesOf = ({ world }: Awaited<ReturnType<typeof startConsent>>) =>
    world.sent.filter(({ body }) => (body ?? '').includes('grant_type=refresh_token')).length

  test('[CD20] a refresh token that the vault failed to store is stored when it can, and not requested again', async () => {
    const started = await startConsent()
    const { world, node } = started
    await allowIn(started)
    let isAway = true
    const { set } = world.vault
    world.vault.set = async (...args) => {
      if (isAway) throw new AppError('vault_unavailable', 'it is away')
      return set(...args)
    }
    const during = await world.run(node.call())
    expect(during.problem).toMatchObject({ class: 'transient', error: 'vault_unavailable: it is away' })
    expect(refreshesOf(started)).toBe(1)
    isAway = false
    expect(statusOf(await world.run(node.call()))).toBe(200)
    expect(refreshesOf(started)).toBe(1)
    await world.pass(node, 601_000)
    expect(statusOf(await world.run(node.call()))).toBe(200)
  })

  test('[CD21] a slow vault does not let a second node use up the refresh token', async () => {
    const started = await startConsent()
    const { world, node } = started
    await allowIn(started)
    const other = await world.node('two')
    let letGo = () => {}
    const slow = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const { set } = world.vault
    world.vault.set = async (...args) => {
      await slow
      return set(...args)
    }
    const first = node.call()
    await world.pass(node, 21_000)
    const second = other.call()
    await world.pass(node, 15_000)
    letGo()
    expect(statusOf(await world.run(first))).toBe(200)
    expect(statusOf(await world.run(second))).toBe(200)
    expect(refreshesOf(started)).toBe(1)
  })

  test('[CD21] a refresh token that a node used up before it stopped is retried once, then considered expired', async () => {
    const started = await startConsent()
    const { world, node, lose } = started
    await allowIn(started)
    const other = await world.node('two')
    const { script } = world
    world.script = (request) => {
      if (isTokenRequest(request)) node.stopAt(1, true)
      return script(request)
    }
    node.call().catch(() => {})
    await world.pass(other, 500)
    expect(node.isStopped()).toBe(true)
    lose()
    expect((await world.run(other.call())).problem?.class).toBe('transient')
    expect((await world.run(other.call())).problem?.error).toMatch(/^refresh_token_expired: /)
  })

  test('[CD12] nothing of it is in the store or the log', async () => {
    const { world, node, state } = await startConsent()
    await world.run(node.keeping.operatorApi.authorized({ state, code: 'code-1', error: null }))
    await world.run(node.call())
    const dump = await world.run(world.store.system('verification').dump())
    const everywhere = JSON.stringify([dump, node.log.messages])
    for (const secret of [SECRET, 'refresh-1', 'access-0', 'code-1', state])
      expect(everywhere).not.toContain(secret)
  })
})
