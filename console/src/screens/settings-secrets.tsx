// Secrets: values go in and never come out.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Lock, Plus } from 'lucide-react'
import { useState } from 'react'
import { api, fieldError, fieldErrors, problemOf } from '../api.ts'
import { useSecrets } from '../queries.ts'
import { ConfirmDialog, ProblemNote } from '../ui/actions.tsx'
import { Button, Chip, Command, Field, Time } from '../ui/controls.tsx'
import { Dialog, Empty, ErrorState, SkeletonRows } from '../ui/surfaces.tsx'
import { toastDone, toastProblem } from '../ui/toast.tsx'

export function Secrets() {
  const { data, error, refetch } = useSecrets()
  const [setting, setSetting] = useState<string | null>(null)
  const [deleting, setDeleting] = useState<string | null>(null)
  return (
    <>
      <div className="section__head">
        <p className="muted">
          Encrypted where they are kept. Definitions name them as <code>{'{ ref: NAME }'}</code>; a value that
          went in is never shown.
        </p>
        <Button variant="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setSetting('')}>
          Set a secret
        </Button>
      </div>
      <div className="list">
        {data === undefined &&
          (error === null ? (
            <SkeletonRows count={3} />
          ) : (
            <ErrorState error={error} onRetry={() => void refetch()} />
          ))}
        {data?.items.length === 0 && (
          <Empty
            icon={<Lock size={20} />}
            title="No secrets yet"
            action={<Command text="npx millrace secrets set NAME" />}
          >
            Keep signing secrets and tokens here instead of in definitions.
          </Empty>
        )}
        <ul aria-label="Secrets">
          {data?.items.map((secret) => (
            <li key={secret.name} className="row secrets__grid">
              <span className="row__title mono truncate">{secret.name}</span>
              <span className="muted num">
                {secret.version === null ? 'not in use yet' : `version ${secret.version}`}{' '}
                {secret.fingerprint !== null && (
                  <span className="mono faint" title="Fingerprint of the value in use">
                    {secret.fingerprint}
                  </span>
                )}{' '}
                {secret.hasPending && <Chip tone="amber">next one waits</Chip>}
              </span>
              <span className="faint">
                set <Time at={secret.updatedAt} /> by {secret.updatedBy}
              </span>
              <span className="versions__action">
                {secret.hasPending && <Promote name={secret.name} />}
                <Button
                  isSmall
                  aria-label={`Set ${secret.name} anew`}
                  onClick={() => setSetting(secret.name)}
                >
                  Set anew
                </Button>
                <Button
                  isSmall
                  variant="danger"
                  aria-label={`Delete ${secret.name}`}
                  onClick={() => setDeleting(secret.name)}
                >
                  Delete
                </Button>
              </span>
            </li>
          ))}
        </ul>
      </div>
      {setting !== null && <SetSecret name={setting} onClose={() => setSetting(null)} />}
      {deleting !== null && <DeleteSecret name={deleting} onClose={() => setDeleting(null)} />}
    </>
  )
}

/** The pending value comes into use; until then both senders and receivers may be given it. */
function Promote({ name }: { readonly name: string }) {
  const client = useQueryClient()
  const promote = useMutation({
    mutationFn: () => api.promoteSecret({ name }),
    onSuccess: ({ version }) => toastDone(`${name} has its next value`, `Version ${version}`),
    onError: (error) => toastProblem(error, 'It could not be put in use'),
    onSettled: () => client.invalidateQueries({ queryKey: ['secrets'] }),
  })
  return (
    <Button
      isSmall
      variant="primary"
      aria-label={`Use the next value of ${name}`}
      isBusy={promote.isPending}
      onClick={() => promote.mutate()}
    >
      Use the next
    </Button>
  )
}

function SetSecret({ name: given, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState(given)
  const [value, setValue] = useState('')
  const [isPending, setIsPending] = useState(false)
  const save = useMutation({
    mutationFn: () => api.setSecret({ name: name.trim(), value, pending: isPending }),
    onSuccess: (answer) => {
      toastDone(
        isPending ? `${answer.name} has a next value` : `${answer.name} is set`,
        `Version ${answer.version}`,
      )
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['secrets'] }),
  })
  const problem = save.error === null ? null : problemOf(save.error)
  return (
    <Dialog
      title={given === '' ? 'Set a secret' : `Set ${given} anew`}
      onClose={onClose}
      onSubmit={() => save.mutate()}
      foot={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button type="submit" variant="primary" isBusy={save.isPending}>
            Set
          </Button>
        </>
      }
    >
      <Field label="Name" error={fieldError(save.error, 'name')}>
        {(field) => (
          <input
            {...field}
            className="input mono"
            value={name}
            disabled={given !== ''}
            spellCheck={false}
            placeholder="SHOP_SECRET"
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field label="Value" error={fieldError(save.error, 'value')}>
        {(field) => (
          <input
            {...field}
            className="input mono"
            type="password"
            autoComplete="off"
            value={value}
            onChange={(event) => setValue(event.target.value)}
          />
        )}
      </Field>
      <label className="check">
        <input type="checkbox" checked={isPending} onChange={(event) => setIsPending(event.target.checked)} />
        Keep it as the next value until it is put in use
      </label>
      {problem !== null && fieldErrors(save.error).length === 0 && <ProblemNote error={save.error} />}
    </Dialog>
  )
}

function DeleteSecret({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  return (
    <ConfirmDialog
      title={`Delete ${name}`}
      text="Whatever names it fails from now on, until it is set again."
      action="Delete"
      run={() => api.removeSecret({ name })}
      done={`${name} is deleted`}
      failed="It could not be deleted"
      onClose={onClose}
    />
  )
}
