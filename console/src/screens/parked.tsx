// Unknown outcomes: calls that were sent and never answered. The engine does not guess; a person decides.

import { Ban, CircleCheck, CircleQuestionMark, Radar, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { api } from '../api.ts'
import { useMe, useParked } from '../queries.ts'
import type { Work } from '../types.ts'
import { ReasonDialog, useAction } from '../ui/actions.tsx'
import { Button, Copy, LinkButton, StateChip, Time } from '../ui/controls.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

export default function Parked() {
  const { data, error, refetch } = useParked()
  return (
    <PageFrame
      title="Unknown outcomes"
      lead="These calls were sent, and no answer proves what became of them. Repeating could double the effect, giving up could lose it, so they wait here until you say which it was."
    >
      {data === undefined &&
        (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
      {data?.items.length === 0 && (
        <div className="list">
          <Empty
            icon={<CircleQuestionMark size={20} />}
            title="Every outcome is known"
            action={<LinkButton to="/work?state=done">See what was done</LinkButton>}
          >
            When a call ends without an answer and the route has neither a probe nor a vendor key that makes
            repeating safe, it shows up here.
          </Empty>
        </div>
      )}
      <ul className="parked">
        {data?.items.map((work) => (
          <ParkedItem key={work.id} work={work} />
        ))}
      </ul>
    </PageFrame>
  )
}

type Asking = 'done' | 'released' | 'cancel' | null

function ParkedItem({ work }: { readonly work: Work }) {
  const { data: me } = useMe()
  const [asking, setAsking] = useState<Asking>(null)
  const probe = useAction({
    run: () => api.probeWork({ id: work.id }),
    done: 'The vendor is being asked',
    failed: 'It could not be probed',
  })
  const close = () => setAsking(null)
  // The word is about what is shown here: if the item is about another effect by then, it is not taken.
  const about = work.key === undefined ? {} : { key: work.key }
  return (
    <li className="card parked__item">
      <div className="parked__head">
        <Link href={`/work/${work.id}`} className="row__title" data-row>
          {work.consumer}
        </Link>
        <StateChip state="unknown" />
        {work.key !== undefined && <Copy text={work.key} />}
        <span className="parked__when faint">
          parked <Time at={work.processedAt ?? work.createdAt} />
        </span>
      </div>
      <dl className="facts">
        <dt>What is known</dt>
        <dd>
          {work.attempts === 1 ? 'One call was sent' : `${work.attempts} calls were sent`}
          {work.httpStatus === undefined
            ? ' and no answer came back.'
            : `, answered with ${work.httpStatus}, which does not say whether it was applied.`}
        </dd>
        {work.lastError !== undefined && (
          <>
            <dt>Last error</dt>
            <dd className="mono parked__error">{work.lastError}</dd>
          </>
        )}
        <dt>Event</dt>
        <dd>
          <Link href={`/events/${work.eventId}`} className="mono">
            {work.eventId}
          </Link>
        </dd>
      </dl>
      {me?.role !== 'viewer' && (
        <div className="parked__actions">
          <Button
            variant="primary"
            icon={<CircleCheck size={14} aria-hidden />}
            onClick={() => setAsking('done')}
          >
            It happened
          </Button>
          <Button icon={<Undo2 size={14} aria-hidden />} onClick={() => setAsking('released')}>
            It did not happen
          </Button>
          <Button
            icon={<Radar size={14} aria-hidden />}
            isBusy={probe.isPending}
            onClick={() => probe.mutate(undefined)}
            title="Ask the vendor by the route's probe"
          >
            Probe
          </Button>
          <Button variant="ghost" icon={<Ban size={14} aria-hidden />} onClick={() => setAsking('cancel')}>
            Cancel
          </Button>
        </div>
      )}
      {asking === 'done' && (
        <ReasonDialog
          title="Mark the effect as done"
          text={
            <>
              You looked, and the effect is there. The ledger will say <code>done</code>, and nothing is sent
              again for this key.
            </>
          }
          action="Mark done"
          run={(reason) => api.resolveWork({ id: work.id, as: 'done', reason, ...about })}
          done="The ledger says done"
          isReasonNeeded
          onClose={close}
        />
      )}
      {asking === 'released' && (
        <ReasonDialog
          title="Mark the effect as not made"
          text={
            <>
              You looked, and the effect is not there. The key is <code>released</code> and the call is made
              again.
            </>
          }
          action="Release and call again"
          run={(reason) => api.resolveWork({ id: work.id, as: 'released', reason, ...about })}
          done="The key is released, the item is due again"
          isReasonNeeded
          onClose={close}
        />
      )}
      {asking === 'cancel' && (
        <ReasonDialog
          title="Cancel this work item"
          text="It will not be tried again. The ledger keeps the doubt: its outcome stays unknown."
          action="Cancel it"
          run={(reason) => api.cancelWork({ id: work.id, reason })}
          done="The item is cancelled"
          isReasonNeeded
          isDangerous
          onClose={close}
        />
      )}
    </li>
  )
}
