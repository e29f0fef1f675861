// Runs of all connections: which operation went where, and the result.

import { PlugZap, SquareTerminal } from 'lucide-react'
import { RUN_STATES, viaInWords } from '../lib/connection-words.ts'
import { useConnections } from '../queries.ts'
import { RUNS } from '../ui/connection-parts.tsx'
import { LinkButton } from '../ui/controls.tsx'
import { filtersOf } from '../ui/filters.tsx'
import { ListView } from '../ui/list-view.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

const { tabs, choice, name, condition } = filtersOf('listRuns')
const VIAS = ['connection', 'http', 'upsert', 'function', 'agent', 'delivery'] as const
const FILTERS = [
  tabs('state', 'State', RUN_STATES, { all: 'All' }),
  name('connection', 'Connection', 'All connections', () => {
    const { data } = useConnections()
    return data?.items.map((one) => one.name) ?? []
  }),
  choice('purpose', 'Purpose', 'For anything', [
    ['work', 'Work'],
    ['test', 'Tests and probes'],
    ['verification', 'Trials of new secrets'],
  ]),
  choice(
    'via',
    'Via',
    'Via anything',
    VIAS.map((via) => [via, viaInWords(via)] as const),
  ),
  condition('workId', (id) => `Of ${id}`),
]

export default function Runs() {
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
      <ListView
        href="/runs"
        declaration={RUNS}
        filters={FILTERS}
        empty={(_, isNarrowed) => (
          <Empty
            icon={<SquareTerminal size={20} />}
            title={isNarrowed ? 'None fits' : 'Nothing ran yet'}
            action={<LinkButton to="/connections">See the connections</LinkButton>}
          >
            {isNarrowed ? undefined : 'Runs come with the first operation that a route or a workflow calls.'}
          </Empty>
        )}
      />
    </PageFrame>
  )
}
