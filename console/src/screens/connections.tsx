// Connections: the accounts at other systems, and the health of each.

import { PlugZap, Plus, SquareTerminal } from 'lucide-react'
import { useOpened } from '../lib/use-opened.ts'
import { HEALTH_MS, useConnections, useMe } from '../queries.ts'
import type { Connection } from '../types.ts'
import { CircuitChip, HealthChip, probeInWords } from '../ui/connection-parts.tsx'
import { ConnectionWizard } from '../ui/connection-wizard.tsx'
import { Button, LinkButton, StateChip, Time } from '../ui/controls.tsx'
import { filtersOnPage } from '../ui/filters.tsx'
import { type ListDeclaration, ListView } from '../ui/list-view.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

const STATUSES: readonly (readonly [Connection['status'], string])[] = [
  ['active', 'Active'],
  ['degraded', 'Degraded'],
  ['pending', 'Pending'],
  ['retired', 'Retired'],
]

const FILTERS = [
  filtersOnPage.tabs('status', 'Status', STATUSES, {
    all: 'All',
    useCounts() {
      const { data } = useConnections()
      const countOf = (wanted: string) => data?.items.filter(({ status }) => status === wanted).length
      return Object.fromEntries(STATUSES.map(([status]) => [status, countOf(status) || undefined]))
    },
  }),
]

const CONNECTIONS: ListDeclaration<'listConnections'> = {
  list: 'listConnections',
  queryKey: 'connections',
  refetchMs: HEALTH_MS,
  isWhole: true,
  fits: (connection, { status = '' }) => status === '' || connection.status === status,
  label: 'Connections',
  grid: 'connections__grid',
  idOf: ({ name }) => name,
  hrefOf: ({ name }) => `/connections/${name}`,
  columns: [
    {
      head: 'Name',
      className: 'definitions__name',
      cell: ({ name, description, managedBy }) => (
        <>
          <span className="subscriptions__name">
            <span className="row__title truncate">{name}</span>
            {managedBy === 'folder' && <span className="tag">folder</span>}
          </span>
          {description !== null && <span className="row__sub definitions__about">{description}</span>}
        </>
      ),
    },
    { head: 'Provider', className: 'truncate muted', cell: ({ provider }) => provider },
    { head: 'Status', className: 'chips', cell: ({ status }) => <StateChip state={status} /> },
    { head: 'Circuit', className: 'chips', cell: (connection) => <CircuitChip connection={connection} /> },
    { head: 'Health', className: 'chips', cell: (connection) => <HealthChip connection={connection} /> },
    {
      head: 'Last probe',
      className: 'events__when faint connections__when',
      title: ({ lastProbe }) => (lastProbe === null ? undefined : probeInWords(lastProbe)),
      cell: ({ lastProbe }) => (lastProbe === null ? 'never' : <Time at={lastProbe.at} />),
    },
  ],
}

export default function Connections() {
  const { data: me } = useMe()
  const [isNew, setNew] = useOpened('new')
  const isAdmin = me?.role === 'admin'
  const add = (
    <Button variant="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setNew(true)}>
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
      <ListView
        href="/connections"
        declaration={CONNECTIONS}
        filters={FILTERS}
        empty={({ status = '' }, isNarrowed) =>
          isNarrowed ? (
            <Empty icon={<PlugZap size={20} />} title={`None is ${status}`} />
          ) : (
            <Empty icon={<PlugZap size={20} />} title="No connections yet" action={isAdmin && add}>
              Choose a provider, name the secret that opens the account, and test it. Definitions of the kind
              Connection do the same from a folder.
            </Empty>
          )
        }
      />
      {isNew && isAdmin && <ConnectionWizard onClose={() => setNew(false)} />}
    </PageFrame>
  )
}
