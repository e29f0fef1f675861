// The secret of a subscription: shown once, rotated with an overlap, and how receivers verify with it.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Eye, RefreshCw } from 'lucide-react'
import { useState } from 'react'
import { api, fieldError, fieldErrors } from '../api.ts'
import { signingInWords, verifySnippet } from '../lib/subscription-words.ts'
import { useMe, useWebhookKeys } from '../queries.ts'
import type { Subscription, SubscriptionDetail, SubscriptionMade } from '../types.ts'
import { ProblemNote } from './actions.tsx'
import { TextCard } from './code.tsx'
import { Button, Copy, Field, Time } from './controls.tsx'
import { ShownOnce } from './shown-once.tsx'
import { Dialog, Note } from './surfaces.tsx'

function HowToVerify({
  name,
  signing,
}: {
  readonly name: string
  readonly signing: Subscription['signing']
}) {
  return (
    <div className="verify">
      <PublicKeys name={name} signing={signing} />
      <p className="muted">{signingInWords(signing)}</p>
      <TextCard label="How to verify" text={verifySnippet(signing)} about="How to verify, in Node" />
    </div>
  )
}

function PublicKeys({ name, signing }: { readonly name: string; readonly signing: Subscription['signing'] }) {
  const { data: me } = useMe()
  const { data } = useWebhookKeys(me?.tenant, name, signing === 'ed25519')
  if (data === undefined) return null
  const [first, ...others] = data.keys
  if (first === undefined) return null
  return (
    <dl className="facts">
      <dt>Public key</dt>
      <dd>
        <Copy text={first.key} />
      </dd>
      {others.length > 0 && (
        <>
          <dt>Former ones</dt>
          <dd>
            {others.map(({ id, key }) => (
              <Copy key={id} text={key} />
            ))}
          </dd>
        </>
      )}
      <dt>For receivers at</dt>
      <dd>
        <Copy text={`${location.origin}/webhooks/${me?.tenant}/${name}/keys`} />
      </dd>
    </dl>
  )
}

interface NewSecretProps {
  readonly title: string
  readonly name: string
  readonly signing: Subscription['signing']
  readonly secret: string
  readonly warnings?: SubscriptionMade['warnings']
  /** For a rotation: until when the former one is valid; null: it is not valid any more. */
  readonly oldUntil?: string | null
  readonly onClose: () => void
}

export function NewSecret({ title, name, signing, secret, warnings, oldUntil, onClose }: NewSecretProps) {
  return (
    <ShownOnce
      title={title}
      value={secret}
      isWide
      onClose={onClose}
      more={
        <>
          {oldUntil !== undefined && (
            <p className="muted">
              {oldUntil === null ? (
                'The former one signs no more: receivers need this one now.'
              ) : (
                <>
                  The former one signs too, and stops <Time at={oldUntil} />: receivers can change over until
                  then.
                </>
              )}
            </p>
          )}
          {warnings?.map(({ field, message }) => (
            <Note key={`${field} ${message}`} tone="amber">
              {field !== '' && <strong>{field}: </strong>}
              {message}
            </Note>
          ))}
          <HowToVerify name={name} signing={signing} />
        </>
      }
    >
      {signing === 'ed25519'
        ? 'It is the private key: keep it only if you want a copy of your own.'
        : 'Give it to whoever owns the endpoint.'}
    </ShownOnce>
  )
}

const OVERLAPS: readonly (readonly [string, string])[] = [
  ['0s', 'not at all: it may have leaked'],
  ['1h', 'for an hour'],
  ['24h', 'for a day'],
  ['3d', 'for 3 days'],
  ['7d', 'for 7 days'],
]

