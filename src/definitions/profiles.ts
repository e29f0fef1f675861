// Checks profiles by name: whether there is one of the kind that a field needs, and what a Profile document must
// contain.

import { DRAIN_PROFILES, type ProfileDocument } from '../core/definitions/documents/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { closest } from '../core/foundation/text/index.ts'
import { RETRY_PROFILES } from '../core/queue/retry/index.ts'
import type { FieldPath, Remark } from './finding.ts'
import { listed } from './suggest.ts'
import { type Fields, fieldsOf } from './written.ts'

const SORTS = ['retry', 'rate', 'drain'] as const
export type ProfileSort = (typeof SORTS)[number]

/** A profile, valid or not, and what it contains. */
export interface KnownProfile {
  readonly name: string
  readonly sorts: readonly ProfileSort[]
  /** Of its `retry`, as written. */
  readonly retryOn?: JsonValue | undefined
}

const BUILT_IN: Readonly<Record<ProfileSort, readonly string[]>> = {
  retry: Object.keys(RETRY_PROFILES),
  rate: [],
  drain: Object.keys(DRAIN_PROFILES),
}

export function knownProfiles(
  documents: readonly Fields[],
  beside: ReadonlyMap<string, ProfileDocument>,
): readonly KnownProfile[] {
  const written = documents.filter(({ kind, name }) => kind === 'Profile' && typeof name === 'string')
  const names = new Set(written.map(({ name }) => name))
  return [
    ...written.map((profile) => knownProfile(String(profile.name), profile)),
    ...[...beside.values()]
      .filter(({ name }) => !names.has(name))
      .map((profile) => knownProfile(profile.name, profile as unknown as Fields)),
  ]
}

function knownProfile(name: string, profile: Fields): KnownProfile {
  return { name, sorts: sortsOf(profile), retryOn: fieldsOf(profile.retry).retryOn }
}

function sortsOf(profile: Fields): readonly ProfileSort[] {
  return SORTS.filter((sort) => profile[sort] !== undefined)
}

/** For a field that may name a profile; an inline value is not a name. */
export function checkProfileName(
  value: JsonValue | undefined,
  sort: ProfileSort,
  path: FieldPath,
  profiles: readonly KnownProfile[],
): readonly Remark[] {
  if (typeof value !== 'string' || value.includes('{{')) return []
  const own = profiles.find(({ name }) => name === value)
  // A profile that contains nothing, or too much, has its own finding.
  if (own === undefined ? BUILT_IN[sort].includes(value) : own.sorts.length !== 1 || own.sorts[0] === sort)
    return []
  const known = [
    ...BUILT_IN[sort],
    ...profiles.filter(({ sorts }) => sorts.includes(sort)).map(({ name }) => name),
  ]
  const other = own?.sorts[0] ?? SORTS.find((one) => BUILT_IN[one].includes(value))
  const near = closest(value, known)
  const but = known.length === 0 ? 'and none is defined' : `but ${listed(known)}`
  const message =
    other === undefined
      ? `there is no ${sort} profile \`${value}\`, ${but}`
      : `\`${value}\` is a ${other} profile, and this needs a ${sort} profile: ${known.length === 0 ? 'none is defined' : listed(known)}`
  return [{ rule: 'profile', message, path, ...(near === undefined ? {} : { suggestedText: near }) }]
}

export function checkProfileSort(profile: Fields): readonly Remark[] {
  const sorts = SORTS.filter((sort) => Object.hasOwn(profile, sort))
  if (sorts.length === 1) return []
  if (sorts.length > 1) {
    const message = `a profile is of one sort: keep one of ${listed(sorts)}, and write another profile for the rest`
    return [{ rule: 'oneOf', message, path: [String(sorts[1])], onKey: true }]
  }
  // A misspelt one is reported as an unknown field.
  if (Object.keys(profile).some((name) => closest(name, SORTS) !== undefined)) return []
  return [{ rule: 'missing', message: `a profile holds one of ${listed(SORTS)}`, path: ['retry'] }]
}
