// A subscription as a form, new or existing: the node's findings are shown at each field, all at once.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { createSubscription, fieldErrors, fieldErrorWithin, patchSubscription, problemOf } from '../api.ts'
import {
  type Draft,
  draftOf,
  EMPTY_DRAFT,
  type Line,
  OTHER_FIELDS,
  readDraft,
  type Written,
} from '../lib/subscription-draft.ts'
import { SIGNINGS } from '../lib/subscription-words.ts'
import type { SubscriptionDetail, SubscriptionMade } from '../types.ts'
import { ProblemNote } from './actions.tsx'
import { Button, Field } from './controls.tsx'
import { DeclaredFields } from './declared-fields.tsx'
import { PatternsInput } from './patterns-input.tsx'
import { NewSecret } from './subscription-secret.tsx'
import { Dialog, Note } from './surfaces.tsx'
import { toastDone } from './toast.tsx'

/** The node's names of the fields that are named differently here. */
const NAMES: Readonly<Partial<Record<Line, string>>> = {
  secretRef: 'secret',
  perMinute: 'rateLimit',
  atOnce: 'concurrency',
  orderBy: 'order',
}
const MORE: readonly Line[] = [
  'where',
  'transform',
  'headers',
  'secretRef',
  'perMinute',
  'atOnce',
  'orderBy',
  'metadata',
]

interface FormProps {
  /** Omitted: a new one. */
  readonly subscription?: SubscriptionDetail
  readonly onClose: () => void
}

