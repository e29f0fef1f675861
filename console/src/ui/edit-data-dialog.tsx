// Editing an instance's data: typed as JSON, previewed as a diff, and only then applied, with a reason.

import { useMutation } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { editInstance, planEdit, problemOf } from '../api.ts'
import { editsOf } from '../lib/data-edits.ts'
import { checkJson, formatJson, type JsonNode } from '../lib/json-text.ts'
import { optionalReason, useAction } from './actions.tsx'
import { Button, Field } from './controls.tsx'
import { Changes } from './data-changes.tsx'
import { Dialog, Note } from './surfaces.tsx'

interface EditDataDialogProps {
  readonly id: string
  readonly data: JsonNode
  readonly onClose: () => void
}

export function EditDataDialog({ id, data, onClose }: EditDataDialogProps) {
  // The data when the dialog opened: the diff is against that.
  const [before] = useState(data)
  const [text, setText] = useState(() => formatJson(before))
  const [reason, setReason] = useState('')
  const [isAsked, setIsAsked] = useState(false)
  const checked = useMemo(() => checkJson(text), [text])
  const edits = useMemo(() => ('node' in checked ? editsOf(before, checked.node) : []), [before, checked])
  const look = useMutation({ mutationFn: () => planEdit(id, edits) })
  const save = useAction<string>({
    run: (why) => editInstance(id, edits, optionalReason(why)),
    done: 'The data is changed',
    failed: 'It could not be changed',
    onDone: onClose,
    showsOwnErrors: true,
  })
  const error = save.error ?? look.error
  const problem = error == null ? null : problemOf(error)
  const plan = look.data
  const submit = () => {
    if ('message' in checked || edits.length === 0) return
    if (plan === undefined) return look.mutate()
    setIsAsked(true)
    if (reason.trim() !== '') save.mutate(reason.trim())
  }
  return (
    <Dialog
      title="Edit data"
      isWide
      onClose={onClose}
      onSubmit={submit}
      foot={
        plan === undefined ? (
          <>
            <Button onClick={onClose}>Back</Button>
            <Button
              type="submit"
              variant="primary"
              isBusy={look.isPending}
              disabled={'message' in checked || edits.length === 0}
            >
              Show the difference
            </Button>
          </>
        ) : (
          <>
            <Button onClick={() => look.reset()}>Edit further</Button>
            <Button type="submit" variant="primary" isBusy={save.isPending}>
              Change it
            </Button>
          </>
        )
      }
    >
      {plan === undefined ? (
        <Field
          label="Data"
          error={'message' in checked ? checked.message : undefined}
          hint="Nothing changes before you have seen the difference."
        >
          {(field) => (
            <textarea
              {...field}
              className="input editor"
              spellCheck={false}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
      ) : (
        <>
          <Changes changes={plan.changes} />
          {plan.fires.length > 0 && (
            <Note tone="amber">
              <strong>It moves by it:</strong> {plan.fires.join(', ')} would fire.
            </Note>
          )}
          <Field
            label="Reason"
            hint="Recorded in the history, with your name."
            error={isAsked && reason.trim() === '' ? 'A reason is required.' : undefined}
          >
            {(field) => (
              <input
                {...field}
                className="input"
                value={reason}
                onChange={(event) => setReason(event.target.value)}
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
