// Subscriptions: the endpoints that receive our events, and the health of each.

import { Plus, Send, Webhook } from 'lucide-react'
import { useOpened } from '../lib/use-opened.ts'
import { HEALTH_MS, useMe, useOverview } from '../queries.ts'
import { Button, LinkButton, Time } from '../ui/controls.tsx'
import { filtersOf } from '../ui/filters.tsx'
import { type ListDeclaration, ListView } from '../ui/list-view.tsx'
import { SubscriptionForm } from '../ui/subscription-form.tsx'
import {
  Address,
  HealthBar,
  SubscriptionChip,
  SubscriptionSince,
  waitingInWords,
} from '../ui/subscription-parts.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

const { tabs, search } = filtersOf('listSubscriptions')
const FILTERS = [
  tabs(
    'status',
    'Status',
    [
      ['active', 'Active'],
      ['failing', 'Failing'],
      ['paused', 'Paused'],
      ['disabled', 'Disabled'],
    ],
    { all: 'All', useCounts: () => useOverview().data?.subscriptions ?? {} },
  ),
  search('q', 'Search subscriptions', 'Name, address, subject or owner'),
]

const SUBSCRIPTIONS: ListDeclaration<'listSubscriptions'> = {
  list: 'listSubscriptions',
  queryKey: 'subscriptions',
  refetchMs: HEALTH_MS,
  label: 'Subscriptions',
  grid: 'subscriptions__grid',
  idOf: ({ name }) => name,
  hrefOf: ({ name }) => `/subscriptions/${name}`,
  columns: [
    {
      head: 'Name',
      className: 'definitions__name',
      cell: ({ name, managedBy, on }) => (
        <>
          <span className="subscriptions__name">
            <span className="row__title truncate">{name}</span>
            {managedBy === 'folder' && <span className="tag">folder</span>}
          </span>
          <span className="row__sub mono truncate" title={on.join(', ')}>
            {on.join(', ')}
          </span>
        </>
      ),
    },
    { head: 'Endpoint', isElement: true, cell: ({ url }) => <Address url={url} /> },
    {
      head: 'Status',
      className: 'subscriptions__status',
      cell: (subscription) => (
        <>
          <SubscriptionChip subscription={subscription} />
          <SubscriptionSince subscription={subscription} />
        </>
      ),
    },
    { head: 'Newest deliveries', isElement: true, cell: ({ health }) => <HealthBar health={health} /> },
    {
      head: 'Waiting',
      className: 'events__when num',
      classOf: ({ health }) => (health.waiting > 0 ? '' : 'faint subscriptions__none'),
      cell: ({ health }) => (
        <>
          {waitingInWords(health)} <span className="subscriptions__what">wait</span>
        </>
      ),
    },
    {
      head: 'Last arrived',
      className: 'events__when faint subscriptions__last',
      cell: ({ health: { lastDeliveredAt } }) =>
        lastDeliveredAt === null ? 'never' : <Time at={lastDeliveredAt} />,
    },
  ],
}

export default function Subscriptions() {
  const { data: me } = useMe()
  const [isNew, setNew] = useOpened('new')
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
            <Button variant="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setNew(true)}>
              New subscription
            </Button>
          )}
        </>
      }
    >
      <ListView
        href="/subscriptions"
        declaration={SUBSCRIPTIONS}
        filters={FILTERS}
        empty={({ status = '' }, isNarrowed) =>
          isNarrowed ? (
            <Empty icon={<Webhook size={20} />} title={status === '' ? 'None fits' : `None is ${status}`} />
          ) : (
            <Empty
              icon={<Webhook size={20} />}
              title="Nobody gets our events yet"
              action={
                isAdmin && (
                  <Button variant="primary" onClick={() => setNew(true)}>
                    New subscription
                  </Button>
                )
              }
            >
              Give an address and the subjects that go there. Definitions of the kind Subscription do the same
              from a folder.
            </Empty>
          )
        }
      />
      {isNew && isAdmin && <SubscriptionForm onClose={() => setNew(false)} />}
    </PageFrame>
  )
}
