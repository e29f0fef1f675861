// One delivery: every attempt with its response, what would be sent now, and how to send it again or cancel it.

import { Ban, CircleSlash, Hourglass, LoaderCircle, MailX, RotateCcw } from 'lucide-react'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { api } from '../api.ts'
import { deliveryNote, isOpenDelivery, RESEND } from '../lib/subscription-words.ts'
import { useDelivery, useMe } from '../queries.ts'
import type { DeliveryDetail } from '../types.ts'
import { optionalReason, ReasonDialog } from '../ui/actions.tsx'
import { TextCard } from '../ui/code.tsx'
import { Button, Chip, Copy, StateChip, Time } from '../ui/controls.tsx'
import { ErrorState, Note, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'
import { RequestCard } from '../ui/test-call.tsx'
import { AttemptSteps, Step } from '../ui/timeline.tsx'

export default function DeliveryScreen({ id }: { readonly id: string }) {
  const { data, error, refetch } = useDelivery(id)
  const { data: me } = useMe()
  if (data === undefined) {
    return (
      <PageFrame title="Delivery" crumbs={[['Deliveries', '/deliveries']]}>
        {error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </PageFrame>
    )
  }
  const { subscription, subject, eventId } = data
  return (
    <PageFrame
      title={`Delivery to ${subscription}`}
      heading={
        <span className="title-line">
          <span className="event__subject mono">{subject ?? eventId}</span> <StateChip state={data.state} />
          {data.replayOf !== undefined && <Chip tone="accent">sent again</Chip>}
        </span>
      }
      crumbs={[
        ['Subscriptions', '/subscriptions'],
        [subscription, `/subscriptions/${subscription}`],
      ]}
      lead={<Copy text={data.id} />}
      actions={me === undefined || me.role === 'viewer' ? null : <Actions delivery={data} />}
    >
      <div className="event">
        <section aria-labelledby="history">
          <h2 id="history" className="spaced">
            Tries
          </h2>
          <ol className="timeline">
            <AttemptSteps attempts={data.history} done="Delivered" />
            <Next delivery={data} />
          </ol>
        </section>
        <div>
          <section aria-labelledby="facts">
            <h2 id="facts" className="spaced">
              Facts
            </h2>
            <Facts delivery={data} />
          </section>
          <section className="section" aria-labelledby="request">
            <div className="section__head">
              <h2 id="request">Request</h2>
              <span className="faint">as it would be sent now</span>
            </div>
            <Request delivery={data} />
          </section>
        </div>
      </div>
    </PageFrame>
  )
}

/** What comes next, or how it ended if no attempt says so. */
function Next({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { state, dueAt, history, processedAt, error, deadLetterId } = delivery
  switch (state) {
    case 'delivering':
      return <Step icon={<LoaderCircle size={14} className="spin" />} tone="accent" title="Being sent now" />
    case 'pending':
    case 'retrying':
      return (
        <Step
          icon={<Hourglass size={14} />}
          tone="grey"
          title={
            <>
              {history.length === 0 ? 'Due' : 'Next attempt'} <Time at={dueAt} />
            </>
          }
        >
          Unless its subscription is paused or disabled, or its endpoint is paused after failures.
        </Step>
      )
    case 'dead-lettered':
      return (
        <Step icon={<MailX size={14} />} tone="red" title="Dead-lettered" at={processedAt}>
          {history.length === 0 && <span className="attempt__error mono">{error}</span>}
          {deadLetterId === undefined ? (
            'There are no more automatic retries.'
          ) : (
            <>
              There are no more automatic retries.{' '}
              <Link href={`/dead-letters/${deadLetterId}`}>Its dead letter</Link>
            </>
          )}
        </Step>
      )
    case 'skipped':
    case 'cancelled':
      return (
        <Step
          icon={<CircleSlash size={14} />}
          tone="grey"
          title={state === 'skipped' ? 'Skipped' : 'Cancelled'}
          at={processedAt}
        >
          {deliveryNote(error)}
        </Step>
      )
    default:
      return null
  }
}

function Facts({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { eventId, subscription, replayOf } = delivery
  return (
    <dl className="facts card card--pad">
      <dt>Subscription</dt>
      <dd>
        <Link href={`/subscriptions/${subscription}`}>{subscription}</Link>
      </dd>
      <dt>Event</dt>
      <dd>
        <Link href={`/events/${eventId}`} className="mono">
          {eventId}
        </Link>
        <div className="faint">sent as webhook-id, the same in every try</div>
      </dd>
      {replayOf !== undefined && (
        <>
          <dt>Sent again</dt>
          <dd>
            of{' '}
            <Link
              href={replayOf.startsWith('evt_') ? `/events/${replayOf}` : `/dead-letters/${replayOf}`}
              className="mono"
            >
              {replayOf}
            </Link>
          </dd>
        </>
      )}
      <dt>Tries</dt>
      <dd className="num">{delivery.attempts}</dd>
      <dt>Made</dt>
      <dd>
        <Time at={delivery.createdAt} />
      </dd>
      {delivery.processedAt !== undefined && (
        <>
          <dt>Over</dt>
          <dd>
            <Time at={delivery.processedAt} />
          </dd>
        </>
      )}
      <dt>Others</dt>
      <dd>
        <Link href={`/deliveries?eventId=${eventId}`}>All deliveries of this event</Link>
      </dd>
    </dl>
  )
}

function Request({ delivery: { request, requestError } }: { readonly delivery: DeliveryDetail }) {
  if (request === null) {
    return (
      <Note tone="amber">
        <strong>The request cannot be built.</strong> {requestError}
      </Note>
    )
  }
  return (
    <div className="request">
      <RequestCard request={request} />
      <p className="faint">
        webhook-id, webhook-timestamp and the signature are put to it in the moment of each try.
      </p>
      {request.body === null ? (
        <p className="muted">The body is for operators and admins: it may hold what is sensitive.</p>
      ) : (
        <TextCard label="Body of the request" text={request.body} about="Body" />
      )}
    </div>
  )
}

function Actions({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { data: me } = useMe()
  const [, go] = useLocation()
  const [asking, setAsking] = useState<'resend' | 'cancel' | null>(null)
  const { id, state } = delivery
  const words = RESEND[state]
  const send = async (reason: string) => {
    const { deliveryId } = await api.retryDelivery({ id, ...optionalReason(reason) })
    if (deliveryId !== id) go(`/deliveries/${deliveryId}`)
  }
  return (
    <>
      {words !== null && (
        <Button
          variant={state === 'delivered' ? 'default' : 'primary'}
          icon={<RotateCcw size={14} aria-hidden />}
          onClick={() => setAsking('resend')}
        >
          {words.action}
        </Button>
      )}
      {isOpenDelivery(state) && (
        <Button variant="danger" icon={<Ban size={14} aria-hidden />} onClick={() => setAsking('cancel')}>
          Cancel
        </Button>
      )}
      {asking === 'resend' && words !== null && (
        <ReasonDialog
          title={`${words.action}: ${delivery.subject ?? delivery.eventId}`}
          text={words.text}
          action={words.action}
          run={send}
          done="It is sent"
          isReasonNeeded={words.isReasonNeeded || me?.environment === 'PROD'}
          onClose={() => setAsking(null)}
        />
      )}
      {asking === 'cancel' && (
        <ReasonDialog
          title="Cancel this delivery"
          text={'It will not be sent. The event stays stored, and "Recover" can send it later.'}
          action="Cancel it"
          run={(reason) => api.cancelDelivery({ id, reason })}
          done="The delivery is cancelled"
          isReasonNeeded
          isDangerous
          onClose={() => setAsking(null)}
        />
      )}
    </>
  )
}
