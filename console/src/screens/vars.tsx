// Lists and sets the values that differ by environment.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Plus, SlidersHorizontal } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { api, fieldError, fieldErrors, problemOf } from '../api.ts'
import { definitionHref } from '../lib/links.ts'
import { useMe, useVars } from '../queries.ts'
import type { Args, RowOf } from '../types.ts'
import { ProblemNote } from '../ui/actions.tsx'
import { Button, Chip, Command, Field } from '../ui/controls.tsx'
import { Dialog, Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'
import { toastDone } from '../ui/toast.tsx'

type Row = RowOf<'listVars'>
type Environment = NonNullable<Args<'setVar'>['environment']>
const ENVIRONMENTS: readonly Environment[] = ['DEV', 'QA', 'PROD']
const LINKED = ['Route', 'Source', 'Workflow', 'Subscription', 'Provider', 'Connection', 'Credential']

export default function Vars() {
  const { data, error, refetch } = useVars()
  const { data: me } = useMe()
  const [editing, setEditing] = useState<Row | 'new' | null>(null)
  const isAdmin = me?.role === 'admin'
  return (
    <PageFrame
      title="Values"
      lead="Values that differ by environment. Definitions read one as vars.name; a change applies from the next call on."
      actions={
        isAdmin && (
          <Button variant="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setEditing('new')}>
            New value
          </Button>
        )
      }
    >
      <div className="list">
        <div className="list__head vars__grid" aria-hidden>
          <span>Name</span>
          <span>On this node</span>
          <span>By environment</span>
          <span>Read by</span>
        </div>
        {data === undefined &&
          (error === null ? (
            <SkeletonRows count={3} />
          ) : (
            <ErrorState error={error} onRetry={() => void refetch()} />
          ))}
        {data?.items.length === 0 && (
          <Empty
            icon={<SlidersHorizontal size={20} />}
            title="No values yet"
            action={<Command text="npx millrace vars set NAME VALUE" />}
          >
            Addresses and limits that differ between DEV, QA and PROD belong here instead of in each
            definition.
          </Empty>
        )}
        <ul aria-label="Values">
          {data?.items.map((row) => (
            <ValueRow key={row.name} row={row} onEdit={isAdmin ? () => setEditing(row) : null} />
          ))}
        </ul>
      </div>
      {editing !== null && (
        <EditValue row={editing === 'new' ? null : editing} onClose={() => setEditing(null)} />
      )}
    </PageFrame>
  )
}

function ValueRow({ row, onEdit }: { readonly row: Row; readonly onEdit: (() => void) | null }) {
  const { name, value, setting, definition, managedBy, environments, readers, differsOn } = row
  const others = Object.entries(environments)
  return (
    <li className="row vars__grid">
      <span className="vars__name">
        <span className="row__title mono truncate" title={name}>
          {name}
        </span>
        <span className="row__sub">
          {managedBy === 'api' ? (
            <Link to={`/definitions/edit?kind=Vars&name=${definition}`}>{definition}</Link>
          ) : (
            `${definition}, in the ${managedBy}`
          )}
        </span>
      </span>
      <span className="vars__value">
        <span className="mono truncate" title={textOf(value)}>
          {textOf(value)}
        </span>
        <span className="chips">
          <Chip tone={setting === null ? 'grey' : 'violet'} title={setting ?? undefined}>
            {setting === null ? FROM[row.from] : `from ${setting}`}
          </Chip>
          {differsOn.length > 0 && <Chip tone="red">{`differs on ${differsOn.join(', ')}`}</Chip>}
        </span>
      </span>
      <dl className="vars__environments">
        {row.default !== null && (
          <>
            <dt className="faint">default</dt>
            <dd className="mono truncate" title={textOf(row.default)}>
              {textOf(row.default)}
            </dd>
          </>
        )}
        {others.map(([environment, one]) => (
          <EnvironmentValue key={environment} name={environment} text={textOf(one)} />
        ))}
      </dl>
      <span className="vars__readers muted">
        {readers.length === 0
          ? 'nothing reads it'
          : readers.map((one) => <Reader key={`${one.kind}/${one.name}`} {...one} />)}
      </span>
      {onEdit !== null && managedBy === 'api' && (
        <span className="versions__action">
          <Button isSmall aria-label={`Edit ${name}`} onClick={onEdit}>
            Edit
          </Button>
        </span>
      )}
    </li>
  )
}

const FROM: Readonly<Record<Row['from'], string>> = {
  default: 'default',
  environment: 'of this environment',
  setting: 'setting',
}

function EnvironmentValue({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <>
      <dt className="faint">{name}</dt>
      <dd className="mono truncate" title={text}>
        {text}
      </dd>
    </>
  )
}

function Reader({ kind, name }: { readonly kind: string; readonly name: string }) {
  return (
    <span className="truncate">
      {kind} {LINKED.includes(kind) ? <Link to={definitionHref(kind, name)}>{name}</Link> : name}
    </span>
  )
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What is JSON is meant as JSON; everything else is a text. */
function readValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function EditValue({ row, onClose }: { readonly row: Row | null; readonly onClose: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState(row?.name ?? '')
  const [environment, setEnvironment] = useState<Environment | ''>('')
  const [text, setText] = useState(textOf(row?.default))
  const [reason, setReason] = useState('')
  const isText = typeof row?.value === 'string'
  const save = useMutation({
    mutationFn: () =>
      api.setVar({
        name: name.trim(),
        value: (isText ? text : readValue(text)) as never,
        ...(environment !== '' && { environment }),
        ...(reason.trim() !== '' && { reason: reason.trim() }),
      }),
    onSuccess: ({ version, changes }) => {
      const more = changes.filter(({ kind, change }) => kind !== 'Vars' && change !== 'unchanged').length
      const also = more === 0 ? '' : `; ${more} ${more === 1 ? 'definition' : 'definitions'} deployed again`
      toastDone(`${name.trim()} is set`, `Version ${version}${also}`)
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['vars'] }),
  })
  const choose = (next: Environment | '') => {
    setEnvironment(next)
    if (row !== null) setText(textOf(next === '' ? row.default : (row.environments[next] ?? row.default)))
  }
  const problem = save.error === null ? null : problemOf(save.error)
  return (
    <Dialog
      title={row === null ? 'New value' : `Edit ${row.name}`}
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
      {row === null && (
        <Field label="Name" hint="Definitions read it as vars.name." error={fieldError(save.error, 'name')}>
          {(field) => (
            <input
              {...field}
              className="input mono"
              value={name}
              spellCheck={false}
              placeholder="crm"
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
      )}
      <Field label="Where">
        {(field) => (
          <select
            {...field}
            className="input"
            value={environment}
            onChange={(event) => choose(event.target.value as Environment | '')}
          >
            <option value="">Where no environment has its own</option>
            {ENVIRONMENTS.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field
        label="Value"
        hint={isText ? undefined : 'A number, true, false, a list or a map as JSON; anything else is a text.'}
        error={fieldError(save.error, 'value')}
      >
        {(field) => (
          <input
            {...field}
            className="input mono"
            value={text}
            spellCheck={false}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
      <Field label="Reason" hint="Optional; it stays in the versions.">
        {(field) => (
          <input
            {...field}
            className="input"
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        )}
      </Field>
      {row !== null && row.readers.length > 0 && (
        <p className="muted">
          {row.readers.map(({ kind, name: of }) => `${kind} ${of}`).join(', ')}{' '}
          {row.readers.length === 1 ? 'reads' : 'read'} it.
        </p>
      )}
      {problem !== null && fieldErrors(save.error).length === 0 && <ProblemNote error={save.error} />}
    </Dialog>
  )
}
