// One run: every attempt with request and response, and what it belongs to.

import { CircleCheck, CircleX, LoaderCircle } from 'lucide-react'
import { Link } from 'wouter'
import { purposeInWords, viaInWords } from '../lib/connection-words.ts'
import { formatDuration } from '../lib/durations.ts'
import { ledgerHref } from '../lib/links.ts'
import { useMe, useRun } from '../queries.ts'
import type { Run } from '../types.ts'
import { Chip, Copy, StateChip, Time } from '../ui/controls.tsx'
import { classInWords } from '../ui/filters.tsx'
import { ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'
import { Head, Step } from '../ui/timeline.tsx'

export default function RunScreen({ id }: { readonly id: string }) {
  const { data, error, refetch } = useRun(id)
  if (data === undefined) {
    return (
      <PageFrame title="Run" crumbs={[['Runs', '/runs']]}>
        {error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </PageFrame>
    )
  }
  return (
    <PageFrame
      title={`Run of ${data.operation}`}
      heading={
        <span className="title-line">
          <span className="event__subject mono">{data.operation}</span> <StateChip state={data.state} />
          {data.replayOf !== null && <Chip tone="accent">replay</Chip>}
        </span>
      }
      crumbs={
        data.connection === null
          ? [['Runs', '/runs']]
          : [
              ['Connections', '/connections'],
              [data.connection, `/connections/${data.connection}`],
            ]
      }
      lead={<Copy text={data.id} />}
    >
      <div className="event">
        <section aria-labelledby="attempts">
          <h2 id="attempts" className="spaced">
            Attempts
          </h2>
          <Attempts run={data} />
        </section>
        <section aria-labelledby="facts">
          <h2 id="facts" className="spaced">
            Facts
          </h2>
          <Facts run={data} />
        </section>
      </div>
    </PageFrame>
  )
}

function Attempts({ run }: { readonly run: Run }) {
  const { data: me } = useMe()
  const isViewer = me?.role === 'viewer'
  return (
    <>
      {isViewer && run.attempts.length > 0 && (
        <p className="muted spaced">What was sent and answered is for operators and admins.</p>
      )}
      <ol className="timeline">
        {run.attempts.length < run.attemptCount && (
          <Step
            icon={<CircleX size={14} />}
            tone="grey"
            title={`${run.attemptCount - run.attempts.length} older attempts`}
          >
            Only the latest are shown in full.
          </Step>
        )}
        {run.attempts.map((attempt) => {
          const isGood = attempt.class === null
          return (
            <Step
              key={`${attempt.number} ${attempt.startedAt}`}
              icon={isGood ? <CircleCheck size={14} /> : <CircleX size={14} />}
              tone={isGood ? 'green' : 'red'}
              title={`Attempt ${attempt.number}: ${isGood ? 'succeeded' : 'failed'}`}
              at={attempt.startedAt}
            >
              <span className="attempt">
                {attempt.httpStatus !== null && <span className="tag num">HTTP {attempt.httpStatus}</span>}
                <span className="tag num">{formatDuration(Math.max(0.1, attempt.durationMs))}</span>
                {attempt.class !== null && <span className="tag">{classInWords(attempt.class)}</span>}
                {attempt.credentialVersion !== null && (
                  <span className="tag num">secret, version {attempt.credentialVersion}</span>
                )}
              </span>
              {attempt.error !== null && <span className="attempt__error mono">{attempt.error}</span>}
              {attempt.request !== null && (
                <Head
                  label={`What attempt ${attempt.number} sent`}
                  text={attempt.request}
                  more="What was sent"
                />
              )}
              {attempt.response !== null && (
                <Head label={`Answer to attempt ${attempt.number}`} text={attempt.response} more="Response" />
              )}
            </Step>
          )
        })}
        {run.state === 'running' && (
          <Step icon={<LoaderCircle size={14} className="spin" />} tone="accent" title="Running now" />
        )}
      </ol>
    </>
  )
}

function Facts({ run }: { readonly run: Run }) {
  const { connection, provider, workId, eventId, key, externalRef, replayOf, error } = run
  return (
    <dl className="facts card card--pad">
      {connection === null || provider === null ? (
        <>
          <dt>Via</dt>
          <dd>{viaInWords(run.via)}</dd>
        </>
      ) : (
        <>
          <dt>Connection</dt>
          <dd>
            <Link href={`/connections/${connection}`}>{connection}</Link>
          </dd>
          <dt>Provider</dt>
          <dd>
            <Link href={`/providers/${provider}`}>{provider}</Link>
          </dd>
        </>
      )}
      <dt>For</dt>
      <dd>{purposeInWords(run.purpose)}</dd>
      {eventId !== null && (
        <>
          <dt>Event</dt>
          <dd>
            <Link href={`/events/${eventId}`} className="mono">
              {eventId}
            </Link>
          </dd>
        </>
      )}
      {workId !== null && (
        <>
          <dt>Job</dt>
          <dd>
            <Link href={`/work/${workId}`} className="mono">
              {workId}
            </Link>
          </dd>
        </>
      )}
      {key !== null && (
        <>
          <dt>Key</dt>
          <dd>
            <Link href={ledgerHref(key)} className="mono">
              {key}
            </Link>
          </dd>
        </>
      )}
      {externalRef !== null && (
        <>
          <dt>There</dt>
          <dd>
            <Copy text={externalRef} />
          </dd>
        </>
      )}
      {replayOf !== null && (
        <>
          <dt>Replay of</dt>
          <dd>
            <Link href={`/runs/${replayOf}`} className="mono">
              {replayOf}
            </Link>
          </dd>
        </>
      )}
      {error !== null && (
        <>
          <dt>Error</dt>
          <dd>{error}</dd>
        </>
      )}
      <dt>Attempts</dt>
      <dd className="num">{run.attemptCount}</dd>
      <dt>Trace</dt>
      <dd>
        <Copy text={run.traceId} />
      </dd>
      <dt>Story</dt>
      <dd>
        <Copy text={run.correlationId} />
      </dd>
      <dt>Began</dt>
      <dd>
        <Time at={run.createdAt} />
      </dd>
      <dt>Changed</dt>
      <dd>
        <Time at={run.updatedAt} />
      </dd>
    </dl>
  )
}
