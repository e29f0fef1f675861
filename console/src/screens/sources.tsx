// Sources: the entry points for events, how busy they are, and their rejections.

import { Cable, ShieldX } from 'lucide-react'
import { Link } from 'wouter'
import { definitionHref } from '../lib/links.ts'
import { subjectInShort } from '../lib/source-words.ts'
import { formatNumber } from '../lib/time.ts'
import { useDefinitions, useLastEvents, useMe, useRejections, useStats } from '../queries.ts'
import type { Definition } from '../types.ts'
import { LinkButton, StateChip, Time } from '../ui/controls.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'
import { DefinitionActions, FirstSteps } from './routes.tsx'

export default function Sources() {
  const { data, error, refetch } = useDefinitions('Source')
  const { data: stats } = useStats(15)
  const { data: me } = useMe()
  const { data: rejections } = useRejections({ limit: 1 })
  const last = useLastEvents(data?.items.map(({ name }) => name) ?? [])
  const isAdmin = me?.role === 'admin'
  return (
    <PageFrame
      title="Sources"
      lead="The ways in. Each verifies who sends, names the event, and knows a delivery that it has seen before."
      actions={
        <>
          <LinkButton to="/rejections" icon={<ShieldX size={14} aria-hidden />}>
            Rejections
          </LinkButton>
          <DefinitionActions isAdmin={isAdmin} />
        </>
      }
    >
      <div className="list">
        <div className="list__head sources__grid" aria-hidden>
          <span>Name</span>
          <span>Subject</span>
          <span>State</span>
          <span>Last event</span>
          <span>Turned away</span>
          <span className="events__when">Last 15 min</span>
        </div>
        {data === undefined &&
          (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
        {data?.items.length === 0 && (
          <Empty icon={<Cable size={20} />} title="No sources yet" action={<FirstSteps isAdmin={isAdmin} />}>
            Write one here, or keep definitions in a folder and apply it. Its page then shows the address to
            paste at the vendor.
          </Empty>
        )}
        <ul aria-label="Sources">
          {data?.items.map((source) => (
            <Line
              key={source.name}
              source={source}
              perMinute={stats?.sources.find((one) => one.source === source.name)?.perMinute ?? 0}
              lastAt={last.get(source.name)}
              refused={
                rejections?.counts
                  .filter((one) => one.source === source.name)
                  .reduce((sum, { count }) => sum + count, 0) ?? 0
              }
            />
          ))}
        </ul>
      </div>
    </PageFrame>
  )
}

interface LineProps {
  readonly source: Definition
  readonly perMinute: number
  readonly lastAt: string | null | undefined
  readonly refused: number
}

function Line({ source, perMinute, lastAt, refused }: LineProps) {
  return (
    <li>
      <Link href={definitionHref(source.kind, source.name)} className="row sources__grid" data-row>
        <span className="definitions__name">
          <span className="row__title truncate">{source.name}</span>
          {source.description != null && (
            <span className="row__sub definitions__about">{source.description}</span>
          )}
        </span>
        <span className="truncate mono muted definitions__subjects" title={source.subject}>
          {subjectInShort(source.subject ?? '')}
        </span>
        <span className="chips">{source.status !== null && <StateChip state={source.status} />}</span>
        <span className="muted sources__last">
          {lastAt === undefined ? (
            ''
          ) : lastAt === null ? (
            <span className="faint">none yet</span>
          ) : (
            <Time at={lastAt} />
          )}
        </span>
        <span className={refused > 0 ? 'num sources__refused' : 'num faint sources__none'}>
          {formatNumber(refused)}
          <span className="sources__what"> turned away</span>
        </span>
        <span className="events__when num">{formatNumber(perMinute)} / min</span>
      </Link>
    </li>
  )
}
