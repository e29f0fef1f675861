// Routes: what is deployed, its health, and its owner.

import { FilePlus2, History, Waypoints } from 'lucide-react'
import { Link } from 'wouter'
import { definitionHref } from '../lib/links.ts'
import { formatNumber } from '../lib/time.ts'
import { useDefinitions, useMe, usePaces, useStats } from '../queries.ts'
import type { Definition, Pace, Stats } from '../types.ts'
import { Command, LinkButton } from '../ui/controls.tsx'
import { DeadChip, RouteState } from '../ui/pace-panel.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

export default function Routes() {
  const { data, error, refetch } = useDefinitions('Route')
  const { data: stats } = useStats(15)
  const { data: paces } = usePaces()
  const { data: me } = useMe()
  return (
    <PageFrame
      title="Routes"
      lead="What happens with events: which ones, under which condition and key, and the action that follows."
      actions={<DefinitionActions isAdmin={me?.role === 'admin'} />}
    >
      <div className="list">
        <div className="list__head definitions__grid" aria-hidden>
          <span>Name</span>
          <span>Listens to</span>
          <span>State</span>
          <span>Belongs to</span>
          <span className="events__when">Last 15 min</span>
        </div>
        {data === undefined &&
          (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
        {data?.items.length === 0 && (
          <Empty
            icon={<Waypoints size={20} />}
            title="No routes yet"
            action={<FirstSteps isAdmin={me?.role === 'admin'} />}
          >
            Write one here, or keep definitions in a folder and apply it. The catalog says which subjects
            there are.
          </Empty>
        )}
        <ul aria-label="Routes">
          {data?.items.map((definition) => (
            <Line
              key={definition.name}
              definition={definition}
              stats={stats}
              circuit={paces?.items.find(({ route }) => route === definition.name)?.circuit}
            />
          ))}
        </ul>
      </div>
    </PageFrame>
  )
}

/** The same above the lists of sources and of routes. */
export function DefinitionActions({ isAdmin }: { readonly isAdmin: boolean }) {
  return (
    <>
      <LinkButton to="/definitions/versions" icon={<History size={14} aria-hidden />}>
        Versions
      </LinkButton>
      {isAdmin && (
        <LinkButton to="/definitions/edit" variant="primary" icon={<FilePlus2 size={14} aria-hidden />}>
          Apply YAML
        </LinkButton>
      )}
    </>
  )
}

export function FirstSteps({ isAdmin }: { readonly isAdmin: boolean }) {
  return (
    <>
      {isAdmin && (
        <LinkButton to="/definitions/edit" variant="primary">
          Apply YAML
        </LinkButton>
      )}
      <Command text="npx millrace apply ./flows" />
    </>
  )
}

interface LineProps {
  readonly definition: Definition
  readonly stats: Stats | undefined
  readonly circuit: Pace['circuit'] | undefined
}

function Line({ definition, stats, circuit }: LineProps) {
  const found = stats?.consumers.find(
    ({ consumer }) => consumer === definition.name || consumer === `route:${definition.name}`,
  )
  const dead = found?.dead ?? 0
  const subjects = definition.on ?? []
  return (
    <li>
      <Link
        href={definitionHref(definition.kind, definition.name)}
        className="row definitions__grid"
        data-row
      >
        <span className="definitions__name">
          <span className="row__title truncate">{definition.name}</span>
          {definition.description != null && (
            <span className="row__sub definitions__about">{definition.description}</span>
          )}
        </span>
        <span className="truncate mono muted definitions__subjects" title={subjects.join(', ')}>
          {subjects.join(', ')}
        </span>
        <span className="chips">
          {definition.status !== null && <RouteState status={definition.status} circuit={circuit} />}
          <DeadChip route={definition.name} />
          {definition.action !== undefined && <span className="tag">{definition.action}</span>}
        </span>
        <span className="muted definitions__owner">{definition.managedBy}</span>
        <span className="events__when num">
          {stats === undefined ? '' : `${formatNumber(found?.perMinute ?? 0)} / min`}
          {dead > 0 && <span className="definitions__dead"> {formatNumber(dead)} dead</span>}
        </span>
      </Link>
    </li>
  )
}
