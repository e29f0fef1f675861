// Fields of definitions of one line, drawn from their declaration: a new one of the language is here without code.

import type { FormField } from '../lib/definition-fields.generated.ts'
import { Field } from './controls.tsx'

export type TypedFields = Readonly<Record<string, string>>

interface DeclaredFieldsProps {
  readonly fields: readonly FormField[]
  readonly values: TypedFields
  readonly onChange: (values: TypedFields) => void
  readonly errorOf: (name: string) => string | undefined
}

export function DeclaredFields({ fields, values, onChange, errorOf }: DeclaredFieldsProps) {
  return fields.map(({ name, meaning, leftOut, values: choices }) => (
    <Field key={name} label={labelOf(name)} hint={withoutBackticks(meaning)} error={errorOf(name)}>
      {(props) => {
        const open = `Left open: ${withoutBackticks(leftOut)}`
        const given = {
          ...props,
          value: values[name] ?? '',
          onChange: (event: { readonly target: { readonly value: string } }) =>
            onChange({ ...values, [name]: event.target.value }),
        }
        return choices === undefined ? (
          <input {...given} className="input mono" placeholder={open} spellCheck={false} />
        ) : (
          <select {...given} className="input">
            {['', ...choices].map((value) => (
              <option key={value} value={value}>
                {value === '' ? open : value}
              </option>
            ))}
          </select>
        )
      }}
    </Field>
  ))
}

/** What was typed, as fields of a document: `probe.every` is within `probe`. */
export function documentOf(values: TypedFields): Readonly<Record<string, unknown>> {
  const document: Record<string, unknown> = {}
  for (const [path, typed] of Object.entries(values)) {
    const value = typed.trim()
    const [name = '', inner] = path.split('.')
    if (value === '') continue
    document[name] = inner === undefined ? value : { ...(document[name] as object), [inner]: value }
  }
  return document
}

/** `probe.disableAfter`: Probe disable after. */
const labelOf = (name: string) => {
  const words = name.replaceAll('.', ' ').replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return `${words[0]?.toUpperCase()}${words.slice(1)}`
}
const withoutBackticks = (text: string) => text.replaceAll('`', '')
