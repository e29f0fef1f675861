// Keys: created with a name and a role, shown once, revoked at once.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { KeyRound, Plus } from 'lucide-react'
import { useState } from 'react'
import { api, fieldError, fieldErrors, problemOf } from '../api.ts'
import { useKeys, useTenants } from '../queries.ts'
import type { Key, Me, Role } from '../types.ts'
import { ConfirmDialog, ProblemNote } from '../ui/actions.tsx'
import { Button, Chip, Field, Time } from '../ui/controls.tsx'
import { ShownOnce } from '../ui/shown-once.tsx'
import { Dialog, Empty, ErrorState, SkeletonRows } from '../ui/surfaces.tsx'

const ROLES: readonly (readonly [Role, string])[] = [
  ['viewer', 'viewer: sees everything, changes nothing'],
  ['operator', 'operator: replays, resolves, pauses'],
  ['admin', 'admin: also definitions, secrets and keys'],
]
const LIVES: readonly (readonly [string, string])[] = [
  ['', 'never'],
  ['7d', 'in 7 days'],
  ['30d', 'in 30 days'],
  ['365d', 'in a year'],
]

export function Keys({ me }: { readonly me: Me }) {
  const { data, error, refetch } = useKeys()
  const [isMaking, setIsMaking] = useState(false)
  const [revoked, setRevoked] = useState<Key | null>(null)
  return (
    <>
      <div className="section__head">
        <p className="muted">For programs and people. Only a hash of each key is kept.</p>
        <Button variant="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setIsMaking(true)}>
          New key
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
            icon={<KeyRound size={20} />}
            title="No keys yet"
            action={<Button onClick={() => setIsMaking(true)}>Make one</Button>}
          >
            The node’s own admin key works always; make one for each program and person beside it.
          </Empty>
        )}
        <ul aria-label="Keys">
          {data?.items.map((key) => (
            <li key={key.id} className="row keys__grid">
              <span className="definitions__name">
                <span className="row__title truncate">{key.name}</span>
                <span className="row__sub mono truncate">{key.id}</span>
              </span>
              <span>
                <Chip tone={key.role === 'admin' ? 'violet' : key.role === 'operator' ? 'accent' : 'grey'}>
                  {key.role}
                </Chip>
              </span>
              <span className="muted">
                {key.isExpired ? (
                  <Chip tone="red">expired</Chip>
                ) : key.expiresAt === null ? (
                  'does not expire'
                ) : (
                  <>
                    ends <Time at={key.expiresAt} />
                  </>
                )}
              </span>
              <span className="faint">
                {key.lastUsedAt === null ? (
                  'never used'
                ) : (
                  <>
                    used <Time at={key.lastUsedAt} />
                  </>
                )}
              </span>
              <span className="versions__action">
                <Button
                  isSmall
                  variant="danger"
                  aria-label={`Revoke ${key.name}`}
                  onClick={() => setRevoked(key)}
                >
                  Revoke
                </Button>
              </span>
            </li>
          ))}
        </ul>
      </div>
      {isMaking && <NewKey me={me} onClose={() => setIsMaking(false)} />}
      {revoked !== null && <Revoke keyRow={revoked} onClose={() => setRevoked(null)} />}
    </>
  )
}

function NewKey({ me, onClose }: { readonly me: Me; readonly onClose: () => void }) {
  const client = useQueryClient()
  const { data: tenants } = useTenants(me.isNodeAdmin)
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('operator')
  const [expiresIn, setExpiresIn] = useState('')
  const [tenant, setTenant] = useState(me.tenant)
  const make = useMutation({
    mutationFn: () =>
      api.createKey({
        name: name.trim(),
        role,
        ...(expiresIn !== '' && { expiresIn }),
        ...(tenant !== me.tenant && { tenant }),
      }),
    onSettled: () => client.invalidateQueries({ queryKey: ['keys'] }),
  })
  if (make.data !== undefined) {
    return (
      <ShownOnce title="Your new key" value={make.data.key} onClose={onClose}>
        Nobody can read it again, not even the node.
      </ShownOnce>
    )
  }
  const problem = make.error === null ? null : problemOf(make.error)
  const atName = fieldError(make.error, 'name')
  return (
    <Dialog
      title="New key"
      onClose={onClose}
      onSubmit={() => make.mutate()}
      foot={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button type="submit" variant="primary" isBusy={make.isPending}>
            Make the key
          </Button>
        </>
      }
    >
      <Field label="Name" error={atName} hint={'Who or what uses it, for example "deploy pipeline".'}>
        {(field) => (
          <input
            {...field}
            className="input"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field label="Role" error={fieldError(make.error, 'role')}>
        {(field) => (
          <select
            {...field}
            className="input"
            value={role}
            onChange={(event) => setRole(event.target.value as Role)}
          >
            {ROLES.map(([id, label]) => (
              <option key={id} value={id}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Expires" error={fieldError(make.error, 'expiresIn')}>
        {(field) => (
          <select
            {...field}
            className="input"
            value={expiresIn}
            onChange={(event) => setExpiresIn(event.target.value)}
          >
            {LIVES.map(([id, label]) => (
              <option key={id} value={id}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      {me.isNodeAdmin && (tenants?.items.length ?? 0) > 1 && (
        <Field label="Tenant" error={fieldError(make.error, 'tenant')}>
          {(field) => (
            <select
              {...field}
              className="input"
              value={tenant}
              onChange={(event) => setTenant(event.target.value)}
            >
              {tenants?.items.map((one) => (
                <option key={one.name} value={one.name}>
                  {one.name}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      {problem !== null && fieldErrors(make.error).length === 0 && <ProblemNote error={make.error} />}
    </Dialog>
  )
}

function Revoke({ keyRow, onClose }: { readonly keyRow: Key; readonly onClose: () => void }) {
  return (
    <ConfirmDialog
      title={`Revoke ${keyRow.name}`}
      text="Whoever uses it is refused from now on, and sessions that began with it end."
      action="Revoke"
      run={() => api.revokeKey({ id: keyRow.id })}
      done={`${keyRow.name} is revoked`}
      failed="It could not be revoked"
      onClose={onClose}
    />
  )
}
