// Shared by the pages of connections: the other side's health, the circuit, and runs in rows.

import { viaInWords } from '../lib/connection-words.ts'
import { formatDuration } from '../lib/durations.ts'
import { HEALTH_MS } from '../queries.ts'
import type { Connection, Probe, Run } from '../types.ts'
import { Chip, StateChip, Time } from './controls.tsx'
import { classInWords } from './filters.tsx'
import type { ListDeclaration } from './list-view.tsx'

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
  return state === 'open' ? <Chip tone="red">calls held back</Chip> : <Chip tone="amber">trial call</Chip>
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

export const RUNS: ListDeclaration<'listRuns'> = {
  list: 'listRuns',
  queryKey: 'runs',
  refetchMs: HEALTH_MS,
  label: 'Runs',
  grid: 'runs__grid',
  idOf: ({ id }) => id,
  hrefOf: ({ id }) => `/runs/${id}`,
  columns: [
    {
      head: 'Operation',
      className: 'truncate mono events__subject',
      cell: ({ operation }) => operation,
    },
    {
      head: 'Via',
      className: 'truncate',
      unless: 'connection',
      cell: ({ connection, via }) => connection ?? viaInWords(via),
    },
    {
      head: 'State',
      className: 'chips',
      cell: ({ state, attemptCount, purpose }) => (
        <>
          <StateChip state={state} />
          {attemptCount > 1 && <span className="tag num">{attemptCount} tries</span>}
          {purpose !== 'work' && <span className="tag">{purpose}</span>}
        </>
      ),
    },
    {
      head: 'Last answer',
      className: 'truncate muted',
      title: ({ error }) => error ?? undefined,
      cell: answerOfRun,
    },
    {
      head: 'Took',
      className: 'events__when faint num runs__took',
      cell: ({ durationMs }) => (durationMs === null ? '' : formatDuration(Math.max(0.1, durationMs))),
    },
    { head: 'When', className: 'events__when faint', cell: ({ createdAt }) => <Time at={createdAt} /> },
  ],
}

function answerOfRun({ httpStatus, class: name, error, externalRef }: Run): string {
  const status = httpStatus === null ? '' : `HTTP ${httpStatus}`
  const rest = name === null ? externalRef : `${classInWords(name)}${error === null ? '' : `: ${error}`}`
  return [status, rest].filter((text) => text !== '' && text !== null).join(' · ')
}
