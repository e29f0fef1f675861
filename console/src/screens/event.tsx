// One event: its timeline from acceptance to what followed, and all its details.

import { EyeOff, FlaskConical, RotateCcw } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { formatJson } from '../lib/json-text.ts'
import { consumerHref, sourceHref } from '../lib/links.ts'
import { formatNumber } from '../lib/time.ts'
import { useEventBody, useEventDetails, useExplanation, useMe } from '../queries.ts'
import type { EventDetail, Explanation } from '../types.ts'
import { HeaderFacts, TextCard } from '../ui/code.tsx'
import { Button, Chip, Copy, CopyButton, LinkButton, Tabs, Time } from '../ui/controls.tsx'
import { JsonTree } from '../ui/json-tree.tsx'
import { ReplayEventsDialog } from '../ui/replay-dialog.tsx'
import { Empty, ErrorState, Note, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'
import { Timeline } from '../ui/timeline.tsx'
import { Why } from '../ui/why.tsx'

const TABS = [
  { id: 'payload', label: 'Payload' },
  { id: 'raw', label: 'Raw body' },
  { id: 'headers', label: 'Headers' },
  { id: 'envelope', label: 'Envelope' },
  { id: 'explain', label: 'Explain' },
]

export function EventScreen({ id }: { readonly id: string }) {
  const { data, error, refetch } = useEventDetails(id)
  const [tab, setTab] = useState('payload')
  const [isReplaying, setIsReplaying] = useState(false)
  const { data: me } = useMe()
  const crumbs = [['Events', '/events']] as const
  if (data === undefined) {
    return (
      <PageFrame title="Event" crumbs={crumbs}>
        {error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </PageFrame>
    )
  }
  const event = data.answer
  return (
    <PageFrame
      title={event.subject}
      heading={<span className="mono event__subject">{event.subject}</span>}
      crumbs={crumbs}
      lead={
        <div className="event__facts">
          <Copy text={event.id} />
          {event.edited === undefined ? (
            <span>
              received <Time at={event.receivedAt} /> from{' '}
              <Link href={sourceHref(event.source)}>{event.source}</Link>
            </span>
          ) : (
            <span>
              edited copy, made <Time at={event.edited.at} /> by {event.edited.by ?? 'a user'} from{' '}
              <Link href={`/events/${event.edited.from}`}>an event of {event.source}</Link>
            </span>
          )}
          {event.objectId !== null && (
            <span>
              about {event.objectType ?? 'object'} <span className="mono">{event.objectId}</span>
            </span>
          )}
          {event.duplicates > 0 && event.lastDuplicateAt !== null && (
            <span>
              received again {event.duplicates === 1 ? 'once' : `${formatNumber(event.duplicates)} times`},
              last <Time at={event.lastDuplicateAt} />
            </span>
          )}
        </div>
      }
      actions={
        <>
          {me !== undefined && me.role !== 'viewer' && (
            <Button icon={<RotateCcw size={14} aria-hidden />} onClick={() => setIsReplaying(true)}>
              Replay this event
            </Button>
          )}
          <LinkButton to={`/try?event=${event.id}`} icon={<FlaskConical size={14} aria-hidden />}>
            Try a route on it
          </LinkButton>
        </>
      }
    >
      <div className="event">
        <section className="event__way" aria-labelledby="way">
          <h2 id="way" className="sr-only">
            Timeline
          </h2>
          <Timeline event={event} />
        </section>
        <section className="event__contents" aria-label="Contents">
          <Tabs tabs={TABS} selected={tab} onSelect={setTab} label="Contents of the event" />
          <div role="tabpanel" aria-label={tab}>
            {tab === 'payload' && <Hidden event={event} isViewer={me?.role === 'viewer'} />}
            {tab === 'payload' && data.exact !== undefined && (
              <div className="card">
                <div className="card__bar">
                  <span className="faint num">{data.exact.type === 'object' ? 'JSON object' : 'JSON'}</span>
                  <CopyButton text={formatJson(data.exact)} label="Copy" />
                </div>
                <JsonTree node={data.exact} isHiding={me?.role === 'viewer' && event.sensitive.length > 0} />
              </div>
            )}
            {tab === 'raw' && <RawBody id={id} isEdited={event.edited !== undefined} />}
            {tab === 'headers' && <Headers headers={event.headers} />}
            {tab === 'envelope' && <EnvelopeFacts event={event} />}
            {tab === 'explain' && <Explain id={id} />}
          </div>
        </section>
      </div>
      {isReplaying && (
        <ReplayEventsDialog
          selection={{ ids: [event.id] }}
          what="this event"
          onClose={() => setIsReplaying(false)}
        />
      )}
    </PageFrame>
  )
}

/** Which paths of the payload are sensitive, and what that means for the user. */
function Hidden({ event, isViewer }: { readonly event: EventDetail; readonly isViewer: boolean }) {
  const { sensitive, unreadable } = event
  if (unreadable !== undefined) {
    return (
      <div className="spaced">
        <Note tone="red">
          <strong>The payload cannot be decrypted.</strong> {unreadable}
        </Note>
      </div>
    )
  }
  if (sensitive.length === 0) return null
  return (
    <div className="spaced">
      <Note tone={isViewer ? 'amber' : 'grey'}>
        <strong>{isViewer ? 'Some values are hidden.' : 'Some values are sensitive.'}</strong> The source says
        so of {sensitive.map((path) => `‘${path}’`).join(', ')}. They are encrypted on disk, left out of logs
        {isViewer ? ', and shown to operators and admins only.' : ', and hidden from viewers.'}
      </Note>
    </div>
  )
}

function RawBody({ id, isEdited }: { readonly id: string; readonly isEdited: boolean }) {
  const { data, error, refetch } = useEventBody(id)
  const { data: me } = useMe()
  if (me?.role === 'viewer') {
    return (
      <Empty icon={<EyeOff size={20} />} title="Operators and admins only">
        The raw body contains all values, including hidden ones.
      </Empty>
    )
  }
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />
  if (data === undefined) return <SkeletonRows count={3} />
  return (
    <TextCard
      label="Raw body"
      text={data.text}
      about={
        <span className="num">
          {data.bytes.toLocaleString('en')} bytes, {isEdited ? 'as a user edited them' : 'as received'}
        </span>
      }
    />
  )
}

function Headers({ headers }: { readonly headers: EventDetail['headers'] }) {
  if (Object.keys(headers).length === 0) return <Empty icon={null} title="No headers were stored" />
  return (
    <div className="card card--pad">
      <HeaderFacts headers={headers} />
    </div>
  )
}

function EnvelopeFacts({ event }: { readonly event: EventDetail }) {
  const facts: readonly (readonly [label: string, value: string | null, href?: string | undefined])[] = [
    ['Event id', event.id],
    ['Subject', event.subject],
    ['Source', event.source],
    ['Object', event.objectId === null ? null : `${event.objectType ?? 'object'} ${event.objectId}`],
    ['Occurred', event.occurredAt],
    [event.edited === undefined ? 'Received' : 'Copied', event.receivedAt],
    ['Dedup key', event.dedupKey],
    ['Payload hash', event.payloadHash],
    ['Correlation', event.correlationId, `/events?q=${encodeURIComponent(event.correlationId)}`],
    [
      event.edited === undefined ? 'Caused by' : 'Edited from',
      event.causationId,
      event.causationId === null ? undefined : `/events/${event.causationId}`,
    ],
    ['Trace', event.traceId],
    ['Tenant', event.tenant],
  ]
  return (
    <dl className="facts card card--pad">
      {facts.map(([label, value, href]) => (
        <div key={label} className="facts__pair">
          <dt>{label}</dt>
          <dd>
            {value === null ? (
              <span className="faint">none</span>
            ) : href === undefined ? (
              <Copy text={value} />
            ) : (
              <Link href={href} className="mono">
                {value}
              </Link>
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}

const VERDICTS = {
  matched: ['green', 'matched'],
  'would-match': ['amber', 'would match now; not deployed when the event arrived'],
  'gave-way': ['grey', 'not used: an earlier route has fanOut: first'],
  ambiguous: ['red', 'several routes match, and one has fanOut: one: none runs'],
  subject: ['grey', 'other subject'],
  condition: ['amber', 'condition does not hold'],
  error: ['red', 'condition failed'],
  kept: ['amber', 'stored; matched when the source is resumed'],
  unmatchable: ['red', 'could not be matched; see the dead letter'],
} as const

function Explain({ id }: { readonly id: string }) {
  const { data, error, refetch } = useExplanation(id)
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />
  if (data === undefined) return <SkeletonRows count={3} />
  if (data.consumers.length === 0) {
    return (
      <Empty
        icon={null}
        title="There are no routes"
        action={<LinkButton to="/definitions/edit">Write one</LinkButton>}
      >
        No route could match this event.
      </Empty>
    )
  }
  const order = [
    'kept',
    'unmatchable',
    'matched',
    'ambiguous',
    'would-match',
    'gave-way',
    'error',
    'condition',
    'subject',
  ]
  const sorted = [...data.consumers].sort((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict))
  return (
    <ul className="explain">
      {sorted.map((consumer) => (
        <li key={`${consumer.kind}:${consumer.name}`} className="card card--pad">
          <Explained consumer={consumer} isKept={data.consumers.some(({ verdict }) => verdict === 'kept')} />
        </li>
      ))}
    </ul>
  )
}

interface ExplainedProps {
  readonly consumer: Explanation['consumers'][number]
  /** It was not matched yet. */
  readonly isKept: boolean
}

function Explained({ consumer, isKept }: ExplainedProps) {
  const [tone, text] =
    isKept && consumer.verdict === 'would-match'
      ? (['amber', 'would match when the source is resumed'] as const)
      : (VERDICTS[consumer.verdict] ?? ['grey', consumer.verdict])
  return (
    <>
      <div className="explain__head">
        <Link href={consumerHref(consumer)} className="row__title">
          {consumer.name}
        </Link>
        <Chip tone={tone}>{text}</Chip>
        {consumer.status !== 'active' && <Chip tone="amber">{consumer.status}</Chip>}
      </div>
      <div className="explain__patterns">
        {consumer.patterns.map((pattern) => (
          <span key={pattern} className="tag mono">
            {pattern}
          </span>
        ))}
      </div>
      <Why parts={consumer.why} />
    </>
  )
}
