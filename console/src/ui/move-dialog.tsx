// Moving a token past every transition, from its place to another.

import { useState } from 'react'
import { api } from '../api.ts'
import type { InstanceDetail } from '../types.ts'
import { optionalReason, ReasonDialog } from './actions.tsx'
import { Field } from './controls.tsx'

export function MoveDialog({
  instance: { id, marking, net },
  onClose,
}: {
  readonly instance: InstanceDetail
  readonly onClose: () => void
}) {
  const here = Object.keys(marking)
  const [from, setFrom] = useState(here[0] ?? '')
  const [to, setTo] = useState(net.places.find(({ name }) => !here.includes(name))?.name ?? '')
  const select = (
    label: string,
    value: string,
    names: readonly string[],
    onChange: (name: string) => void,
  ) => (
    <Field label={label}>
      {(field) => (
        <select {...field} className="input" value={value} onChange={(event) => onChange(event.target.value)}>
          {names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
  return (
    <ReasonDialog
      title="Move a token"
      text={
        <div className="move">
          <p>
            No transition fires and no condition is evaluated. A step that uses the token is interrupted.
            Transitions that can fire from its new place do so at once.
          </p>
          <div className="pair">
            {select('From', from, here, setFrom)}
            {select(
              'To',
              to,
              net.places.map(({ name }) => name),
              setTo,
            )}
          </div>
        </div>
      }
      action="Move it"
      run={(reason) => api.moveTokens({ id, from, to, ...optionalReason(reason) })}
      done="The token is moved"
      isReasonNeeded
      onClose={onClose}
    />
  )
}
