// Providers: the systems that connections may lead to.

import { FilePlus2, Store } from 'lucide-react'
import { authInWords, fitsProvider } from '../lib/connection-words.ts'
import { useMe } from '../queries.ts'
import { LinkButton } from '../ui/controls.tsx'
import { filtersOnPage } from '../ui/filters.tsx'
import { type ListDeclaration, ListView } from '../ui/list-view.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

const FILTERS = [filtersOnPage.search('q', 'Search providers', 'Name, category or what it is')]

const PROVIDERS: ListDeclaration<'listProviders'> = {
  list: 'listProviders',
  queryKey: 'providers',
  isWhole: true,
  fits: (provider, { q = '' }) => fitsProvider(provider, q),
  label: 'Providers',
  grid: 'providers__grid',
  idOf: ({ name }) => name,
  hrefOf: ({ name }) => `/providers/${name}`,
  columns: [
    {
      head: 'Name',
      className: 'definitions__name',
      cell: ({ name, title, managedBy, deprecated }) => (
        <>
          <span className="subscriptions__name">
            <span className="row__title truncate">{title}</span>
            {managedBy !== 'built-in' && <span className="tag">own</span>}
            {deprecated !== null && <span className="tag">deprecated</span>}
          </span>
          <span className="row__sub mono truncate">{name}</span>
        </>
      ),
    },
    {
      head: 'What it is',
      className: 'muted truncate providers__about',
      title: ({ description }) => description ?? undefined,
      cell: ({ description, category }) => description ?? category,
    },
    {
      head: 'Sign-in',
      className: 'muted truncate',
      cell: ({ auth }) => auth.map((one) => authInWords(one).label).join(', '),
    },
    { head: 'Operations', className: 'muted num', cell: ({ operations }) => operations.length },
    {
      head: 'Connections',
      className: 'events__when num',
      classOf: ({ connections }) => (connections === 0 ? 'faint' : ''),
      cell: ({ connections }) => connections,
    },
  ],
}

export default function Providers() {
  const { data: me } = useMe()
  return (
    <PageFrame
      title="Providers"
      lead="Systems that we know how to call: their operations, what makes each of them safe to repeat, their limits, and what their answers mean."
      actions={
        me?.role === 'admin' && (
          <LinkButton to="/definitions/edit" icon={<FilePlus2 size={14} aria-hidden />}>
            Describe one
          </LinkButton>
        )
      }
    >
      <ListView
        href="/providers"
        declaration={PROVIDERS}
        filters={FILTERS}
        empty={() => (
          <Empty icon={<Store size={20} />} title="None fits">
            Any REST API can be described in a definition of the kind Provider.
          </Empty>
        )}
      />
    </PageFrame>
  )
}
