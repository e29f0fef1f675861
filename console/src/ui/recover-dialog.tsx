// What an endpoint has missed: since when, a preview, and the recovery with its progress.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Play } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { api, fieldError, fieldErrors, problemOf } from '../api.ts'
import { HOUR_MS, localAgo, toInstant, toLocal } from '../lib/local-time.ts'
import { leftInWords, RECOVERED } from '../lib/subscription-words.ts'
import { formatNumber } from '../lib/time.ts'
import type { Args, RecoveryPreview, SubscriptionDetail } from '../types.ts'
import { ProblemNote } from './actions.tsx'
import { Button, Chip, Field, Time } from './controls.tsx'
import { ReplayFields, useReplayFields } from './replay-fields.tsx'
import { Running } from './replay-running.tsx'
import { Dialog, Note } from './surfaces.tsx'
import { toastProblem } from './toast.tsx'

type What = NonNullable<Args<'recoverSubscription'>['what']>

const WHATS: readonly (readonly [What, string])[] = [
  ['all', 'All missed events'],
  ['failed', 'Failed deliveries'],
  ['missing', 'Events never sent'],
]

interface RecoverDialogProps {
  readonly subscription: SubscriptionDetail
  readonly onClose: () => void
}

export function RecoverDialog({ subscription, onClose }: RecoverDialogProps) {
  const { name } = subscription
  const client = useQueryClient()
  const [since, setSince] = useState(() => beganAt(subscription))
  const [until, setUntil] = useState('')
  const [what, setWhat] = useState<What>('all')
  const [begun, setBegun] = useState<{
    readonly id: string
    readonly from: number
    readonly to: number
  } | null>(null)
  const [sinceAt, untilAt] = [toInstant(since), toInstant(until)]
  const asked = { name, since: sinceAt ?? '', what, ...(untilAt !== undefined && { until: untilAt }) }
  const look = useMutation({
    mutationFn: async () => {
      const answer = await api.recoverSubscription({ ...asked, dryRun: true })
      return 'totals' in answer ? answer : null
    },
  })
  const run = useMutation({
    mutationFn: () => api.recoverSubscription({ ...asked, ...fields.asked }),
    onSuccess: (answer) => {
      if (!('replayId' in answer)) return
      const to = untilAt === undefined ? Date.now() : Date.parse(untilAt)
      setBegun({ id: answer.replayId, from: Date.parse(asked.since), to })
    },
    onError: (error) => {
      if (fieldErrors(error).length === 0) toastProblem(error, 'The recovery could not start')
      if (problemOf(error).status === 409) onClose()
    },
    onSettled: () => client.invalidateQueries(),
  })
  const fields = useReplayFields({ isReasonNeeded: false, error: run.error })
  if (begun !== null) return <Running id={begun.id} walk={begun} onClose={onClose} />
  const problem =
    sinceAt === undefined
      ? 'Since when?'
      : untilAt !== undefined && untilAt <= sinceAt
        ? 'The end is before the beginning.'
        : undefined
  const preview = look.data ?? null
  /** The preview does not match the request any more. */
  const change = (set: () => void) => {
    set()
    look.reset()
  }
  const submit = () => {
    if (problem !== undefined) return
    if (preview === null) look.mutate()
    else if (fields.check()) run.mutate()
  }
  return (
    <Dialog
      title={`Recover ${name}`}
      onClose={onClose}
      onSubmit={submit}
      isWide
      foot={
        <>
          <Button onClick={onClose}>Back</Button>
          {preview === null ? (
            <Button type="submit" variant="primary" isBusy={look.isPending} disabled={problem !== undefined}>
              Show what would happen
            </Button>
          ) : (
            <Button
              type="submit"
              variant="primary"
              icon={<Play size={14} aria-hidden />}
              isBusy={run.isPending}
              disabled={preview.recovered === 0 && preview.isComplete}
            >
              Recover {formatNumber(preview.recovered)}
              {preview.isComplete ? '' : ' or more'}
            </Button>
          )}
        </>
      }
    >
      <div className="muted">
        Examines the events since then and sends those that this subscription selects and that were not
        delivered. Deliveries that succeeded or are in progress are not affected.
      </div>
      <div className="recover__fields">
        <Field label="Received since" error={problem ?? fieldError(look.error, 'since')}>
          {(field) => (
            <input
              {...field}
              className="input"
              type="datetime-local"
              value={since}
              onChange={(event) => change(() => setSince(event.target.value))}
            />
          )}
        </Field>
        <Field label="Until (optional)">
          {(field) => (
            <input
              {...field}
              className="input"
              type="datetime-local"
              value={until}
              onChange={(event) => change(() => setUntil(event.target.value))}
            />
          )}
        </Field>
        <Field label="What">
          {(field) => (
            <select
              {...field}
              className="input"
              value={what}
              onChange={(event) => change(() => setWhat(event.target.value as What))}
            >
              {WHATS.map(([id, label]) => (
                <option key={id} value={id}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      {look.isError && fieldErrors(look.error).length === 0 && <ProblemNote error={look.error} />}
      {preview !== null && (
        <>
          <Found preview={preview} what={what} />
          {(preview.recovered > 0 || !preview.isComplete) && <ReplayFields fields={fields} />}
        </>
      )}
    </Dialog>
  )
}

/** When it probably started; unknown: a day ago. */
function beganAt({ failingSince, since, status }: SubscriptionDetail): string {
  const at = failingSince ?? (status === 'active' ? null : since)
  return at === null ? localAgo(24 * HOUR_MS) : toLocal(Date.parse(at))
}

function Found({ preview, what }: { readonly preview: RecoveryPreview; readonly what: What }) {
  const { totals, items, walked, isComplete, oldestEventAt } = preview
  const left = leftInWords(totals)
  return (
    <>
      <div className="totals totals--two">
        {RECOVERED.map(([verdict, label, tone, text]) => (
          <div key={verdict} className="totals__one">
            <span className="totals__number num">{formatNumber(totals[verdict])}</span>
            <Chip tone={what === 'all' || what === verdict ? tone : 'grey'}>{label}</Chip>
            <span className="faint">
              {what === 'all' || what === verdict ? text : 'Left as they are: you asked for the others.'}
            </span>
          </div>
        ))}
      </div>
      <p className="muted num" role="status">
        {isComplete
          ? `${formatNumber(walked)} events were examined.`
          : `The first ${formatNumber(walked)} events were examined; the recovery examines all.`}{' '}
        {left}{' '}
        {oldestEventAt !== null && (
          <>
            The oldest stored event arrived <Time at={oldestEventAt} />.
          </>
        )}
      </p>
      {preview.recovered === 0 && isComplete && <Note>Nothing is missing: there is nothing to recover.</Note>}
      {items.length > 0 && (
        <ul className="list preview" aria-label="What would be sent">
          {items.map(({ eventId, subject, receivedAt, verdict }) => (
            <li key={eventId} className="preview__item">
              <div className="row preview__row preview__row--times">
                <Link href={`/events/${eventId}`} className="mono truncate">
                  {subject}
                </Link>
                <Chip tone={verdict === 'failed' ? 'red' : 'accent'}>
                  {verdict === 'failed' ? 'failed' : 'never sent'}
                </Chip>
                <span className="faint preview__when">
                  <Time at={receivedAt} />
                </span>
              </div>
            </li>
          ))}
          {preview.recovered > items.length && (
            <li className="list__foot">and {formatNumber(preview.recovered - items.length)} more</li>
          )}
        </ul>
      )}
    </>
  )
}
