// Credentials: which version is in use, and the results of their rotations. Never a value.

import { KeyRound, Lock } from 'lucide-react'
import { Link } from 'wouter'
import { authInWords } from '../lib/connection-words.ts'
import { useCredentials, useMe } from '../queries.ts'
import type { Credential } from '../types.ts'
import { Command, LinkButton, StateChip, Time } from '../ui/controls.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

export default function Credentials() {
  const { data, error, refetch } = useCredentials()
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
      <div className="list">
        <div className="list__head credentials__grid" aria-hidden>
          <span>Name</span>
          <span>Provider</span>
          <span>Status</span>
          <span>In use</span>
          <span className="events__when">Next rotation</span>
        </div>
        {data === undefined &&
          (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
        {data?.items.length === 0 && (
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
        )}
        <ul aria-label="Credentials">
          {data?.items.map((credential) => (
            <Line key={credential.name} credential={credential} />
          ))}
        </ul>
      </div>
    </PageFrame>
  )
}

function Line({ credential }: { readonly credential: Credential }) {
  const { name, provider, auth, status, version, fingerprint, rotation, connections } = credential
  return (
    <li>
      <Link href={`/credentials/${name}`} className="row credentials__grid" data-row>
        <span className="definitions__name">
          <span className="row__title truncate">{name}</span>
          <span className="row__sub truncate">
            {connections.length === 0 ? 'no connection uses it' : connections.join(', ')}
          </span>
        </span>
        <span className="truncate muted">
          {provider} · {authInWords(auth).label}
        </span>
        <span className="chips">
          <StateChip state={status} />
        </span>
        <span className="muted num">
          {version === null ? (
            <span className="faint">nothing yet</span>
          ) : (
            <>
              version {version} <span className="mono faint">{fingerprint}</span>
            </>
          )}
        </span>
        <span className="events__when faint credentials__when">
          {rotation.nextAt === null ? 'when asked' : <Time at={rotation.nextAt} />}
        </span>
      </Link>
    </li>
  )
}
