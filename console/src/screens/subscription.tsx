// One subscription: the health of its endpoint, its problem and what to do, its deliveries, its secret and its
// settings.

import { FlaskConical, History, SquarePen, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { api } from '../api.ts'
import { parseJsonText } from '../lib/json-text.ts'
import { withSearch } from '../lib/links.ts'
import {
  DELIVERY_STATES,
  ENABLE_WORDS,
  SUBSCRIPTION_SWITCHES,
  standingInWords,
} from '../lib/subscription-words.ts'
import { formatNumber } from '../lib/time.ts'
import { useDefinition, useDeliveries, useMe, useSubscription } from '../queries.ts'
import type { SubscriptionDetail } from '../types.ts'
import { ConfirmDialog, optionalReason } from '../ui/actions.tsx'
import { Yaml } from '../ui/code.tsx'
import { Button, Copy, CopyButton, Tabs, Time } from '../ui/controls.tsx'
import { SwitchButtons } from '../ui/definition-parts.tsx'
import { Big } from '../ui/figures.tsx'
import { JsonTree } from '../ui/json-tree.tsx'
import { ListTable } from '../ui/list-view.tsx'
import { HeldLanes } from '../ui/pace-panel.tsx'
import { RecoverDialog } from '../ui/recover-dialog.tsx'
import { SubscriptionForm } from '../ui/subscription-form.tsx'
import { DELIVERIES, Spark, SubscriptionChip, waitingInWords } from '../ui/subscription-parts.tsx'
import { SecretPanel } from '../ui/subscription-secret.tsx'
import { Empty, ErrorState, Note, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'
import { TestDialog } from '../ui/test-call.tsx'

const TABS = [
  { id: 'deliveries', label: 'Deliveries' },
  { id: 'secret', label: 'Secret' },
  { id: 'definition', label: 'Definition' },
] as const
const NEWEST = 20

export default function SubscriptionScreen({ name }: { readonly name: string }) {
  const { data, error, refetch } = useSubscription(name)
  const { data: me } = useMe()
  const search = new URLSearchParams(useSearch())
  const [, go] = useLocation()
  const crumbs = [['Subscriptions', '/subscriptions']] as const
  if (data === undefined) {
    return (
      <PageFrame title={name} crumbs={crumbs}>
        {error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </PageFrame>
    )
  }
  const isAdmin = me?.role === 'admin'
  const tab = TABS.find(({ id }) => id === search.get('tab'))?.id ?? 'deliveries'
  const goTo = (parts: Readonly<Record<string, string | undefined>>) =>
    go(withSearch(`/subscriptions/${name}`, parts), { replace: true })
  return (
    <PageFrame
      title={name}
      heading={
        <span className="title-line">
          {name} <SubscriptionChip subscription={data} />
          {data.managedBy === 'folder' && <span className="tag">folder</span>}
        </span>
      }
      crumbs={crumbs}
      lead={
        <>
          <Copy text={data.url} />
          {data.description !== null && <p>{data.description}</p>}
        </>
      }
      actions={me === undefined || me.role === 'viewer' ? null : <Actions subscription={data} />}
    >
      <Standing subscription={data} />
      <Health subscription={data} />
      <HeldLanes kind="subscription" name={name} />
      <div className="section">
        <Tabs
          label="Parts"
          tabs={TABS}
          selected={tab}
          onSelect={(next) => goTo({ tab: next === 'deliveries' ? undefined : next })}
        />
        {tab === 'deliveries' && (
          <Deliveries name={name} state={search.get('state') ?? ''} onState={(state) => goTo({ state })} />
        )}
        {tab === 'secret' && <SecretPanel subscription={data} isAdmin={isAdmin} />}
        {tab === 'definition' && <Said subscription={data} isAdmin={isAdmin} />}
      </div>
    </PageFrame>
  )
}

function Actions({ subscription }: { readonly subscription: SubscriptionDetail }) {
  const { data: me } = useMe()
  const [asking, setAsking] = useState<'test' | 'recover' | null>(null)
  const { name, status } = subscription
  const words =
    status === 'disabled' ? { ...SUBSCRIPTION_SWITCHES, resume: ENABLE_WORDS } : SUBSCRIPTION_SWITCHES
  const runs = {
    pause: api.pauseSubscription,
    resume: api.enableSubscription,
    disable: api.disableSubscription,
  }
  return (
    <>
      <Button icon={<FlaskConical size={14} aria-hidden />} onClick={() => setAsking('test')}>
        Send a test
      </Button>
      {/* A disabled subscription would skip it all again. */}
      {status !== 'disabled' && (
        <Button icon={<History size={14} aria-hidden />} onClick={() => setAsking('recover')}>
          Recover
        </Button>
      )}
      <SwitchButtons
        name={name}
        status={status}
        words={words}
        run={(verb, reason) => runs[verb]({ name, ...optionalReason(reason) })}
        isReasonNeeded={me?.environment === 'PROD'}
      />
      {asking === 'test' && <TestDialog name={name} onClose={() => setAsking(null)} />}
      {asking === 'recover' && <RecoverDialog subscription={subscription} onClose={() => setAsking(null)} />}
    </>
  )
}

const BEGAN = {
  active: 'Active',
  failing: 'The first failure was',
  paused: 'Paused',
  disabled: 'Disabled',
} as const

/** The problem, since when, and what to do about it. */
function Standing({ subscription }: { readonly subscription: SubscriptionDetail }) {
  const words = standingInWords(subscription)
  if (words === null) return null
  const { status, since, failingSince, reason, by, disableAt, name } = subscription
  const at = status === 'failing' ? failingSince : since
  return (
    <div className="spaced">
      <Note tone={words.tone}>
        <strong>{words.what}</strong>{' '}
        {at !== null && (
          <>
            {BEGAN[status]} <Time at={at} />
            {by === null ? '' : `, by ${by}`}.{' '}
          </>
        )}
        {status === 'failing' && disableAt !== null && (
          <>
            It disables itself <Time at={disableAt} /> if nothing arrives until then.{' '}
          </>
        )}
        {/* A user's note is prose; the rest is an endpoint's response. */}
        {reason !== null &&
          (by === null ? <span className="standing__reason mono">{reason}</span> : <>"{reason}"</>)}
        <span className="standing__next">{words.next}</span>
        {(status === 'failing' || status === 'disabled') && (
          <span className="standing__next">
            <Link href={`/dead-letters?consumer=subscription:${name}`}>Its dead letters</Link> ·{' '}
            <Link href={`/failures?state=open&consumer=subscription:${name}`}>its failures</Link>
          </span>
        )}
      </Note>
    </div>
  )
}

function Health({ subscription }: { readonly subscription: SubscriptionDetail }) {
  const { name, health, window: sending } = subscription
  const { data } = useDeliveries({ subscription: name, limit: NEWEST })
  const { recent } = health
  const isSending = subscription.status === 'active' || subscription.status === 'failing'
  return (
    <div className="numbers numbers--five">
      <Big
        label={`Last ${NEWEST} deliveries`}
        value={data === undefined ? null : <Spark deliveries={data.items} />}
      />
      <Big
        label="Newest 50"
        value={formatNumber(recent.delivered)}
        unit={recent.failed === 0 ? 'arrived' : `arrived, ${formatNumber(recent.failed)} failed`}
        tone={recent.failed > 0 && recent.delivered === 0 ? 'red' : undefined}
      />
      <Big
        label="Waiting"
        value={waitingInWords(health)}
        unit={health.waiting === 1 ? 'delivery' : 'deliveries'}
        href={`/deliveries?subscription=${name}&state=retrying`}
        tone={health.waiting > 0 && subscription.status !== 'active' ? 'amber' : undefined}
      />
      <Big
        label="Last arrived"
        value={health.lastDeliveredAt === null ? '–' : <Time at={health.lastDeliveredAt} />}
      />
      <Big
        label="Last failed"
        value={health.lastFailedAt === null ? '–' : <Time at={health.lastFailedAt} />}
      />
      {sending !== null && isSending && (
        <p className="numbers__foot muted num">
          {sending.pausedUntil === null ? (
            `At most ${sending.limit} in parallel; ${sending.inFlight} in progress now.`
          ) : (
            <>
              The endpoint gets a rest: the next call goes out <Time at={sending.pausedUntil} />.
            </>
          )}
        </p>
      )}
    </div>
  )
}

interface DeliveriesProps {
  readonly name: string
  readonly state: string
  readonly onState: (state: string) => void
}

function Deliveries({ name, state, onState }: DeliveriesProps) {
  const known = DELIVERY_STATES.find(([id]) => id === state)?.[0]
  return (
    <>
      <div className="toolbar">
        <select
          className="input input--small"
          aria-label="State"
          value={known ?? ''}
          onChange={(event) => onState(event.target.value)}
        >
          <option value="">All states</option>
          {DELIVERY_STATES.map(([id, label]) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
        </select>
      </div>
      <ListTable
        declaration={DELIVERIES}
        filter={{ subscription: name, state: known ?? '' }}
        empty={
          <Empty icon={null} title={known === undefined ? 'Nothing was sent yet' : `None is ${known}`}>
            {known === undefined ? 'Deliveries appear with the first event that it selects.' : undefined}
          </Empty>
        }
      />
    </>
  )
}

/** Its settings, and who may change them where. */
function Said({
  subscription,
  isAdmin,
}: {
  readonly subscription: SubscriptionDetail
  readonly isAdmin: boolean
}) {
  const isFolder = subscription.managedBy === 'folder'
  const { data: definition } = useDefinition('Subscription', subscription.name, isFolder)
  const [asking, setAsking] = useState<'edit' | 'delete' | null>(null)
  const [, go] = useLocation()
  const { name, createdAt, createdBy, updatedAt, updatedBy } = subscription
  return (
    <div className="event event--even">
      <section aria-labelledby="says">
        <div className="section__head">
          <h2 id="says">Definition</h2>
          {isFolder && definition !== undefined && <CopyButton text={definition.yaml} label="Copy as YAML" />}
          {!isFolder && isAdmin && (
            <span className="section__actions">
              <Button isSmall icon={<SquarePen size={13} aria-hidden />} onClick={() => setAsking('edit')}>
                Edit
              </Button>
              <Button
                isSmall
                variant="danger"
                icon={<Trash2 size={13} aria-hidden />}
                onClick={() => setAsking('delete')}
              >
                Delete
              </Button>
            </span>
          )}
        </div>
        {isFolder && (
          <div className="spaced">
            <Note>
              <strong>Read-only here: it belongs to the folder.</strong> Change its file and apply the folder.
              Testing, rotating, pausing, disabling and recovering work from here.
            </Note>
          </div>
        )}
        <div className="card">
          {isFolder && definition !== undefined ? (
            <Yaml text={definition.yaml} />
          ) : (
            <JsonTree node={parseJsonText(JSON.stringify(subscription.document))} isHiding={!isAdmin} />
          )}
        </div>
      </section>
      <section aria-labelledby="about">
        <div className="section__head">
          <h2 id="about">About</h2>
        </div>
        <dl className="facts card card--pad">
          <dt>Subjects</dt>
          <dd className="chips">
            {subscription.on.map((pattern) => (
              <span key={pattern} className="tag mono">
                {pattern}
              </span>
            ))}
          </dd>
          {Object.entries(subscription.metadata).map(([key, value]) => (
            <div key={key} className="facts__pair">
              <dt>{key}</dt>
              <dd>{value}</dd>
            </div>
          ))}
          {createdAt !== null && (
            <>
              <dt>Made</dt>
              <dd>
                <Time at={createdAt} />
                {createdBy !== null && ` by ${createdBy}`}
              </dd>
            </>
          )}
          {updatedAt !== null && updatedAt !== createdAt && (
            <>
              <dt>Changed</dt>
              <dd>
                <Time at={updatedAt} />
                {updatedBy !== null && ` by ${updatedBy}`}
              </dd>
            </>
          )}
        </dl>
      </section>
      {asking === 'edit' && <SubscriptionForm subscription={subscription} onClose={() => setAsking(null)} />}
      {asking === 'delete' && (
        <ConfirmDialog
          title={`Delete ${name}`}
          text="It receives no more events, its open deliveries are cancelled, and its generated secret is deleted. Finished deliveries stay in the history."
          action="Delete"
          run={() => api.deleteSubscription({ name })}
          done={`${name} is deleted`}
          failed="It could not be deleted"
          onDone={() => go('/subscriptions')}
          onClose={() => setAsking(null)}
        />
      )}
    </div>
  )
}
