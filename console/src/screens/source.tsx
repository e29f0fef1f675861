// One source: the address to paste at the vendor, its requirements for senders, its events, its rejections, and the
// switch that stores or refuses.

import { Send } from 'lucide-react'
import { Link, useLocation, useSearch } from 'wouter'
import { formatDuration } from '../lib/durations.ts'
import { reasonInWords, type SourceShape, secretsInWords, verifyInWords } from '../lib/source-words.ts'
import { formatExact, formatNumber } from '../lib/time.ts'
import { useCatalog, useDefinition, useKept, useMe, useRecentEvents, useRejections } from '../queries.ts'
import type { DefinitionDetails } from '../types.ts'
import { Yaml } from '../ui/code.tsx'
import { ConsumerChips } from '../ui/consumer-chips.tsx'
import { Button, CopyButton, StateChip, Time } from '../ui/controls.tsx'
import { Owner, Past, Switches } from '../ui/definition-parts.tsx'
import { PublishDialog } from '../ui/publish-dialog.tsx'
import { ErrorState, Note, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

const RECENT = 8
const REASONS_SHOWN = 4

export default function SourceScreen({ name }: { readonly name: string }) {
  const { data, error, refetch } = useDefinition('Source', name)
  const { data: me } = useMe()
  const [, go] = useLocation()
  const isSending = new URLSearchParams(useSearch()).get('send') === 'true'
  const setIsSending = (is: boolean) =>
    go(is ? `/sources/${name}?send=true` : `/sources/${name}`, { replace: true })
  const crumbs = [['Sources', '/sources']] as const
  if (data === undefined) {
    return (
      <PageFrame title={name} crumbs={crumbs}>
        {error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </PageFrame>
    )
  }
  const document = data.document as unknown as SourceShape
  return (
    <PageFrame
      title={name}
      heading={
        <span className="title-line">
          {name} {data.status !== null && <StateChip state={data.status} />}
        </span>
      }
      crumbs={crumbs}
      lead={data.description ?? undefined}
      actions={
        me !== undefined &&
        me.role !== 'viewer' && (
          <>
            <Button icon={<Send size={14} aria-hidden />} onClick={() => setIsSending(true)}>
              Send a test event
            </Button>
            <Switches definition={data} />
          </>
        )
      }
    >
      <Stopped source={data} />
      <div className="event event--even">
        <div>
          <section aria-labelledby="door">
            <div className="section__head">
              <h2 id="door">Ingest</h2>
            </div>
            <Door source={data} tenant={me?.tenant ?? 'default'} document={document} />
          </section>
          <section className="section" aria-labelledby="text">
            <div className="section__head">
              <h2 id="text">Definition</h2>
              <CopyButton text={data.yaml} label="Copy as YAML" />
            </div>
            <Owner definition={data} isAdmin={me?.role === 'admin'} />
            <div className="card">
              <Yaml text={data.yaml} />
            </div>
          </section>
        </div>
        <div>
          <section aria-labelledby="recent">
            <div className="section__head">
              <h2 id="recent">Recently</h2>
              <Link href={`/events?source=${name}`}>All</Link>
            </div>
            <RecentEvents source={name} />
          </section>
          {document.schedule === undefined && document.nats === undefined && (
            <section className="section" aria-labelledby="refused">
              <div className="section__head">
                <h2 id="refused">Refused requests</h2>
                <Link href={`/rejections?source=${name}`}>All</Link>
              </div>
              <Refused source={name} />
            </section>
          )}
          <Subjects source={name} />
          <section className="section" aria-labelledby="past">
            <div className="section__head">
              <h2 id="past">History</h2>
              <Link href="/definitions/versions">All versions</Link>
            </div>
            <Past definition={data} />
          </section>
        </div>
      </div>
      {isSending && (
        <PublishDialog
          source={name}
          isSchedule={document.schedule !== undefined}
          isInlet={document.nats !== undefined}
          onClose={() => setIsSending(false)}
        />
      )}
    </PageFrame>
  )
}

/** What its state means for senders, if it is not active. */
function Stopped({ source }: { readonly source: DefinitionDetails }) {
  const { data: kept } = useKept(source.name, source.status === 'paused')
  if (source.status === 'active' || source.status === null) return null
  const { control } = source
  const who =
    control === null || control === undefined
      ? 'Its definition says so.'
      : `By ${control.by}${control.reason === null ? '' : `: ${control.reason}`}.`
  return (
    <div className="spaced">
      <Note tone="amber">
        {source.status === 'paused' ? (
          <>
            <strong>Paused: events are stored.</strong> Senders get the usual response.{' '}
            {kept !== undefined && (
              <span role="status">
                {kept.count === 0
                  ? 'Nothing waits yet.'
                  : `${formatNumber(kept.count)}${kept.isCapped ? '+' : ''} ${kept.count === 1 ? 'event waits' : 'events wait'} until it is resumed.`}
              </span>
            )}{' '}
            {who}
          </>
        ) : (
          <>
            <strong>Disabled: events are refused.</strong> Senders get 410, and nothing is stored. {who}
          </>
        )}
      </Note>
    </div>
  )
}

function Door({
  source,
  tenant,
  document,
}: {
  readonly source: DefinitionDetails
  readonly tenant: string
  readonly document: SourceShape
}) {
  const { verify, schedule, nats } = document
  const address = `${location.origin}/in/${tenant}/${source.name}`
  const secrets = secretsInWords(verify)
  const facts: (readonly [string, string | null])[] = [
    ['Verified by', nats === undefined ? verifyInWords(verify) : 'NATS says who may publish.'],
    ['Secret in', secrets],
    ['Allowed from', document.allow === undefined ? null : document.allow.join(', ')],
    [
      'At most',
      document.rateLimit === undefined
        ? null
        : `${formatNumber(document.rateLimit.perMinute)} a minute, ${formatNumber(document.rateLimit.burst)} at once`,
    ],
    [
      'Deduplicated by',
      schedule === undefined ? `${knownBy(document)}, for ${formatDuration(document.dedup.windowMs)}` : null,
    ],
    ['Sensitive', document.sensitive === undefined ? null : document.sensitive.join(', ')],
    ['Retention', document.retentionMs === undefined ? null : formatDuration(document.retentionMs)],
    [
      'Unmatched',
      document.unmatched === 'deadLetter' ? 'An event that no route selects is dead-lettered.' : null,
    ],
  ]
  return (
    <>
      {nats !== undefined ? (
        <Inlet nats={nats} source={source} />
      ) : schedule === undefined ? (
        <div className="door">
          <p className="muted">Paste this address at the sender.</p>
          <div className="command">
            <code>{address}</code>
            <CopyButton text={address} label="Copy the address" />
          </div>
        </div>
      ) : (
        <Schedule schedule={schedule} source={source} />
      )}
      <dl className="facts card card--pad">
        {facts.map(([label, value]) =>
          value === null ? null : (
            <div key={label} className="facts__pair">
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ),
        )}
      </dl>
    </>
  )
}

/** How it recognises a repeated delivery; `event.id` is the id that the definition names. */
function knownBy({ dedup, event, nats }: SourceShape): string {
  const by = dedup.by === null || dedup.by === 'event.id' ? event.id : dedup.by
  return by ?? (nats === undefined ? 'its content' : 'the message’s id, or its position in the stream')
}

function Inlet({
  nats,
  source,
}: {
  readonly nats: NonNullable<SourceShape['nats']>
  readonly source: DefinitionDetails
}) {
  const { consumer } = source
  return (
    <div className="door">
      <p>
        Takes messages of NATS: <code>{nats.subjects.join(', ')}</code>
        {nats.stream !== undefined && (
          <>
            {' '}
            of the stream <code>{nats.stream}</code>
          </>
        )}
        .
      </p>
      {consumer !== undefined && (
        <p className="muted" role="status">
          {consumer.state === 'consuming'
            ? 'It reads the stream.'
            : `${consumer.state === 'waiting' ? 'It waits' : 'It reads nothing now'}: ${consumer.why ?? ''}.`}
        </p>
      )}
    </div>
  )
}

const MISSED: Readonly<Record<string, string>> = {
  once: 'Missed slots fire once.',
  skip: 'Missed slots are skipped.',
  all: 'Every missed slot fires, one after the other.',
}

function Schedule({
  schedule,
  source,
}: {
  readonly schedule: NonNullable<SourceShape['schedule']>
  readonly source: DefinitionDetails
}) {
  const { nextFireAt, lastFiredAt } = source
  return (
    <div className="door">
      <p>
        Fires by <code>{schedule.cron}</code>, in {schedule.zone}. {MISSED[schedule.missed]}
      </p>
      <p className="muted">
        {nextFireAt == null ? (
          'It is not active.'
        ) : (
          <>
            Next: <strong>{formatExact(nextFireAt).slice(0, -4)}</strong>, <Time at={nextFireAt} />.
          </>
        )}{' '}
        {lastFiredAt != null && (
          <>
            Last: <Time at={lastFiredAt} />.
          </>
        )}
      </p>
    </div>
  )
}

function RecentEvents({ source }: { readonly source: string }) {
  const { data } = useRecentEvents({ source, limit: RECENT })
  if (data === undefined) return <SkeletonRows count={3} />
  if (data.items.length === 0) return <p className="muted">Nothing came in by it yet.</p>
  return (
    <ul className="list">
      {data.items.map((event) => (
        <li key={event.id}>
          <Link href={`/events/${event.id}`} className="row recent" data-row>
            <span className="truncate mono">{event.subject}</span>
            <ConsumerChips event={event} isShort />
            <span className="faint">
              <Time at={event.receivedAt} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  )
}

function Refused({ source }: { readonly source: string }) {
  const { data } = useRejections({ source, limit: 1 })
  if (data === undefined) return <SkeletonRows count={2} />
  const counts = data.counts.filter((one) => one.source === source)
  if (counts.length === 0) return <p className="muted">Every request was let in.</p>
  return (
    <ul className="list" aria-label="Turned away by reason">
      {counts.slice(0, REASONS_SHOWN).map(({ reason, count, latestAt }) => {
        const { title, next } = reasonInWords(reason)
        return (
          <li key={reason}>
            <Link href={`/rejections?source=${source}&reason=${reason}`} className="row refused" data-row>
              <span className="num attention__count">{formatNumber(count)}</span>
              <span className="definitions__name">
                <span className="row__title">{title}</span>
                <span className="row__sub">{next}</span>
              </span>
              <span className="faint">
                <Time at={latestAt} />
              </span>
            </Link>
          </li>
        )
      })}
    </ul>
  )
}

function Subjects({ source }: { readonly source: string }) {
  const { data } = useCatalog({ source, limit: 1 })
  if (data === undefined || data.items.length === 0) return null
  return (
    <section className="section" aria-labelledby="subjects">
      <div className="section__head">
        <h2 id="subjects">Subjects</h2>
        <Link href={`/catalog?source=${source}`}>Catalog</Link>
      </div>
      <p className="muted">The catalog lists its subjects, with examples and the routes that select them.</p>
    </section>
  )
}
