// Shared by the pages of webhooks: the state and health of an endpoint, and deliveries in rows.

import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { api } from '../api.ts'
import { formatDuration } from '../lib/durations.ts'
import { addressOf, answerInShort, becauseInWords, isOpenDelivery } from '../lib/subscription-words.ts'
import { formatNumber } from '../lib/time.ts'
import { useMore } from '../lib/use-more.ts'
import { useDeliveries } from '../queries.ts'
import type { Args, Delivery, Subscription } from '../types.ts'
import { Chip, StateChip, Time } from './controls.tsx'
import { ErrorState, LoadMore, SkeletonRows } from './surfaces.tsx'

/** Disabled automatically is worse than disabled by a user. */
export function SubscriptionChip({ subscription }: { readonly subscription: Subscription }) {
  const { status, because } = subscription
  if (status !== 'disabled' || because === null || because === 'person') return <StateChip state={status} />
  return <Chip tone="red">disabled</Chip>
}

/** Since when, and why, below the chip. */
export function SubscriptionSince({ subscription }: { readonly subscription: Subscription }) {
  const { status, because, since, failingSince } = subscription
  const at = status === 'failing' ? failingSince : status === 'active' ? null : since
  const why = status === 'disabled' ? becauseInWords(because) : null
  if (at === null && why === null) return null
  return (
    <span className="row__sub">
      {why}
      {why !== null && at !== null && ', '}
      {at !== null && (
        <>
          {status === 'failing' && 'since '}
          <Time at={at} />
        </>
      )}
    </span>
  )
}

export function Address({ url }: { readonly url: string }) {
  const { host, rest } = addressOf(url)
  return (
    <span className="address" title={url}>
      <span className="address__host truncate">{host}</span>
      {rest !== '' && <span className="address__rest row__sub mono truncate">{rest}</span>}
    </span>
  )
}

/** How many of the newest arrived, as one bar with both numbers. */
export function HealthBar({ health }: { readonly health: Subscription['health'] }) {
  const { delivered, failed } = health.recent
  const all = delivered + failed
  if (all === 0) return <span className="faint">nothing yet</span>
  return (
    <span className="health">
      <span className="health__bar" aria-hidden>
        {delivered > 0 && (
          <span className="health__part health__part--good" style={{ flexGrow: delivered }} />
        )}
        {failed > 0 && <span className="health__part health__part--bad" style={{ flexGrow: failed }} />}
      </span>
      <span className="health__text num">
        {formatNumber(delivered)} <span className="faint">arrived</span>
        {failed > 0 && (
          <>
            {' '}
            <span className="health__failed">{formatNumber(failed)} failed</span>
          </>
        )}
      </span>
    </span>
  )
}

const TONES: Readonly<Record<Delivery['state'], string>> = {
  pending: 'grey',
  delivering: 'accent',
  retrying: 'violet',
  delivered: 'green',
  'dead-lettered': 'red',
  cancelled: 'grey',
  skipped: 'grey',
}

/** The newest ones side by side, the latest at the right. */
export function Spark({ deliveries }: { readonly deliveries: readonly Delivery[] }) {
  if (deliveries.length === 0) return <span className="faint">none yet</span>
  const arrived = deliveries.filter(({ state }) => state === 'delivered').length
  return (
    <span className="spark" role="img" aria-label={`${arrived} of the last ${deliveries.length} arrived`}>
      {[...deliveries].reverse().map((one) => (
        <span
          key={one.id}
          className={`spark__one spark__one--${TONES[one.state]}`}
          title={`${one.state}${one.httpStatus === undefined ? '' : `, HTTP ${one.httpStatus}`}`}
        />
      ))}
    </span>
  )
}

export const waitingInWords = ({ waiting, isCapped }: Subscription['health']): string =>
  `${formatNumber(waiting)}${isCapped ? '+' : ''}`

interface DeliveryListProps {
  readonly filter: Args<'listDeliveries'>
  /** The subscription is not shown if all are of one. */
  readonly isOfOne?: boolean
  readonly empty: ReactNode
}

const PAGE = 50

export function DeliveryList({ filter, isOfOne = false, empty }: DeliveryListProps) {
  const first = useDeliveries({ ...filter, limit: PAGE })
  const { items, hasMore, isBusy, loadMore } = useMore(
    first.data,
    ({ id }) => id,
    (cursor) => api.listDeliveries({ ...filter, limit: PAGE, cursor }),
  )
  if (first.data === undefined) {
    return first.error === null ? (
      <SkeletonRows />
    ) : (
      <ErrorState error={first.error} onRetry={() => void first.refetch()} />
    )
  }
  // A page may be empty while there are more.
  if (items.length === 0 && !hasMore) return <div className="list">{empty}</div>
  const grid = isOfOne ? 'deliveries__grid deliveries__grid--one' : 'deliveries__grid'
  return (
    <div className="list">
      <div className={`list__head ${grid}`} aria-hidden>
        <span>Event</span>
        {!isOfOne && <span>Subscription</span>}
        <span>State</span>
        <span>Last answer</span>
        <span className="events__when">Took</span>
        <span className="events__when">When</span>
      </div>
      <ul aria-label="Deliveries">
        {items.map((delivery) => (
          <li key={delivery.id}>
            <Link href={`/deliveries/${delivery.id}`} className={`row ${grid}`} data-row>
              <span className="truncate mono events__subject">{delivery.subject ?? delivery.eventId}</span>
              {!isOfOne && <span className="truncate deliveries__whose">{delivery.subscription}</span>}
              <span className="chips">
                <StateChip state={delivery.state} />
                {delivery.attempts > 1 && <span className="tag num">{delivery.attempts} tries</span>}
              </span>
              <span className="truncate muted deliveries__answer" title={delivery.error}>
                {answerInShort(delivery)}
              </span>
              <span className="events__when faint num deliveries__took">
                {delivery.durationMs === undefined ? '' : formatDuration(Math.max(0.1, delivery.durationMs))}
              </span>
              <span className="events__when faint">
                <Time
                  at={
                    isOpenDelivery(delivery.state)
                      ? delivery.dueAt
                      : (delivery.processedAt ?? delivery.createdAt)
                  }
                />
              </span>
            </Link>
          </li>
        ))}
      </ul>
      <LoadMore hasMore={hasMore} isBusy={isBusy} onClick={loadMore} />
    </div>
  )
}
