// Checks what a poller says is sensitive. Its paths are those of its events, and its formulas read items: `data` says which part of
// an item becomes which part of an event.

import { overlaps, type SensitivePath } from '../core/events/sensitive/index.ts'
import { clearPaths, compilePath, type PathStep } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import type { FieldPath, Remark } from './finding.ts'
import { checkPaths, keptInClear, pathsOf } from './sensitive.ts'
import { type Fields, fieldsOf } from './written.ts'

export function checkSensitivePoller(poller: Fields): readonly Remark[] {
  return [...checkPaths(poller.sensitive), ...checkFormulas(poller)]
}

type Kept = readonly [place: FieldPath, as: 'expression' | 'template', name: string]

function checkFormulas(poller: Fields): readonly Remark[] {
  const hidden = pathsOf(poller).flatMap((path) => hiddenItems(path, poller.data ?? '{{ item }}'))
  if (hidden.length === 0) return []
  const event = fieldsOf(poller.event)
  const kept: readonly (readonly [JsonValue | undefined, ...Kept])[] = [
    [poller.subject, ['subject'], 'template', 'the subject of an event'],
    [event.id, ['event', 'id'], 'expression', 'the dedup key of an event'],
    [event.objectType, ['event', 'objectType'], 'template', 'the object type of an event'],
    [event.objectId, ['event', 'objectId'], 'expression', 'the object id of an event'],
    [event.occurredAt, ['event', 'occurredAt'], 'expression', 'the time of an event'],
    [fieldsOf(poller.cursor).field, ['cursor', 'field'], 'expression', 'the time of a change'],
  ]
  return kept.flatMap(([text, place, as, name]) => {
    const found = typeof text === 'string' ? findRead(text, as, hidden) : undefined
    return found === undefined ? [] : [keptInClear(found, place, name)]
  })
}

interface HiddenItem {
  /** In the item. */
  readonly steps: readonly PathStep[]
  readonly sensitive: SensitivePath
}

function findRead(text: string, as: 'expression' | 'template', hidden: readonly HiddenItem[]) {
  for (const read of clearPaths(text, as)) {
    const steps = itemSteps(read)
    const found =
      steps === null ? undefined : hidden.find((one) => overlaps(ofItem(one.steps), ofItem(steps)))
    if (found !== undefined) return { read, sensitive: found.sensitive }
  }
  return undefined
}

/** Paths of one root overlap by their steps alone. */
function ofItem(steps: readonly PathStep[]) {
  return { root: 'payload', steps } as const
}

/** null: it reads something else. */
function itemSteps(read: string): readonly PathStep[] | null {
  const compiled = compilePath(read)
  return compiled.ok && compiled.path.root === 'item' ? compiled.path.steps : null
}

/** The parts of an item that a sensitive path of its event shows. */
function hiddenItems(sensitive: SensitivePath, data: JsonValue): readonly HiddenItem[] {
  const walk = (value: JsonValue, steps: readonly PathStep[]): readonly HiddenItem[] => {
    if (typeof value === 'string') {
      const reads = clearPaths(value, 'template')
      // A plain copy has the rest of the path; of anything else all that it reads counts.
      const rest =
        reads.length === 1 && /^\{\{\s*(.*?)\s*\}\}$/.exec(value.trim())?.[1] === reads[0] ? steps : []
      return reads.flatMap((read) => {
        const own = itemSteps(read)
        return own === null ? [] : [{ steps: [...own, ...rest], sensitive }]
      })
    }
    if (typeof value !== 'object' || value === null) return []
    const [step, ...further] = steps
    if (step === undefined || typeof step === 'object')
      return Object.values(value).flatMap((one) => walk(one, further))
    const inner = Object.hasOwn(value, step) ? (value as Fields)[step as string] : undefined
    return inner === undefined ? [] : walk(inner, further)
  }
  return sensitive.root === 'payload' ? walk(data, sensitive.steps) : []
}
