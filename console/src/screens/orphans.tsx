// Orphans: events for a workflow's instance that matched none, or more than one. They stay here until an operator
// assigns them.

import { Link2, RefreshCw, Trash2, Unplug } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { api } from '../api.ts'
import { orphanInWords } from '../lib/workflow-words.ts'
import { useMe, useOrphans, useWorkflows } from '../queries.ts'
import type { Orphan } from '../types.ts'
import { optionalReason, ReasonDialog, useAction } from '../ui/actions.tsx'
import { Button, LinkButton, StateChip, Time } from '../ui/controls.tsx'
import { CorrelateDialog } from '../ui/correlate-dialog.tsx'
import { FilterBar, filtersOf, MoreRows, overviewCounts, useFilters } from '../ui/filters.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

const EMPTY: Readonly<Record<Orphan['state'], string>> = {
  open: 'Every event found its instance',
  waiting: 'No event waits for its instance',
  correlated: 'None was correlated yet',
  discarded: 'None was discarded',
}

const { tabs, name } = filtersOf('listOrphans')
const FILTERS = [
  tabs(
    'state',
    'State',
    [
      ['open', 'Open'],
      ['waiting', 'Waiting'],
      ['correlated', 'Correlated'],
      ['discarded', 'Discarded'],
    ],
    { useCounts: overviewCounts({ open: 'openOrphans' }) },
  ),
  name('workflow', 'Workflow', 'All workflows', () => {
    const { data } = useWorkflows()
    return data?.items.map((one) => one.name) ?? []
  }),
]

export default function Orphans() {
  const { values, change } = useFilters('/orphans', FILTERS)
  const { workflow = '' } = values
  const state = values.state as Orphan['state']
  const [limit, setLimit] = useState(50)
  const { data: me } = useMe()
  const { data, error, refetch } = useOrphans({ state, workflow: workflow || undefined, limit })
  const canAct = me !== undefined && me.role !== 'viewer'
  return (
    <PageFrame
      title="Orphans"
      lead="Events that a workflow wants for one of its instances, and that found none, or more than one. Nothing is dropped: say where they belong, or that nobody wants them."
      actions={canAct && workflow !== '' && state === 'open' ? <LookAgain workflow={workflow} /> : undefined}
    >
      <FilterBar filters={FILTERS} values={values} onChange={change} />
      {data === undefined &&
        (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
      {data?.items.length === 0 && (
        <div className="list">
          <Empty
            icon={<Unplug size={20} />}
            title={EMPTY[state]}
            action={<LinkButton to="/workflows">See the workflows</LinkButton>}
          >
            An event of an update trigger whose key no instance has waits for a while, and then shows up here.
          </Empty>
        </div>
      )}
      <ul className="parked" aria-label="Orphans">
        {data?.items.map((orphan) => (
          <Item key={orphan.id} orphan={orphan} canAct={canAct} />
        ))}
      </ul>
      <MoreRows hasMore={data != null && data.nextCursor !== null} limit={limit} onMore={setLimit} />
    </PageFrame>
  )
}

function LookAgain({ workflow }: { readonly workflow: string }) {
  const retry = useAction({
    run: () => api.retryOrphans({ workflow }),
    done: 'Looked again for their instances',
    failed: 'It could not look again',
  })
  return (
    <Button
      icon={<RefreshCw size={14} aria-hidden />}
      isBusy={retry.isPending}
      onClick={() => retry.mutate(undefined)}
    >
      Look again
    </Button>
  )
}

function Item({ orphan, canAct }: { readonly orphan: Orphan; readonly canAct: boolean }) {
  const [asking, setAsking] = useState<'correlate' | 'discard' | null>(null)
  const close = () => setAsking(null)
  const isOpen = orphan.state === 'open' || orphan.state === 'waiting'
  return (
    <li className="card parked__item">
      <div className="parked__head">
        <Link href={`/workflows/${orphan.workflow}`} className="row__title" data-row>
          {orphan.workflow}
        </Link>
        <StateChip state={orphan.state} />
        <span className="mono truncate parked__key">{orphan.keys}</span>
        <span className="parked__when faint">
          <Time at={orphan.createdAt} />
        </span>
      </div>
      <dl className="facts">
        {isOpen && (
          <>
            <dt>What is known</dt>
            <dd>
              {orphanInWords(orphan)}
              {orphan.expiresAt !== null && orphan.state === 'waiting' && (
                <>
                  {' '}
                  Until <Time at={orphan.expiresAt} />.
                </>
              )}
            </dd>
          </>
        )}
        <dt>Event</dt>
        <dd>
          <Link href={`/events/${orphan.eventId}`} className="mono">
            {orphan.eventId}
          </Link>
        </dd>
        {orphan.instance !== null && (
          <>
            <dt>Went to</dt>
            <dd>
              <Link href={`/instances/${orphan.instance}`} className="mono">
                {orphan.instance}
              </Link>
            </dd>
          </>
        )}
        {(orphan.by !== null || orphan.note !== null) && (
          <>
            <dt>Decided</dt>
            <dd>
              {orphan.by !== null && `by ${orphan.by} `}
              {orphan.note !== null && <span className="muted">"{orphan.note}"</span>}
            </dd>
          </>
        )}
      </dl>
      {((canAct && isOpen) || asking !== null) && (
        <div className="parked__actions">
          <Button
            variant="primary"
            icon={<Link2 size={14} aria-hidden />}
            onClick={() => setAsking('correlate')}
          >
            Correlate
          </Button>
          <Button
            variant="ghost"
            icon={<Trash2 size={14} aria-hidden />}
            onClick={() => setAsking('discard')}
          >
            Discard
          </Button>
        </div>
      )}
      {asking === 'correlate' && <CorrelateDialog orphan={orphan} onClose={close} />}
      {asking === 'discard' && (
        <ReasonDialog
          title="Discard this orphan"
          text="No instance will get it. The event stays where it is, and so does this entry with your reason."
          action="Discard"
          run={(reason) => api.discardOrphan({ id: orphan.id, ...optionalReason(reason) })}
          done="The orphan is discarded"
          isReasonNeeded
          isDangerous
          onClose={close}
        />
      )}
    </li>
  )
}
