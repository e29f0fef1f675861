// Checks the key of a route, and the reference of an upsert, by their formulas alone (docs/spec/key-checks.md). Reads the
// route as written, valid or not.

import { OWN_KEY_PREFIX } from '../core/effects/action/index.ts'
import { type Formula, type FormulaRead, readFormula } from '../core/expression/index.ts'
import { scopeOf } from './expression-names.ts'
import type { FieldPath, Remark } from './finding.ts'
import { changeOf, isChangingPart, isOperationPart, isTelling, isVersionPart, lifeOf } from './key-words.ts'
import { type Fields, fieldsOf } from './written.ts'

/** The net decides how wide the key of a step is: it fires once, or on every round. */
export function checkKey(route: Fields, of: 'route' | 'step' = 'route'): readonly Remark[] {
  const { key } = route
  const formula = typeof key === 'string' ? readFormula(key) : null
  if (formula === null) return checkReference(route)
  const element = [...elementRemarks(route, formula), ...ownRemarks(formula)]
  const changing = changingRemarks(formula, ['key'], 'key')
  // A key that is already wrong is not rated.
  const isWrong = [...element, ...changing].some(({ severity }) => severity === undefined)
  return [
    ...element,
    ...changing,
    ...(isWrong ? [] : [...sameRemarks(formula), ...(of === 'step' ? [] : widthRemarks(route, formula))]),
    ...checkReference(route),
  ]
}

// --- Parts that differ the next time

function changingRemarks(formula: Formula, path: FieldPath, what: string): readonly Remark[] {
  return formula.reads.flatMap((read): readonly Remark[] => {
    const change = changeOf(read)
    const place = path[0] === 'key' ? { path, offset: read.offset } : { path }
    switch (change) {
      case 'always':
        return [{ rule: 'keyChanges', message: alwaysMessage(read, what), ...place }]
      case 'never': {
        const message = `an event has no \`${read.path.slice('event.'.length)}\`: the ${what} would be null`
        return [{ rule: 'keyChanges', message, ...place }]
      }
      case 'event': {
        const message =
          `\`${read.path}\` is minted when an event is accepted: one that comes again after its dedup window has another, ` +
          `and its effect is made a second time. Write \`event.dedupKey\`, by which its source knows repetitions, or what the event is about`
        return [{ rule: 'keyByEvent', severity: 'warning', message, ...place }]
      }
      case 'probably': {
        const message = `\`${read.path}\` sounds like a part of the delivery: if it differs the next time, so does the ${what}, and the effect is made again`
        return [{ rule: 'keyTooNarrow', severity: 'warning', message, ...place }]
      }
      default:
        return []
    }
  })
}

function alwaysMessage({ path }: FormulaRead, what: string): string {
  if (path === 'event' || path === 'header') {
    return `\`${path}\` as a whole differs with each delivery: read the fields of it that name the effect`
  }
  return `\`${path}\` differs with each delivery of an event: a ${what} must be the same in every replay. Leave it out`
}

// --- Too few, too many

function sameRemarks({ reads }: Formula): readonly Remark[] {
  if (reads.some(isTelling)) return []
  const message =
    'the key is the same for every event: only the first would ever have an effect. Add what it is about'
  return [{ rule: 'keySame', severity: 'warning', message, path: ['key'] }]
}

function elementRemarks(route: Fields, formula: Formula): readonly Remark[] {
  const { element } = scopeOf(route)
  if (element === null || formula.reads.some(({ path }) => new RegExp(`^${element}\\b`).test(path))) return []
  const message = `all elements would share one key, and only the first have an effect: add what tells one \`${element}\` from another`
  return [{ rule: 'keyWithoutElement', message, path: ['key'] }]
}

function ownRemarks({ starts }: Formula): readonly Remark[] {
  if (!starts.some(({ text }) => text.startsWith(OWN_KEY_PREFIX))) return []
  const message = `only the engine's own keys begin with \`${OWN_KEY_PREFIX}\`: begin it with other words`
  return [{ rule: 'keyCollision', message, path: ['key'] }]
}

function widthRemarks(route: Fields, formula: Formula): readonly Remark[] {
  if (!formula.reads.some(isTelling)) return []
  const patterns = [route.on].flat().filter((one) => typeof one === 'string')
  const life = lifeOf(patterns)
  const isRecord = route.uniqueness === 'record'
  const isUpdate = life === 'update' || (life === null && changesThere(route))
  const isVersioned = formula.reads.some(isVersionPart)
  if (isUpdate && !isVersioned && (!isRecord || updatesThere(route))) {
    const message =
      'the key may be too broad: it is the same for every change of an object, so that only the first has an effect. ' +
      'Add what differs between versions (`payload.revision`, `payload.updatedAt`, `hash(payload)`)' +
      (isRecord ? '' : ', or say `uniqueness: record` if one effect per object is meant')
    return [{ rule: 'keyTooBroad', severity: 'warning', message, path: ['key'] }]
  }
  const changing =
    isRecord && updatesThere(route)
      ? undefined
      : isRecord || life === 'create'
        ? formula.reads.find(isChangingPart)
        : undefined
  const narrow: readonly Remark[] =
    changing === undefined
      ? []
      : [
          {
            rule: 'keyTooNarrow',
            severity: 'warning',
            message:
              `the key may be too narrow: \`${changing.path}\` differs between versions of an object that is made once, ` +
              'so that it would be made again. Leave it out',
            path: ['key'],
            offset: changing.offset,
          },
        ]
  return [...narrow, ...(isRecord ? recordRemarks(formula) : [])]
}

/** An object has one record, and many operations. */
function recordRemarks(formula: Formula): readonly Remark[] {
  const part = formula.reads.find(isOperationPart)
  if (part === undefined && formula.extRefParts <= 4) return []
  const named = part === undefined ? 'the operation or version in `extRef`' : `\`${part.path}\``
  const message = `\`uniqueness: record\` means one effect per object, and ${named} makes one per operation: leave it out, or say \`uniqueness: operation\``
  return [{ rule: 'keyTooNarrow', severity: 'warning', message, path: ['key'] }]
}

/** Whether its call usually changes an existing object. */
function changesThere(route: Fields): boolean {
  const { method } = fieldsOf(fieldsOf(route.do).http)
  return method === 'PUT' || method === 'PATCH' || updatesThere(route)
}

function updatesThere(route: Fields): boolean {
  const { update } = fieldsOf(fieldsOf(route.do).upsert)
  return typeof update === 'object' && update !== null
}

// --- The reference of an upsert

function checkReference(route: Fields): readonly Remark[] {
  const { extRef } = fieldsOf(fieldsOf(route.do).upsert)
  const formula = typeof extRef === 'string' ? readFormula(extRef, 'template') : null
  if (formula === null) return []
  const path = ['do', 'upsert', 'extRef']
  if (!formula.reads.some(isTelling)) {
    const message = 'the reference is the same for every event: all would be one object. Add what it is about'
    return [{ rule: 'keySame', severity: 'warning', message, path }]
  }
  const changing = changingRemarks(formula, path, 'reference')
  if (changing.length > 0) return changing
  const version = formula.reads.find(isChangingPart)
  if (version === undefined) return []
  const message = `\`${version.path}\` differs between versions of an object: each version would be found to be missing, and created. Leave it out`
  return [{ rule: 'keyTooNarrow', severity: 'warning', message, path }]
}
