// Assignments to an instance: computed completely first, so that an invalid one leaves everything unchanged.

import { ExpressionError } from '../../expression/index.ts'
import { isNumeral, type JsonValue, placeText } from '../../foundation/json/index.ts'
import type { Data, DataChange, Instance } from '../instance/index.ts'
import { type Draft, keepsValues } from './instance-draft.ts'
import { keyText } from './key-text.ts'
import { encodedSize, parseTarget, readAt, removeAt, writeAt } from './nested-data.ts'

/** Of the JSON of data and metadata, each, in characters. */
const DATA_SIZE_MAX = 256 * 1_024
const KEYS_MAX = 50

/** Without `value`: the member is removed. */
export interface Change {
  readonly path: string
  readonly value?: JsonValue
}

export interface Assigned {
  readonly data: Data
  readonly metadata: Data
  readonly correlations: Instance['correlations']
  readonly changes: readonly DataChange[]
  readonly learned: readonly { readonly name: string; readonly before?: string; readonly after?: string }[]
}

export type Assignable = Pick<Instance, 'data' | 'metadata' | 'correlations'>

/** Throws ExpressionError. */
export function computeChanges(before: Assignable, wanted: readonly Change[]): Assigned {
  let { data, metadata, correlations } = before
  const changes: DataChange[] = []
  const learned: Assigned['learned'][number][] = []
  for (const { path, value } of wanted) {
    const target = parseTarget(path)
    if (target.root === 'correlation') {
      const [name] = target.steps
      if (typeof name !== 'string' || target.steps.length !== 1) {
        throw new ExpressionError('type', 'a key of an instance is `correlation.` and a name', path)
      }
      const old = correlations.find((key) => key.name === name)?.value
      const text = value === undefined ? undefined : keyText(value, path, `the key \`${name}\``)
      if (text === old) continue
      correlations = correlations.filter((key) => key.name !== name)
      if (text !== undefined) correlations = [...correlations, { name, value: text }]
      learned.push({ name, ...part('before', old), ...part('after', text) })
      continue
    }
    const whole: JsonValue = target.root === 'data' ? data : metadata
    const old = readAt(whole, target.steps)
    if (old === value || (isNumeral(old) && isNumeral(value) && old.text === value.text)) continue
    const after =
      value === undefined ? removeAt(whole, target.steps) : writeAt(whole, target.steps, value, path)
    if (typeof after !== 'object' || after === null || Array.isArray(after) || isNumeral(after)) {
      throw new ExpressionError('type', `\`${target.root}\` as a whole is a map`, path)
    }
    if (target.root === 'data') data = after as Data
    else metadata = after as Data
    const text = `${placeText([target.root, ...target.steps])}`
    changes.push({ path: text, ...part('before', old), ...part('after', value) })
  }
  if (data !== before.data) checkSize(data, 'data')
  if (metadata !== before.metadata) checkSize(metadata, 'metadata')
  if (correlations.length > KEYS_MAX) {
    throw new ExpressionError('bounds', `an instance has at most ${KEYS_MAX} keys`, 'correlation')
  }
  return { data, metadata, correlations, changes, learned }
}

type Part<Name extends string, Value> = { readonly [Key in Name]?: Value }

function part<Name extends string, Value>(name: Name, value: Value | undefined): Part<Name, Value> {
  return (value === undefined ? {} : { [name]: value }) as Part<Name, Value>
}

function checkSize(value: Data, root: string): void {
  if (encodedSize(value, DATA_SIZE_MAX) <= DATA_SIZE_MAX) return
  throw new ExpressionError(
    'bounds',
    `\`${root}\` would be more than ${DATA_SIZE_MAX} characters of JSON`,
    root,
  )
}

const UNCHANGED: readonly Change[] = []

/** Also checks the schema of the data. Throws ExpressionError; the draft is unchanged. */
export function computeAssigned(draft: Draft, wanted: readonly Change[]): Assigned | null {
  if (wanted === UNCHANGED || wanted.length === 0) return null
  const assigned = computeChanges(draft.now, wanted)
  if (assigned.data !== draft.now.data) checkSchema(draft, assigned.data)
  return assigned
}

export function checkSchema({ workflow }: Pick<Draft, 'workflow'>, data: Data): void {
  const fault = workflow.dataFault(data)
  if (fault !== null) throw new ExpressionError('type', `the data does not fit its schema: ${fault}`, 'data')
}

/** For the entry of the history. Learned keys are recorded separately, by `learnedEffects`. */
export function applyAssigned(
  draft: Draft,
  assigned: Assigned | null,
): { readonly changes?: readonly DataChange[] } {
  if (assigned === null) return {}
  draft.now.data = assigned.data
  draft.now.metadata = assigned.metadata
  draft.now.correlations = assigned.correlations
  return assigned.changes.length === 0 ? {} : { changes: shown(draft, assigned.changes) }
}

/** After the entry that caused it. */
export function learnedEffects(draft: Draft, assigned: Assigned | null): void {
  for (const { name, before, after } of assigned?.learned ?? []) {
    if (before !== undefined) draft.effects.push({ type: 'uncorrelate', keys: [{ name, value: before }] })
    if (after !== undefined) draft.effects.push({ type: 'correlate', name, value: after })
    const change = {
      path: placeText(['correlation', name]),
      ...part('before', before),
      ...part('after', after),
    }
    draft.history.push({ type: 'learned', name, changes: shown(draft, [change]) })
  }
}

export function shown(draft: Pick<Draft, 'workflow'>, changes: readonly DataChange[]): readonly DataChange[] {
  return keepsValues(draft) ? changes : changes.map(({ path }) => ({ path, hidden: true }))
}
