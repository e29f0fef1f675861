// Replaying dead letters or events: first what would happen, then the run with its progress.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Play } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { api, problemOf } from '../api.ts'
import { formatNumber } from '../lib/time.ts'
import { useReplay } from '../queries.ts'
import type { EventSelection, ReplayFilter, ReplayPreview } from '../types.ts'
import { Button, Chip, Field } from './controls.tsx'
import { Dialog, Note, Progress, SkeletonRows } from './surfaces.tsx'
import { toastDone, toastProblem } from './toast.tsx'

type Verdict = ReplayPreview['items'][number]['verdict']

const VERDICTS: readonly (readonly [Verdict, string, 'green' | 'accent' | 'amber' | 'red', string])[] = [
  ['would-call', 'would call', 'accent', 'The action runs again by the definition in force.'],
  ['would-skip', 'would skip', 'green', 'The effect is in the ledger already: nothing is sent.'],
  [
    'would-differ',
    'would differ',
    'amber',
    'The definition changed since: another key or request than before.',
  ],
  [
    'would-wait',
    'would wait',
    'amber',
    'Another item holds the key, or nobody knows what became of an earlier call.',
  ],
  ['would-fail', 'would fail', 'red', 'It could not even begin: the key or the request cannot be made.'],
]
/** Shown where there are some. */
const RARE: ReadonlySet<Verdict> = new Set(['would-wait', 'would-fail'])
const SHOWN_MAX = 50

/** One line of a preview: what would become of one dead letter, or of one event for one route. */
interface PreviewLine {
  readonly key: string
  readonly href: string
  readonly label: string
  readonly verdict: Verdict | null
  readonly reason: string
}

interface Preview extends Pick<ReplayPreview, 'totals' | 'calls'> {
  /** How many would be replayed. */
  readonly matched: number
  readonly lines: readonly PreviewLine[]
}

interface RunnerProps {
  readonly what: string
  readonly look: () => Promise<Preview | null>
  readonly start: (reason: string) => Promise<string | null>
  readonly empty: string
  readonly onClose: () => void
}

export function ReplayDialog({
  filter,
  what,
  onClose,
}: {
  readonly filter: ReplayFilter
  readonly what: string
  readonly onClose: () => void
}) {
  return (
    <ReplayRunner
      what={what}
      empty="Nothing is left to replay: somebody else has dealt with these."
      look={async () => {
        const answer = await api.replayDeadLetters({ filter, dryRun: true })
        if (!('totals' in answer)) return null
        const lines = answer.items.map(({ id, verdict, reason }) => ({
          key: id,
          href: `/dead-letters/${id}`,
          label: id,
          verdict,
          reason,
        }))
        return { ...answer, lines }
      }}
      start={async (reason) => {
        const answer = await api.replayDeadLetters({ filter, ...(reason !== '' && { reason }) })
        return 'replayId' in answer ? answer.replayId : null
      }}
      onClose={onClose}
    />
  )
}

/** Events are matched again with the definitions in force; the ledger skips what was done. */
export function ReplayEventsDialog({
  selection,
  what,
  onClose,
}: {
  readonly selection: EventSelection
  readonly what: string
  readonly onClose: () => void
}) {
  return (
    <ReplayRunner
      what={what}
      empty="No event fits: nothing would be replayed."
      look={async () => {
        const answer = await api.replayEvents({ ...selection, dryRun: true })
        if (!('totals' in answer)) return null
        const lines = answer.items.flatMap(({ id, subject, consumers }): PreviewLine[] => {
          const line = { href: `/events/${id}`, label: subject ?? id }
          if (subject === null)
            return [{ ...line, key: id, verdict: null, reason: 'There is no such event.' }]
          if (consumers.length === 0)
            return [{ ...line, key: id, verdict: null, reason: 'No route wants it: it stays as it is.' }]
          return consumers.map(({ name, verdict, reason }) => ({
            ...line,
            key: `${id} ${name}`,
            verdict,
            reason: `${name}: ${reason}`,
          }))
        })
        return { ...answer, lines }
      }}
      start={async (reason) => {
        const answer = await api.replayEvents({ ...selection, ...(reason !== '' && { reason }) })
        return 'replayId' in answer ? answer.replayId : null
      }}
      onClose={onClose}
    />
  )
}

