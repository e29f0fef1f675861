// Shared by the pages of webhooks: the state and health of an endpoint, and deliveries in rows.

import { formatDuration } from '../lib/durations.ts'
import { addressOf, answerInShort, becauseInWords, isOpenDelivery } from '../lib/subscription-words.ts'
import { formatNumber } from '../lib/time.ts'
import type { Delivery, Subscription } from '../types.ts'
import { Chip, StateChip, Time } from './controls.tsx'
import type { ListDeclaration } from './list-view.tsx'

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

export const DELIVERIES: ListDeclaration<'listDeliveries'> = {
  list: 'listDeliveries',
  queryKey: 'deliveries',
  label: 'Deliveries',
  grid: 'deliveries__grid',
  idOf: ({ id }) => id,
  hrefOf: ({ id }) => `/deliveries/${id}`,
  columns: [
    {
      head: 'Event',
      className: 'truncate mono events__subject',
      cell: ({ subject, eventId }) => subject ?? eventId,
    },
    {
      head: 'Subscription',
      className: 'truncate deliveries__whose',
      unless: 'subscription',
      cell: ({ subscription }) => subscription,
    },
    {
      head: 'State',
      className: 'chips',
      cell: ({ state, attempts }) => (
        <>
          <StateChip state={state} />
          {attempts > 1 && <span className="tag num">{attempts} tries</span>}
        </>
      ),
    },
    {
      head: 'Last answer',
      className: 'truncate muted deliveries__answer',
      title: ({ error }) => error,
      cell: answerInShort,
    },
    {
      head: 'Took',
      className: 'events__when faint num deliveries__took',
      cell: ({ durationMs }) => (durationMs === undefined ? '' : formatDuration(Math.max(0.1, durationMs))),
    },
    {
      head: 'When',
      className: 'events__when faint',
      cell: ({ state, dueAt, processedAt, createdAt }) => (
        <Time at={isOpenDelivery(state) ? dueAt : (processedAt ?? createdAt)} />
      ),
    },
  ],
}
