// Actions that ask before they act: a dialog with a reason, the server's refusals at the field or as a message.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { fieldError, problemOf } from '../api.ts'
import { Button, Field } from './controls.tsx'
import { Dialog, Note } from './surfaces.tsx'
import { toastDone, toastProblem } from './toast.tsx'

/** Acts, reports the result, and reloads everything that it may have changed; after a lost race too. */
export function useAction<Body>(options: {
  readonly run: (body: Body) => Promise<unknown>
  readonly done: string
  readonly failed: string
  readonly onDone?: () => void
  /** Shown by the dialog itself. */
  readonly showsOwnErrors?: boolean
}) {
  const client = useQueryClient()
  return useMutation<unknown, unknown, Body>({
    mutationFn: options.run,
    onSuccess: () => {
      toastDone(options.done)
      options.onDone?.()
    },
    onError: (error) => {
      const isTold = options.showsOwnErrors === true && problemOf(error).status !== 409
      if (!isTold) toastProblem(error, options.failed)
    },
    onSettled: () => client.invalidateQueries(),
  })
}

interface ReasonDialogProps {
  readonly title: string
  readonly text: ReactNode
  readonly action: string
  /** Gets an empty reason only if none is needed. */
  readonly run: (reason: string) => Promise<unknown>
  readonly done: string
  readonly isReasonNeeded?: boolean
  /** The name of the text, here and at the server; omitted: a reason. */
  readonly field?: 'note'
  readonly isDangerous?: boolean
  readonly onClose: () => void
}

export function ReasonDialog(props: ReasonDialogProps) {
  const [reason, setReason] = useState('')
  const [isAsked, setIsAsked] = useState(false)
  const action = useAction({
    run: props.run,
    done: props.done,
    failed: `${props.action} did not work`,
    onDone: props.onClose,
    showsOwnErrors: true,
  })
  const name = props.field ?? 'reason'
  const label = props.field === 'note' ? 'Note' : 'Reason'
  const isMissing = props.isReasonNeeded === true && reason.trim() === ''
  const problem = action.error === null || action.error === undefined ? null : problemOf(action.error)
  const atField =
    fieldError(action.error, name) ?? (isAsked && isMissing ? 'A reason is required.' : undefined)
  const submit = () => {
    setIsAsked(true)
    if (isMissing) return
    action.mutate(reason.trim(), {
      onError: (error) => {
        if (problemOf(error).status === 409) props.onClose()
      },
    })
  }
  return (
    <Dialog
      title={props.title}
      onClose={props.onClose}
      onSubmit={submit}
      foot={
        <>
          <Button onClick={props.onClose}>Back</Button>
          <Button
            type="submit"
            variant={props.isDangerous === true ? 'danger' : 'primary'}
            isBusy={action.isPending}
          >
            {props.action}
          </Button>
        </>
      }
    >
      <div className="muted">{props.text}</div>
      <Field
        label={props.isReasonNeeded === true ? label : `${label} (optional)`}
        hint="Recorded in the history, with your name."
        error={atField}
      >
        {(field) => (
          <textarea
            {...field}
            className="input"
            rows={3}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        )}
      </Field>
      {problem !== null && problem.status !== 409 && fieldError(action.error, name) === undefined && (
        <ProblemNote error={action.error} />
      )}
    </Dialog>
  )
}

interface ConfirmDialogProps {
  readonly title: string
  readonly text: ReactNode
  readonly action: string
  readonly run: () => Promise<unknown>
  readonly done: string
  readonly failed: string
  readonly onDone?: () => void
  readonly onClose: () => void
}

/** For what cannot be undone, and needs no reason. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const action = useAction({
    run: props.run,
    done: props.done,
    failed: props.failed,
    ...(props.onDone !== undefined && { onDone: props.onDone }),
  })
  return (
    <Dialog
      title={props.title}
      onClose={props.onClose}
      onSubmit={() => action.mutate(undefined, { onSettled: props.onClose })}
      foot={
        <>
          <Button onClick={props.onClose}>Back</Button>
          <Button type="submit" variant="danger" isBusy={action.isPending}>
            {props.action}
          </Button>
        </>
      }
    >
      <div className="muted">{props.text}</div>
    </Dialog>
  )
}

/** An error that belongs to no field. */
export function ProblemNote({ error }: { readonly error: unknown }) {
  const problem = problemOf(error)
  return (
    <Note tone="red">
      <strong>{problem.title}.</strong> {problem.detail} {problem.next}
    </Note>
  )
}

/** An empty reason is omitted. */
export const optionalReason = (reason: string): { readonly reason?: string } =>
  reason === '' ? {} : { reason }
