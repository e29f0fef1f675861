// Replaying dead letters or events: first a preview, then the run with its progress.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Play } from 'lucide-react'
import { useEffect, useState } from 'react'
import { api, fieldError, problemOf } from '../api.ts'
import { formatNumber } from '../lib/time.ts'
import type { EventSelection, ReplayFilter } from '../types.ts'
import { ProblemNote } from './actions.tsx'
import { Button } from './controls.tsx'
import { type AskedPace, ReplayFields, useReplayFields } from './replay-fields.tsx'
import { type Preview, type PreviewLine, PreviewList, Totals } from './replay-preview.tsx'
import { Running } from './replay-running.tsx'
import { Dialog, Note, SkeletonRows } from './surfaces.tsx'
import { toastProblem } from './toast.tsx'

interface Asked extends AskedPace {
  readonly again?: boolean
}

interface RunnerProps {
  readonly what: string
  readonly look: (again: boolean) => Promise<Preview | null>
  readonly start: (asked: Asked) => Promise<string | null>
  /** Existing effects can be repeated, on purpose. */
  readonly canRepeat?: boolean
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
      canRepeat
      empty="Nothing is left to replay: another user has handled these."
      look={async (again) => {
        const answer = await api.replayDeadLetters({ filter, dryRun: true, ...(again && { again }) })
        if (!('totals' in answer)) return null
        const lines = answer.items.map(({ id, ...item }) => ({
          key: id,
          href: `/dead-letters/${id}`,
          label: id,
          ...item,
        }))
        return { ...answer, lines }
      }}
      start={async (asked) => {
        const answer = await api.replayDeadLetters({ filter, ...asked })
        return 'replayId' in answer ? answer.replayId : null
      }}
      onClose={onClose}
    />
  )
}

/** Events are matched again with the deployed definitions; the ledger skips what was done. */
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
      empty="No event matches: nothing would be replayed."
      look={async () => {
        const answer = await api.replayEvents({ ...selection, dryRun: true })
        if (!('totals' in answer)) return null
        const lines = answer.items.flatMap(({ id, subject, consumers }): PreviewLine[] => {
          const line = { href: `/events/${id}`, label: subject ?? id }
          if (subject === null)
            return [{ ...line, key: id, verdict: null, reason: 'There is no such event.' }]
          if (consumers.length === 0)
            return [{ ...line, key: id, verdict: null, reason: 'No route wants it: it stays as it is.' }]
          return consumers.map(({ name, reason, ...rest }) => ({
            ...line,
            key: `${id} ${name}`,
            reason: `${name}: ${reason}`,
            ...rest,
          }))
        })
        return { ...answer, lines }
      }}
      start={async ({ again: _, ...asked }) => {
        const answer = await api.replayEvents({ ...selection, ...asked })
        return 'replayId' in answer ? answer.replayId : null
      }}
      onClose={onClose}
    />
  )
}

function ReplayRunner({ what, look, start, canRepeat, empty, onClose }: RunnerProps) {
  const client = useQueryClient()
  const [again, setAgain] = useState(false)
  const [replayId, setReplayId] = useState<string | null>(null)
  const preview = useMutation({ mutationFn: look })
  const run = useMutation({
    mutationFn: () => start({ ...fields.asked, ...(again && { again }) }),
    onSuccess: setReplayId,
    onError: (error) => {
      if (fieldError(error, 'perSecond') === undefined) toastProblem(error, 'The replay could not start')
      if (problemOf(error).status === 409) onClose()
    },
    onSettled: () => client.invalidateQueries(),
  })
  const fields = useReplayFields({ isReasonNeeded: again, error: run.error })
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked when the dialog opens, and when the question is another.
  useEffect(() => preview.mutate(again), [again])

  if (replayId !== null) return <Running id={replayId} onClose={onClose} />
  const isEmpty = preview.data?.lines.length === 0
  const submit = () => {
    if (fields.check()) run.mutate()
  }
  const count = preview.data == null || isEmpty ? '' : formatNumber(preview.data.matched)
  return (
    <Dialog
      title={`Replay ${what}`}
      onClose={onClose}
      onSubmit={submit}
      isWide
      foot={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button
            type="submit"
            variant={again ? 'danger' : 'primary'}
            icon={<Play size={14} aria-hidden />}
            isBusy={run.isPending}
            disabled={preview.data == null || isEmpty}
          >
            {again ? `Replay ${count} and repeat effects` : `Replay ${count}`}
          </Button>
        </>
      }
    >
      {preview.isPending && <SkeletonRows count={4} />}
      {preview.isError && <ProblemNote error={preview.error} />}
      {isEmpty && <Note>{empty}</Note>}
      {preview.data != null && !isEmpty && (
        <>
          <Totals preview={preview.data} />
          <PreviewList preview={preview.data} />
          {canRepeat === true && (again || preview.data.totals['would-skip'] > 0) && (
            <Repeat isOn={again} skipped={preview.data.totals['would-skip']} onChange={setAgain} />
          )}
          <ReplayFields fields={fields} />
        </>
      )}
    </Dialog>
  )
}

/** A second effect is what Millrace prevents: a user who wants one confirms it explicitly. */
function Repeat({
  isOn,
  skipped,
  onChange,
}: {
  readonly isOn: boolean
  readonly skipped: number
  readonly onChange: (isOn: boolean) => void
}) {
  const [isShown, setIsShown] = useState(isOn)
  if (!isShown) {
    return (
      <div className="muted replay__repeat">
        {skipped === 1 ? 'One has its effect already' : `${formatNumber(skipped)} have their effect already`}{' '}
        and would be skipped.{' '}
        <Button isSmall variant="ghost" onClick={() => setIsShown(true)}>
          Repeat the effect …
        </Button>
      </div>
    )
  }
  return (
    <Note tone="amber">
      <strong>This repeats an effect.</strong> An effect that is done in the ledger happens once more at the
      vendor: a second invoice, a second message. The key gets another generation, both stay in the ledger,
      and your reason is recorded with your name. It cannot be undone here.
      <label className="check replay__confirm">
        <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.target.checked)} />
        Yes, repeat effects that already happened
      </label>
    </Note>
  )
}
