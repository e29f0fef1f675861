// What the settings of a node (`MILLRACE_VAR_<name>`) say of `vars` in place of the definitions: found by name, typed by
// the defined value.

import { isNumber, type JsonValue, parseJson } from '../../foundation/json/index.ts'
import { findLiterals } from '../../secrets/index.ts'
import type { VarValues } from './vars-document.ts'

export const VAR_SETTING = 'MILLRACE_VAR_'

/** By what follows the prefix, as they are written. */
export type VarSettings = Readonly<Record<string, string>>

export interface VarSettingProblem {
  /** With the prefix. */
  readonly setting: string
  /** null: no definition has such a name. */
  readonly name: string | null
  /** What is wrong and what to do. */
  readonly message: string
}

export interface SetVars {
  readonly values: VarValues
  /** The setting that gave the value, by name. */
  readonly settings: ReadonlyMap<string, string>
  readonly problems: readonly VarSettingProblem[]
}

/** A setting with a problem changes nothing. */
export function applyVarSettings(values: VarValues, settings: VarSettings): SetVars {
  const problems: VarSettingProblem[] = []
  const used = new Map<string, string>()
  const set: [string, JsonValue][] = []
  for (const [written, text] of Object.entries(settings)) {
    const setting = `${VAR_SETTING}${written}`
    const [name, ...others] = namesMeant(written, values)
    if (name === undefined || others.length > 0) {
      const message =
        name === undefined
          ? `no definition has \`vars.${written}\`: define it in a document of \`kind: Vars\`, or take the setting away`
          : `this means one of ${[name, ...others].map((one) => `\`vars.${one}\``).join(', ')}: write the name exactly`
      problems.push({ setting, name: name ?? null, message })
      continue
    }
    const earlier = used.get(name)
    const read = readAs(values[name] as JsonValue, text)
    const message =
      earlier !== undefined
        ? `\`${earlier}\` sets \`vars.${name}\` too: take one away`
        : 'needs' in read
          ? `\`vars.${name}\` is ${read.needs} where it is defined: write one, or take the setting away`
          : findLiterals({ value: read.value } as JsonValue).length > 0
            ? `this looks like a credential, and \`vars\` are readable: put it into the vault, and write \`{{ secret('name') }}\` where it is sent`
            : null
    if (message !== null) problems.push({ setting, name, message })
    else if ('value' in read) {
      used.set(name, setting)
      set.push([name, read.value])
    }
  }
  return { values: { ...values, ...Object.fromEntries(set) }, settings: used, problems }
}

/** An exact name first; otherwise capitals make no difference, because many environments know no others. */
function namesMeant(written: string, values: VarValues): readonly string[] {
  if (Object.hasOwn(values, written)) return [written]
  const lower = written.toLowerCase()
  return Object.keys(values).filter((name) => name.toLowerCase() === lower)
}

type ReadSetting = { readonly value: JsonValue } | { readonly needs: string }

function readAs(defined: JsonValue, text: string): ReadSetting {
  if (typeof defined === 'string') return { value: text }
  const [needs, isSame] = typeTest(defined)
  try {
    const value = parseJson(text)
    return isSame(value) ? { value } : { needs }
  } catch {
    return { needs }
  }
}

function typeTest(defined: JsonValue): readonly [string, (value: JsonValue) => boolean] {
  if (isNumber(defined)) return ['a number, such as `25`', isNumber]
  if (typeof defined === 'boolean') return ['`true` or `false`', (value) => typeof value === 'boolean']
  if (Array.isArray(defined)) return ['a list, such as `["a", "b"]`', Array.isArray]
  const isMap = (value: JsonValue) => typeof value === 'object' && value !== null && !Array.isArray(value)
  return ['a map, such as `{"a": 1}`', (value) => isMap(value) && !isNumber(value)]
}
