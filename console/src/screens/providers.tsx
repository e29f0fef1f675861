// Providers: the systems that connections may lead to.

import { FilePlus2, Store } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { authInWords, fitsProvider } from '../lib/connection-words.ts'
import { useMe, useProviders } from '../queries.ts'
import type { Provider } from '../types.ts'
import { LinkButton } from '../ui/controls.tsx'
import { SearchInput } from '../ui/search.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

export default function Providers() {
  const { data, error, refetch } = useProviders()
  const { data: me } = useMe()
  const [typed, setTyped] = useState('')
  const shown = data?.items.filter((provider) => fitsProvider(provider, typed))
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
      <div className="toolbar" role="search">
        <SearchInput
          value={typed}
          onChange={setTyped}
          label="Search providers"
          placeholder="Name, category or what it is"
        />
      </div>
      <div className="list">
        <div className="list__head providers__grid" aria-hidden>
          <span>Name</span>
          <span>What it is</span>
          <span>Sign-in</span>
          <span>Operations</span>
          <span className="events__when">Connections</span>
        </div>
        {data === undefined &&
          (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
        {shown?.length === 0 && (
          <Empty icon={<Store size={20} />} title="None fits">
            Any REST API can be described in a definition of the kind Provider.
          </Empty>
        )}
        <ul aria-label="Providers">
          {shown?.map((provider) => (
            <Line key={provider.name} provider={provider} />
          ))}
        </ul>
      </div>
    </PageFrame>
  )
}

function Line({ provider }: { readonly provider: Provider }) {
  const { name, title, category, description, auth, operations, connections, managedBy, deprecated } =
    provider
  return (
    <li>
      <Link href={`/providers/${name}`} className="row providers__grid" data-row>
        <span className="definitions__name">
          <span className="subscriptions__name">
            <span className="row__title truncate">{title}</span>
            {managedBy !== 'built-in' && <span className="tag">own</span>}
            {deprecated !== null && <span className="tag">deprecated</span>}
          </span>
          <span className="row__sub mono truncate">{name}</span>
        </span>
        <span className="muted truncate providers__about" title={description ?? undefined}>
          {description ?? category}
        </span>
        <span className="muted truncate">{auth.map((one) => authInWords(one).label).join(', ')}</span>
        <span className="muted num">{operations.length}</span>
        <span className={connections === 0 ? 'events__when num faint' : 'events__when num'}>
          {connections}
        </span>
      </Link>
    </li>
  )
}
