// Checks what a workflow reads and nothing provides: names in `data` that are misspellings of others, and keys that no
// instance can have. Reads it as written, valid or not.

import { readFormula } from '../../core/expression/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { closest } from '../../core/foundation/text/index.ts'
import type { FieldPath, Remark } from '../finding.ts'
import { listed } from '../suggest.ts'
import { type Fields, fieldsOf, isMap } from '../written.ts'

interface Given {
  /** Names directly under `data`. */
  readonly data: readonly string[]
  /** All of `data` is copied from somewhere: its names are not known. */
  readonly isOpen: boolean
  readonly keys: readonly string[]
}

const known = new WeakMap<Fields, Given>()

/** What triggers, transitions, migrations and the schema of the data provide. */
function givenBy(workflow: Fields): Given {
  const there = known.get(workflow)
  if (there !== undefined) return there
  const triggers = listOf(workflow.triggers)
  const transitions = Object.values(fieldsOf(workflow.transitions)).map(fieldsOf)
  const rules = listOf(workflow.migrations).flatMap(({ data }) => listOf(data))
  const targets = [
    ...triggers.flatMap(({ map }) => Object.keys(fieldsOf(map))),
    ...transitions.flatMap(({ out }) => Object.keys(fieldsOf(out))),
    ...rules.flatMap((rule) => [rule.to, rule.default, rule.set].filter((one) => typeof one === 'string')),
  ]
  const paths = targets.map((target) => target.replace(/^data\./, '').split('.'))
  const keysOf = ({ correlate }: Fields) =>
    isMap(correlate) ? Object.keys(fieldsOf(correlate)) : correlate === undefined ? [] : ['default']
  const given = {
    data: [...paths.map(([name = '']) => name), ...Object.keys(fieldsOf(fieldsOf(workflow.data).properties))],
    // A function of a migration may give any name.
    isOpen: targets.includes('data') || rules.some(({ transform }) => transform !== undefined),
    keys: [
      ...triggers.filter(({ action }) => action !== 'update').flatMap(keysOf),
      ...paths.flatMap(([root, name]) => (root === 'correlation' && name !== undefined ? [name] : [])),
    ],
  }
  known.set(workflow, given)
  return given
}

function listOf(value: JsonValue | undefined): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

/** `data.totl` if only `data.total` is ever set: it would be null for ever. */
export function checkData(
  text: string,
  at: FieldPath,
  as: 'expression' | 'template',
  workflow: Fields,
): readonly Remark[] {
  if (!text.includes('data')) return []
  const given = givenBy(workflow)
  if (given.isOpen) return []
  const reads = readFormula(text, as)?.reads ?? []
  return reads.flatMap(({ path, offset }): readonly Remark[] => {
    const name = /^data(?:\.|\[')([\w-]+)/.exec(path)?.[1]
    const near = name === undefined ? undefined : slipOf(name, given)
    if (name === undefined || near === undefined) return []
    return [
      {
        rule: 'unknownData',
        severity: 'warning',
        message: `nothing gives \`data.${name}\`: did you mean \`data.${near}\`?`,
        path: at,
        ...(as === 'template' ? {} : { offset }),
        suggestedText: text.replace(name, near),
      },
    ]
  })
}

/** A path that is encrypted. */
export function checkDataPath(text: string, at: FieldPath, workflow: Fields): readonly Remark[] {
  const given = givenBy(workflow)
  const [root = '', second] = text.split('.')
  const name = root === 'data' ? second : root === 'metadata' ? undefined : root
  const near = given.isOpen || name === undefined ? undefined : slipOf(name, given)
  if (name === undefined || near === undefined) return []
  const message = `nothing gives \`data.${name}\`: did you mean \`data.${near}\`?`
  const suggestedText = text.replace(name, near)
  return [{ rule: 'unknownData', severity: 'warning', message, path: at, suggestedText }]
}

function slipOf(name: string, { data }: Given): string | undefined {
  return data.includes(name) ? undefined : closest(name, data)
}

/** An update that looks for a key that no instance has creates only orphans. */
export function checkKeysGiven(trigger: Fields, at: FieldPath, workflow: Fields): readonly Remark[] {
  const { action, correlate } = trigger
  if (action !== 'update' || correlate === undefined) return []
  const { keys } = givenBy(workflow)
  const wanted = isMap(correlate) ? Object.keys(fieldsOf(correlate)) : ['default']
  return wanted.flatMap((name): readonly Remark[] => {
    if (keys.includes(name)) return []
    const but = keys.length === 0 ? 'none has any key' : `there is ${listed([...new Set(keys)])}`
    const message = `no instance has a key \`${name}\`, so that this finds none (${but}): give it by \`correlate\` where instances begin, or by \`out: { correlation.${name}: … }\``
    const near = closest(name, keys)
    const path = isMap(correlate) ? [...at, 'correlate', name] : [...at, 'correlate']
    const suggestion = near === undefined ? {} : { suggestion: near }
    return [{ rule: 'trigger', severity: 'warning', message, path, onKey: true, ...suggestion }]
  })
}
