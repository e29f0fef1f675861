// Connections: the accounts at other systems, and the health of each.

import { PlugZap, Plus, SquareTerminal } from 'lucide-react'
import { Link, useLocation, useSearch } from 'wouter'
import { withSearch } from '../lib/links.ts'
import { useConnections, useMe } from '../queries.ts'
import type { Connection } from '../types.ts'
import { CircuitChip, HealthChip, probeInWords } from '../ui/connection-parts.tsx'
import { ConnectionWizard } from '../ui/connection-wizard.tsx'
import { Button, LinkButton, StateChip, Tabs, Time } from '../ui/controls.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

const STATUSES: readonly (readonly [Connection['status'], string])[] = [
  ['active', 'Active'],
  ['degraded', 'Degraded'],
  ['pending', 'Pending'],
  ['retired', 'Retired'],
]

export default function Connections() {
  const search = new URLSearchParams(useSearch())
  const [, go] = useLocation()
  const { data, error, refetch } = useConnections()
  const { data: me } = useMe()
  const isAdmin = me?.role === 'admin'
  const status = STATUSES.find(([id]) => id === search.get('status'))?.[0]
  const goTo = (parts: Readonly<Record<string, string | undefined>>) =>
    go(withSearch('/connections', { status, ...parts }), { replace: true })
  const countOf = (wanted: Connection['status']) => {
    const count = data?.items.filter((one) => one.status === wanted).length ?? 0
    return count === 0 ? undefined : count
  }
  const shown = data?.items.filter((one) => status === undefined || one.status === status)
  const add = (
    <Button variant="primary" icon={<Plus size={14} aria-hidden />} onClick={() => goTo({ new: 'true' })}>
      New connection
    </Button>
  )
  return (
    <PageFrame
      title="Connections"
      lead="Accounts at other systems. Every call goes through one: it knows the secret, the limits, the health, and what each kind of failure means."
      actions={
        <>
          <LinkButton to="/runs" icon={<SquareTerminal size={14} aria-hidden />}>
            All runs
          </LinkButton>
          {isAdmin && add}
        </>
      }
    >
      <Tabs
        label="Status"
        tabs={[
          { id: 'all', label: 'All' },
          ...STATUSES.map(([id, label]) => ({ id, label, count: countOf(id) })),
        ]}
        selected={status ?? 'all'}
        onSelect={(next) => goTo({ status: next === 'all' ? undefined : next })}
      />
      <div className="list">
        <div className="list__head connections__grid" aria-hidden>
          <span>Name</span>
          <span>Provider</span>
          <span>Status</span>
          <span>Circuit</span>
          <span>Health</span>
          <span className="events__when">Last probe</span>
        </div>
        {data === undefined &&
          (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
        {shown?.length === 0 && (
          <Empty
            icon={<PlugZap size={20} />}
            title={status === undefined ? 'No connections yet' : `None is ${status}`}
            {...(status === undefined && isAdmin && { action: add })}
          >
            {status === undefined
              ? 'Choose a provider, name the secret that opens the account, and test it. Definitions of the kind Connection do the same from a folder.'
              : undefined}
          </Empty>
        )}
        <ul aria-label="Connections">
          {shown?.map((connection) => (
            <Line key={connection.name} connection={connection} />
          ))}
        </ul>
      </div>
      {search.get('new') === 'true' && isAdmin && <ConnectionWizard onClose={() => goTo({})} />}
    </PageFrame>
  )
}

function Line({ connection }: { readonly connection: Connection }) {
  const { name, description, provider, status, lastProbe, managedBy } = connection
  return (
    <li>
      <Link href={`/connections/${name}`} className="row connections__grid" data-row>
        <span className="definitions__name">
          <span className="subscriptions__name">
            <span className="row__title truncate">{name}</span>
            {managedBy === 'folder' && <span className="tag">folder</span>}
          </span>
          {description !== null && <span className="row__sub definitions__about">{description}</span>}
        </span>
        <span className="truncate muted">{provider}</span>
        <span className="chips">
          <StateChip state={status} />
        </span>
        <span className="chips">
          <CircuitChip connection={connection} />
        </span>
        <span className="chips">
          <HealthChip connection={connection} />
        </span>
        <span className="events__when faint connections__when">
          {lastProbe === null ? (
            'never'
          ) : (
            <span title={probeInWords(lastProbe)}>
              <Time at={lastProbe.at} />
            </span>
          )}
        </span>
      </Link>
    </li>
  )
}
