// Deliveries of all subscriptions: which event went where, and the result.

import { Send, Webhook } from 'lucide-react'
import { useId } from 'react'
import { DELIVERY_STATES } from '../lib/subscription-words.ts'
import { useSubscriptions } from '../queries.ts'
import { LinkButton } from '../ui/controls.tsx'
import { filtersOf } from '../ui/filters.tsx'
import { ListView } from '../ui/list-view.tsx'
import { useDelayed } from '../ui/search.tsx'
import { DELIVERIES } from '../ui/subscription-parts.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

const { tabs, own, condition } = filtersOf('listDeliveries')
const FILTERS = [
  tabs('state', 'State', DELIVERY_STATES, { all: 'All' }),
  own('subscription', SubscriptionFilter),
  condition('eventId', (id) => `Of ${id}`),
]

export default function Deliveries() {
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
      <ListView
        href="/deliveries"
        declaration={DELIVERIES}
        filters={FILTERS}
        empty={(_, isNarrowed) => (
          <Empty
            icon={<Send size={20} />}
            title={isNarrowed ? 'None fits' : 'Nothing was sent yet'}
            action={<LinkButton to="/subscriptions">See the subscriptions</LinkButton>}
          >
            {isNarrowed ? undefined : 'Deliveries come with the first event that a subscription wants.'}
          </Empty>
        )}
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
