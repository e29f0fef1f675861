// Tenants. Only the node's own admin sees them all.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Building2, Plus } from 'lucide-react'
import { useState } from 'react'
import { api, fieldError, fieldErrors, problemOf } from '../api.ts'
import { useTenants } from '../queries.ts'
import { Button, Field, Time } from '../ui/controls.tsx'
import { Dialog, Empty, ErrorState, Note, SkeletonRows } from '../ui/surfaces.tsx'
import { toastDone } from '../ui/toast.tsx'

export function Tenants() {
  const { data, error, refetch } = useTenants(true)
  const [isMaking, setIsMaking] = useState(false)
  return (
    <>
      <div className="section__head">
        <p className="muted">Each tenant has its own events, definitions, keys and secrets.</p>
        <Button variant="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setIsMaking(true)}>
          New tenant
        </Button>
      </div>
      <div className="list">
        {data === undefined &&
          (error === null ? (
            <SkeletonRows count={3} />
          ) : (
            <ErrorState error={error} onRetry={() => void refetch()} />
          ))}
        {data?.items.length === 0 && <Empty icon={<Building2 size={20} />} title="No tenants" />}
        <ul aria-label="Tenants">
          {data?.items.map((tenant) => (
            <li key={tenant.name} className="row secrets__grid">
              <span className="row__title">{tenant.name}</span>
              <span className="muted truncate">{tenant.description}</span>
              <span className="faint">
                {tenant.createdAt !== undefined && <Time at={tenant.createdAt} />}
              </span>
              <span />
            </li>
          ))}
        </ul>
      </div>
      {isMaking && <NewTenant onClose={() => setIsMaking(false)} />}
    </>
  )
}

function NewTenant({ onClose }: { readonly onClose: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const make = useMutation({
    mutationFn: () =>
      api.createTenant({
        name: name.trim(),
        ...(description.trim() !== '' && { description: description.trim() }),
      }),
    onSuccess: () => {
      toastDone(`${name.trim()} is there`, 'Make a key for it among the keys.')
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['tenants'] }),
  })
  const problem = make.error === null ? null : problemOf(make.error)
  const nameError = fieldError(make.error, 'name') ?? (problem?.status === 409 ? problem.detail : undefined)
  return (
    <Dialog
      title="New tenant"
      onClose={onClose}
      onSubmit={() => make.mutate()}
      foot={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button type="submit" variant="primary" isBusy={make.isPending}>
            Make the tenant
          </Button>
        </>
      }
    >
      <Field label="Name" error={nameError} hint="Small letters, digits and dashes.">
        {(field) => (
          <input
            {...field}
            className="input mono"
            value={name}
            spellCheck={false}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field label="Description (optional)" error={fieldError(make.error, 'description')}>
        {(field) => (
          <input
            {...field}
            className="input"
            value={description}
            onChange={(event) => setDescription(event.target.value)}
          />
        )}
      </Field>
      {problem !== null && nameError === undefined && fieldErrors(make.error).length === 0 && (
        <Note tone="red">
          <strong>{problem.title}.</strong> {problem.detail} {problem.next}
        </Note>
      )}
    </Dialog>
  )
}
