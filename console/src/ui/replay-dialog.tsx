// Replaying dead letters: first what would happen, then the run with its progress.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Play } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { api, problemOf } from '../api.ts'
import { formatNumber } from '../lib/time.ts'
import { useReplay } from '../queries.ts'
import type { ReplayFilter, ReplayPreview } from '../types.ts'
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

export function ReplayDialog({
  filter,
  what,
  onClose,
}: {
  readonly filter: ReplayFilter
  readonly what: string
  readonly onClose: () => void
}) {
  const client = useQueryClient()
  const [reason, setReason] = useState('')
  const [replayId, setReplayId] = useState<string | null>(null)
  const preview = useMutation({
    mutationFn: async () => {
      const answer = await api.replayDeadLetters({ filter, dryRun: true })
      return 'totals' in answer ? answer : null
    },
  })
  const run = useMutation({
    mutationFn: () =>
      api.replayDeadLetters({
        filter,
        ...(reason.trim() !== '' && { reason: reason.trim() }),
      }),
    onSuccess: (answer) => setReplayId('replayId' in answer ? answer.replayId : null),
    onError: (error) => {
      toastProblem(error, 'The replay could not start')
      if (problemOf(error).status === 409) onClose()
    },
    onSettled: () => client.invalidateQueries(),
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked once, when the dialog opens.
  useEffect(() => preview.mutate(), [])

  if (replayId !== null) return <Running id={replayId} onClose={onClose} />
  const isEmpty = preview.data?.items.length === 0
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
      {isEmpty && <Note>Nothing is left to replay: somebody else has dealt with these.</Note>}
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

function Totals({ preview }: { readonly preview: ReplayPreview }) {
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

function PreviewList({ preview }: { readonly preview: ReplayPreview }) {
  return (
    <ul className="list preview" aria-label="What would happen">
      {preview.items.slice(0, SHOWN_MAX).map(({ id, verdict, reason }) => {
        const [, label, tone] = VERDICTS.find(([name]) => name === verdict) ?? [
          '',
          verdict,
          'accent' as const,
        ]
        return (
          <li key={id} className="row preview__row">
            <Link href={`/dead-letters/${id}`} className="mono truncate">
              {id}
            </Link>
            <Chip tone={tone}>{label}</Chip>
            <span className="muted preview__reason">{reason}</span>
          </li>
        )
      })}
      {preview.matched > SHOWN_MAX && (
        <li className="list__foot">and {formatNumber(preview.matched - SHOWN_MAX)} more</li>
      )}
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
