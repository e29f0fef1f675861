// Runs of all connections: which operation went where, and the result.

import { PlugZap, SquareTerminal } from 'lucide-react'
import { useLocation, useSearch } from 'wouter'
import { RUN_STATES, viaInWords } from '../lib/connection-words.ts'
import { withSearch } from '../lib/links.ts'
import { useConnections } from '../queries.ts'
import { RunList } from '../ui/connection-parts.tsx'
import { LinkButton, Tabs } from '../ui/controls.tsx'
import { Condition } from '../ui/filters.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

const PURPOSES = ['work', 'test', 'verification'] as const
const VIAS = ['connection', 'http', 'upsert', 'function', 'agent', 'delivery'] as const

export default function Runs() {
  const search = new URLSearchParams(useSearch())
  const [, go] = useLocation()
  const { data: connections } = useConnections()
  const state = RUN_STATES.find(([id]) => id === search.get('state'))?.[0]
  const purpose = PURPOSES.find((id) => id === search.get('purpose'))
  const via = VIAS.find((id) => id === search.get('via'))
  const connection = search.get('connection') ?? ''
  const workId = search.get('workId') ?? ''
  const change = (parts: Readonly<Record<string, string | undefined>>) =>
    go(withSearch('/runs', { state, purpose, via, connection, workId, ...parts }), { replace: true })
  const names = connections?.items.map(({ name }) => name) ?? []
  const isNarrowed =
    [state, purpose, via].some((one) => one !== undefined) || connection !== '' || workId !== ''
  return (
    <PageFrame
      title="Runs"
      lead="Every outbound operation, newest first: on a connection, by plain HTTP, upserts, functions, agents and deliveries. Attempts on a connection keep what was sent and answered, without secrets."
      actions={
        <LinkButton to="/connections" icon={<PlugZap size={14} aria-hidden />}>
          Connections
        </LinkButton>
      }
    >
      <Tabs
        label="State"
        tabs={[{ id: 'all', label: 'All' }, ...RUN_STATES.map(([id, label]) => ({ id, label }))]}
        selected={state ?? 'all'}
        onSelect={(next) => change({ state: next === 'all' ? undefined : next })}
      />
      <div className="toolbar" role="search">
        <select
          className="input input--small"
          aria-label="Connection"
          value={connection}
          onChange={(event) => change({ connection: event.target.value })}
        >
          <option value="">All connections</option>
          {(connection === '' || names.includes(connection) ? names : [connection, ...names]).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <select
          className="input input--small"
          aria-label="Purpose"
          value={purpose ?? ''}
          onChange={(event) => change({ purpose: event.target.value })}
        >
          <option value="">For anything</option>
          <option value="work">Work</option>
          <option value="test">Tests and probes</option>
          <option value="verification">Trials of new secrets</option>
        </select>
        <select
          className="input input--small"
          aria-label="Via"
          value={via ?? ''}
          onChange={(event) => change({ via: event.target.value })}
        >
          <option value="">Via anything</option>
          {VIAS.map((one) => (
            <option key={one} value={one}>
              {viaInWords(one)}
            </option>
          ))}
        </select>
        {workId !== '' && <Condition text={`Of ${workId}`} onRemove={() => change({ workId: undefined })} />}
      </div>
      <RunList
        key={`${state} ${purpose} ${via} ${connection} ${workId}`}
        filter={{
          state,
          purpose,
          via,
          connection: connection === '' ? undefined : connection,
          workId: workId === '' ? undefined : workId,
        }}
        isOfOne={connection !== ''}
        empty={
          <Empty
            icon={<SquareTerminal size={20} />}
            title={isNarrowed ? 'None fits' : 'Nothing ran yet'}
            action={<LinkButton to="/connections">See the connections</LinkButton>}
          >
            {isNarrowed ? undefined : 'Runs come with the first operation that a route or a workflow calls.'}
          </Empty>
        }
      />
    </PageFrame>
  )
}
