// A user's input for a start or a firing: fields if the schema describes simple values, JSON otherwise.

import { useState } from 'react'
import { type InputField, inputFields, inputOf } from '../lib/input-fields.ts'
import { checkJson, formatJson, type JsonNode, JsonTextError, parseJsonText } from '../lib/json-text.ts'
import { Field } from './controls.tsx'

export type Typed = { readonly node: JsonNode } | { readonly message: string }

/** The state of one form; `typed` is what would be sent. */
export function useInput(schema: unknown): {
  readonly typed: Typed
  readonly form: InputFormProps
} {
  const fields = inputFields(schema)
  const [values, setValues] = useState<ReadonlyMap<string, string>>(new Map())
  const [text, setText] = useState('{}')
  const [isText, setIsText] = useState(false)
  const asJson = isText || fields === null
  const typed = asJson ? checkJson(text) : read(fields, values)
  return {
    typed,
    form: {
      fields,
      asJson,
      text,
      values,
      error: asJson && 'message' in typed ? typed.message : undefined,
      onText: setText,
      onValue: (name, value) => setValues(new Map(values).set(name, value)),
      onSwitch: () => {
        if (!asJson && 'node' in typed) setText(formatJson(typed.node))
        setIsText(!asJson)
      },
      schema,
    },
  }
}

function read(fields: readonly InputField[], values: ReadonlyMap<string, string>): Typed {
  try {
    return { node: inputOf(fields, values) }
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error
    return { message: error.message }
  }
}

interface InputFormProps {
  readonly fields: readonly InputField[] | null
  readonly asJson: boolean
  readonly text: string
  readonly values: ReadonlyMap<string, string>
  readonly error: string | undefined
  readonly onText: (text: string) => void
  readonly onValue: (name: string, value: string) => void
  readonly onSwitch: () => void
  readonly schema: unknown
}

export function InputForm(props: InputFormProps) {
  const { fields, asJson } = props
  return (
    <>
      {asJson ? (
        <Field
          label="Input"
          error={props.error}
          hint={props.schema === null ? 'Any JSON value.' : 'JSON that fits the schema.'}
        >
          {(field) => (
            <textarea
              {...field}
              className="input editor editor--small"
              spellCheck={false}
              value={props.text}
              onChange={(event) => props.onText(event.target.value)}
            />
          )}
        </Field>
      ) : (
        fields?.map((one) => (
          <OneField
            key={one.name}
            field={one}
            value={props.values.get(one.name) ?? one.first}
            onChange={(value) => props.onValue(one.name, value)}
          />
        ))
      )}
      {props.schema !== null && asJson && (
        <details>
          <summary className="muted">Schema</summary>
          <pre className="raw mono">{formatJson(parseJsonText(JSON.stringify(props.schema)))}</pre>
        </details>
      )}
      {fields !== null && (
        <button type="button" className="link-button input-form__switch" onClick={props.onSwitch}>
          {asJson ? 'Use the form' : 'Write JSON instead'}
        </button>
      )}
    </>
  )
}

function OneField({
  field: { label, hint, isNeeded, type, options },
  value,
  onChange,
}: {
  readonly field: InputField
  readonly value: string
  readonly onChange: (value: string) => void
}) {
  const isBad = type === 'number' && value !== '' && 'message' in checkJson(value)
  return (
    <Field
      label={isNeeded ? label : `${label} (optional)`}
      hint={hint}
      error={isBad ? 'Write a number.' : undefined}
    >
      {(field) =>
        type === 'choice' || type === 'yes-no' ? (
          <select
            {...field}
            className="input"
            value={value}
            onChange={(event) => onChange(event.target.value)}
          >
            {type === 'yes-no' ? (
              <>
                <option value="false">no</option>
                <option value="true">yes</option>
              </>
            ) : (
              <>
                <option value="">choose …</option>
                {options.map((one) => (
                  <option key={one} value={one}>
                    {one}
                  </option>
                ))}
              </>
            )}
          </select>
        ) : (
          <input
            {...field}
            className="input"
            inputMode={type === 'number' ? 'decimal' : undefined}
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
        )
      }
    </Field>
  )
}
