// Checks an upsert: whether what it finds is what it creates.

import { reads } from './buffers.ts'
import type { Remark } from './finding.ts'
import { isIdempotentMethod } from './kinds/action.ts'
import { type Fields, fieldsOf } from './written.ts'

export function checkUpsert(route: Fields): readonly Remark[] {
  const upsert = fieldsOf(fieldsOf(route.do).upsert)
  if (Object.keys(upsert).length === 0) return []
  return [
    ...checkReferenceUse(upsert),
    ...checkFoundId(upsert),
    ...checkUpdate(fieldsOf(upsert.update)),
    ...checkLock(route, upsert),
  ]
}

function checkReferenceUse({ find, create, headers }: Fields): readonly Remark[] {
  const remarks: Remark[] = []
  const { path: findPath } = fieldsOf(find)
  if (typeof findPath === 'string' && !reads(findPath, 'extRef') && !reads(headers, 'extRef')) {
    const message = 'nothing here looks for the reference: write `{{ extRef }}` where the vendor expects it'
    remarks.push({ rule: 'reference', severity: 'warning', message, path: ['do', 'upsert', 'find', 'path'] })
  }
  const { path, body } = fieldsOf(create)
  if (path !== undefined && ![path, body, headers].some((one) => reads(one, 'extRef'))) {
    const message =
      'what is created does not get the reference, so that it is never found again and created anew: write `{{ extRef }}` into its field of the body'
    remarks.push({
      rule: 'reference',
      severity: 'warning',
      message,
      path: ['do', 'upsert', 'create'],
      onKey: true,
    })
  }
  return remarks
}

function checkFoundId({ find, update }: Fields): readonly Remark[] {
  const { id, path } = fieldsOf(find)
  if (id !== undefined || path === undefined || !reads(update, 'found')) return []
  const message = '`update` reads `found.id`: say in `find.id` where it is, as in `result.body.items[0].id`'
  return [{ rule: 'foundId', message, path: ['do', 'upsert', 'find'], onKey: true }]
}

/** Finding the object proves that it exists, not that it was changed. */
function checkUpdate({ method = 'PUT', path, idempotent, keyTtl }: Fields): readonly Remark[] {
  if (path === undefined || typeof method !== 'string' || isIdempotentMethod(method)) return []
  if ((idempotent ?? false) !== false || keyTtl !== undefined) return []
  const message =
    'an unknown outcome of the update will park for a person: finding the object does not tell whether it was changed. ' +
    'Write `idempotent: true` if repeating it is harmless, or `keyTtl` if the vendor keeps `Idempotency-Key`'
  return [
    { rule: 'unknownOutcome', severity: 'warning', message, path: ['do', 'upsert', 'update'], onKey: true },
  ]
}

function checkLock({ uniqueness }: Fields, { lock }: Fields): readonly Remark[] {
  if (lock !== 'none' || uniqueness !== 'record') return []
  const message =
    'two items of one reference may both find nothing and create twice: `uniqueness: record` needs `lock: single`, unless the vendor refuses the second'
  return [{ rule: 'race', severity: 'warning', message, path: ['do', 'upsert', 'lock'] }]
}