export function SubscriptionForm({ subscription, onClose }: FormProps) {
  const client = useQueryClient()
  const [, go] = useLocation()
  const [before] = useState(() => (subscription === undefined ? null : draftOf(subscription)))
  const [draft, setDraft] = useState<Draft>(before ?? EMPTY_DRAFT)
  const [typed, setTyped] = useState('')
  const [isAsked, setIsAsked] = useState(false)
  const [isMore, setIsMore] = useState(() => MORE.some((field) => (before?.[field] ?? '') !== ''))
  const save = useMutation<SubscriptionMade, unknown, Written>({
    mutationFn: ({ body, transform }) =>
      subscription === undefined
        ? createSubscription(body, transform)
        : patchSubscription(subscription.name, body, transform),
    onSuccess: ({ name, secret }) => {
      if (secret !== null) return
      toastDone(before === null ? `${name} is created` : `${name} is changed`)
      leave(name)
    },
    onSettled: () => client.invalidateQueries(),
  })
  const leave = (name: string) => {
    onClose()
    if (subscription === undefined) go(`/subscriptions/${name}`)
  }
  const whole = { ...draft, on: typed.trim() === '' ? draft.on : [...draft.on, typed.trim()] }
  const read = readDraft(whole, before)
  const own = 'errors' in read && isAsked ? read.errors : {}
  const problem = save.error === null ? null : problemOf(save.error)
  const isAddress = problem?.details?.field === 'url'
  const errorOf = (field: Line): string | undefined =>
    own[field] ??
    (field === 'url' && isAddress
      ? [problem?.detail, problem?.next].filter(Boolean).join(' ')
      : fieldErrorWithin(save.error, NAMES[field] ?? field))
  const otherErrorOf = (name: string) => fieldErrorWithin(save.error, name)
  const hasHidden =
    MORE.some((field) => errorOf(field) !== undefined) ||
    OTHER_FIELDS.some(({ name }) => otherErrorOf(name) !== undefined)
  useEffect(() => {
    if (hasHidden) setIsMore(true)
  }, [hasHidden])
  const made = save.data
  if (made?.secret != null) {
    return (
      <NewSecret
        title={before === null ? `The secret of ${made.name}` : 'The new secret'}
        name={made.name}
        signing={made.signing}
        secret={made.secret}
        warnings={made.warnings}
        onClose={() => leave(made.name)}
      />
    )
  }
  const set = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  const submit = () => {
    setIsAsked(true)
    if (!('errors' in read)) save.mutate(read)
  }
  const line = (field: Line, label: string, options: LineOptions = {}) => (
    <Field label={label} hint={options.hint} error={errorOf(field)}>
      {(props) => {
        const given = {
          ...props,
          className: options.isCode === true ? 'input mono' : 'input',
          placeholder: options.placeholder,
          spellCheck: false,
          value: String(draft[field]),
          onChange: (event: { readonly target: { readonly value: string } }) =>
            set({ [field]: event.target.value }),
        }
        return options.rows === undefined ? (
          <input {...given} {...(options.isNumber === true && { inputMode: 'numeric' })} />
        ) : (
          <textarea {...given} rows={options.rows} />
        )
      }}
    </Field>
  )
  return (
    <Dialog
      title={before === null ? 'New subscription' : `Edit ${before.name}`}
      onClose={onClose}
      onSubmit={submit}
      isWide
      foot={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button type="submit" variant="primary" isBusy={save.isPending}>
            {before === null ? 'Create' : 'Save'}
          </Button>
        </>
      }
    >
      {line('url', 'Endpoint', {
        isCode: true,
        placeholder: 'https://crm.example.com/hooks',
        hint: 'Gets a signed POST for each event. Redirects are not followed.',
      })}
      <Field
        label="Subjects"
        hint="Patterns: * stands for one part, > for all that follow. The catalog suggests what there is."
        error={errorOf('on')}
      >
        {(field) => (
          <PatternsInput
            field={field}
            patterns={draft.on}
            onChange={(on) => set({ on })}
            typed={typed}
            onTyped={setTyped}
          />
        )}
      </Field>
      <div className="pair">
        {before === null &&
          line('name', 'Name', { isCode: true, placeholder: 'Left open: made of the address' })}
        <Field label="Signing" error={errorOf('signing')}>
          {(field) => (
            <select
              {...field}
              className="input"
              value={draft.signing}
              onChange={(event) => set({ signing: event.target.value })}
            >
              {SIGNINGS.map(([id, label]) => (
                <option key={id} value={id}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      {line('description', 'Description')}
      <details className="more" open={isMore} onToggle={(event) => setIsMore(event.currentTarget.open)}>
        <summary>Condition, body, headers, pace, owner</summary>
        <div className="more__body">
          {line('where', 'Condition', { isCode: true, placeholder: 'payload.order.total > 100' })}
          {line('transform', 'Body', {
            isCode: true,
            rows: 4,
            placeholder: '{ "order": "{{ payload.order.number }}" }',
            hint: 'JSON with templates. Left open: id, type, timestamp and data of the event.',
          })}
          <div className="pair">
            {line('headers', 'Headers', { isCode: true, rows: 3, placeholder: 'x-team: crm' })}
            {line('metadata', 'Owner and other notes', {
              isCode: true,
              rows: 3,
              placeholder: 'owner: sales',
            })}
          </div>
          <div className="pair">
            {line('perMinute', 'Rate limit, per minute', { isNumber: true, placeholder: 'No limit' })}
            {line('atOnce', 'At once', {
              isNumber: true,
              placeholder: 'As many as it bears',
            })}
          </div>
          <div className="pair">
            {line('orderBy', 'One after another per', {
              isCode: true,
              placeholder: 'event.objectId',
            })}
            {line('secretRef', 'Secret of the vault', { isCode: true, placeholder: 'Left open: generated' })}
          </div>
          <DeclaredFields
            fields={OTHER_FIELDS}
            values={draft.others}
            onChange={(others) => set({ others })}
            errorOf={otherErrorOf}
          />
        </div>
      </details>
      {problem !== null && !isAddress && fieldErrors(save.error).length === 0 && (
        <ProblemNote error={save.error} />
      )}
      {before !== null && draft.signing !== before.signing && (
        <Note tone="amber">
          <strong>Another way of signing brings a new secret.</strong> It is shown once when you save.
        </Note>
      )}
    </Dialog>
  )
}

interface LineOptions {
  readonly hint?: ReactNode
  readonly placeholder?: string
  readonly isCode?: boolean
  readonly isNumber?: boolean
  readonly rows?: number
}
