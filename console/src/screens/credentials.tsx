// Credentials: which version is in use, and the results of their rotations. Never a value.

import { KeyRound, Lock } from 'lucide-react'
import { authInWords } from '../lib/connection-words.ts'
import { HEALTH_MS, useMe } from '../queries.ts'
import { Command, LinkButton, StateChip, Time } from '../ui/controls.tsx'
import { type ListDeclaration, ListTable } from '../ui/list-view.tsx'
import { Empty, PageFrame } from '../ui/surfaces.tsx'

const CREDENTIALS: ListDeclaration<'listCredentials'> = {
  list: 'listCredentials',
  queryKey: 'credentials',
  refetchMs: HEALTH_MS,
  isWhole: true,
  label: 'Credentials',
  grid: 'credentials__grid',
  idOf: ({ name }) => name,
  hrefOf: ({ name }) => `/credentials/${name}`,
  columns: [
    {
      head: 'Name',
      className: 'definitions__name',
      cell: ({ name, connections }) => (
        <>
          <span className="row__title truncate">{name}</span>
          <span className="row__sub truncate">
            {connections.length === 0 ? 'no connection uses it' : connections.join(', ')}
          </span>
        </>
      ),
    },
    {
      head: 'Provider',
      className: 'truncate muted',
      cell: ({ provider, auth }) => `${provider} · ${authInWords(auth).label}`,
    },
    { head: 'Status', className: 'chips', cell: ({ status }) => <StateChip state={status} /> },
    {
      head: 'In use',
      className: 'muted num',
      cell: ({ version, fingerprint }) =>
        version === null ? (
          <span className="faint">nothing yet</span>
        ) : (
          <>
            version {version} <span className="mono faint">{fingerprint}</span>
          </>
        ),
    },
    {
      head: 'Next rotation',
      className: 'events__when faint credentials__when',
      cell: ({ rotation }) => (rotation.nextAt === null ? 'when asked' : <Time at={rotation.nextAt} />),
    },
  ],
}

export default function Credentials() {
  const { data: me } = useMe()
  return (
    <PageFrame
      title="Credentials"
      lead="What opens the accounts. Values lie in the vault alone; here is which version is in use, and when the next one comes."
      actions={
        me?.role === 'admin' && (
          <LinkButton to="/settings?tab=secrets" icon={<Lock size={14} aria-hidden />}>
            Secrets
          </LinkButton>
        )
      }
    >
      <ListTable
        declaration={CREDENTIALS}
        filter={{}}
        empty={
          <Empty
            icon={<KeyRound size={20} />}
            title="No credentials yet"
            action={
              me?.role === 'admin' ? (
                <LinkButton to="/connections?new=true" variant="primary">
                  New connection
                </LinkButton>
              ) : (
                <Command text="npx millrace credentials" />
              )
            }
          >
            One is made with the first connection that needs it. Definitions of the kind Credential do the
            same from a folder.
          </Empty>
        }
      />
    </PageFrame>
  )
}
