// One source or route: its text, its past, its recent events, and the switch that stops it.

import { CircleSlash, Pause, Play, SquarePen } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { api } from '../api.ts'
import { useDefinition, useMe, useRecentEvents, useWorkList } from '../queries.ts'
import type { DefinitionDetails } from '../types.ts'
import { optionalReason, ReasonDialog } from '../ui/actions.tsx'
import { Yaml } from '../ui/code.tsx'
import { Button, Chip, CopyButton, LinkButton, StateChip, Time } from '../ui/controls.tsx'
import { ErrorState, Note, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

const RECENT = 8

interface Props {
  readonly kind: 'Source' | 'Route'
  readonly name: string
}

export default function DefinitionScreen({ kind, name }: Props) {
  const { data, error, refetch } = useDefinition(kind, name)
  const { data: me } = useMe()
  const crumbs = [kind === 'Source' ? (['Sources', '/sources'] as const) : (['Routes', '/routes'] as const)]
  if (data === undefined) {
    return (
      <PageFrame title={name} crumbs={crumbs}>
        {error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </PageFrame>
    )
  }
  return (
    <PageFrame
      title={name}
      heading={
        <span className="title-line">
          {name} {data.status !== null && <StateChip state={data.status} />}
        </span>
      }
      crumbs={crumbs}
      lead={data.description ?? undefined}
      actions={
        <>
          {me?.role !== 'viewer' && <Switches definition={data} />}
          {kind === 'Route' && <LinkButton to={`/try?route=${name}`}>Try it</LinkButton>}
        </>
      }
    >
      <div className="event event--even">
        <section aria-labelledby="text">
          <div className="section__head">
            <h2 id="text">Definition</h2>
            <CopyButton text={data.yaml} label="Copy as YAML" />
          </div>
          <Owner definition={data} isAdmin={me?.role === 'admin'} />
          <div className="card">
            <Yaml text={data.yaml} />
          </div>
        </section>
        <div>
          <section aria-labelledby="recent">
            <div className="section__head">
              <h2 id="recent">Recently</h2>
              <Link href={kind === 'Source' ? `/events?source=${name}` : `/work?state=done&consumer=${name}`}>
                All
              </Link>
            </div>
            {kind === 'Source' ? <RecentEvents source={name} /> : <RecentWork route={name} />}
          </section>
          <section className="section" aria-labelledby="past">
            <div className="section__head">
              <h2 id="past">History</h2>
              <Link href="/definitions/versions">All versions</Link>
            </div>
            <Past definition={data} />
          </section>
        </div>
      </div>
    </PageFrame>
  )
}

function Owner({
  definition,
  isAdmin,
}: {
  readonly definition: DefinitionDetails
  readonly isAdmin: boolean
}) {
  if (definition.managedBy === 'api') {
    if (!isAdmin) return null
    return (
      <div className="spaced">
        <LinkButton
          isSmall
          to={`/definitions/edit?kind=${definition.kind}&name=${definition.name}`}
          icon={<SquarePen size={13} aria-hidden />}
        >
          Edit
        </LinkButton>
      </div>
    )
  }
  return (
    <div className="spaced">
      <Note>
        <strong>
          Read-only here: it belongs to the {definition.managedBy === 'demo' ? 'demo' : 'folder'}.
        </strong>{' '}
        Change its file and apply the folder. Pausing and disabling work from here.
      </Note>
    </div>
  )
}

function RecentEvents({ source }: { readonly source: string }) {
  const { data } = useRecentEvents({ source, limit: RECENT })
  if (data === undefined) return <SkeletonRows count={3} />
  if (data.items.length === 0) return <p className="muted">Nothing came in by it yet.</p>
  return (
    <ul className="list">
      {data.items.map((event) => (
        <li key={event.id}>
          <Link href={`/events/${event.id}`} className="row recent" data-row>
            <span className="truncate mono">{event.subject}</span>
            <span className="chips">
              {event.consumers.length === 0 ? (
                <Chip>unmatched</Chip>
              ) : (
                event.consumers.map(({ workId, state, attempts }) => (
                  <StateChip key={workId} state={state} attempts={attempts} />
                ))
              )}
            </span>
            <span className="faint">
              <Time at={event.receivedAt} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  )
}

function RecentWork({ route }: { readonly route: string }) {
  const { data } = useWorkList({ consumer: route, limit: RECENT })
  if (data === undefined) return <SkeletonRows count={3} />
  if (data.items.length === 0) return <p className="muted">No event matched it yet.</p>
  return (
    <ul className="list">
      {data.items.map((work) => (
        <li key={work.id}>
          <Link href={`/events/${work.eventId}`} className="row recent" data-row>
            <span className="truncate mono">{work.key ?? work.eventId}</span>
            <span className="chips">
              <StateChip state={work.state} attempts={work.attempts} />
            </span>
            <span className="faint">
              <Time at={work.processedAt ?? work.createdAt} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  )
}

function Past({ definition }: { readonly definition: DefinitionDetails }) {
  if (definition.history.length === 0) return <p className="muted">It never changed.</p>
  return (
    <ul className="list">
      {definition.history.map(({ hash, appliedAt, by, version }) => (
        <li key={version} className="row past">
          <span className="num">Version {version}</span>
          <span className="mono faint truncate" title={hash}>
            {hash.slice(0, 19)}
          </span>
          <span className="muted truncate">{by}</span>
          <span className="faint">
            <Time at={appliedAt} />
          </span>
        </li>
      ))}
    </ul>
  )
}

const SWITCHES = {
  pause: {
    title: 'Pause',
    text: 'What matches is kept and waits. Nothing is lost, and everything goes on when it is resumed.',
    done: 'It is paused',
    run: api.pauseDefinition,
  },
  resume: {
    title: 'Resume',
    text: 'What waited is worked on now.',
    done: 'It is active again',
    run: api.resumeDefinition,
  },
  disable: {
    title: 'Disable',
    text: 'What is queued stays. What arrives from now on is skipped, listed, and can be replayed.',
    done: 'It is disabled',
    run: api.disableDefinition,
  },
} as const

function Switches({ definition }: { readonly definition: DefinitionDetails }) {
  const [asking, setAsking] = useState<keyof typeof SWITCHES | null>(null)
  const { kind, name, status } = definition
  return (
    <>
      {status === 'active' ? (
        kind === 'Route' && (
          <Button icon={<Pause size={14} aria-hidden />} onClick={() => setAsking('pause')}>
            Pause
          </Button>
        )
      ) : (
        <Button variant="primary" icon={<Play size={14} aria-hidden />} onClick={() => setAsking('resume')}>
          Resume
        </Button>
      )}
      {status !== 'disabled' && (
        <Button
          variant="danger"
          icon={<CircleSlash size={14} aria-hidden />}
          onClick={() => setAsking('disable')}
        >
          Disable
        </Button>
      )}
      {asking !== null && (
        <ReasonDialog
          title={`${SWITCHES[asking].title} ${name}`}
          text={SWITCHES[asking].text}
          action={SWITCHES[asking].title}
          run={(reason) => SWITCHES[asking].run({ kind, name, ...optionalReason(reason) })}
          done={SWITCHES[asking].done}
          isDangerous={asking === 'disable'}
          onClose={() => setAsking(null)}
        />
      )}
    </>
  )
}
