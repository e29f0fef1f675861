// One workflow: its net with the tokens of all instances, its analysis, and its instances, triggers, versions and text.

import { Play } from 'lucide-react'
import { useMemo } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { withSearch } from '../lib/links.ts'
import { formatNumber } from '../lib/time.ts'
import { useOpened } from '../lib/use-opened.ts'
import { triggerInWords, verdictInWords, verdictTone } from '../lib/workflow-words.ts'
import { useDefinition, useMe, useOverview, useProof, useWorkflow } from '../queries.ts'
import type { WorkflowDetail } from '../types.ts'
import { Yaml } from '../ui/code.tsx'
import { Button, CopyButton, StateChip, Tabs } from '../ui/controls.tsx'
import { Owner, Past, Switches } from '../ui/definition-parts.tsx'
import { useFilters } from '../ui/filters.tsx'
import { InstanceList, instanceFilters } from '../ui/instance-list.tsx'
import { NetView } from '../ui/net.tsx'
import { StartDialog } from '../ui/start-dialog.tsx'
import { ErrorState, Note, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'
import { VersionsPanel } from '../ui/versions-panel.tsx'
import { WorkflowCircuits } from '../ui/workflow-circuits.tsx'

const TABS = ['instances', 'triggers', 'versions', 'definition'] as const
type TabName = (typeof TABS)[number]

export default function WorkflowScreen({ name }: { readonly name: string }) {
  const { data, error, refetch } = useWorkflow(name)
  const { data: definition } = useDefinition('Workflow', name)
  const { data: me } = useMe()
  const search = new URLSearchParams(useSearch())
  const [, go] = useLocation()
  const filters = useMemo(() => instanceFilters(data), [data])
  const filtered = useFilters(`/workflows/${name}`, filters)
  const [isStarting, setStarting] = useOpened('start')
  const crumbs = [['Workflows', '/workflows']] as const
  if (data === undefined) {
    return (
      <PageFrame title={name} crumbs={crumbs}>
        {error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </PageFrame>
    )
  }
  const tab: TabName = TABS.find((one) => one === search.get('tab')) ?? 'instances'
  const { values, change } = filtered
  const goTo = (parts: Readonly<Record<string, string | undefined>>) =>
    go(withSearch(`/workflows/${name}`, parts), { replace: true })
  const isViewer = me?.role === 'viewer'
  const canStart = data.triggers.some(({ manual }) => manual) && !isViewer
  const tokens = new Map(data.net.places.map((place) => [place.name, place.tokens]))
  return (
    <PageFrame
      title={name}
      heading={
        <span className="title-line">
          {name} <StateChip state={data.status} /> <span className="tag num">{data.version}</span>
        </span>
      }
      crumbs={crumbs}
      lead={data.description ?? undefined}
      actions={
        <>
          {!isViewer && definition !== undefined && <Switches definition={definition} />}
          {canStart && (
            <Button variant="primary" icon={<Play size={14} aria-hidden />} onClick={() => setStarting(true)}>
              Start
            </Button>
          )}
        </>
      }
    >
      <Standing workflow={data} />
      <WorkflowCircuits workflow={name} />
      {!isViewer && <Proof name={name} text={definition?.yaml} />}
      <NetView
        label={`Net of ${name}`}
        net={data.net}
        marks={{
          tokens: (place) => tokens.get(place) ?? 0,
          selectedPlace: values.place,
          onPlace: (place) => change('place', values.place === place ? '' : place),
        }}
      />
      <div className="section">
        <Tabs
          label="Parts"
          tabs={[
            { id: 'instances', label: 'Instances', count: formatNumber(data.counts.active) },
            { id: 'triggers', label: 'Triggers', count: data.triggers.length },
            { id: 'versions', label: 'Versions', count: Math.max(1, data.versions.length) },
            { id: 'definition', label: 'Definition' },
          ]}
          selected={tab}
          onSelect={(next) => goTo(next === 'instances' ? {} : { tab: next })}
        />
        {tab === 'instances' && (
          <InstanceList workflow={data} filters={filters} filtered={filtered} canStart={canStart} />
        )}
        {tab === 'triggers' && <Triggers workflow={data} />}
        {tab === 'versions' && <VersionsPanel workflow={data} isAdmin={me?.role === 'admin'} />}
        {tab === 'definition' &&
          (definition === undefined ? (
            <SkeletonRows />
          ) : (
            <div className="event event--even">
              <section aria-labelledby="text">
                <div className="section__head">
                  <h2 id="text">Definition</h2>
                  <CopyButton text={definition.yaml} label="Copy as YAML" />
                </div>
                <Owner definition={definition} isAdmin={me?.role === 'admin'} />
                <div className="card">
                  <Yaml text={definition.yaml} />
                </div>
              </section>
              <section aria-labelledby="past">
                <div className="section__head">
                  <h2 id="past">History</h2>
                  <Link href="/definitions/versions">All versions</Link>
                </div>
                <Past definition={definition} />
              </section>
            </div>
          ))}
      </div>
      {isStarting && canStart && <StartDialog workflow={data} onClose={() => setStarting(false)} />}
    </PageFrame>
  )
}

/** What needs attention, above everything else. */
function Standing({ workflow: { name, counts } }: { readonly workflow: WorkflowDetail }) {
  const { data: overview } = useOverview()
  if (counts.attention === 0) return null
  const orphans = overview?.counts.openOrphans ?? 0
  return (
    <div className="spaced">
      <Note tone="amber">
        <strong>
          {counts.attention === 1
            ? 'One instance needs somebody.'
            : `${formatNumber(counts.attention)} instances need somebody.`}
        </strong>{' '}
        <Link href={`/workflows/${name}?attention=any`}>Look at them</Link>
        {orphans > 0 && (
          <>
            ; <Link href={`/orphans?workflow=${name}`}>its orphans</Link> are in the inbox
          </>
        )}
        .
      </Note>
    </div>
  )
}

function Proof({ name, text }: { readonly name: string; readonly text: string | undefined }) {
  const { data } = useProof(name, text, true)
  if (data?.proof === undefined) return null
  const { verdict, says } = data.proof
  // Findings of the analysis have a word as their rule; the other rules are about single lines.
  const found = data.findings.filter(({ rule }) => /^[a-z]/.test(rule))
  return (
    <details className={`proof proof--${verdictTone(verdict)}`}>
      <summary>
        <strong>Analysis:</strong> {verdictInWords(verdict)}{' '}
        {found.length > 0 && (
          <span className="tag num">{found.length === 1 ? '1 finding' : `${found.length} findings`}</span>
        )}
      </summary>
      <p className="muted proof__says">{says}</p>
      {found.length > 0 && (
        <ul className="proof__findings">
          {found.map(({ rule, message, line, trace }) => (
            <li key={`${rule} ${line} ${message}`}>
              <span className="tag">{rule}</span> {message}
              {trace !== undefined && (
                <span className="faint proof__way">
                  {trace
                    .map(({ fire, way }) => (way === 'failed' ? `${fire} fails` : (fire ?? way)))
                    .join(' → ')}
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </details>
  )
}

function Triggers({ workflow }: { readonly workflow: WorkflowDetail }) {
  if (workflow.triggers.length === 0)
    return <p className="muted">It has none: only another workflow could start it.</p>
  return (
    <ul className="list" aria-label="Triggers">
      {workflow.triggers.map((trigger) => (
        <li key={trigger.id} className="row triggers__row">
          <span className="tag">
            {trigger.manual ? 'by hand' : trigger.schedule === null ? 'event' : 'clock'}
          </span>
          <span className="triggers__text">{triggerInWords(trigger)}</span>
        </li>
      ))}
    </ul>
  )
}
