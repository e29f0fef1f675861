// Actions on a connection and its credential: a test, the switch of its circuit, a rotation, a new value.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { ExternalLink, RefreshCw } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { api, fieldError, fieldErrors, problemOf } from '../api.ts'
import { authInWords, placeOfSecret } from '../lib/connection-words.ts'
import { formatDuration } from '../lib/durations.ts'
import { HOUR_MS, toInstant, toLocal } from '../lib/local-time.ts'
import { pageLink } from '../lib/page-link.ts'
import type { ConnectionTest, Credential } from '../types.ts'
import { ProblemNote, useAction } from './actions.tsx'
import { Button, Chip, Field } from './controls.tsx'
import { classInWords } from './filters.tsx'
import { Dialog, Note, SkeletonRows } from './surfaces.tsx'
import { Head } from './timeline.tsx'
import { toastDone, toastProblem } from './toast.tsx'

export function ConnectionTestDialog({
  name,
  onClose,
}: {
  readonly name: string
  readonly onClose: () => void
}) {
  return (
    <Dialog
      title={`Test of ${name}`}
      onClose={onClose}
      isWide
      foot={
        <Button variant="primary" onClick={onClose}>
          Close
        </Button>
      }
    >
      <TestNow name={name} />
    </Dialog>
  )
}

