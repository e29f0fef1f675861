// Deliveries of all subscriptions: which event went where, and the result.

import { Send, Webhook } from 'lucide-react'
import { useId } from 'react'
import { useLocation, useSearch } from 'wouter'
import { withSearch } from '../lib/links.ts'
import { DELIVERY_STATES } from '../lib/subscription-words.ts'
import { useSubscriptions } from '../queries.ts'
import { LinkButton, Tabs } from '../ui/controls.tsx'
import { Condition } from '../ui/filters.tsx'
import { useDelayed } from '../ui/search.tsx'
import { DeliveryList } from '../ui/subscription-parts.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

export default function Deliveries() {
  const search = new URLSearchParams(useSearch())
  const [, go] = useLocation()
  const state = DELIVERY_STATES.find(([id]) => id === search.get('state'))?.[0]
  const subscription = search.get('subscription') ?? ''
  const eventId = search.get('eventId') ?? ''
  const change = (parts: Readonly<Record<string, string | undefined>>) =>
    go(withSearch('/deliveries', { state, subscription, eventId, ...parts }), { replace: true })
  const isNarrowed = state !== undefined || subscription !== '' || eventId !== ''
  return (
    <PageFrame
      title="Deliveries"
      lead="One for each event and each subscription that wanted it, newest first. Every try keeps what was answered."
      actions={
        <LinkButton to="/subscriptions" icon={<Webhook size={14} aria-hidden />}>
          Subscriptions
        </LinkButton>
      }
    >
      <Tabs
        label="State"
        tabs={[{ id: 'all', label: 'All' }, ...DELIVERY_STATES.map(([id, label]) => ({ id, label }))]}
        selected={state ?? 'all'}
        onSelect={(next) => change({ state: next === 'all' ? undefined : next })}
      />
      <div className="toolbar" role="search">
        <SubscriptionFilter value={subscription} onChange={(next) => change({ subscription: next })} />
        {eventId !== '' && (
          <Condition text={`Of ${eventId}`} onRemove={() => change({ eventId: undefined })} />
        )}
      </div>
      <DeliveryList
        key={`${state} ${subscription} ${eventId}`}
        filter={{
          state,
          subscription: subscription === '' ? undefined : subscription,
          eventId: eventId === '' ? undefined : eventId,
        }}
        isOfOne={subscription !== ''}
        empty={
          <Empty
            icon={<Send size={20} />}
            title={isNarrowed ? 'None fits' : 'Nothing was sent yet'}
            action={<LinkButton to="/subscriptions">See the subscriptions</LinkButton>}
          >
            {isNarrowed ? undefined : 'Deliveries come with the first event that a subscription wants.'}
          </Empty>
        }
      />
    </PageFrame>
  )
}

const SUGGESTED_MAX = 20

/** There may be thousands: the typed text finds some of them. */
function SubscriptionFilter({
  value,
  onChange,
}: {
  readonly value: string
  readonly onChange: (name: string) => void
}) {
  const listId = useId()
  const [text, setText] = useDelayed(value, (next) => onChange(next.trim()))
  const { data } = useSubscriptions({ limit: SUGGESTED_MAX, ...(value !== '' && { q: value }) })
  return (
    <>
      <input
        className="input input--small"
        type="search"
        aria-label="Subscription"
        placeholder="Subscription"
        list={listId}
        data-search
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <datalist id={listId}>
        {data?.items.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  )
}
