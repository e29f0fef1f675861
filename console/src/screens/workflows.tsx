// Workflows: what is deployed, how many instances run, and which of them need attention.

import { Workflow as WorkflowIcon } from 'lucide-react'
import { Link } from 'wouter'
import { formatNumber } from '../lib/time.ts'
import { useMe, useWorkflows } from '../queries.ts'
import type { Workflow } from '../types.ts'
import { Chip, StateChip } from '../ui/controls.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'
import { DefinitionActions, FirstSteps } from './routes.tsx'

export default function Workflows() {
  const { data, error, refetch } = useWorkflows()
  const { data: me } = useMe()
  const isAdmin = me?.role === 'admin'
  return (
    <PageFrame
      title="Workflows"
      lead="Long-lived cases that events start and change: places, transitions between them, and the tokens of every instance."
      actions={<DefinitionActions isAdmin={isAdmin} />}
    >
      <div className="list">
        <div className="list__head workflows__grid" aria-hidden>
          <span>Name</span>
          <span>State</span>
          <span>Versions in use</span>
          <span className="events__when">Active</span>
          <span className="events__when">Need somebody</span>
        </div>
        {data === undefined &&
          (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
        {data?.items.length === 0 && (
          <Empty
            icon={<WorkflowIcon size={20} />}
            title="No workflows yet"
            action={<FirstSteps isAdmin={isAdmin} />}
          >
            Write places and transitions as a definition of the kind Workflow. It is analysed before it runs:
            what can get stuck is told at once.
          </Empty>
        )}
        <ul aria-label="Workflows">
          {data?.items.map((workflow) => (
            <Line key={workflow.name} workflow={workflow} />
          ))}
        </ul>
      </div>
    </PageFrame>
  )
}

function Line({ workflow }: { readonly workflow: Workflow }) {
  const { name, version, status, description, counts, versions } = workflow
  const older = versions.filter(({ definition }) => definition !== workflow.definition)
  return (
    <li>
      <Link href={`/workflows/${name}`} className="row workflows__grid" data-row>
        <span className="definitions__name">
          <span className="row__title truncate">{name}</span>
          {description !== null && <span className="row__sub definitions__about">{description}</span>}
        </span>
        <span className="chips">
          <StateChip state={status} />
        </span>
        <span className="truncate muted workflows__versions">
          <span className="tag num">{version}</span>
          {older.map(({ definition, version: old, count }) => (
            <span key={definition} className="faint">
              {old} <span className="num">({formatNumber(count)})</span>
            </span>
          ))}
        </span>
        <span className="events__when num">
          {formatNumber(counts.active)} <span className="workflows__what">active</span>
        </span>
        <span className="events__when workflows__attention">
          {counts.attention === 0 ? (
            <span className="faint workflows__none">none</span>
          ) : (
            <Chip tone="amber">{formatNumber(counts.attention)}</Chip>
          )}
        </span>
      </Link>
    </li>
  )
}