/** One call as soon as it is shown, and more on request. */
export function TestNow({
  name,
  onTested,
}: {
  readonly name: string
  readonly onTested?: (test: ConnectionTest) => void
}) {
  const client = useQueryClient()
  const test = useMutation({
    mutationFn: () => api.testConnection({ id: name }),
    onSuccess: (answer) => onTested?.(answer),
    onSettled: () => client.invalidateQueries(),
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever opened it asked for one call.
  useEffect(() => test.mutate(), [])
  return (
    <>
      <p className="muted">
        One call of the provider’s probe, which changes nothing there. When it passes, the connection is
        active.
      </p>
      {test.isPending && <SkeletonRows count={3} />}
      {test.isError && <ProblemNote error={test.error} />}
      {test.data !== undefined && !test.isPending && <TestResult test={test.data} />}
      {!test.isPending && (
        <div>
          <Button isSmall icon={<RefreshCw size={13} aria-hidden />} onClick={() => test.mutate()}>
            Test again
          </Button>
        </div>
      )}
    </>
  )
}

function TestResult({ test: { ok, run, connection } }: { readonly test: ConnectionTest }) {
  const attempt = run.attempts.at(-1)
  const isUnverified = connection.credential !== null && connection.lastTest?.unverified === true
  return (
    <>
      <div className="test__verdict" role="status">
        <Chip tone={ok ? (isUnverified ? 'amber' : 'green') : 'red'}>
          {ok ? (isUnverified ? 'reachable' : 'it works') : 'it does not work yet'}
        </Chip>
        {run.httpStatus !== null && <span className="tag num">HTTP {run.httpStatus}</span>}
        {run.durationMs !== null && (
          <span className="tag num">{formatDuration(Math.max(0.1, run.durationMs))}</span>
        )}
        {run.class !== null && <span className="tag">{classInWords(run.class)}</span>}
        <Link href={`/runs/${run.id}`}>Its run</Link>
      </div>
      {isUnverified && <UnverifiedNote />}
      {run.error !== null && <Note tone="red">{run.error}</Note>}
      {attempt?.request != null && <Head label="What was sent" text={attempt.request} more="What was sent" />}
      {attempt?.response != null && <Head label="Response" text={attempt.response} more="Response" />}
    </>
  )
}

export function UnverifiedNote() {
  return (
    <Note tone="amber">
      <strong>Reachable, credential not verified.</strong> The answer to <code>GET /</code> says nothing of
      the credential. Name a path that can be read with it in <code>config.probe</code>, such as{' '}
      <code>/me</code>.
    </Note>
  )
}

const SWITCHES = {
  open: 'Hold calls back: work waits, and uses up no attempt',
  closed: 'Let calls through, whatever fails',
  auto: 'As its own circuit decides',
} as const
type Switch = keyof typeof SWITCHES

export function CircuitDialog({
  name,
  is: given,
  onClose,
}: {
  readonly name: string
  /** The present setting. */
  readonly is: Switch
  readonly onClose: () => void
}) {
  const [is, setIs] = useState<Switch>(given === 'auto' ? 'open' : 'auto')
  const [reason, setReason] = useState('')
  const [until, setUntil] = useState(() => toLocal(Date.now() + HOUR_MS))
  const [isAsked, setIsAsked] = useState(false)
  const action = useAction({
    run: () => {
      const end = is === 'auto' ? undefined : toInstant(until)
      return api.switchConnectionCircuit({
        id: name,
        is,
        reason: reason.trim(),
        ...(end !== undefined && { until: end }),
      })
    },
    done: is === 'open' ? 'Calls are held back' : is === 'closed' ? 'Calls go through' : 'It decides itself',
    failed: 'The circuit could not be switched',
    onDone: onClose,
    showsOwnErrors: true,
  })
  const isMissing = reason.trim() === ''
  const submit = () => {
    setIsAsked(true)
    if (!isMissing) action.mutate(undefined)
  }
  return (
    <Dialog
      title={`Circuit of ${name}`}
      onClose={onClose}
      onSubmit={submit}
      foot={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button type="submit" variant="primary" isBusy={action.isPending}>
            Switch
          </Button>
        </>
      }
    >
      <fieldset className="wizard__choice">
        <legend className="field__label">Calls</legend>
        {(Object.keys(SWITCHES) as Switch[]).map((one) => (
          <label key={one} className="check">
            <input type="radio" name="is" checked={is === one} onChange={() => setIs(one)} />
            {SWITCHES[one]}
          </label>
        ))}
      </fieldset>
      {is !== 'auto' && (
        <Field
          label="Until"
          hint="Then it decides itself again. Left open: until somebody takes it back."
          error={fieldError(action.error, 'until')}
        >
          {(field) => (
            <input
              {...field}
              className="input"
              type="datetime-local"
              value={until}
              onChange={(event) => setUntil(event.target.value)}
            />
          )}
        </Field>
      )}
      <Field
        label="Reason"
        hint="Recorded in the history, with your name."
        error={
          fieldError(action.error, 'reason') ?? (isAsked && isMissing ? 'A reason is required.' : undefined)
        }
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
      {action.error != null &&
        problemOf(action.error).status !== 409 &&
        fieldErrors(action.error).length === 0 && <ProblemNote error={action.error} />}
    </Dialog>
  )
}

/** A value for the vault: the first one, or the one that a rotation verifies and then uses. */
export function SupplyDialog({
  credential,
  onClose,
}: {
  readonly credential: Credential
  readonly onClose: () => void
}) {
  const client = useQueryClient()
  const [value, setValue] = useState('')
  const place = placeOfSecret(credential.secret)
  const isFirst = credential.version === null
  const words = authInWords(credential.auth)
  const save = useMutation({
    mutationFn: () => api.setSecret({ name: place.name, value, pending: !isFirst }),
    onSuccess: ({ version }) => {
      toastDone(
        isFirst ? 'It has a value' : 'It is tried, and takes its place if it works',
        `Version ${version}`,
      )
      onClose()
    },
    onSettled: () => client.invalidateQueries(),
  })
  const isHere = place.kind === 'ref'
  return (
    <Dialog
      title={isFirst ? `Set the value of ${credential.name}` : `A new value for ${credential.name}`}
      onClose={onClose}
      onSubmit={() => save.mutate()}
      foot={
        <>
          <Button onClick={onClose}>Back</Button>
          {isHere && (
            <Button type="submit" variant="primary" isBusy={save.isPending} disabled={value === ''}>
              {isFirst ? 'Set' : 'Rotate to it'}
            </Button>
          )}
        </>
      }
    >
      {isHere ? (
        <>
          <p className="muted">
            It goes into the vault as <code>{place.name}</code> and is never shown.{' '}
            {!isFirst &&
              'It is tried by one call first. When that fails, the value in use stays, and nothing is lost.'}
          </p>
          <Field label={words.secret} error={fieldError(save.error, 'value')}>
            {(field) =>
              words.isLong === true ? (
                <textarea
                  {...field}
                  className="input mono"
                  rows={6}
                  autoComplete="off"
                  spellCheck={false}
                  value={value}
                  onChange={(event) => setValue(event.target.value)}
                />
              ) : (
                <input
                  {...field}
                  className="input mono"
                  type="password"
                  autoComplete="off"
                  value={value}
                  onChange={(event) => setValue(event.target.value)}
                />
              )
            }
          </Field>
          {save.error !== null && fieldErrors(save.error).length === 0 && <ProblemNote error={save.error} />}
        </>
      ) : (
        <Note>
          <strong>Its value does not lie in the vault.</strong> It is{' '}
          {place.kind === 'env' ? 'the environment variable' : 'the file'} <code>{place.name}</code> of the
          node: change it there, then rotate.
        </Note>
      )}
    </Dialog>
  )
}

/** Leads to the vendor, who asks the user for permission. */
export function AuthorizeButton({
  name,
  isPrimary,
}: {
  readonly name: string
  readonly isPrimary?: boolean
}) {
  const ask = useMutation({
    mutationFn: () => api.authorizeCredential({ id: name }),
    onError: (error) => toastProblem(error, 'The vendor could not be asked'),
  })
  if (ask.data !== undefined)
    return (
      <a
        className="button button--primary"
        href={pageLink(ask.data.url) ?? undefined}
        target="_blank"
        rel="noreferrer"
      >
        <ExternalLink size={14} aria-hidden />
        Go to the vendor
      </a>
    )
  return (
    <Button
      variant={isPrimary === true ? 'primary' : 'default'}
      icon={<ExternalLink size={14} aria-hidden />}
      isBusy={ask.isPending}
      onClick={() => ask.mutate()}
    >
      Authorize
    </Button>
  )
}
