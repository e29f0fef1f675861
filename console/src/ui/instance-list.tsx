// Instances of a workflow, filtered by state, place and whether they need attention.

import { ListFilter, Workflow as WorkflowIcon } from 'lucide-react'
import { useMemo } from 'react'
import { attentionInShort, markingInWords } from '../lib/workflow-words.ts'
import type { WorkflowDetail } from '../types.ts'
import { Chip, LinkButton, StateChip, Time } from './controls.tsx'
import { type Filter, FilterBar, type Filters, filtersOf } from './filters.tsx'
import { type ListDeclaration, ListTable } from './list-view.tsx'
import { Empty } from './surfaces.tsx'

const ATTENTIONS = ['step_failed', 'step_parked', 'undo_failed', 'stuck', 'lock_expired'] as const

const { choice, name, condition } = filtersOf('listInstances')

/** Its places and versions are those of the workflow. */
export function instanceFilters(workflow: WorkflowDetail | undefined): readonly Filter[] {
  const { net, versions } = workflow ?? { net: { places: [] }, versions: [] }
  return [
    choice('state', 'State', 'All states', [
      ['active', 'active'],
      ['completed', 'completed'],
      ['failed', 'failed'],
      ['cancelled', 'cancelled'],
    ]),
    name('place', 'Place', 'All places', () => net.places.map((place) => place.name)),
    choice('attention', 'Attention', 'Needing somebody or not', [
      ['any', 'Needs somebody'],
      ...ATTENTIONS.map((one) => [one, attentionInShort(one)] as const),
    ]),
    condition('definition', (hash) => {
      const version = versions.find(({ definition }) => definition === hash)?.version
      return `On version ${version ?? hash.slice(0, 12)}`
    }),
  ]
}

const instancesOf = (workflow: WorkflowDetail): ListDeclaration<'listInstances'> => ({
  list: 'listInstances',
  queryKey: 'instances',
  label: 'Instances',
  grid: 'instances__grid',
  idOf: ({ id }) => id,
  hrefOf: ({ id }) => `/instances/${id}`,
  columns: [
    { head: 'Instance', className: 'truncate mono instances__id', cell: ({ id }) => id },
    {
      head: 'Tokens in',
      className: 'truncate instances__places',
      cell: ({ marking }) => markingInWords(marking),
    },
    {
      head: 'State',
      className: 'chips',
      cell: ({ state, attention }) => (
        <>
          <StateChip state={state} />
          {attention !== null && <Chip tone="amber">{attentionInShort(attention)}</Chip>}
        </>
      ),
    },
    {
      head: 'Version',
      className: 'num',
      classOf: ({ definition }) => (definition === workflow.definition ? 'muted' : 'faint'),
      cell: ({ version, definition }) =>
        definition === workflow.definition ? version : `${version} (older)`,
    },
    { head: 'Changed', className: 'events__when faint', cell: ({ updatedAt }) => <Time at={updatedAt} /> },
  ],
})

interface InstanceListProps {
  readonly workflow: WorkflowDetail
  readonly filters: readonly Filter[]
  readonly filtered: Filters
  readonly canStart: boolean
}

export function InstanceList({ workflow, filters, filtered, canStart }: InstanceListProps) {
  const { values, change, isNarrowed } = filtered
  const declaration = useMemo(() => instancesOf(workflow), [workflow])
  return (
    <>
      <FilterBar filters={filters} values={values} onChange={change} />
      <ListTable
        declaration={declaration}
        filter={{ ...values, name: workflow.name }}
        empty={
          isNarrowed ? (
            <Empty
              icon={<ListFilter size={20} />}
              title="No instance is like this"
              action={<LinkButton to={`/workflows/${workflow.name}`}>Show all</LinkButton>}
            />
          ) : (
            <Empty
              icon={<WorkflowIcon size={20} />}
              title="No instances yet"
              action={
                canStart && (
                  <LinkButton to={`/workflows/${workflow.name}?start=true`} variant="primary">
                    Start one
                  </LinkButton>
                )
              }
            >
              Its triggers begin one; the tab Triggers says by what.
            </Empty>
          )
        }
      />
    </>
  )
}
