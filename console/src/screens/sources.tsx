// Sources: the entry points for events, how busy they are, and their rejections.

import { Cable, ShieldX } from 'lucide-react'
import { definitionHref } from '../lib/links.ts'
import { subjectInShort } from '../lib/source-words.ts'
import { formatNumber } from '../lib/time.ts'
import { useLastEvent, useMe, useRejections, useStats } from '../queries.ts'
import { LinkButton, StateChip, Time } from '../ui/controls.tsx'
import { DefinitionActions, DefinitionName, FirstSteps } from '../ui/definition-parts.tsx'
import { type ListDeclaration, ListTable } from '../ui/list-view.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

const SOURCES: ListDeclaration<'listDefinitions'> = {
  list: 'listDefinitions',
  queryKey: 'definitions',
  isWhole: true,
  label: 'Sources',
  grid: 'sources__grid',
  idOf: ({ name }) => name,
  hrefOf: ({ kind, name }) => definitionHref(kind, name),
  columns: [
    {
      head: 'Name',
      className: 'definitions__name',
      cell: (source) => <DefinitionName definition={source} />,
    },
    {
      head: 'Subject',
      className: 'truncate mono muted definitions__subjects',
      title: ({ subject }) => subject,
      cell: ({ subject = '' }) => subjectInShort(subject),
    },
    {
      head: 'State',
      className: 'chips',
      cell: ({ status }) => status !== null && <StateChip state={status} />,
    },
    {
      head: 'Last event',
      className: 'muted sources__last',
      cell: ({ name }) => <LastEvent source={name} />,
    },
    { head: 'Refused requests', isElement: true, cell: ({ name }) => <Refused source={name} /> },
    { head: 'Last 15 min', className: 'events__when num', cell: ({ name }) => <Pace source={name} /> },
  ],
}

interface OfSource {
  readonly source: string
}

function LastEvent({ source }: OfSource) {
  const { data } = useLastEvent(source)
  if (data === undefined) return null
  return data === null ? <span className="faint">none yet</span> : <Time at={data} />
}

function Refused({ source }: OfSource) {
  const { data } = useRejections({ limit: 1 })
  const counts = data?.counts.filter((one) => one.source === source) ?? []
  const refused = counts.reduce((sum, { count }) => sum + count, 0)
  return (
    <span className={refused > 0 ? 'num sources__refused' : 'num faint sources__none'}>
      {formatNumber(refused)}
      <span className="sources__what"> turned away</span>
    </span>
  )
}

function Pace({ source }: OfSource) {
  const { data } = useStats(15)
  const perMinute = data?.sources.find((one) => one.source === source)?.perMinute ?? 0
  return <>{formatNumber(perMinute)} / min</>
}

const ALL = { kind: 'Source' }

export default function Sources() {
  const { data: me } = useMe()
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
      <ListTable
        declaration={SOURCES}
        filter={ALL}
        empty={
          <Empty icon={<Cable size={20} />} title="No sources yet" action={<FirstSteps isAdmin={isAdmin} />}>
            Write one here, or keep definitions in a folder and apply it. Its page then shows the address to
            paste at the vendor.
          </Empty>
        }
      />
    </PageFrame>
  )
}
