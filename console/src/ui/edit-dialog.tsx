// Editing a dead letter's payload: checked while typing, then by the server, which reports its findings.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { editDeadLetterExactly, fieldError, problemOf } from '../api.ts'
import { checkJson, formatJson, type JsonNode } from '../lib/json-text.ts'
import { Button, Field } from './controls.tsx'
import { Dialog, Note } from './surfaces.tsx'
import { toastDone, toastProblem } from './toast.tsx'

interface EditDialogProps {
  readonly letterId: string
  readonly payload: JsonNode
  readonly onClose: () => void
}

export function EditDialog({ letterId, payload, onClose }: EditDialogProps) {
  const client = useQueryClient()
  const before = useMemo(() => formatJson(payload), [payload])
  const [text, setText] = useState(before)
  const [reason, setReason] = useState('')
  const [isAsked, setIsAsked] = useState(false)
  const checked = useMemo(() => checkJson(text), [text])
  const save = useMutation({
    mutationFn: (node: JsonNode) => editDeadLetterExactly(letterId, reason.trim(), node),
    onSuccess: () => {
      toastDone('The payload is changed', 'The dead letter is ready to be replayed with it.')
      onClose()
    },
    onError: (error) => {
      if (problemOf(error).status !== 409) return
      toastProblem(error, 'It could not be changed')
      onClose()
    },
    onSettled: () => client.invalidateQueries(),
  })
  const problem = save.error === null ? null : problemOf(save.error)
  const dataError = 'message' in checked ? checked.message : fieldError(save.error, 'data')
  const reasonError =
    fieldError(save.error, 'reason') ??
    (isAsked && reason.trim() === '' ? 'A reason is required.' : undefined)
  const isElsewhere =
    problem !== null && problem.status !== 409 && dataError === undefined && reasonError === undefined
  const submit = () => {
    setIsAsked(true)
    if ('node' in checked && reason.trim() !== '') save.mutate(checked.node)
  }
  return (
    <Dialog
      title="Edit the payload"
      onClose={onClose}
      onSubmit={submit}
      isWide
      foot={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button
            type="submit"
            variant="primary"
            isBusy={save.isPending}
            disabled={'message' in checked || text === before}
          >
            Save
          </Button>
        </>
      }
    >
      <Field
        label="Payload"
        error={dataError}
        hint="The original event stays as it was accepted; the replay uses this copy under the same key."
      >
        {(field) => (
          <textarea
            {...field}
            className="input editor"
            value={text}
            spellCheck={false}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
      <Field label="Reason" error={reasonError} hint="Recorded in the history, with your name.">
        {(field) => (
          <input
            {...field}
            className="input"
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        )}
      </Field>
      {isElsewhere && (
        <Note tone="red">
          <strong>{problem.title}.</strong> {problem.detail} {problem.next}
        </Note>
      )}
    </Dialog>
  )
}