function ReplayRunner({ what, look, start, empty, onClose }: RunnerProps) {
  const client = useQueryClient()
  const [reason, setReason] = useState('')
  const [replayId, setReplayId] = useState<string | null>(null)
  const preview = useMutation({ mutationFn: look })
  const run = useMutation({
    mutationFn: () => start(reason.trim()),
    onSuccess: setReplayId,
    onError: (error) => {
      toastProblem(error, 'The replay could not start')
      if (problemOf(error).status === 409) onClose()
    },
    onSettled: () => client.invalidateQueries(),
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked once, when the dialog opens.
  useEffect(() => preview.mutate(), [])

  if (replayId !== null) return <Running id={replayId} onClose={onClose} />
  const isEmpty = preview.data?.lines.length === 0
  return (
    <Dialog
      title={`Replay ${what}`}
      onClose={onClose}
      onSubmit={() => run.mutate()}
      isWide
      foot={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button
            type="submit"
            variant="primary"
            icon={<Play size={14} aria-hidden />}
            isBusy={run.isPending}
            disabled={preview.data == null || isEmpty}
          >
            Replay {preview.data == null || isEmpty ? '' : formatNumber(preview.data.matched)}
          </Button>
        </>
      }
    >
      {preview.isPending && <SkeletonRows count={4} />}
      {preview.isError && (
        <Note tone="red">
          <strong>{problemOf(preview.error).title}.</strong> {problemOf(preview.error).detail}{' '}
          {problemOf(preview.error).next}
        </Note>
      )}
      {isEmpty && <Note>{empty}</Note>}
      {preview.data != null && !isEmpty && (
        <>
          <Totals preview={preview.data} />
          <PreviewList preview={preview.data} />
          <Field label="Reason (optional)" hint="Kept with the replay, with your name.">
            {(field) => (
              <input
                {...field}
                className="input"
                value={reason}
                onChange={(event) => setReason(event.target.value)}
              />
            )}
          </Field>
        </>
      )}
    </Dialog>
  )
}

function Totals({ preview }: { readonly preview: Preview }) {
  const hosts = Object.entries(preview.calls)
  return (
    <div className="totals">
      {VERDICTS.filter(([verdict]) => !RARE.has(verdict) || preview.totals[verdict] > 0).map(
        ([verdict, label, tone, text]) => (
          <div key={verdict} className="totals__one" title={text}>
            <span className="totals__number num">{preview.totals[verdict]}</span>
            <Chip tone={tone}>{label}</Chip>
            <span className="faint">{text}</span>
          </div>
        ),
      )}
      {hosts.length > 0 && (
        <p className="totals__calls muted">
          Calls go to{' '}
          {hosts.map(([host, count], index) => (
            <span key={host}>
              {index > 0 && ', '}
              <span className="mono">{host}</span> ({count})
            </span>
          ))}
          .
        </p>
      )}
    </div>
  )
}

function PreviewList({ preview }: { readonly preview: Preview }) {
  const shown = preview.lines.slice(0, SHOWN_MAX)
  const rest = Math.max(preview.matched, preview.lines.length) - shown.length
  return (
    <ul className="list preview" aria-label="What would happen">
      {shown.map(({ key, href, label, verdict, reason }) => {
        const [, text, tone] = VERDICTS.find(([name]) => name === verdict) ?? [
          '',
          verdict ?? 'unmatched',
          'grey' as const,
        ]
        return (
          <li key={key} className="row preview__row">
            <Link href={href} className="mono truncate">
              {label}
            </Link>
            <Chip tone={tone}>{text}</Chip>
            <span className="muted preview__reason">{reason}</span>
          </li>
        )
      })}
      {rest > 0 && <li className="list__foot">and {formatNumber(rest)} more</li>}
    </ul>
  )
}

function Running({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const client = useQueryClient()
  const { data: replay } = useReplay(id)
  const cancel = useMutation({
    mutationFn: () => api.cancelReplay({ id }),
    onError: (error) => toastProblem(error, 'It could not be cancelled'),
    onSettled: () => client.invalidateQueries({ queryKey: ['replay', id] }),
  })
  const state = replay?.state
  useEffect(() => {
    if (state === undefined || state === 'running') return
    void client.invalidateQueries()
    if (state === 'done') toastDone('The replay is done')
  }, [state, client])
  const total = replay?.total ?? 0
  const handled = (replay?.replayed ?? 0) + (replay?.refused ?? 0)
  return (
    <Dialog
      title={state === 'done' ? 'Replayed' : state === 'cancelled' ? 'Replay cancelled' : 'Replaying'}
      onClose={onClose}
      foot={
        <>
          {state === 'running' && (
            <Button variant="danger" isBusy={cancel.isPending} onClick={() => cancel.mutate()}>
              Cancel the rest
            </Button>
          )}
          <Button variant={state === 'running' ? 'default' : 'primary'} onClick={onClose}>
            Close
          </Button>
        </>
      }
    >
      <Progress value={handled} total={total} label="Replayed" />
      <p className="muted num" role="status">
        {replay?.replayed ?? 0} of {total} are on their way again
        {(replay?.refused ?? 0) > 0 && `, ${replay?.refused} were refused: somebody else had dealt with them`}
        .
      </p>
      <p className="faint">Whether each one gets through shows in its event, and here when it fails again.</p>
    </Dialog>
  )
}
