// Each scheme against independently computed numbers: from vendors' documents and the tests of their own libraries. Where a
// vendor publishes none, the test's name says so, and the number is from an RFC or from another program.

import { describe, expect, test } from 'vitest'
import type { VendorScheme } from '../../../definitions/documents/index.ts'
import { verifySignature } from '../index.ts'

interface Vector {
  readonly scheme: VendorScheme
  readonly from: string
  readonly secret: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly url?: string
  /** Of the request, in seconds. */
  readonly at?: number
  /** A body that must be refused with the same headers; left out: one additional space. */
  readonly other?: string
  /** The secret is sent, not used for signing. */
  readonly isToken?: true
}

const ATLASSIAN = {
  secret: "It's a Secret to Everybody",
  headers: { 'x-hub-signature': 'sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9' },
  body: 'Hello World!',
}
/** RFC 4231 and RFC 2202, case 2. */
const RFC = { secret: 'Jefe', body: 'what do ya want for nothing?' }
const RFC_SHA1 = 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79'
const RFC_SHA256 = '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'
const RFC_SHA512 =
  '164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const STANDARD = {
  'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  'webhook-timestamp': '1614265330',
  'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
}

const VECTORS: readonly Vector[] = [
  {
    scheme: 'github',
    from: 'GitHub’s page on validating deliveries',
    secret: "It's a Secret to Everybody",
    headers: {
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    },
    body: 'Hello, World!',
  },
  { scheme: 'bitbucket', from: 'Bitbucket’s page on webhooks', ...ATLASSIAN },
  { scheme: 'jira', from: 'Atlassian’s page on webhooks, one for both products', ...ATLASSIAN },
  {
    scheme: 'stripe',
    from: 'the tests of Stripe’s library for .NET, with a v0 that is left alone',
    secret: 'webhook_secret',
    headers: {
      'stripe-signature':
        't=1533204620,v1=2220f87ef101a04665f11cdf770523143f875572008577fa0f20882ddb9cc3c7,v0=63f3a72374a733066c4be69ed7f8e5ac85c22c9f0a6a612ab9a025a9e4ee7eef',
    },
    body: `${JSON.stringify(
      {
        id: 'evt_123',
        object: 'event',
        account: 'acct_123',
        api_version: '2017-05-25',
        created: 1533204620,
        data: {
          object: {
            id: 'cus_123',
            object: 'customer',
            created: 123456789,
            email: 'test@stripe.com',
            livemode: false,
            metadata: {},
          },
        },
        livemode: false,
        pending_webhooks: 1,
        request: { id: 'req_123', idempotency_key: 'idempotency-key-123' },
        type: 'customer.created',
      },
      null,
      2,
    )}\n`,
    at: 1533204620,
  },
  {
    scheme: 'slack',
    from: 'Slack’s page on verifying requests',
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    headers: {
      ...FORM,
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    },
    body: 'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
    at: 1531420618,
  },
  {
    scheme: 'shopify',
    from: 'the tests of Shopify’s library for PHP',
    secret: 'steffi',
    headers: { 'x-shopify-hmac-sha256': '/Redz4YXHLnSmmSN8grr5/Jl/Ua3d7yX3iWbjb8R8wo=' },
    body: '{"foo":"bar"}',
  },
  {
    scheme: 'shopify',
    from: 'the same, in the newer family of headers',
    secret: 'steffi',
    headers: { 'shopify-hmac-sha256': '/Redz4YXHLnSmmSN8grr5/Jl/Ua3d7yX3iWbjb8R8wo=' },
    body: '{"foo":"bar"}',
  },
  {
    scheme: 'twilio',
    from: 'Twilio’s page on security: a form',
    secret: '12345',
    headers: { ...FORM, 'x-twilio-signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=' },
    body: 'Digits=1234&To=%2B18005551212&From=%2B14158675309&Caller=%2B14158675309&CallSid=CA1234567890ABCDE',
    url: 'https://mycompany.com/myapp.php?foo=1&bar=2',
    other:
      'Digits=1235&To=%2B18005551212&From=%2B14158675309&Caller=%2B14158675309&CallSid=CA1234567890ABCDE',
  },
  {
    scheme: 'twilio',
    from: 'the tests of Twilio’s library for Node: the hash of a body',
    secret: '12345',
    headers: { 'content-type': 'application/json', 'x-twilio-signature': 'a9nBmqA0ju/hNViExpshrM61xv4=' },
    body: '{"property": "value", "boolean": true}',
    url: 'https://mycompany.com/myapp.php?foo=1&bar=2&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620',
  },
  {
    scheme: 'standard-webhooks',
    from: 'the specification of Standard Webhooks: v1',
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    headers: STANDARD,
    body: '{"test": 2432232314}',
    at: 1614265330,
  },
  {
    scheme: 'standard-webhooks',
    from: 'Mobiscroll’s vectors for all of its libraries: v1a, which the specification has no numbers for',
    secret: 'whpk_0r0+Z02Sv1SRb1QjsKUnil6t2oqtAyhn5HHfKgbTXFs=',
    headers: {
      'webhook-id': 'msg_2a161f33-a287-419f-85f9-fc95dbecccdd',
      'webhook-timestamp': '1790000000',
      'webhook-signature':
        'v1a,ClNzh8jskfPsDqArmUq6vxG6/PAQmLXf7sMsXnReG1DAI3lMxKcQEyEqqWe/weLoTo8g72qIJ+H0nA1WhNWEDA==',
    },
    body: '{"eventType":"event.updated","userId":"user_42","provider":"google","calendarId":"primary","events":[{"id":"evt_1","title":"Café meeting ☕ — Zoë","lastModified":"2026-09-21T10:00:00.000Z"}]}',
    at: 1790000000,
  },
  {
    scheme: 'standard-webhooks',
    from: 'the same vectors: two signatures, verified with the previous key',
    secret: 'whpk_4bVYVyWUPGQLCcnQQoGU4qTyIeucOFTnkZXlNFAlv6g=',
    headers: {
      'webhook-id': 'msg_2a161f33-a287-419f-85f9-fc95dbecccdd',
      'webhook-timestamp': '1790000000',
      'webhook-signature':
        'v1a,ClNzh8jskfPsDqArmUq6vxG6/PAQmLXf7sMsXnReG1DAI3lMxKcQEyEqqWe/weLoTo8g72qIJ+H0nA1WhNWEDA== v1a,MYPOv3exr1vMvu95bLYcu1k3hDAQeC66XmOy91Y34m2q/mBd3j1dhT+ubQYkMZF7FxvItnlwU9yXKqd2A1SWDQ==',
    },
    body: '{"eventType":"event.updated","userId":"user_42","provider":"google","calendarId":"primary","events":[{"id":"evt_1","title":"Café meeting ☕ — Zoë","lastModified":"2026-09-21T10:00:00.000Z"}]}',
    at: 1790000000,
  },
  {
    scheme: 'gitlab',
    from: 'the specification of Standard Webhooks, which GitLab’s signing token follows; GitLab has none of its own',
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    headers: STANDARD,
    body: '{"test": 2432232314}',
    at: 1614265330,
  },
  {
    scheme: 'pagerduty',
    from: 'the tests of PagerDuty’s library for Go',
    secret: 'lDQHScfUeXUKaQRNF+8XIiDKZ7XX3itBAYzwU0TARw8lJqRnkKl2iB1anSb0Z+IK',
    headers: {
      'x-pagerduty-signature': 'v1=0c0b9495b893a39e70d1fea2fe11fbe0a825f88b9f67846f6cc07dd2bc5476cd',
    },
    body: '{"event":{"id":"01BWDWL3NYY7LUFPZCC28QUCMK","event_type":"incident.priority_updated","resource_type":"incident","occurred_at":"2021-04-26T17:36:27.458Z","agent":{"html_url":"https://acme.pagerduty.com/users/PLH1HKV","id":"PLH1HKV","self":"https://api.pagerduty.com/users/PLH1HKV","summary":"Tenex Engineer","type":"user_reference"},"client":null,"data":{"id":"PGR0VU2","type":"incident","self":"https://api.pagerduty.com/incidents/PGR0VU2","html_url":"https://acme.pagerduty.com/incidents/PGR0VU2","number":2,"status":"triggered","title":"A little bump in the road","service":{"html_url":"https://acme.pagerduty.com/services/PF9KMXH","id":"PF9KMXH","self":"https://api.pagerduty.com/services/PF9KMXH","summary":"API Service","type":"service_reference"},"assignees":[{"html_url":"https://acme.pagerduty.com/users/PTUXL6G","id":"PTUXL6G","self":"https://api.pagerduty.com/users/PTUXL6G","summary":"User 123","type":"user_reference"}],"escalation_policy":{"html_url":"https://acme.pagerduty.com/escalation_policies/PUS0KTE","id":"PUS0KTE","self":"https://api.pagerduty.com/escalation_policies/PUS0KTE","summary":"Default","type":"escalation_policy_reference"},"teams":[{"html_url":"https://acme.pagerduty.com/teams/PFCVPS0","id":"PFCVPS0","self":"https://api.pagerduty.com/teams/PFCVPS0","summary":"Engineering","type":"team_reference"}],"priority":{"html_url":"https://acme.pagerduty.com/account/incident_priorities","id":"PSO75BM","self":"https://api.pagerduty.com/priorities/PSO75BM","summary":"P1","type":"priority_reference"},"urgency":"high","conference_bridge":{"conference_number":1000,"conference_url":"https://example.com"},"resolve_reason":null}}}',
  },
  {
    scheme: 'hubspot',
    from: 'the tests of HubSpot’s library for Python',
    secret: 'yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy',
    headers: {
      'x-hubspot-request-timestamp': '1693657560000',
      'x-hubspot-signature-v3': 'K36dawei4A+QBNolUOqo7s91KQDWQ5MXZ/QufNYuk/Y=',
    },
    body: "{'example_field':'example_value'}",
    url: 'https://www.example.com/webhook_uri',
    at: 1693657560,
  },
  {
    scheme: 'hubspot',
    from: 'the tests of HubSpot’s library for Ruby',
    secret: 'yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy',
    headers: {
      'x-hubspot-request-timestamp': '1700000300000',
      'x-hubspot-signature-v3': 'RnbPH7+UMKVkbV32P8bz450N4M56aPmcru1+D3kSDtw=',
    },
    body: "{'example_field':'example_value'}",
    url: 'https://www.example.com/webhook_uri',
    at: 1700000300,
  },
  {
    scheme: 'paddle',
    from: 'the example in Paddle’s library for Go',
    secret: 'pdl_ntfset_01hsdn8d43dt7mezr1ef2jtbaw_hKkRiCGyyRhbFwIUuqiTBgI7gnWoV0Gr',
    headers: {
      'paddle-signature': 'ts=1710929255;h1=6c05ef8fa83c44d751be6d259ec955ce5638e2c54095bf128e408e2fce1589c8',
    },
    body: '{"data":{"id":"pri_01hsdn96k2hxjzsq5yerecdj9j","name":null,"status":"active","quantity":{"maximum":999999,"minimum":1},"tax_mode":"account_setting","product_id":"pro_01hsdn8qp7yydry3x1yeg6a9rv","unit_price":{"amount":"1000","currency_code":"USD"},"custom_data":null,"description":"testing","import_meta":null,"trial_period":null,"billing_cycle":{"interval":"month","frequency":1},"unit_price_overrides":[]},"event_id":"evt_01hsdn97563968dy0szkmgjwh3","event_type":"price.created","occurred_at":"2024-03-20T10:07:35.590857Z","notification_id":"ntf_01hsdn977e920kbgzt6r6c9rqc"}',
    at: 1710929255,
  },
  {
    scheme: 'square',
    from: 'the tests of Square’s libraries',
    secret: 'Ibxx_5AKakO-3qeNVR61Dw',
    headers: { 'x-square-hmacsha256-signature': 'GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4=' },
    body: '{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification","event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f","created_at":"2022-07-13T20:30:59.037339943Z","data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}',
    url: 'https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9',
  },
  {
    scheme: 'workfront',
    from: 'the example of a subscription in Adobe’s documents; a token is shown, so there is nothing to compute',
    secret: 'EauthTokenWorkfrontRocks1234_',
    headers: { authorization: 'Bearer EauthTokenWorkfrontRocks1234_' },
    body: '{}',
    isToken: true,
  },
  {
    scheme: 'terraform-cloud',
    from: 'RFC 4231: HashiCorp publishes no signature',
    ...RFC,
    headers: { 'x-tfe-notification-signature': RFC_SHA512 },
  },
  {
    scheme: 'linear',
    from: 'RFC 4231: Linear publishes no signature',
    ...RFC,
    headers: { 'linear-signature': RFC_SHA256 },
  },
  {
    scheme: 'sentry',
    from: 'RFC 4231: Sentry publishes no signature',
    ...RFC,
    headers: { 'sentry-hook-signature': RFC_SHA256 },
  },
  {
    scheme: 'intercom',
    from: 'RFC 2202: Intercom publishes a signature without its secret',
    ...RFC,
    headers: { 'x-hub-signature': `sha1=${RFC_SHA1}` },
  },
  {
    scheme: 'zoom',
    from: 'Python’s hmac: Zoom publishes no signature with its secret',
    secret: 'zoom-secret-token',
    headers: {
      'x-zm-request-timestamp': '1700000000',
      'x-zm-signature': 'v0=786c4446a640d95353b44534c52c31a8be0a5eadf45b4a1715cb39d62fa6acd1',
    },
    body: '{"event":"meeting.started"}',
    at: 1700000000,
  },
  {
    scheme: 'discord',
    from: 'Python’s cryptography with the key of RFC 8032’s first test: Discord publishes no signature',
    secret: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    headers: {
      'x-signature-timestamp': '1700000000',
      'x-signature-ed25519':
        '1695961a47c91a1ec033b819b7e87e3dbc583dd0cee6d1fd0216f58ac87b6228ae531ddbf91fb7bc28d7edf7f08604da16f54624f38a6bc0614e4dc13cd47f0f',
    },
    body: '{"type":1}',
    at: 1700000000,
  },
]

describe.each(VECTORS)(
  '$scheme, from $from',
  ({ scheme, secret, headers, body, url = '', at = 0, ...rest }) => {
    const check = (change: { body?: string; secret?: string; at?: number; url?: string } = {}) =>
      verifySignature(
        { scheme, secret: [] },
        {
          headers,
          body: Buffer.from(change.body ?? body),
          secrets: [change.secret ?? secret],
          now: (change.at ?? at) * 1000,
          method: 'POST',
          url: change.url ?? url,
        },
      )

    test('[SV1] is accepted', () => {
      expect(check()).toEqual({ ok: true })
    })

    test('[SV1] is accepted for nothing else', () => {
      if (rest.isToken === undefined) expect(check({ body: rest.other ?? `${body} ` }).ok).toBe(false)
      expect(check({ secret: `${secret}A` })).toMatchObject({ code: 'signature_wrong' })
      if (url !== '')
        expect(check({ url: url.replace('.com', '.org').replace('.site', '.org') }).ok).toBe(false)
      if (at !== 0) expect(check({ at: at + 301 })).toMatchObject({ code: 'signature_expired' })
    })
  },
)
