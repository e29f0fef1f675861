import { describe, expect, test } from 'vitest'
import type { UpsertActionDocument } from '../../definitions/documents/index.ts'
import { ExpressionError } from '../../expression/index.ts'
import { compileAction, isLockKey, lockKey, parseResponse, type UpsertAction } from './index.ts'

const DOCUMENT: UpsertActionDocument = {
  type: 'upsert',
  baseUrl: 'https://{{ vars.host }}/v1/',
  headers: { 'X-Team': '{{ vars.team }}' },
  extRef: 'inv-{{ payload.id }}',
  find: {
    method: 'GET',
    path: '/items?ref={{ extRef }}',
    found: 'result.body.items.size() > 0',
    id: 'result.body.items[0].id',
    afterMs: 5_000,
  },
  create: {
    method: 'POST',
    path: '/items',
    body: { ref: '{{ extRef }}' },
    idempotent: false,
    keyTtlMs: null,
  },
  update: {
    method: 'PUT',
    path: '/items/{{ found.id }}',
    body: { n: '{{ payload.n }}' },
    idempotent: true,
    keyTtlMs: null,
  },
  lock: 'single',
  timeoutMs: 1_000,
  classify: { 409: 'done' },
}
const SCOPE = { payload: { id: 'a/b', n: 1 }, vars: { host: 'vendor.example', team: 't' } }

const compile = (known: Partial<UpsertActionDocument> = {}): UpsertAction => {
  const action = compileAction({ ...DOCUMENT, ...known })
  if (action.type !== 'upsert') throw new Error('not an upsert')
  return action
}

describe('an upsert', () => {
  test('[UP6] renders its requests below one address, with the reference in them', () => {
    const action = compile()
    const scope = action.scopeOf(SCOPE)
    expect(scope.extRef).toBe('inv-a/b')
    expect(action.find.render(scope)).toEqual({
      method: 'GET',
      url: 'https://vendor.example/v1/items?ref=inv-a%2Fb',
      headers: { 'x-team': 't' },
      body: null,
    })
    expect(action.create.render(scope, 'K')).toMatchObject({
      url: 'https://vendor.example/v1/items',
      body: '{"ref":"inv-a/b"}',
      headers: { 'idempotency-key': 'K' },
    })
    expect(action.update?.render({ ...scope, found: { id: 'i/1' } }, 'K')).toMatchObject({
      method: 'PUT',
      url: 'https://vendor.example/v1/items/i%2F1',
      body: '{"n":1}',
    })
    expect(() => action.update?.render({ ...scope, found: { id: null } }, 'K')).toThrow(ExpressionError)
  })

  test.each([
    ['true', 'true', 'found'],
    ['false', 'false', 'absent'],
    ['none', '0', 'absent'],
    ['one', '1', 'found'],
  ])('[UP1] %s is an answer', (_name, found, is) => {
    const action = compile({ find: { ...DOCUMENT.find, found, id: null } })
    expect(action.find.read(SCOPE, parseResponse({ status: 200, headers: {}, body: '{}' }))).toMatchObject({
      is,
    })
  })

  test.each([
    ['two', '2', '2 objects have this reference'],
    ['null', 'result.body.none', 'neither'],
    ['a word', "'yes'", 'neither'],
  ])('[UP1] %s is not an answer', (_name, found, message) => {
    const action = compile({ find: { ...DOCUMENT.find, found } })
    const read = () => action.find.read(SCOPE, parseResponse({ status: 200, headers: {}, body: '{}' }))
    expect(read).toThrow(ExpressionError)
    expect(read).toThrow(message)
  })

  test.each(['{{ payload.none }}', '', '{{ payload }}', '{{ null }}'])(
    '[UP8] %j is not a reference',
    (extRef) => {
      expect(() => compile({ extRef }).scopeOf(SCOPE)).toThrow(ExpressionError)
    },
  )

  test.each([
    ['{{ payload.none }}', 'null'],
    ['{{ payload }}', 'map'],
  ])('[UP8] for %j the message names the type in the words of the language', (extRef, valueType) => {
    expect(() => compile({ extRef }).scopeOf(SCOPE)).toThrow(expect.objectContaining({ valueType }))
  })

  test('its time limit covers two requests', () => {
    expect(compile().abilities).toEqual({
      idempotent: false,
      keyTtlMs: null,
      probeAfterMs: 5_000,
      timeoutMs: 2_000,
    })
  })

  test('[UP2] the lock is named by host and reference, and by nothing else', () => {
    expect(lockKey('vendor.example', 'a')).toBe('millrace:lock:vendor.example:a')
    expect(isLockKey(lockKey('h', 'x'.repeat(5_000)))).toBe(true)
    expect(lockKey('h', 'x'.repeat(5_000)).length).toBeLessThan(200)
    expect(isLockKey('BOOK:1')).toBe(false)
  })
})
