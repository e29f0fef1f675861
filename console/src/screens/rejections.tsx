// Rejections of sources: why, from where, and what to do about it. Never the payload.

import { ShieldCheck } from 'lucide-react'
import { Link, useLocation, useSearch } from 'wouter'
import { reasonInWords } from '../lib/source-words.ts'
import { formatNumber } from '../lib/time.ts'
import { useDefinitions, useRejections } from '../queries.ts'
import type { Rejections as Answer, Args } from '../types.ts'
import { Button, Chip, Time } from '../ui/controls.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

const PAGE = 100

export default function Rejections() {
  const search = new URLSearchParams(useSearch())
  const [, go] = useLocation()
  const source = search.get('source') ?? ''
  const reason = search.get('reason') ?? ''
  const { data: sources } = useDefinitions('Source')
  const { data, error, refetch } = useRejections({
    limit: PAGE,
    ...(source !== '' && { source }),
    ...(reason !== '' && { reason: reason as Args<'listRejections'>['reason'] }),
  })
  const choose = (part: { readonly source?: string; readonly reason?: string }) => {
    const next = new URLSearchParams()
    for (const [name, value] of Object.entries({ source, reason, ...part })) {
      if (value !== '') next.set(name, value)
    }
    const text = next.toString()
    go(text === '' ? '/rejections' : `/rejections?${text}`, { replace: true })
  }
  const counts = (data?.counts ?? []).filter((one) => source === '' || one.source === source)
  return (
    <PageFrame
      title="Rejections"
      lead="Requests that no source let in. Counted per reason; the newest are listed. Their payloads are not kept."
      crumbs={[['Sources', '/sources']]}
    >
      <div className="toolbar">
        <select
          className="input input--small"
          aria-label="Source"
          value={source}
          onChange={(event) => choose({ source: event.target.value, reason: '' })}
        >
          <option value="">All sources</option>
          {sources?.items.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        {reason !== '' && (
          <Button isSmall onClick={() => choose({ reason: '' })}>
            All reasons
          </Button>
        )}
      </div>
      {data === undefined &&
        (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
      {data !== undefined && counts.length === 0 && data.items.length === 0 && (
        <div className="list">
          <Empty
            icon={<ShieldCheck size={20} />}
            title="Nothing was turned away"
            action={
              (source !== '' || reason !== '') && (
                <Button onClick={() => choose({ source: '', reason: '' })}>Show all sources</Button>
              )
            }
          >
            Wrong signatures, addresses that are not allowed, bodies that cannot be read: they would be
            counted here, each with what to do about it.
          </Empty>
        </div>
      )}
      {counts.length > 0 && (
        <Reasons counts={counts} chosen={reason} onChoose={(one) => choose({ reason: one })} />
      )}
      {data !== undefined && data.items.length > 0 && (
        <Newest items={data.items} sources={new Set(sources?.items.map(({ name }) => name))} />
      )}
      {data !== undefined && data.items.length === 0 && counts.length > 0 && (
        <p className="muted">The requests themselves are no longer listed.</p>
      )}
    </PageFrame>
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

function Newest({
  items,
  sources,
}: {
  readonly items: Answer['items']
  readonly sources: ReadonlySet<string>
}) {
  return (
    <div className="list">
      <div className="list__head rejections__grid" aria-hidden>
        <span>Why</span>
        <span>Source</span>
        <span>Address</span>
        <span>Detail</span>
        <span className="events__when">When</span>
      </div>
      <ul aria-label="Rejections">
        {items.map(({ at, source, reason, status, address, detail }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two of the same instant have no other name.
          <li key={`${at} ${index}`} className="row rejections__grid">
            <span className="chips">
              <Chip tone="red" title={reason}>
                {reasonInWords(reason).title}
              </Chip>
            </span>
            <span className="truncate">
              {sources.has(source) ? (
                <Link href={`/sources/${source}`}>{source}</Link>
              ) : (
                <span className="faint" title="There is no such source.">
                  {source}
                </span>
              )}
            </span>
            <span className="mono muted truncate">{address}</span>
            <span className="muted rejections__detail">
              <span className="tag num">{status}</span> {detail}
            </span>
            <span className="events__when faint">
              <Time at={at} />
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}
