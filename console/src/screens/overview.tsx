// The state of the node: numbers, three charts over time, and what needs a decision.

import {
  CircleCheck,
  CircleQuestionMark,
  Inbox,
  ListOrdered,
  type LucideIcon,
  MailX,
  Pause,
  Siren,
  Unplug,
  Webhook,
  Workflow as WorkflowIcon,
} from 'lucide-react'
import { type ReactNode, useMemo, useState } from 'react'
import { Link } from 'wouter'
import { formatDuration, formatDurationShort } from '../lib/durations.ts'
import { definitionHref, workConsumerHref } from '../lib/links.ts'
import { makeCharts } from '../lib/stats.ts'
import { becauseInWords } from '../lib/subscription-words.ts'
import { formatCause, formatNumber } from '../lib/time.ts'
import {
  useDeadLetterGroups,
  useDefinitions,
  useHeldLanes,
  useOverview,
  usePaces,
  useStats,
  useSubscriptions,
} from '../queries.ts'
import type { Overview, Stats } from '../types.ts'
import { Chart } from '../ui/chart.tsx'
import { Time, useNow } from '../ui/controls.tsx'
import { DemoButton } from '../ui/demo.tsx'
import { Big } from '../ui/figures.tsx'
import { ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

const SPANS = [15, 60] as const

export default function OverviewScreen() {
  const overview = useOverview()
  const [minutes, setMinutes] = useState<number>(15)
  const stats = useStats(minutes)
  return (
    <PageFrame title="Overview" actions={<DemoButton />}>
      {overview.error !== null && overview.data === undefined ? (
        <ErrorState error={overview.error} onRetry={() => void overview.refetch()} />
      ) : (
        <Numbers overview={overview.data} />
      )}
      <section className="section" aria-labelledby="attention">
        <div className="section__head">
          <h2 id="attention">Needs attention</h2>
        </div>
        <Attention overview={overview.data} />
      </section>
      <section className="section" aria-labelledby="over-time">
        <div className="section__head">
          <h2 id="over-time">Over time</h2>
          <fieldset className="switch" aria-label="Span">
            {SPANS.map((span) => (
              <button
                key={span}
                type="button"
                className="switch__option switch__option--text"
                aria-pressed={span === minutes}
                onClick={() => setMinutes(span)}
              >
                {span === 60 ? '1 h' : `${span} min`}
              </button>
            ))}
          </fieldset>
        </div>
        {stats.data === undefined ? (
          stats.error === null ? (
            <SkeletonRows count={3} />
          ) : (
            <ErrorState error={stats.error} onRetry={() => void stats.refetch()} />
          )
        ) : (
          <Charts stats={stats.data} />
        )}
      </section>
    </PageFrame>
  )
}

function Numbers({ overview }: { readonly overview: Overview | undefined }) {
  const now = useNow()
  const count = (name: keyof Overview['counts']) => {
    if (overview === undefined) return null
    return formatNumber(overview.counts[name]) + (overview.isCapped[name] === true ? '+' : '')
  }
  const waiting = overview === undefined ? null : overview.counts.ready + overview.counts.leased
  const oldest =
    overview?.oldestReadyAt == null
      ? '–'
      : formatDuration(Math.max(0, now - Date.parse(overview.oldestReadyAt)))
  return (
    <div className="numbers">
      <Big
        label="Accepted"
        value={overview === undefined ? null : formatNumber(overview.rates.acceptedPerMinute)}
        unit="per min"
        href="/events"
      />
      <Big
        label="Done"
        value={overview === undefined ? null : formatNumber(overview.rates.donePerMinute)}
        unit="per min"
        href="/work?state=done"
      />
      <Big
        label="Waiting"
        value={waiting === null ? null : formatNumber(waiting)}
        unit="items"
        href="/work?state=ready"
      />
      <Big label="Oldest waiting" value={overview === undefined ? null : oldest} href="/work?state=ready" />
      <Big
        label="Parked"
        value={count('parked')}
        unit="unknown"
        href="/unknown"
        tone={(overview?.counts.parked ?? 0) > 0 ? 'amber' : undefined}
      />
      <Big
        label="Dead letters"
        value={count('openDeadLetters')}
        unit="open"
        href="/dead-letters"
        tone={(overview?.counts.openDeadLetters ?? 0) > 0 ? 'red' : undefined}
      />
    </div>
  )
}

function Charts({ stats }: { readonly stats: Stats }) {
  const { times, throughput, latency, queueAge } = useMemo(() => makeCharts(stats), [stats])
  return (
    <div className="charts">
      <Chart title="Throughput per minute" times={times} series={throughput} format={formatNumber} />
      <Chart
        title="From accepted to done"
        times={times}
        series={latency}
        format={formatDuration}
        formatAxis={formatDurationShort}
      />
      <Chart
        title="Queue age"
        times={times}
        series={queueAge}
        format={formatDuration}
        formatAxis={formatDurationShort}
      />
    </div>
  )
}

function Attention({ overview }: { readonly overview: Overview | undefined }) {
  const { data: groups } = useDeadLetterGroups('open')
  const { data: definitions } = useDefinitions()
  const { data: paces } = usePaces()
  const { data: held } = useHeldLanes()
  const troubled = useTroubled(overview)
  if (overview === undefined) return <SkeletonRows count={2} />
  const paused = definitions?.items.filter(({ status }) => status === 'paused') ?? []
  const items: ReactNode[] = []
  const { raisedEscalations } = overview.counts
  if (raisedEscalations > 0) {
    items.push(
      <Item
        key="escalations"
        icon={Siren}
        tone="red"
        href="/escalations"
        title={raisedEscalations === 1 ? 'An escalation is raised' : 'Escalations are raised'}
        text="Nobody has taken them over yet"
        count={raisedEscalations}
      />,
    )
  }
  for (const { route, circuit } of paces?.items ?? []) {
    if (circuit.state === 'closed') continue
    items.push(
      <Item
        key={`circuit ${route}`}
        icon={Pause}
        tone="amber"
        href={`/routes/${route}`}
        title={`${route} paused itself`}
        text={
          circuit.tryAt === null || circuit.state === 'half-open'
            ? 'Too many of its calls failed; it tries one now'
            : 'Too many of its calls failed; it keeps its work and tries one by itself'
        }
        {...(circuit.since !== null && { at: circuit.since })}
      />,
    )
  }
  for (const subscription of troubled) {
    const { name, status, since, failingSince, reason, because } = subscription
    const at = status === 'failing' ? failingSince : since
    items.push(
      <Item
        key={`subscription ${name}`}
        icon={Webhook}
        tone="red"
        href={`/subscriptions/${name}`}
        title={
          status === 'failing'
            ? `Nothing arrives at ${name}`
            : `${name} is disabled: ${becauseInWords(because)}`
        }
        text={reason ?? subscription.url}
        {...(at !== null && { at })}
      />,
    )
  }
  const behind = held?.items.reduce((sum, { waiting }) => sum + waiting, 0) ?? 0
  if (behind > 0) {
    const lanes = held?.items.filter(({ waiting }) => waiting > 0) ?? []
    const routes = [...new Set(lanes.map(({ route }) => route))]
    const [first] = lanes
    items.push(
      <Item
        key="lanes"
        icon={ListOrdered}
        tone="amber"
        href={first === undefined ? '/work?state=waiting' : workConsumerHref(first.work)}
        title={`Lanes of ${routes.join(', ')} are held up`}
        text="Items wait behind one that is dead or parked"
        count={behind}
      />,
    )
  }
  for (const group of groups?.items.slice(0, 5) ?? []) {
    items.push(
      <Item
        key={`${group.consumer.name} ${group.class} ${group.reason} ${group.cause}`}
        icon={MailX}
        tone="red"
        href="/dead-letters"
        title={`${group.consumer.name}: ${formatCause(group.cause)}`}
        text={`${group.class}, ${group.reason.replaceAll('_', ' ')}`}
        count={group.count}
        at={group.latestAt}
      />,
    )
  }
  if (overview.counts.parked > 0) {
    items.push(
      <Item
        key="parked"
        icon={CircleQuestionMark}
        tone="amber"
        href="/unknown"
        title="Calls whose outcome is unknown"
        text="They wait for a person to say whether the effect happened"
        count={overview.counts.parked}
      />,
    )
  }
  if (overview.counts.instancesWithAttention > 0) {
    items.push(
      <Item
        key="instances"
        icon={WorkflowIcon}
        tone="amber"
        href="/workflows"
        title="Instances that need somebody"
        text="A step failed, a roll-back stopped, or nothing can move them any more"
        count={overview.counts.instancesWithAttention}
      />,
    )
  }
  if (overview.counts.openOrphans > 0) {
    items.push(
      <Item
        key="orphans"
        icon={Unplug}
        tone="amber"
        href="/orphans"
        title="Orphans"
        text="Events that no instance took; say where they belong"
        count={overview.counts.openOrphans}
      />,
    )
  }
  for (const { kind, name } of paused) {
    items.push(
      <Item
        key={`${kind} ${name}`}
        icon={Pause}
        tone="amber"
        href={definitionHref(kind, name)}
        title={`${name} is paused`}
        text={`${kind.toLowerCase()}; what arrives is kept until it is resumed`}
      />,
    )
  }
  if (overview.counts.unmatched > 0) {
    items.push(
      <Item
        key="unmatched"
        icon={Inbox}
        tone="grey"
        href="/events?unmatched=true"
        title="Events that no route wanted"
        text="Kept and searchable; each says why not"
        count={overview.counts.unmatched}
      />,
    )
  }
  if (items.length === 0) {
    return (
      <div className="card card--pad all-clear">
        <CircleCheck size={18} aria-hidden />
        <span>
          <strong>All clear.</strong> <span className="muted">Nothing waits for a person.</span>
        </span>
      </div>
    )
  }
  return <ul className="list">{items}</ul>
}

const TROUBLED_MAX = 5

/** Endpoints that nothing arrives at; one that was disabled on purpose needs no action. */
function useTroubled(overview: Overview | undefined) {
  const { failing = 0, disabled = 0 } = overview?.subscriptions ?? {}
  const one = useSubscriptions({ status: 'failing', limit: TROUBLED_MAX }, failing > 0)
  const other = useSubscriptions({ status: 'disabled', limit: TROUBLED_MAX }, disabled > 0)
  return [
    ...(failing > 0 ? (one.data?.items ?? []) : []),
    ...(disabled > 0 ? (other.data?.items ?? []) : []).filter(({ because }) => because !== 'person'),
  ]
}

interface ItemProps {
  readonly icon: LucideIcon
  readonly tone: 'red' | 'amber' | 'grey'
  readonly href: string
  readonly title: string
  readonly text: string
  readonly count?: number
  readonly at?: string
}

function Item({ icon: Icon, tone, href, title, text, count, at }: ItemProps) {
  return (
    <li>
      <Link href={href} className="row attention" data-row>
        <span className={`attention__icon attention__icon--${tone}`} aria-hidden>
          <Icon size={15} />
        </span>
        <span className="attention__text">
          <span className="row__title attention__title">{title}</span>
          <span className="row__sub truncate">{text}</span>
        </span>
        <span className="attention__at faint">{at !== undefined && <Time at={at} />}</span>
        {count !== undefined && <span className="attention__count num">{formatNumber(count)}</span>}
      </Link>
    </li>
  )
}
