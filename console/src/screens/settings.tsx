// Settings: who you are, keys, secrets, tenants.

import { useQueryClient } from '@tanstack/react-query'
import { LogOut } from 'lucide-react'
import { useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { api } from '../api.ts'
import { useMe } from '../queries.ts'
import type { Me } from '../types.ts'
import { Button, Tabs } from '../ui/controls.tsx'
import { PageFrame, SkeletonRows } from '../ui/surfaces.tsx'
import { Keys } from './settings-keys.tsx'
import { Secrets } from './settings-secrets.tsx'
import { Tenants } from './settings-tenants.tsx'

export default function Settings() {
  const { data: me } = useMe()
  const [, go] = useLocation()
  const wanted = new URLSearchParams(useSearch()).get('tab') ?? 'you'
  if (me === undefined) {
    return (
      <PageFrame title="Settings">
        <SkeletonRows />
      </PageFrame>
    )
  }
  const tabs = [
    { id: 'you', label: 'You' },
    ...(me.role === 'admin'
      ? [
          { id: 'keys', label: 'Keys' },
          { id: 'secrets', label: 'Secrets' },
        ]
      : []),
    ...(me.isNodeAdmin ? [{ id: 'tenants', label: 'Tenants' }] : []),
  ]
  const tab = tabs.some(({ id }) => id === wanted) ? wanted : 'you'
  return (
    <PageFrame title="Settings">
      <Tabs
        label="Settings"
        tabs={tabs}
        selected={tab}
        onSelect={(id) => go(id === 'you' ? '/settings' : `/settings?tab=${id}`, { replace: true })}
      />
      {tab === 'you' && <You me={me} />}
      {tab === 'keys' && <Keys me={me} />}
      {tab === 'secrets' && <Secrets />}
      {tab === 'tenants' && <Tenants />}
    </PageFrame>
  )
}

function You({ me }: { readonly me: Me }) {
  const client = useQueryClient()
  const [isBusy, setIsBusy] = useState(false)
  const [, go] = useLocation()
  const signOut = async () => {
    setIsBusy(true)
    try {
      await api.signOut()
    } finally {
      client.clear()
      go('/sign-in')
      await client.resetQueries({ queryKey: ['me'] })
    }
  }
  return (
    <div className="card card--pad settings__you">
      <dl className="facts">
        <dt>Signed in as</dt>
        <dd>{me.actor}</dd>
        <dt>Role</dt>
        <dd>
          {me.role}
          {me.isNodeAdmin && <span className="faint"> and admin of the node</span>}
        </dd>
        <dt>Tenant</dt>
        <dd>{me.tenant}</dd>
        <dt>Node</dt>
        <dd>
          <span className="mono">{me.node}</span> <span className="faint">{me.environment}</span>
        </dd>
        <dt>Version</dt>
        <dd className="num">{me.version}</dd>
      </dl>
      <div>
        <Button icon={<LogOut size={14} aria-hidden />} isBusy={isBusy} onClick={() => void signOut()}>
          Sign out
        </Button>
      </div>
    </div>
  )
}
