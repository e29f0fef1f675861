// Subscriptions: the endpoints that receive our events, and the health of each.

import { Plus, Send, Webhook } from 'lucide-react'
import { Link, useLocation, useSearch } from 'wouter'
import { api } from '../api.ts'
import { withSearch } from '../lib/links.ts'
import { useMore } from '../lib/use-more.ts'
import { useMe, useOverview, useSubscriptions } from '../queries.ts'
import type { Subscription } from '../types.ts'
import { Button, LinkButton, Tabs, Time } from '../ui/controls.tsx'
import { SearchInput } from '../ui/search.tsx'
import { SubscriptionForm } from '../ui/subscription-form.tsx'
import {
  Address,
  HealthBar,
  SubscriptionChip,
  SubscriptionSince,
  waitingInWords,
} from '../ui/subscription-parts.tsx'
import { Empty, ErrorState, LoadMore, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

type Status = Subscription['status']

const STATUSES: readonly (readonly [Status, string])[] = [
  ['active', 'Active'],
  ['failing', 'Failing'],
  ['paused', 'Paused'],
  ['disabled', 'Disabled'],
]

export default function Subscriptions() {
  const search = new URLSearchParams(useSearch())
  const [, go] = useLocation()
  const { data: me } = useMe()
  const { data: overview } = useOverview()
  const status = STATUSES.find(([id]) => id === search.get('status'))?.[0]
  const q = search.get('q') ?? ''
  const goTo = (parts: Readonly<Record<string, string | undefined>>) =>
    go(withSearch('/subscriptions', { status, q, ...parts }), { replace: true })
  const counts = overview?.subscriptions
  const isAdmin = me?.role === 'admin'
  return (
    <PageFrame
      title="Subscriptions"
      lead="Endpoints of customers and services that get our events: each event signed, tried again until it arrives, and kept when it does not."
      actions={
        <>
          <LinkButton to="/deliveries" icon={<Send size={14} aria-hidden />}>
            All deliveries
          </LinkButton>
          {isAdmin && (
            <Button
              variant="primary"
              icon={<Plus size={14} aria-hidden />}
              onClick={() => goTo({ new: 'true' })}
            >
              New subscription
            </Button>
          )}
        </>
      }
    >
      <Tabs
        label="Status"
        tabs={[
          { id: 'all', label: 'All' },
          ...STATUSES.map(([id, label]) => ({ id, label, count: counts?.[id] })),
        ]}
        selected={status ?? 'all'}
        onSelect={(next) => goTo({ status: next === 'all' ? undefined : next })}
      />
      <div className="toolbar" role="search">
        <SearchInput
          value={q}
          onChange={(next) => goTo({ q: next.trim() })}
          label="Search subscriptions"
          placeholder="Name, address, subject or owner"
        />
      </div>
      <SubscriptionList
        key={`${status} ${q}`}
        status={status}
        q={q}
        isAdmin={isAdmin}
        onNew={() => goTo({ new: 'true' })}
      />
      {search.get('new') === 'true' && isAdmin && <SubscriptionForm onClose={() => goTo({})} />}
    </PageFrame>
  )
}

interface ListProps {
  readonly status: Status | undefined
  readonly q: string
  readonly isAdmin: boolean
  readonly onNew: () => void
}

function SubscriptionList({ status, q, isAdmin, onNew }: ListProps) {
  const filter = { status, q: q === '' ? undefined : q, limit: 50 }
  const { data, error, refetch } = useSubscriptions(filter)
  const { items, hasMore, isBusy, loadMore } = useMore(
    data,
    ({ name }) => name,
    (cursor) => api.listSubscriptions({ ...filter, cursor }),
  )
  return (
    <div className="list">
      <div className="list__head subscriptions__grid" aria-hidden>
        <span>Name</span>
        <span>Endpoint</span>
        <span>Status</span>
        <span>Newest deliveries</span>
        <span className="events__when">Waiting</span>
        <span className="events__when">Last arrived</span>
      </div>
      {data === undefined &&
        (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
      {data?.items.length === 0 && !hasMore && (
        <Empty
          icon={<Webhook size={20} />}
          title={
            status !== undefined ? `None is ${status}` : q !== '' ? 'None fits' : 'Nobody gets our events yet'
          }
          {...(status === undefined &&
            q === '' &&
            isAdmin && {
              action: (
                <Button variant="primary" onClick={onNew}>
                  New subscription
                </Button>
              ),
            })}
        >
          {status === undefined && q === ''
            ? 'Give an address and the subjects that go there. Definitions of the kind Subscription do the same from a folder.'
            : undefined}
        </Empty>
      )}
      <ul aria-label="Subscriptions">
        {items.map((subscription) => (
          <Line key={subscription.name} subscription={subscription} />
        ))}
      </ul>
      <LoadMore hasMore={hasMore} isBusy={isBusy} onClick={loadMore} />
    </div>
  )
}

function Line({ subscription }: { readonly subscription: Subscription }) {
  const { name, url, on, health, managedBy } = subscription
  return (
    <li>
      <Link href={`/subscriptions/${name}`} className="row subscriptions__grid" data-row>
        <span className="definitions__name">
          <span className="subscriptions__name">
            <span className="row__title truncate">{name}</span>
            {managedBy === 'folder' && <span className="tag">folder</span>}
          </span>
          <span className="row__sub mono truncate" title={on.join(', ')}>
            {on.join(', ')}
          </span>
        </span>
        <Address url={url} />
        <span className="subscriptions__status">
          <SubscriptionChip subscription={subscription} />
          <SubscriptionSince subscription={subscription} />
        </span>
        <HealthBar health={health} />
        <span
          className={health.waiting > 0 ? 'events__when num' : 'events__when num faint subscriptions__none'}
        >
          {waitingInWords(health)} <span className="subscriptions__what">wait</span>
        </span>
        <span className="events__when faint subscriptions__last">
          {health.lastDeliveredAt === null ? 'never' : <Time at={health.lastDeliveredAt} />}
        </span>
      </Link>
    </li>
  )
}
