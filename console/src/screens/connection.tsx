// One connection: the other side's health, its circuit, its limits, its runs, and its definition.

import { FlaskConical, PlugZap, ToggleLeft } from 'lucide-react'
import { useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { api } from '../api.ts'
import { connectionStanding, RUN_STATES } from '../lib/connection-words.ts'
import { formatDuration } from '../lib/durations.ts'
import { parseJsonText } from '../lib/json-text.ts'
import { withSearch } from '../lib/links.ts'
import { useConnection, useDefinition, useMe } from '../queries.ts'
import type { ConnectionDetail } from '../types.ts'
import { ReasonDialog } from '../ui/actions.tsx'
import { Yaml } from '../ui/code.tsx'
import { CircuitDialog, ConnectionTestDialog, UnverifiedNote } from '../ui/connection-dialogs.tsx'
import { CircuitChip, HealthChip, ProbeStrip, RUNS } from '../ui/connection-parts.tsx'
import { Button, CopyButton, StateChip, Tabs, Time } from '../ui/controls.tsx'
import { Owner, Past } from '../ui/definition-parts.tsx'
import { JsonTree } from '../ui/json-tree.tsx'
import { ListTable } from '../ui/list-view.tsx'
import { Empty, ErrorState, Note, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

const TABS = [
  { id: 'health', label: 'Health' },
  { id: 'runs', label: 'Runs' },
  { id: 'definition', label: 'Definition' },
] as const

export default function ConnectionScreen({ name }: { readonly name: string }) {
  const { data, error, refetch } = useConnection(name)
  const { data: me } = useMe()
  const search = new URLSearchParams(useSearch())
  const [, go] = useLocation()
  const crumbs = [['Connections', '/connections']] as const
  if (data === undefined) {
    return (
      <PageFrame title={name} crumbs={crumbs}>
        {error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </PageFrame>
    )
  }
  const tab = TABS.find(({ id }) => id === search.get('tab'))?.id ?? 'health'
  const goTo = (parts: Readonly<Record<string, string | undefined>>) =>
    go(withSearch(`/connections/${name}`, parts), { replace: true })
  return (
    <PageFrame
      title={name}
      heading={
        <span className="title-line">
          {name} <StateChip state={data.status} />
          {data.managedBy === 'folder' && <span className="tag">folder</span>}
        </span>
      }
      crumbs={crumbs}
      {...(data.description !== null && { lead: data.description })}
      actions={me === undefined || me.role === 'viewer' ? null : <Actions connection={data} />}
    >
      <Standing connection={data} />
      <Tabs
        label="Parts"
        tabs={TABS}
        selected={tab}
        onSelect={(next) => goTo({ tab: next === 'health' ? undefined : next })}
      />
      {tab === 'health' && <Health connection={data} />}
      {tab === 'runs' && (
        <Runs
          name={name}
          state={search.get('state') ?? ''}
          onState={(state) => goTo({ tab: 'runs', state })}
        />
      )}
      {tab === 'definition' && <Said connection={data} isAdmin={me?.role === 'admin'} />}
    </PageFrame>
  )
}

function Actions({ connection }: { readonly connection: ConnectionDetail }) {
  const { data: me } = useMe()
  const [asking, setAsking] = useState<'test' | 'circuit' | 'retire' | null>(null)
  const { name, status, circuit } = connection
  if (status === 'retired') return null
  const close = () => setAsking(null)
  return (
    <>
      <Button
        variant={status === 'pending' ? 'primary' : 'default'}
        icon={<FlaskConical size={14} aria-hidden />}
        onClick={() => setAsking('test')}
      >
        Test
      </Button>
      <Button icon={<ToggleLeft size={14} aria-hidden />} onClick={() => setAsking('circuit')}>
        Circuit
      </Button>
      {me?.role === 'admin' && (
        <Button variant="danger" icon={<PlugZap size={14} aria-hidden />} onClick={() => setAsking('retire')}>
          Retire
        </Button>
      )}
      {asking === 'test' && <ConnectionTestDialog name={name} onClose={close} />}
      {asking === 'circuit' && (
        <CircuitDialog name={name} is={circuit.override?.is ?? 'auto'} onClose={close} />
      )}
      {asking === 'retire' && (
        <ReasonDialog
          title={`Retire ${name}`}
          text="No more calls use it. Jobs that use it are dead-lettered; replay them once there is another connection."
          action="Retire"
          run={(reason) => api.retireConnection({ id: name, reason })}
          done={`${name} is retired`}
          isReasonNeeded
          isDangerous
          onClose={close}
        />
      )}
    </>
  )
}

/** The problem, the operator's switch, and what to do. */
function Standing({ connection }: { readonly connection: ConnectionDetail }) {
  const words = connectionStanding(connection)
  const { circuit, retired, lastTest, status } = connection
  const { override } = circuit
  return (
    <>
      {override !== null && (
        <div className="spaced">
          <Note tone="amber">
            <strong>
              {override.is === 'open'
                ? 'Calls are stopped manually'
                : 'Calls are allowed manually, even if they fail'}
              .
            </strong>{' '}
            By {override.by}, <Time at={override.since} />: "{override.reason}".{' '}
            {override.until === null ? (
              'Until you change it.'
            ) : (
              <>
                It ends <Time at={override.until} />.
              </>
            )}
          </Note>
        </div>
      )}
      {connection.credential !== null && connection.lastProbe?.unverified === true && (
        <div className="spaced">
          <UnverifiedNote />
        </div>
      )}
      {words !== null && (
        <div className="spaced">
          <Note tone={words.tone}>
            <strong>{words.what}</strong>{' '}
            {retired !== null && (
              <>
                By {retired.by}, <Time at={retired.at} />: "{retired.reason}".{' '}
              </>
            )}
            {circuit.state === 'open' && override === null && circuit.tryAt !== null && (
              <>
                One call looks again <Time at={circuit.tryAt} />.{' '}
              </>
            )}
            {lastTest?.error != null && status === 'pending' && (
              <span className="standing__reason mono">{lastTest.error}</span>
            )}
            <span className="standing__next">{words.next}</span>
          </Note>
        </div>
      )}
    </>
  )
}

function Health({ connection }: { readonly connection: ConnectionDetail }) {
  const { provider, credential, buckets, history, probeEveryMs, endpoints } = connection
  const failed = history.filter(({ ok }) => !ok).slice(0, 5)
  return (
    <div className="event event--even">
      <div>
        <section aria-labelledby="looks">
          <div className="section__head">
            <h2 id="looks">Health</h2>
            <span className="faint">
              {probeEveryMs === null ? 'no scheduled probes' : `probed every ${formatDuration(probeEveryMs)}`}
              {connection.lastProbe !== null && (
                <>
                  , last <Time at={connection.lastProbe.at} />
                </>
              )}
            </span>
          </div>
          <div className="card card--pad">
            <ProbeStrip
              probes={history.length === 0 && connection.lastTest !== null ? [connection.lastTest] : history}
            />
          </div>
        </section>
        {failed.length > 0 && (
          <section className="section" aria-labelledby="failed-looks">
            <h2 id="failed-looks" className="spaced">
              Latest failed probes
            </h2>
            <ul className="list">
              {failed.map((probe) => (
                <li key={probe.at} className="row held">
                  <span className="held__text">
                    <span className="row__title truncate" title={probe.error ?? undefined}>
                      {probe.error ?? 'It failed'}
                    </span>
                    <span className="row__sub">
                      {probe.httpStatus !== null && `HTTP ${probe.httpStatus}, `}
                      {formatDuration(Math.max(0.1, probe.durationMs))}
                    </span>
                  </span>
                  <span className="faint">
                    <Time at={probe.at} />
                  </span>
                </li>
              ))}
            </ul>
          </section>
        )}
      </div>
      <section aria-labelledby="facts">
        <h2 id="facts" className="spaced">
          Facts
        </h2>
        <dl className="facts card card--pad">
          <dt>Provider</dt>
          <dd>
            <Link href={`/providers/${provider}`}>{provider}</Link>
          </dd>
          <dt>Credential</dt>
          <dd>
            {credential === null ? (
              <span className="muted">none</span>
            ) : (
              <Link href={`/credentials/${credential}`}>{credential}</Link>
            )}
          </dd>
          <dt>Health</dt>
          <dd>
            <HealthChip connection={connection} />
          </dd>
          <dt>Circuit</dt>
          <dd>
            <CircuitChip connection={connection} />
          </dd>
          {Object.entries(endpoints).map(([name, address]) => (
            <div key={name} className="facts__pair">
              <dt>{name === 'default' ? 'Address' : `Address of ${name}`}</dt>
              <dd className="mono">{address}</dd>
            </div>
          ))}
          <dt>Limits</dt>
          <dd>
            {buckets.length === 0 ? (
              <span className="muted">none</span>
            ) : (
              <ul className="buckets">
                {buckets.map((bucket) => (
                  <li key={bucket.name}>
                    {bucket.name}: <span className="num">{Math.floor(bucket.left)}</span> of {bucket.burst}{' '}
                    left, {bucket.perMinute} per minute
                    {bucket.closedUntil !== null && (
                      <>
                        ; the other side asks to wait, until <Time at={bucket.closedUntil} />
                      </>
                    )}
                    <span className="meter" aria-hidden>
                      <span
                        className="meter__bar"
                        style={{
                          width: `${Math.min(100, (bucket.left / Math.max(1, bucket.burst)) * 100)}%`,
                        }}
                      />
                    </span>
                  </li>
                ))}
              </ul>
            )}
          </dd>
          <dt>Changed</dt>
          <dd>
            <Time at={connection.updatedAt} />
          </dd>
        </dl>
      </section>
    </div>
  )
}

interface RunsProps {
  readonly name: string
  readonly state: string
  readonly onState: (state: string) => void
}

function Runs({ name, state, onState }: RunsProps) {
  const known = RUN_STATES.find(([id]) => id === state)?.[0]
  return (
    <>
      <div className="toolbar">
        <select
          className="input input--small"
          aria-label="State"
          value={known ?? ''}
          onChange={(event) => onState(event.target.value)}
        >
          <option value="">All states</option>
          {RUN_STATES.map(([id, label]) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
        </select>
      </div>
      <ListTable
        declaration={RUNS}
        filter={{ connection: name, state: known ?? '' }}
        empty={
          <Empty icon={null} title={known === undefined ? 'No runs yet' : `None is ${known}`}>
            {known === undefined
              ? 'Runs appear with the first job that uses it, and with each test.'
              : undefined}
          </Empty>
        }
      />
    </>
  )
}

function Said({ connection, isAdmin }: { readonly connection: ConnectionDetail; readonly isAdmin: boolean }) {
  const { data: definition } = useDefinition('Connection', connection.name)
  return (
    <div className="event event--even">
      <section aria-labelledby="says">
        <div className="section__head">
          <h2 id="says">Definition</h2>
          {definition !== undefined && <CopyButton text={definition.yaml} label="Copy as YAML" />}
        </div>
        {definition !== undefined && <Owner definition={definition} isAdmin={isAdmin} />}
        <div className="card">
          {definition === undefined ? (
            <JsonTree node={parseJsonText(JSON.stringify(connection.config))} />
          ) : (
            <Yaml text={definition.yaml} />
          )}
        </div>
      </section>
      <section aria-labelledby="past">
        <div className="section__head">
          <h2 id="past">History</h2>
        </div>
        {definition !== undefined && <Past definition={definition} />}
      </section>
    </div>
  )
}
