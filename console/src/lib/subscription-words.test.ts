import { expect, test } from 'vitest'
import type { Delivery, SubscriptionDetail } from '../types.ts'
import { consumerFilter, consumerHref, definitionHref, workConsumerHref, workHref } from './links.ts'
import { draftOf, EMPTY_DRAFT, readDraft } from './subscription-draft.ts'
import {
  addressOf,
  answerInShort,
  DELIVERY_STATES,
  leftInWords,
  readPairs,
  standingInWords,
} from './subscription-words.ts'

test('[CN16] the host of an address stands out, and a protocol that is not https', () => {
  expect(addressOf('https://crm.example.com/hooks?a=1')).toEqual({
    host: 'crm.example.com',
    rest: '/hooks?a=1',
  })
  expect(addressOf('http://10.0.0.1:8080/')).toEqual({ host: 'http://10.0.0.1:8080', rest: '' })
  expect(addressOf('{{ vars.crm }}/hooks')).toEqual({ host: '{{ vars.crm }}/hooks', rest: '' })
})

test('[CN19] every problem has a next step; an active one needs none', () => {
  for (const because of ['gone', 'failing', 'person', null] as const) {
    expect(standingInWords({ status: 'disabled', because })?.next).toMatch(/\.$/)
  }
  expect(standingInWords({ status: 'failing', because: null })?.tone).toBe('red')
  expect(standingInWords({ status: 'paused', because: null })?.tone).toBe('amber')
  expect(standingInWords({ status: 'active', because: null })).toBeNull()
})

test('[CN20] the last response is shown in short, by its outcome', () => {
  const [state] = DELIVERY_STATES[0] ?? []
  const delivery = { state } as Delivery
  expect(answerInShort(delivery)).toBe('')
  expect(answerInShort({ ...delivery, state: 'delivered', httpStatus: 204, error: 'before' })).toBe(
    'HTTP 204',
  )
  expect(answerInShort({ ...delivery, state: 'retrying', httpStatus: 500, error: 'answered 500' })).toBe(
    'answered 500',
  )
  expect(answerInShort({ ...delivery, state: 'skipped', error: 'DISABLED' })).toBe('disabled at arrival')
})

test('[CN21] what a recovery leaves alone is shown, and nothing if there is nothing', () => {
  const none = { failed: 2, missing: 1, delivered: 0, 'under-way': 0, 'given-up': 0, unmatched: 0 }
  expect(leftInWords(none)).toBeNull()
  expect(leftInWords({ ...none, delivered: 1_200, 'under-way': 3 })).toBe(
    'Left as they are: 1,200 arrived, 3 are in progress.',
  )
})

test('[CN22] parts of a subscription link to it, and a job to its delivery', () => {
  expect(consumerHref({ kind: 'subscription', name: 'crm' })).toBe('/subscriptions/crm')
  expect(definitionHref('Subscription', 'crm')).toBe('/subscriptions/crm')
  expect(workConsumerHref({ kind: 'delivery', consumer: 'crm' })).toBe('/subscriptions/crm')
  expect(workHref({ kind: 'delivery', id: 'wrk_1' })).toBe('/deliveries/wrk_1')
  expect(consumerFilter({ kind: 'subscription', name: 'crm' })).toBe('subscription:crm')
  expect(consumerFilter({ kind: 'route', name: 'crm' })).toBe('crm')
  expect(workConsumerHref({ kind: 'batch', consumer: 'book' })).toBe('/routes/book')
  expect(workConsumerHref({ kind: 'fire', consumer: 'claims' })).toBe('/workflows/claims')
})

test('[CN18] pairs are read line by line, and an invalid line is reported', () => {
  expect(readPairs('a: b:c\n\n x-team :crm ')).toEqual({ pairs: { a: 'b:c', 'x-team': 'crm' } })
  expect(readPairs('a: b\nno pair')).toEqual({ message: 'Line 2: write a name, a colon and a value.' })
})

const typed = { ...EMPTY_DRAFT, url: 'https://a.example', on: ['shop.>'] }

test('[CN18] a new one sends what was typed, and the rest is left to the defaults', () => {
  expect(readDraft(typed, null)).toEqual({
    body: { url: 'https://a.example', on: ['shop.>'] },
    transform: null,
  })
  const more = {
    ...typed,
    name: 'crm',
    transform: '{"a":9007199254740993}',
    perMinute: '60',
    headers: 'x-a: b',
  }
  expect(readDraft(more, null)).toEqual({
    body: {
      name: 'crm',
      url: 'https://a.example',
      on: ['shop.>'],
      headers: { 'x-a': 'b' },
      rateLimit: { perMinute: 60 },
    },
    transform: '{"a":9007199254740993}',
  })
})

test('[CN18] an invalid value is reported at its field before anything is sent', () => {
  const wrong = { ...EMPTY_DRAFT, transform: '{', perMinute: '0', headers: 'x', where: '{a' }
  const read = readDraft(wrong, null)
  expect(Object.keys('errors' in read ? read.errors : {}).sort()).toEqual([
    'headers',
    'on',
    'perMinute',
    'transform',
    'url',
    'where',
  ])
})

test('[CN18] an edit sends what was changed; emptied, a field goes back to its default', () => {
  const detail = {
    name: 'crm',
    description: null,
    url: 'https://a.example',
    on: ['shop.>'],
    signing: 'standard',
    metadata: { owner: 'sales' },
    document: {
      where: 'payload.total > 1',
      headers: {},
      transform: { a: 1 },
      order: { by: 'event.objectId' },
    },
  } as unknown as SubscriptionDetail
  const before = draftOf(detail)
  expect(readDraft(before, before)).toEqual({ body: {}, transform: null })
  const after = { ...before, where: '', description: 'For sales', transform: '', on: ['shop.>', 'crm.>'] }
  expect(readDraft(after, before)).toEqual({
    body: { where: null, description: 'For sales', transform: null, on: ['shop.>', 'crm.>'] },
    transform: null,
  })
})

test('[CN18] the other fields of the language are in the form, as they could be written', () => {
  const document = { timeoutMs: 15_000, maxWaitMs: 86_400_000, disableAfterMs: null, sensitive: 'send' }
  const before = draftOf({ on: [], metadata: {}, document } as unknown as SubscriptionDetail)
  expect(before.others).toMatchObject({
    timeout: '15s',
    maxWait: '1d',
    disableAfter: 'never',
    sensitive: 'send',
  })
  const whole = { ...before, url: 'https://a.example', on: ['shop.>'] }
  const after = { ...whole, others: { ...whole.others, timeout: '30s', sensitive: '' } }
  expect(readDraft(after, whole)).toEqual({ body: { timeout: '30s', sensitive: null }, transform: null })
})
