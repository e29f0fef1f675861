// Assigns what was observed to what was expected: equals first, then the closest of the same kind; what is left over on either side is
// reported. The order of a list is not compared, because independent jobs have none.

import type { JsonValue } from '../../foundation/json/index.ts'
import { compareFields } from './compare-fields.ts'
import type { Difference, FieldDifference, TestPath } from './flow-test.ts'

export interface Wanted {
  readonly path: TestPath
  readonly times: number
  /** For messages: `POST https://…`, `route book`. */
  readonly title: string
  readonly fields: Readonly<Record<string, JsonValue>>
}

export interface Found {
  readonly title: string
  readonly fields: Readonly<Record<string, JsonValue>>
}

export interface Listing {
  /** Where the list is, or would be. */
  readonly path: TestPath
  /** In the singular, for messages: `call`. */
  readonly noun: string
  /** `made`, `emitted`. */
  readonly verb: string
  /** Whether they are about the same thing, whatever their fields are. */
  isSame(wanted: number, found: number): boolean
}

interface Slot {
  readonly of: number
  found: number | null
}

export function matchLists(
  wanted: readonly Wanted[],
  found: readonly Found[],
  { path, noun, verb, isSame }: Listing,
): readonly Difference[] {
  const slots: Slot[] = wanted.flatMap(({ times }, of) =>
    Array.from({ length: times }, () => ({ of, found: null })),
  )
  const free = new Set(found.keys())
  const differencesOf = (of: number, at: number): readonly FieldDifference[] =>
    compareFields(wanted[of]?.fields ?? {}, found[at]?.fields ?? {})
  const isEqual = (of: number, at: number) => isSame(of, at) && differencesOf(of, at).length === 0

  for (const slot of slots) {
    const at = [...free].find((one) => isEqual(slot.of, one))
    if (at === undefined) continue
    slot.found = at
    free.delete(at)
  }
  const differences: Difference[] = []
  // One too many of what was expected is not like anything else.
  const repeated = [...free].filter((at) => wanted.some((_one, of) => isEqual(of, at)))
  for (const at of repeated) free.delete(at)

  for (const slot of slots.filter((one) => one.found === null)) {
    const candidates = [...free].filter((at) => isSame(slot.of, at))
    const closest = candidates.reduce<number | null>(
      (best, at) =>
        best === null || differencesOf(slot.of, at).length < differencesOf(slot.of, best).length ? at : best,
      null,
    )
    if (closest === null) continue
    slot.found = closest
    free.delete(closest)
    const { path: place, title } = wanted[slot.of] as Wanted
    differences.push({
      path: place,
      message: `the ${noun} ${title} differs`,
      fields: differencesOf(slot.of, closest),
    })
  }
  for (const [of, { path: place, title, times, fields }] of wanted.entries()) {
    const missing = slots.filter((slot) => slot.of === of && slot.found === null).length
    const more = repeated.filter((at) => wanted.findIndex((_one, other) => isEqual(other, at)) === of).length
    if (missing === 0 && more === 0) continue
    const got = times - missing + more
    const how = got === 0 ? `was not ${verb}` : `was ${verb} ${timesText(got)}, expected ${timesText(times)}`
    const shown = got === 0 && Object.keys(fields).length > 0 ? [{ at: '', expected: fields }] : []
    differences.push({ path: place, message: `the ${noun} ${title} ${how}`, fields: shown })
  }
  for (const at of free) {
    const { title, fields } = found[at] as Found
    differences.push({
      path,
      message: `the ${noun} ${title} was not expected`,
      fields: [{ at: '', got: fields }],
    })
  }
  return differences
}

function timesText(count: number): string {
  return count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`
}
