// Firing a transition: which, with what input, and why not if it cannot.

import { useState } from 'react'
import { fireTransition, problemOf } from '../api.ts'
import type { JsonNode } from '../lib/json-text.ts'
import type { Explained, InstanceDetail, Net } from '../types.ts'
import { useAction } from './actions.tsx'
import { Button, Field } from './controls.tsx'
import { InputForm, useInput } from './input-form.tsx'
import { Rules } from './rules.tsx'
import { Dialog, Note } from './surfaces.tsx'

type Transition = Net['transitions'][number]

interface FireDialogProps {
  readonly instance: InstanceDetail
  readonly transitions: readonly Transition[]
  readonly why: readonly Explained[]
  readonly onClose: () => void
}

export function FireDialog({ instance, transitions, why, onClose }: FireDialogProps) {
  const canFire = (name: string) => why.find((one) => one.name === name)?.canFire === true
  const [name, setName] = useState((transitions.find((one) => canFire(one.name)) ?? transitions[0])?.name)
  const transition = transitions.find((one) => one.name === name)
  if (transition === undefined) return null
  return (
    <FireForm
      key={transition.name}
      id={instance.id}
      transition={transition}
      explained={why.find((one) => one.name === transition.name)}
      onClose={onClose}
    >
      <Field label="Transition" hint={transition.description ?? undefined}>
        {(field) => (
          <select {...field} className="input" value={name} onChange={(event) => setName(event.target.value)}>
            {transitions.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name} → {one.to.join(', ')}
                {canFire(one.name) ? '' : ' (cannot fire now)'}
              </option>
            ))}
          </select>
        )}
      </Field>
    </FireForm>
  )
}

interface FireFormProps {
  readonly id: string
  readonly transition: Transition
  readonly explained: Explained | undefined
  readonly onClose: () => void
  readonly children: React.ReactNode
}

function FireForm({ id, transition, explained, onClose, children }: FireFormProps) {
  const [comment, setComment] = useState('')
  const { typed, form } = useInput(transition.input)
  const hasInput = transition.input !== null
  const fire = useAction<JsonNode | null>({
    run: (input) => fireTransition(id, transition.name, input, comment.trim()),
    done: `${transition.name} fired`,
    failed: 'It could not be fired',
    onDone: onClose,
    showsOwnErrors: true,
  })
  const problem = fire.error == null ? null : problemOf(fire.error)
  const cannot = explained !== undefined && !explained.canFire
  return (
    <Dialog
      title="Fire a transition"
      onClose={onClose}
      onSubmit={() => {
        if (!hasInput) fire.mutate(null)
        else if ('node' in typed) fire.mutate(typed.node)
      }}
      foot={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button
            type="submit"
            variant="primary"
            isBusy={fire.isPending}
            disabled={cannot || (hasInput && 'message' in typed)}
          >
            Fire {transition.name}
          </Button>
        </>
      }
    >
      {children}
      {cannot ? (
        <>
          <p className="muted">It cannot fire now:</p>
          <Rules rules={explained.rules} />
        </>
      ) : (
        <>
          {hasInput && <InputForm {...form} />}
          <Field label="Comment (optional)" hint="Recorded in the history, with your name.">
            {(field) => (
              <textarea
                {...field}
                className="input"
                rows={2}
                value={comment}
                onChange={(event) => setComment(event.target.value)}
              />
            )}
          </Field>
        </>
      )}
      {problem !== null && (
        <Note tone="red">
          <strong>{problem.title}.</strong> {problem.detail} {problem.next}
        </Note>
      )}
    </Dialog>
  )
}
