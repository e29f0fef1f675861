// A replay or a recovery while it runs: its progress, and a button that cancels it.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { api } from '../api.ts'
import { formatExact, formatNumber } from '../lib/time.ts'
import { useReplay } from '../queries.ts'
import type { Replay } from '../types.ts'
import { Button } from './controls.tsx'
import { Dialog, Progress } from './surfaces.tsx'
import { toastDone, toastProblem } from './toast.tsx'

const REPLAY = { running: 'Replaying', done: 'Replayed', cancelled: 'Replay cancelled' } as const
const RECOVERY = { running: 'Recovering', done: 'Recovered', cancelled: 'Recovery cancelled' } as const

interface RunningProps {
  readonly id: string
  /** For a recovery: since when, up to when, in milliseconds, so that its progress can be shown. */
  readonly walk?: { readonly from: number; readonly to: number }
  readonly onClose: () => void
}

export function Running({ id, walk, onClose }: RunningProps) {
  const client = useQueryClient()
  const { data: replay } = useReplay(id)
  const cancel = useMutation({
    mutationFn: () => api.cancelReplay({ id }),
    onError: (error) => toastProblem(error, 'It could not be cancelled'),
    onSettled: () => client.invalidateQueries({ queryKey: ['replay', id] }),
  })
  const state = replay?.state
  const words = walk === undefined ? REPLAY : RECOVERY
  const done = walk === undefined ? 'The replay is done' : 'The recovery is done'
  useEffect(() => {
    if (state === undefined || state === 'running') return
    void client.invalidateQueries()
    if (state === 'done') toastDone(done)
  }, [state, client, done])
  return (
    <Dialog
      title={words[state ?? 'running']}
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
      {walk === undefined ? (
        <Progress
          value={(replay?.replayed ?? 0) + (replay?.refused ?? 0)}
          total={replay?.total ?? 0}
          label="Replayed"
        />
      ) : (
        <Progress value={walkedOf(replay, walk)} total={walk.to - walk.from} label="Looked at" />
      )}
      {replay?.perSecond != null && state === 'running' && (
        <p className="muted num">No more than {replay.perSecond} a second.</p>
      )}
      <p className="muted num" role="status">
        {walk === undefined ? (
          <>
            {replay?.replayed ?? 0} of {replay?.total ?? 0} have started again
          </>
        ) : (
          <>
            {formatNumber(replay?.replayed ?? 0)} are on their way; {formatNumber(replay?.walk?.walked ?? 0)}{' '}
            events were looked at
            {replay?.walk?.walkedTo != null &&
              state === 'running' &&
              `, up to ${formatExact(replay.walk.walkedTo)}`}
          </>
        )}
        {(replay?.refused ?? 0) > 0 && `, ${replay?.refused} were refused: another user had handled them`}.
      </p>
      <p className="faint">
        {walk === undefined
          ? 'Whether each one gets through shows in its event, and here when it fails again.'
          : 'It goes on when this is closed. Whether each one arrives shows among the deliveries.'}
      </p>
    </Dialog>
  )
}

function walkedOf(replay: Replay | undefined, { from, to }: { readonly from: number; readonly to: number }) {
  if (replay?.state === 'done') return to - from
  const at = replay?.walk?.walkedTo
  return at == null ? 0 : Math.max(0, Math.min(to, Date.parse(at)) - from)
}
