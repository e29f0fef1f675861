// An instance as of the past: its history, read from the start up to a moment or a step.

import { diffJson, type JsonValue, placeText } from '../../foundation/json/index.ts'
import type { Data, DataChange, HistoryEntry, Instance, InstanceState } from '../instance/index.ts'
import { parseTarget, removeAt, writeAt } from './nested-data.ts'

export type PastEntry = HistoryEntry & { readonly sequence: number; readonly at: number }

export interface PastInstance {
  readonly state: InstanceState
  readonly version: string
  readonly marking: Readonly<Record<string, number>>
  readonly data: Data
  readonly metadata: Data
  readonly correlations: Instance['correlations']
  /** Its last entry. */
  readonly sequence: number
  readonly at: number
  /** False: the history stores no values, or not all of them, and `data` and `metadata` are incomplete. */
  readonly isWhole: boolean
}

export type Until = { readonly at: number } | { readonly sequence: number }

/** `entries`: from the first one, in order. null: it did not exist yet. */
export function rebuildInstance(entries: readonly PastEntry[], until: Until): PastInstance | null {
  let past: PastInstance | null = null
  for (const entry of entries) {
    if ('at' in until ? entry.at > until.at : entry.sequence > until.sequence) break
    past = applyEntry(past ?? EMPTY, entry)
  }
  return past
}

const EMPTY: PastInstance = {
  state: 'active',
  version: '',
  marking: {},
  data: {},
  metadata: {},
  correlations: [],
  sequence: 0,
  at: 0,
  isWhole: true,
}

function applyEntry(past: PastInstance, entry: PastEntry): PastInstance {
  const { sequence, at, took = [], put = [], changes = [], state, version } = entry
  const marking = took.length + put.length === 0 ? past.marking : applyTokens(past.marking, took, put)
  const moved: PastInstance = {
    ...past,
    sequence,
    at,
    marking,
    state: state ?? past.state,
    version: version ?? past.version,
  }
  return changes.reduce(applyChange, moved)
}

function applyTokens(
  marking: PastInstance['marking'],
  took: readonly string[],
  put: readonly string[],
): PastInstance['marking'] {
  const tokens = new Map(Object.entries(marking))
  const add = (place: string, count: number) => {
    const now = (tokens.get(place) ?? 0) + count
    if (now > 0) tokens.set(place, now)
    else tokens.delete(place)
  }
  for (const place of took) add(place, -1)
  for (const place of put) add(place, 1)
  return Object.fromEntries(tokens)
}

function applyChange(past: PastInstance, { path, after, hidden }: DataChange): PastInstance {
  if (hidden === true) return { ...past, isWhole: false }
  const { root, steps } = parseTarget(path)
  if (root === 'correlation') {
    const name = String(steps[0])
    const others = past.correlations.filter((key) => key.name !== name)
    const correlations = after === undefined ? others : [...others, { name, value: String(after) }]
    return { ...past, correlations }
  }
  const before: JsonValue = past[root]
  const value = after === undefined ? removeAt(before, steps) : writeAt(before, steps, after, path)
  return { ...past, [root]: value as Data }
}

const DIFF_MAX = 1_000

/** The differences between two states of an instance, for users: of data and metadata path by path, and of its keys. */
export function diffData(
  before: Pick<Instance, 'data' | 'metadata' | 'correlations'>,
  after: Pick<Instance, 'data' | 'metadata' | 'correlations'>,
): readonly DataChange[] {
  const view = ({ data, metadata, correlations }: typeof before): JsonValue => ({
    data,
    metadata,
    correlation: Object.fromEntries(correlations.map(({ name, value }) => [name, value])),
  })
  return diffJson(view(before), view(after), DIFF_MAX).map((change) => ({
    path: placeText(change.place),
    ...(change.before === undefined ? {} : { before: change.before }),
    ...(change.after === undefined ? {} : { after: change.after }),
  }))
}
