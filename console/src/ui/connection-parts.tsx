// Shared by the pages of connections: the other side's health, the circuit, and runs in rows.

import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { api } from '../api.ts'
import { viaInWords } from '../lib/connection-words.ts'
import { formatDuration } from '../lib/durations.ts'
import { useMore } from '../lib/use-more.ts'
import { useRuns } from '../queries.ts'
import type { Args, Connection, Probe, Run } from '../types.ts'
import { Chip, StateChip, Time } from './controls.tsx'
import { classInWords } from './filters.tsx'
import { ErrorState, LoadMore, SkeletonRows } from './surfaces.tsx'

export function CircuitChip({ connection }: { readonly connection: Connection }) {
  const { override, state } = connection.circuit
  if (connection.status === 'pending' || connection.status === 'retired')
    return <span className="faint">nothing runs</span>
  if (override !== null)
    return (
      <Chip tone={override.is === 'open' ? 'amber' : 'violet'} title={override.reason}>
        {override.is === 'open' ? 'held back by hand' : 'let through by hand'}
      </Chip>
    )
  if (state === 'closed') return <Chip tone="green">calls go through</Chip>
  return state === 'open' ? <Chip tone="red">calls held back</Chip> : <Chip tone="amber">tries one</Chip>
}

/** Unknown says nothing that the status does not. */
export function HealthChip({ connection }: { readonly connection: Connection }) {
  return connection.health === 'unknown' ? (
    <span className="faint">not looked at yet</span>
  ) : (
    <StateChip state={connection.health} />
  )
}

const STRIP_MAX = 60

/** The latest probes side by side, the last one at the right; the higher the slower. */
export function ProbeStrip({ probes }: { readonly probes: readonly Probe[] }) {
  const shown = probes.slice(0, STRIP_MAX).reverse()
  const [first] = shown
  const last = shown.at(-1)
  if (first === undefined || last === undefined) return <p className="faint">Nobody looked yet.</p>
  const slowest = Math.max(...shown.map(({ durationMs }) => durationMs), 1)
  const good = shown.filter(({ ok }) => ok).length
  return (
    <div className="probes">
      <div
        className="probes__strip"
        role="img"
        aria-label={`${good} of the last ${shown.length} looks went well; the slowest took ${formatDuration(slowest)}`}
      >
        {shown.map((probe) => (
          <span
            key={probe.at}
            className={probe.ok ? 'probes__one' : 'probes__one probes__one--bad'}
            style={{ height: `${Math.max(12, (probe.durationMs / slowest) * 100)}%` }}
            title={probeInWords(probe)}
          />
        ))}
      </div>
      <div className="probes__foot muted num">
        <Time at={first.at} />
        <span>
          {good} of {shown.length} went well
        </span>
        <Time at={last.at} />
      </div>
    </div>
  )
}

export function probeInWords({ ok, durationMs, httpStatus, error, unverified }: Probe): string {
  const answer = httpStatus === null ? '' : `HTTP ${httpStatus}, `
  return `${answer}${formatDuration(Math.max(0.1, durationMs))}${ok ? (unverified === true ? ': reachable, credential not verified' : '') : `: ${error ?? 'it failed'}`}`
}

interface RunListProps {
  readonly filter: Args<'listRuns'>
  /** The connection is not shown if all are of one. */
  readonly isOfOne?: boolean
  readonly empty: ReactNode
}

const PAGE = 50

export function RunList({ filter, isOfOne = false, empty }: RunListProps) {
  const first = useRuns({ ...filter, limit: PAGE })
  const { items, hasMore, isBusy, loadMore } = useMore(
    first.data,
    ({ id }) => id,
    (cursor) => api.listRuns({ ...filter, limit: PAGE, cursor }),
  )
  if (first.data === undefined) {
    return first.error === null ? (
      <SkeletonRows />
    ) : (
      <ErrorState error={first.error} onRetry={() => void first.refetch()} />
    )
  }
  if (items.length === 0 && !hasMore) return <div className="list">{empty}</div>
  const grid = isOfOne ? 'runs__grid runs__grid--one' : 'runs__grid'
  return (
    <div className="list">
      <div className={`list__head ${grid}`} aria-hidden>
        <span>Operation</span>
        {!isOfOne && <span>Via</span>}
        <span>State</span>
        <span>Last answer</span>
        <span className="events__when">Took</span>
        <span className="events__when">When</span>
      </div>
      <ul aria-label="Runs">
        {items.map((run) => (
          <li key={run.id}>
            <Link href={`/runs/${run.id}`} className={`row ${grid}`} data-row>
              <span className="truncate mono events__subject">{run.operation}</span>
              {!isOfOne && <span className="truncate">{run.connection ?? viaInWords(run.via)}</span>}
              <span className="chips">
                <StateChip state={run.state} />
                {run.attemptCount > 1 && <span className="tag num">{run.attemptCount} tries</span>}
                {run.purpose !== 'work' && <span className="tag">{run.purpose}</span>}
              </span>
              <span className="truncate muted" title={run.error ?? undefined}>
                {answerOfRun(run)}
              </span>
              <span className="events__when faint num runs__took">
                {run.durationMs === null ? '' : formatDuration(Math.max(0.1, run.durationMs))}
              </span>
              <span className="events__when faint">
                <Time at={run.createdAt} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
      <LoadMore hasMore={hasMore} isBusy={isBusy} onClick={loadMore} />
    </div>
  )
}

function answerOfRun({ httpStatus, class: name, error, externalRef }: Run): string {
  const status = httpStatus === null ? '' : `HTTP ${httpStatus}`
  const rest = name === null ? externalRef : `${classInWords(name)}${error === null ? '' : `: ${error}`}`
  return [status, rest].filter((text) => text !== '' && text !== null).join(' · ')
}
