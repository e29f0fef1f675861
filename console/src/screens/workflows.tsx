// Workflows: what is deployed, how many instances run, and which of them need attention.

import { Workflow as WorkflowIcon } from 'lucide-react'
import { formatNumber } from '../lib/time.ts'
import { useMe } from '../queries.ts'
import { Chip, StateChip } from '../ui/controls.tsx'
import { DefinitionActions, DefinitionName, FirstSteps } from '../ui/definition-parts.tsx'
import { type ListDeclaration, ListTable } from '../ui/list-view.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

const WORKFLOWS: ListDeclaration<'listWorkflows'> = {
  list: 'listWorkflows',
  queryKey: 'workflows',
  isWhole: true,
  label: 'Workflows',
  grid: 'workflows__grid',
  idOf: ({ name }) => name,
  hrefOf: ({ name }) => `/workflows/${name}`,
  columns: [
    {
      head: 'Name',
      className: 'definitions__name',
      cell: (workflow) => <DefinitionName definition={workflow} />,
    },
    { head: 'State', className: 'chips', cell: ({ status }) => <StateChip state={status} /> },
    {
      head: 'Versions in use',
      className: 'truncate muted workflows__versions',
      cell: ({ version, definition: current, versions }) => (
        <>
          <span className="tag num">{version}</span>
          {versions
            .filter(({ definition }) => definition !== current)
            .map(({ definition, version: old, count }) => (
              <span key={definition} className="faint">
                {old} <span className="num">({formatNumber(count)})</span>
              </span>
            ))}
        </>
      ),
    },
    {
      head: 'Active',
      className: 'events__when num',
      cell: ({ counts }) => (
        <>
          {formatNumber(counts.active)} <span className="workflows__what">active</span>
        </>
      ),
    },
    {
      head: 'Need somebody',
      className: 'events__when workflows__attention',
      cell: ({ counts }) =>
        counts.attention === 0 ? (
          <span className="faint workflows__none">none</span>
        ) : (
          <Chip tone="amber">{formatNumber(counts.attention)}</Chip>
        ),
    },
  ],
}

export default function Workflows() {
  const { data: me } = useMe()
  const isAdmin = me?.role === 'admin'
  return (
    <PageFrame
      title="Workflows"
      lead="Long-lived cases that events start and change: places, transitions between them, and the tokens of every instance."
      actions={<DefinitionActions isAdmin={isAdmin} />}
    >
      <ListTable
        declaration={WORKFLOWS}
        filter={{}}
        empty={
          <Empty
            icon={<WorkflowIcon size={20} />}
            title="No workflows yet"
            action={<FirstSteps isAdmin={isAdmin} />}
          >
            Write places and transitions as a definition of the kind Workflow. It is analysed before it runs:
            what can get stuck is told at once.
          </Empty>
        }
      />
    </PageFrame>
  )
}
