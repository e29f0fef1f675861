// Dead letters by cause: what failed, why, and how to replay it.

import { ChevronRight, MailX, Play } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { consumerFilter } from '../lib/links.ts'
import { formatCause, formatNumber } from '../lib/time.ts'
import { useDeadLetterGroups, useDeadLetters, useMe } from '../queries.ts'
import type { DeadLetterGroup, LetterState, ReplayFilter } from '../types.ts'
import { Button, Chip, LinkButton, StateChip, Time } from '../ui/controls.tsx'
import {
  CLASS_CHOICES,
  classInWords,
  FilterBar,
  filtersOf,
  useFilters,
  useRouteNames,
} from '../ui/filters.tsx'
import { ReplayDialog } from '../ui/replay-dialog.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

const { tabs, name, choice } = filtersOf('listDeadLetters')
const FILTERS = [
  tabs('state', 'State', [
    ['open', 'Open'],
    ['ready_to_replay', 'Ready to replay'],
    ['replaying', 'Replaying'],
    ['resolved', 'Resolved'],
    ['discarded', 'Discarded'],
  ]),
  name('consumer', 'Route', 'All routes', useRouteNames),
  choice('class', 'Class', 'All classes', CLASS_CHOICES),
]

/** What a class means for the operator. */
const ADVICE: Readonly<Record<string, string>> = {
  transient: 'The other side was not well for longer than the retries lasted. Replay when it is back.',
  rate_limited: 'The other side kept saying “not so fast”. Replay later.',
  auth: 'The credentials were refused. Set new ones, then replay.',
  config: 'The address or route is wrong. Correct the definition, then replay.',
  validation: 'The other side refused the data. Edit the payload or the route, then replay.',
  poison: 'It could not be read, or it kept crashing. Look before replaying.',
  unknown: 'Its outcome was never known. Make sure it did not happen before replaying.',
}

export default function DeadLetters() {
  const { values, change } = useFilters('/dead-letters', FILTERS)
  const { consumer = '', class: className = '' } = values
  const state = values.state as LetterState
  const { data, error, refetch } = useDeadLetterGroups(state)
  const groups = data?.items.filter(
    (group) =>
      (consumer === '' || consumerFilter(group.consumer) === consumer) &&
      (className === '' || group.class === className),
  )
  // Held here and not in the group, which disappears as soon as its dead letters are replayed.
  const [replaying, setReplaying] = useState<{ readonly filter: ReplayFilter; readonly what: string } | null>(
    null,
  )
  return (
    <PageFrame
      title="Dead letters"
      lead="Work that will not be retried by itself, grouped by what went wrong. Nothing is lost: each letter keeps its event, and the ledger keeps a replay from doubling what was done."
    >
      <FilterBar filters={FILTERS} values={values} onChange={change} />
      {data === undefined &&
        (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
      {groups?.length === 0 && <NoLetters state={state} isNarrowed={data?.items.length !== 0} />}
      <ul className="groups">
        {groups?.map((group) => (
          <Group
            key={`${state} ${group.consumer.name} ${group.class} ${group.reason} ${group.cause}`}
            group={group}
            state={state}
            onReplay={(filter, what) => setReplaying({ filter, what })}
          />
        ))}
      </ul>
      {replaying !== null && <ReplayDialog {...replaying} onClose={() => setReplaying(null)} />}
    </PageFrame>
  )
}

function NoLetters({ state, isNarrowed }: { readonly state: string; readonly isNarrowed: boolean }) {
  if (isNarrowed) {
    return (
      <div className="list">
        <Empty icon={<MailX size={20} />} title="None of this route and class" />
      </div>
    )
  }
  if (state !== 'open') {
    return (
      <div className="list">
        <Empty icon={<MailX size={20} />} title={`No letter is ${state.replaceAll('_', ' ')}`} />
      </div>
    )
  }
  return (
    <div className="list">
      <Empty
        icon={<MailX size={20} />}
        title="No open dead letters"
        action={<LinkButton to="/events">See the events</LinkButton>}
      >
        A job that fails for good is listed here, with the reason and a way to replay it.
      </Empty>
    </div>
  )
}

interface GroupProps {
  readonly group: DeadLetterGroup
  readonly state: LetterState
  readonly onReplay: (filter: ReplayFilter, what: string) => void
}

function Group({ group, state, onReplay }: GroupProps) {
  const { data: me } = useMe()
  const [isOpen, setIsOpen] = useState(false)
  const filter = {
    consumer: consumerFilter(group.consumer),
    class: group.class,
    reason: group.reason,
    cause: group.cause,
  }
  const canReplay = me?.role !== 'viewer' && (state === 'open' || state === 'ready_to_replay')
  return (
    <li className="card group">
      <div className="group__head">
        <button
          type="button"
          className="group__toggle"
          aria-expanded={isOpen}
          data-row
          onClick={() => setIsOpen(!isOpen)}
        >
          <ChevronRight size={15} aria-hidden />
          <span className="group__text">
            <span className="group__cause">{formatCause(group.cause)}</span>
            <span className="group__facts">
              <span>{group.consumer.name}</span>
              <span>{group.reason.replaceAll('_', ' ')}</span>
              <span>
                latest <Time at={group.latestAt} />
              </span>
            </span>
          </span>
          <Chip tone={group.class === 'validation' ? 'violet' : 'red'}>{classInWords(group.class)}</Chip>
          <span className="attention__count num">{formatNumber(group.count)}</span>
        </button>
        {canReplay && (
          <Button
            isSmall
            icon={<Play size={13} aria-hidden />}
            onClick={() =>
              onReplay(
                state === 'ready_to_replay' ? { ...filter, state } : filter,
                group.count === 1 ? 'one dead letter' : `${formatNumber(group.count)} dead letters`,
              )
            }
          >
            Replay group
          </Button>
        )}
      </div>
      {isOpen && (
        <div className="group__letters">
          <p className="group__advice muted">{ADVICE[group.class]}</p>
          <Letters state={state} filter={filter} />
        </div>
      )}
    </li>
  )
}

interface LettersProps {
  readonly state: LetterState
  readonly filter: Pick<DeadLetterGroup, 'class' | 'reason' | 'cause'> & { readonly consumer: string }
}

function Letters({ state, filter }: LettersProps) {
  const [limit, setLimit] = useState(20)
  const { data, error, refetch } = useDeadLetters({ ...filter, state, limit })
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />
  if (data === undefined) return <SkeletonRows count={2} />
  return (
    <ul aria-label="Letters of this group">
      {data.items.map((letter) => (
        <li key={letter.id}>
          <Link href={`/dead-letters/${letter.id}`} className="row letters__grid" data-row>
            <span className="truncate mono letters__key">{letter.key ?? letter.eventId}</span>
            <span className="truncate muted letters__error" title={letter.lastError}>
              {letter.lastError}
            </span>
            <span className="chips">
              <StateChip state={letter.state} />
              {letter.step !== undefined && (
                <span className="tag" title="How far it came">
                  {letter.step}
                </span>
              )}
              {letter.replays > 0 && <span className="tag num">{letter.replays} replays</span>}
            </span>
            <span className="events__when faint">
              <Time at={letter.updatedAt} />
            </span>
          </Link>
        </li>
      ))}
      {data.nextCursor !== null && limit < 200 && (
        <li className="list__foot">
          <Button isSmall onClick={() => setLimit(Math.min(200, limit + 60))}>
            Load more
          </Button>
        </li>
      )}
    </ul>
  )
}
