import { describe, expect, test } from 'vitest'
import { headersReadBy, isStoredHeader } from './index.ts'

describe('[SV20] a header that no expression reads', () => {
  test.each([
    'content-type',
    'user-agent',
    'traceparent',
    'x-request-id',
    'request-id',
    'x-github-event',
    'x-github-delivery',
    'x-github-hook-installation-target-type',
    'x-gitlab-event-uuid',
    'x-event-key',
    'x-request-uuid',
    'x-atlassian-webhook-identifier',
    'x-shopify-topic',
    'shopify-webhook-id',
    'x-shopify-shop-domain',
    'x-slack-request-timestamp',
    'x-slack-retry-num',
    'sentry-hook-resource',
    'linear-delivery',
    'webhook-id',
    'webhook-timestamp',
    'svix-id',
    'x-acme-event-type',
    'ce-type',
    'ce-myextension',
    'nats-msg-id',
    'nats-subject',
    'idempotency-key',
  ])('%s is stored', (name) => {
    expect(isStoredHeader(name)).toBe(true)
  })

  test.each([
    'x-vault-token',
    'authorization',
    'cookie',
    'x-api-key',
    'x-service-key',
    'x-session-id',
    'x-amz-security-token',
    'x-goog-channel-token',
    'x-gitlab-token',
    'x-hub-signature-256',
    'x-hubspot-signature',
    'x-shopify-hmac-sha256',
    'x-access-key-id',
    'x-auth-user-id',
    'x-csrf-token',
    'x-forwarded-for',
    'x-forwarded-client-cert',
    'x-real-ip',
    'x-user',
    'cf-access-jwt-assertion',
    'x-secret-version',
    'proxy-authorization',
  ])('%s is not stored', (name) => {
    expect(isStoredHeader(name)).toBe(false)
  })
})

test('[SV20] names that expressions read are found in any spelling', () => {
  const read = headersReadBy({
    subject: 'a.{{ header.x-Kind }}',
    event: { id: 'header[\'X-Own-Id\'] + header[ "x-more" ]' },
    when: 'payload.headers.x-not == 1 && myheader.x-not2 == 1',
    sensitive: ['header.x-user'],
  })
  expect([...read].sort()).toEqual(['x-kind', 'x-more', 'x-own-id', 'x-user'])
})
