import { describe, expect, test } from 'vitest'
import { AppError, ERROR_KINDS, ERRORS, type ErrorCode } from '../core/foundation/errors/index.ts'
import { StoreError } from '../ports/store.ts'
import { renderErrors } from './error-documentation.ts'
import { isOurFailure, problemHeaders, toProblem } from './problem.ts'

const codes = Object.keys(ERRORS) as ErrorCode[]

describe('problem documents', () => {
  test.each(codes)('%s says what happened and what to do next', (code) => {
    const problem = toProblem(new AppError(code, 'in this case', { details: { line: 3 } }), 'r-1')
    expect(problem).toEqual({
      type: `/errors/${code}`,
      title: ERRORS[code].title,
      status: ERRORS[code].status,
      detail: 'in this case',
      code,
      next: ERRORS[code].next,
      instance: '/requests/r-1',
      details: { line: 3 },
    })
  })

  test('without a detail of its own, the title says it', () => {
    expect(toProblem(new AppError('conflict'), 'r')).toMatchObject({ detail: ERRORS.conflict.title })
    expect(toProblem(new AppError('conflict'), 'r')).not.toHaveProperty('details')
  })

  test('never show the text of an unexpected error', () => {
    for (const error of [new Error('hidden'), 'hidden', undefined, { statusCode: 500, message: 'hidden' }]) {
      const problem = toProblem(error, 'r')
      expect(problem).toMatchObject({ code: 'internal', status: 500 })
      expect(JSON.stringify(problem)).not.toContain('hidden')
      expect(isOurFailure(error)).toBe(true)
    }
  })

  test('translate errors of the store', () => {
    expect(toProblem(new StoreError('unavailable', 'hidden'), 'r')).toMatchObject({
      code: 'store_unavailable',
    })
    expect(toProblem(new StoreError('corrupt', 'hidden'), 'r').detail).not.toContain('hidden')
    expect(toProblem(new StoreError('invalid_cursor', 'x'), 'r')).toMatchObject({
      code: 'invalid_cursor',
      status: 400,
    })
    expect(isOurFailure(new StoreError('invalid_cursor', 'x'))).toBe(false)
  })

  test('bring the headers that go with the status', () => {
    const headers = (code: ErrorCode) => problemHeaders(toProblem(new AppError(code), 'r'))
    expect(headers('not_authenticated')).toEqual({ 'www-authenticate': 'Bearer' })
    expect(headers('shutting_down')).toEqual({ 'retry-after': '1' })
    expect(headers('not_found')).toEqual({})
  })
})

describe('the table of errors', () => {
  test('has a status that fits the kind, a title and a next step for every code', () => {
    const statuses: Readonly<Record<string, readonly number[]>> = {
      invalid: [400, 405, 415, 417, 422],
      not_found: [404, 410],
      conflict: [409],
      unauthorized: [401, 403],
      limited: [413, 429, 431],
      unavailable: [421, 500, 503],
      timeout: [408, 504],
      cancelled: [499],
    }
    for (const code of codes) {
      const { kind, status, title, next } = ERRORS[code]
      expect(ERROR_KINDS).toContain(kind)
      expect(statuses[kind], code).toContain(status)
      expect(title.length, code).toBeGreaterThan(5)
      expect(next, code).toMatch(/\.$/)
    }
  })

  test('is what docs/errors.md lists (vitest -u writes it)', async () => {
    await expect(renderErrors()).toMatchFileSnapshot('../../docs/errors.md')
  })
})