function RotateDialog({
  subscription: { name, signing },
  onClose,
}: {
  readonly subscription: SubscriptionDetail
  readonly onClose: () => void
}) {
  const client = useQueryClient()
  const [overlap, setOverlap] = useState('24h')
  const [given, setGiven] = useState('')
  const rotate = useMutation({
    mutationFn: () => api.rotateSubscriptionSecret({ name, overlap, ...(given !== '' && { secret: given }) }),
    onSettled: () => client.invalidateQueries({ queryKey: ['subscription', name] }),
  })
  if (rotate.data !== undefined) {
    const { secret, oldUntil } = rotate.data
    return (
      <NewSecret
        title={`The new secret of ${name}`}
        {...{ name, signing, secret, oldUntil }}
        onClose={onClose}
      />
    )
  }
  return (
    <Dialog
      title={`Rotate the secret of ${name}`}
      onClose={onClose}
      onSubmit={() => rotate.mutate()}
      foot={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button type="submit" variant="primary" isBusy={rotate.isPending}>
            Rotate
          </Button>
        </>
      }
    >
      <p className="muted">
        Deliveries are signed with a new secret from now on, also those that wait already.
      </p>
      <Field
        label="The former one signs too"
        hint={
          signing === 'github'
            ? 'This header holds one signature: receivers have to take the new secret at once.'
            : 'Both signatures are sent meanwhile, so that no receiver misses one.'
        }
        error={fieldError(rotate.error, 'overlap')}
      >
        {(field) => (
          <select
            {...field}
            className="input"
            value={overlap}
            onChange={(event) => setOverlap(event.target.value)}
          >
            {OVERLAPS.map(([id, label]) => (
              <option key={id} value={id}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field
        label="A secret of your own (optional)"
        hint="Left open: one is generated."
        error={fieldError(rotate.error, 'secret')}
      >
        {(field) => (
          <input
            {...field}
            className="input mono"
            type="password"
            autoComplete="off"
            value={given}
            onChange={(event) => setGiven(event.target.value)}
          />
        )}
      </Field>
      {rotate.isError && fieldErrors(rotate.error).length === 0 && <ProblemNote error={rotate.error} />}
    </Dialog>
  )
}

function RevealDialog({
  subscription: { name, signing },
  onClose,
}: {
  readonly subscription: SubscriptionDetail
  readonly onClose: () => void
}) {
  const client = useQueryClient()
  const reveal = useMutation({
    mutationFn: () => api.revealSubscriptionSecret({ name }),
    onSettled: () => client.invalidateQueries({ queryKey: ['subscription', name] }),
  })
  if (reveal.data !== undefined) {
    const { secret } = reveal.data
    return <NewSecret title={`The secret of ${name}`} {...{ name, signing, secret }} onClose={onClose} />
  }
  return (
    <Dialog
      title={`Show the secret of ${name}`}
      onClose={onClose}
      onSubmit={() => reveal.mutate()}
      foot={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button type="submit" variant="primary" isBusy={reveal.isPending}>
            Show it now
          </Button>
        </>
      }
    >
      <p className="muted">
        It was generated and nobody has seen it. It is shown once: have a safe place for it at hand.
      </p>
      {reveal.isError && <ProblemNote error={reveal.error} />}
    </Dialog>
  )
}

const FROM: Readonly<Record<SubscriptionDetail['secret']['from'], string>> = {
  generated: 'generated',
  vault: 'of the vault',
  environment: 'of the environment',
  file: 'a file of the node',
}

export function SecretPanel({
  subscription,
  isAdmin,
}: {
  readonly subscription: SubscriptionDetail
  readonly isAdmin: boolean
}) {
  const [asking, setAsking] = useState<'rotate' | 'reveal' | null>(null)
  const { secret, name, signing } = subscription
  return (
    <div className="card card--pad secret">
      <dl className="facts">
        <dt>Secret</dt>
        <dd>
          <span className="mono">{secret.name}</span> <span className="faint">({FROM[secret.from]})</span>
        </dd>
        {secret.version !== null && (
          <>
            <dt>Version</dt>
            <dd className="num">{secret.version}</dd>
          </>
        )}
        {secret.oldUntil.length > 0 && (
          <>
            <dt>Former ones</dt>
            <dd>
              {secret.oldUntil.map((at) => (
                <div key={at}>
                  signs too, stops <Time at={at} />
                </div>
              ))}
            </dd>
          </>
        )}
      </dl>
      {secret.isUnseen && (
        <Note tone="amber">
          <strong>Nobody has seen this secret yet.</strong> Its receiver needs it to verify what we send.
        </Note>
      )}
      {secret.version === null && secret.from === 'vault' && (
        <Note tone="red">
          <strong>It is not set.</strong> Nothing can be signed before: set {secret.name} in the settings.
        </Note>
      )}
      {isAdmin && (
        <div className="secret__actions">
          {secret.isUnseen && (
            <Button isSmall icon={<Eye size={13} aria-hidden />} onClick={() => setAsking('reveal')}>
              Show it once
            </Button>
          )}
          {secret.from === 'environment' || secret.from === 'file' ? (
            <span className="muted">
              {secret.from === 'environment'
                ? `It comes from the variable ${secret.name}: change it there and start the node anew.`
                : `It comes from the file ${secret.name}: change it there; the node reads it anew.`}
            </span>
          ) : (
            <Button isSmall icon={<RefreshCw size={13} aria-hidden />} onClick={() => setAsking('rotate')}>
              Rotate secret
            </Button>
          )}
        </div>
      )}
      <HowToVerify name={name} signing={signing} />
      {asking === 'rotate' && <RotateDialog subscription={subscription} onClose={() => setAsking(null)} />}
      {asking === 'reveal' && <RevealDialog subscription={subscription} onClose={() => setAsking(null)} />}
    </div>
  )
}
