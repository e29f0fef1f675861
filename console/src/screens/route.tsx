// One route: its text, its history, its recent jobs, and the switch that stops it.

import { Link } from 'wouter'
import { useDefinition, useMe, usePace, useWorkList } from '../queries.ts'
import { Yaml } from '../ui/code.tsx'
import { CopyButton, LinkButton, StateChip, Time } from '../ui/controls.tsx'
import { Owner, Past, Switches } from '../ui/definition-parts.tsx'
import { Buffers, DeadChip, HeldLanes, PacePanel, RouteState } from '../ui/pace-panel.tsx'
import { ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

const RECENT = 8

export default function RouteScreen({ name }: { readonly name: string }) {
  const { data, error, refetch } = useDefinition('Route', name)
  const { data: me } = useMe()
  const { data: pace } = usePace(name)
  const crumbs = [['Routes', '/routes']] as const
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
          {name} {data.status !== null && <RouteState status={data.status} circuit={pace?.circuit} />}{' '}
          <DeadChip route={name} />
        </span>
      }
      crumbs={crumbs}
      lead={data.description ?? undefined}
      actions={
        <>
          {me?.role !== 'viewer' && <Switches definition={data} />}
          <LinkButton to={`/try?route=${name}`}>Try it</LinkButton>
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
          <section aria-labelledby="pace">
            <div className="section__head">
              <h2 id="pace">Pace</h2>
            </div>
            <PacePanel route={name} />
          </section>
          <Buffers document={data.document} />
          <HeldLanes kind="route" name={name} />
          <section className="section" aria-labelledby="recent">
            <div className="section__head">
              <h2 id="recent">Recently</h2>
              <Link href={`/work?state=done&consumer=${name}`}>All</Link>
            </div>
            <RecentWork route={name} />
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
