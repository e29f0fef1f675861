// Routes: what is deployed, its health, and its owner.

import { Waypoints } from 'lucide-react'
import { definitionHref } from '../lib/links.ts'
import { formatNumber } from '../lib/time.ts'
import { useMe, usePaces, useStats } from '../queries.ts'
import type { Definition } from '../types.ts'
import { DefinitionActions, DefinitionName, FirstSteps } from '../ui/definition-parts.tsx'
import { type ListDeclaration, ListTable } from '../ui/list-view.tsx'
import { DeadChip, RouteState } from '../ui/pace-panel.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

const ROUTES: ListDeclaration<'listDefinitions'> = {
  list: 'listDefinitions',
  queryKey: 'definitions',
  isWhole: true,
  label: 'Routes',
  grid: 'definitions__grid',
  idOf: ({ name }) => name,
  hrefOf: ({ kind, name }) => definitionHref(kind, name),
  columns: [
    {
      head: 'Name',
      className: 'definitions__name',
      cell: (route) => <DefinitionName definition={route} />,
    },
    {
      head: 'Listens to',
      className: 'truncate mono muted definitions__subjects',
      title: ({ on = [] }) => on.join(', '),
      cell: ({ on = [] }) => on.join(', '),
    },
    { head: 'State', className: 'chips', cell: (route) => <State route={route} /> },
    { head: 'Belongs to', className: 'muted definitions__owner', cell: ({ managedBy }) => managedBy },
    { head: 'Last 15 min', className: 'events__when num', cell: ({ name }) => <Pace route={name} /> },
  ],
}

function State({ route: { name, status, action } }: { readonly route: Definition }) {
  const { data } = usePaces()
  const circuit = data?.items.find(({ route }) => route === name)?.circuit
  return (
    <>
      {status !== null && <RouteState status={status} circuit={circuit} />}
      <DeadChip route={name} />
      {action !== undefined && <span className="tag">{action}</span>}
    </>
  )
}

function Pace({ route }: { readonly route: string }) {
  const { data } = useStats(15)
  if (data === undefined) return null
  const found = data.consumers.find(({ consumer }) => consumer === route || consumer === `route:${route}`)
  const { perMinute = 0, dead = 0 } = found ?? {}
  return (
    <>
      {formatNumber(perMinute)} / min
      {dead > 0 && <span className="definitions__dead"> {formatNumber(dead)} dead</span>}
    </>
  )
}

const ALL = { kind: 'Route' }

export default function Routes() {
  const { data: me } = useMe()
  const isAdmin = me?.role === 'admin'
  return (
    <PageFrame
      title="Routes"
      lead="What happens with events: which ones, under which condition and key, and the action that follows."
      actions={<DefinitionActions isAdmin={isAdmin} />}
    >
      <ListTable
        declaration={ROUTES}
        filter={ALL}
        empty={
          <Empty
            icon={<Waypoints size={20} />}
            title="No routes yet"
            action={<FirstSteps isAdmin={isAdmin} />}
          >
            Write one here, or keep definitions in a folder and apply it. The catalog says which subjects
            there are.
          </Empty>
        }
      />
    </PageFrame>
  )
}
