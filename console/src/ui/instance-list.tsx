// Instances of a workflow, filtered by state, place and whether they need attention.

import { ListFilter, Workflow as WorkflowIcon } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { attentionInShort, markingInWords } from '../lib/workflow-words.ts'
import { useInstances } from '../queries.ts'
import type { Args, Instance, WorkflowDetail } from '../types.ts'
import { Chip, LinkButton, StateChip, Time } from './controls.tsx'
import { Condition, MoreRows } from './filters.tsx'
import { Empty, ErrorState, SkeletonRows } from './surfaces.tsx'

const STATES = ['active', 'completed', 'failed', 'cancelled'] as const
const ATTENTIONS = ['step_failed', 'step_parked', 'undo_failed', 'stuck', 'lock_expired'] as const

/** As in the address. */
export interface InstanceFilter {
  readonly state: string | undefined
  readonly place: string | undefined
  readonly attention: string | undefined
  readonly definition: string | undefined
}

export function filterOf(search: URLSearchParams): InstanceFilter {
  const part = (name: string) => search.get(name) ?? undefined
  return {
    state: part('state'),
    place: part('place'),
    attention: part('attention'),
    definition: part('definition'),
  }
}

interface InstanceListProps {
  readonly workflow: WorkflowDetail
  readonly filter: InstanceFilter
  readonly onFilter: (part: Partial<InstanceFilter>) => void
  readonly canStart: boolean
}

export function InstanceList({ workflow, filter, onFilter, canStart }: InstanceListProps) {
  const [limit, setLimit] = useState(25)
  const { data, error, refetch } = useInstances({
    name: workflow.name,
    state: STATES.find((state) => state === filter.state),
    place: filter.place,
    attention: filter.attention as Args<'listInstances'>['attention'],
    definition: filter.definition,
    limit,
  })
  const isNarrow = Object.values(filter).some((part) => part !== undefined)
  const version = workflow.versions.find(({ definition }) => definition === filter.definition)
  return (
    <>
      <div className="toolbar">
        <Choice
          label="State"
          all="All states"
          value={filter.state}
          options={STATES.map((state) => [state, state])}
          onChange={(state) => onFilter({ state })}
        />
        <Choice
          label="Place"
          all="All places"
          value={filter.place}
          options={workflow.net.places.map(({ name }) => [name, name])}
          onChange={(place) => onFilter({ place })}
        />
        <Choice
          label="Attention"
          all="Needing somebody or not"
          value={filter.attention}
          options={[
            ['any', 'Needs somebody'],
            ...ATTENTIONS.map((one) => [one, attentionInShort(one)] as const),
          ]}
          onChange={(attention) => onFilter({ attention })}
        />
        {filter.definition !== undefined && (
          <Condition
            text={`On version ${version?.version ?? filter.definition.slice(0, 12)}`}
            onRemove={() => onFilter({ definition: undefined })}
          />
        )}
      </div>
      <div className="list">
        <div className="list__head instances__grid" aria-hidden>
          <span>Instance</span>
          <span>Tokens in</span>
          <span>State</span>
          <span>Version</span>
          <span className="events__when">Changed</span>
        </div>
        {data === undefined &&
          (error === null ? (
            <SkeletonRows count={4} />
          ) : (
            <ErrorState error={error} onRetry={() => void refetch()} />
          ))}
        {data?.items.length === 0 &&
          (isNarrow ? (
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
                canStart ? (
                  <LinkButton to={`/workflows/${workflow.name}?start=true`} variant="primary">
                    Start one
                  </LinkButton>
                ) : undefined
              }
            >
              Its triggers begin one; the tab Triggers says by what.
            </Empty>
          ))}
        <ul aria-label="Instances">
          {data?.items.map((instance) => (
            <Line key={instance.id} instance={instance} current={workflow.definition} />
          ))}
        </ul>
        <MoreRows hasMore={data != null && data.nextCursor !== null} limit={limit} onMore={setLimit} />
      </div>
    </>
  )
}

function Line({ instance, current }: { readonly instance: Instance; readonly current: string }) {
  const { id, marking, state, attention, version, definition, updatedAt } = instance
  return (
    <li>
      <Link href={`/instances/${id}`} className="row instances__grid" data-row>
        <span className="truncate mono instances__id">{id}</span>
        <span className="truncate instances__places">{markingInWords(marking)}</span>
        <span className="chips">
          <StateChip state={state} />
          {attention !== null && <Chip tone="amber">{attentionInShort(attention)}</Chip>}
        </span>
        <span className={definition === current ? 'muted num' : 'faint num'}>
          {version}
          {definition !== current && ' (older)'}
        </span>
        <span className="events__when faint">
          <Time at={updatedAt} />
        </span>
      </Link>
    </li>
  )
}

function Choice({
  label,
  all,
  value,
  options,
  onChange,
}: {
  readonly label: string
  readonly all: string
  readonly value: string | undefined
  readonly options: readonly (readonly [value: string, text: string])[]
  readonly onChange: (value: string | undefined) => void
}) {
  return (
    <select
      className="input input--small"
      aria-label={label}
      value={value ?? ''}
      onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value)}
    >
      <option value="">{all}</option>
      {options.map(([id, text]) => (
        <option key={id} value={id}>
          {text}
        </option>
      ))}
    </select>
  )
}
