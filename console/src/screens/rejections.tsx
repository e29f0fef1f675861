// Rejections of sources: why, from where, and what to do about it. Never the payload.

import { ShieldCheck } from 'lucide-react'
import { Link } from 'wouter'
import { reasonInWords } from '../lib/source-words.ts'
import { formatNumber } from '../lib/time.ts'
import { HEALTH_MS, useRejections } from '../queries.ts'
import type { Rejections as Answer } from '../types.ts'
import { Button, Chip, Time } from '../ui/controls.tsx'
import { FilterBar, filtersOf, useFilters, useSourceNames } from '../ui/filters.tsx'
import { type ListDeclaration, ListTable } from '../ui/list-view.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

const { name, condition } = filtersOf('listRejections')
const FILTERS = [
  name('source', 'Source', 'All sources', useSourceNames),
  condition('reason', (reason) => reasonInWords(reason).title),
]

const REJECTIONS: ListDeclaration<'listRejections'> = {
  list: 'listRejections',
  queryKey: 'rejections',
  refetchMs: HEALTH_MS,
  label: 'Rejections',
  grid: 'rejections__grid',
  idOf: ({ at, source, reason, address }) => `${at} ${source} ${reason} ${address}`,
  columns: [
    {
      head: 'Why',
      className: 'chips',
      cell: ({ reason }) => (
        <Chip tone="red" title={reason}>
          {reasonInWords(reason).title}
        </Chip>
      ),
    },
    { head: 'Source', className: 'truncate', cell: ({ source }) => <SourceLink name={source} /> },
    { head: 'Address', className: 'mono muted truncate', cell: ({ address }) => address },
    {
      head: 'Detail',
      className: 'muted rejections__detail',
      cell: ({ status, detail }) => (
        <>
          <span className="tag num">{status}</span> {detail}
        </>
      ),
    },
    { head: 'When', className: 'events__when faint', cell: ({ at }) => <Time at={at} /> },
  ],
}

export default function Rejections() {
  const { values, change, clear, isNarrowed } = useFilters('/rejections', FILTERS)
  const { source = '', reason = '' } = values
  const { data } = useRejections({ limit: 1, ...(source !== '' && { source }) })
  const counts = data?.counts ?? []
  return (
    <PageFrame
      title="Rejections"
      lead="Requests that no source let in. Counted per reason; the newest are listed. Their payloads are not kept."
      crumbs={[['Sources', '/sources']]}
    >
      <FilterBar filters={FILTERS} values={values} onChange={change} />
      <Reasons counts={counts} chosen={reason} onChoose={(one) => change('reason', one)} />
      <ListTable
        declaration={REJECTIONS}
        filter={values}
        empty={
          counts.some((one) => reason === '' || one.reason === reason) ? (
            <Empty icon={<ShieldCheck size={20} />} title="The requests themselves are no longer listed" />
          ) : (
            <Empty
              icon={<ShieldCheck size={20} />}
              title="Nothing was turned away"
              action={isNarrowed && <Button onClick={clear}>Show all sources</Button>}
            >
              Wrong signatures, addresses that are not allowed, bodies that cannot be read: they would be
              counted here, each with what to do about it.
            </Empty>
          )
        }
      />
    </PageFrame>
  )
}

function SourceLink({ name: source }: { readonly name: string }) {
  if (useSourceNames().includes(source)) return <Link href={`/sources/${source}`}>{source}</Link>
  return (
    <span className="faint" title="There is no such source.">
      {source}
    </span>
  )
}

interface ReasonsProps {
  readonly counts: Answer['counts']
  readonly chosen: string
  readonly onChoose: (reason: string) => void
}

/** One card per reason: how often, and what to do next. */
function Reasons({ counts, chosen, onChoose }: ReasonsProps) {
  const byReason = new Map<string, { count: number; latestAt: string }>()
  for (const { reason, count, latestAt } of counts) {
    const known = byReason.get(reason)
    byReason.set(reason, {
      count: (known?.count ?? 0) + count,
      latestAt: known !== undefined && known.latestAt > latestAt ? known.latestAt : latestAt,
    })
  }
  if (byReason.size === 0) return null
  const sorted = [...byReason].sort(([, one], [, other]) => other.count - one.count)
  return (
    <ul className="reasons" aria-label="Reasons">
      {sorted.map(([reason, { count, latestAt }]) => {
        const { title, next } = reasonInWords(reason)
        return (
          <li key={reason}>
            <button
              type="button"
              className="reason card"
              aria-pressed={chosen === reason}
              onClick={() => onChoose(chosen === reason ? '' : reason)}
            >
              <span className="reason__head">
                <span className="reason__count num">{formatNumber(count)}</span>
                <span className="faint">
                  latest <Time at={latestAt} />
                </span>
              </span>
              <span className="row__title">{title}</span>
              <span className="muted">{next}</span>
            </button>
          </li>
        )
      })}
    </ul>
  )
}
