// Sources or routes: what is in force, how it does, and whose it is.

import { Cable, FilePlus2, History, Waypoints } from 'lucide-react'
import { Link } from 'wouter'
import { definitionHref } from '../lib/links.ts'
import { formatNumber } from '../lib/time.ts'
import { useDefinitions, useMe, useStats } from '../queries.ts'
import type { Definition, Stats } from '../types.ts'
import { Command, LinkButton, StateChip } from '../ui/controls.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

type Kind = 'Source' | 'Route'

const TEXTS = {
  Source: {
    title: 'Sources',
    lead: 'The ways in. Each verifies who sends, names the event, and knows a delivery that it has seen before.',
    icon: Cable,
  },
  Route: {
    title: 'Routes',
    lead: 'What happens with events: which ones, under which condition and key, and the action that follows.',
    icon: Waypoints,
  },
} as const

export default function Definitions({ kind }: { readonly kind: Kind }) {
  const { data, error, refetch } = useDefinitions(kind)
  const { data: stats } = useStats(15)
  const { data: me } = useMe()
  const { title, lead, icon: Icon } = TEXTS[kind]
  return (
    <PageFrame
      title={title}
      lead={lead}
      actions={
        <>
          <LinkButton to="/definitions/versions" icon={<History size={14} aria-hidden />}>
            Versions
          </LinkButton>
          {me?.role === 'admin' && (
            <LinkButton to="/definitions/edit" variant="primary" icon={<FilePlus2 size={14} aria-hidden />}>
              Apply YAML
            </LinkButton>
          )}
        </>
      }
    >
      <div className="list">
        <div className="list__head definitions__grid" aria-hidden>
          <span>Name</span>
          <span>{kind === 'Source' ? 'Subject' : 'Listens to'}</span>
          <span>State</span>
          <span>Belongs to</span>
          <span className="events__when">Last 15 min</span>
        </div>
        {data === undefined &&
          (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
        {data?.items.length === 0 && (
          <Empty
            icon={<Icon size={20} />}
            title={kind === 'Source' ? 'No sources yet' : 'No routes yet'}
            action={
              <>
                {me?.role === 'admin' && (
                  <LinkButton to="/definitions/edit" variant="primary">
                    Apply YAML
                  </LinkButton>
                )}
                <Command text="npx millrace apply ./flows" />
              </>
            }
          >
            Write one here, or keep definitions in a folder and apply it.
          </Empty>
        )}
        <ul aria-label={title}>
          {data?.items.map((definition) => (
            <Line key={definition.name} definition={definition} stats={stats} />
          ))}
        </ul>
      </div>
    </PageFrame>
  )
}

function rateOf(definition: Definition, stats: Stats | undefined): string | null {
  if (stats === undefined) return null
  const found =
    definition.kind === 'Source'
      ? stats.sources.find(({ source }) => source === definition.name)
      : stats.consumers.find(
          ({ consumer }) => consumer === definition.name || consumer === `route:${definition.name}`,
        )
  return found === undefined ? '0 / min' : `${formatNumber(found.perMinute)} / min`
}

function deadOf(definition: Definition, stats: Stats | undefined): number {
  const found = stats?.consumers.find(
    ({ consumer }) => consumer === definition.name || consumer === `route:${definition.name}`,
  )
  return definition.kind === 'Route' ? (found?.dead ?? 0) : 0
}

function Line({ definition, stats }: { readonly definition: Definition; readonly stats: Stats | undefined }) {
  const dead = deadOf(definition, stats)
  const subjects = definition.on ?? (definition.subject === undefined ? [] : [definition.subject])
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
          {definition.status !== null && <StateChip state={definition.status} />}
          {definition.action !== undefined && <span className="tag">{definition.action}</span>}
        </span>
        <span className="muted definitions__owner">{definition.managedBy}</span>
        <span className="events__when num">
          {rateOf(definition, stats) ?? ''}
          {dead > 0 && <span className="definitions__dead"> {formatNumber(dead)} dead</span>}
        </span>
      </Link>
    </li>
  )
}
