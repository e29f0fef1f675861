// One credential: its versions by their fingerprints, its rotations, and the ways to a new value. Never a value.

import { KeyRound, RefreshCw } from 'lucide-react'
import { Fragment, useState } from 'react'
import { Link } from 'wouter'
import { api } from '../api.ts'
import {
  authInWords,
  credentialStanding,
  placeOfSecret,
  rotationReasonInWords,
} from '../lib/connection-words.ts'
import { formatDuration } from '../lib/durations.ts'
import { useCredential, useDefinition, useMe, useProvider } from '../queries.ts'
import type { Credential } from '../types.ts'
import { optionalReason, ReasonDialog } from '../ui/actions.tsx'
import { Yaml } from '../ui/code.tsx'
import { AuthorizeButton, SupplyDialog } from '../ui/connection-dialogs.tsx'
import { Button, CopyButton, StateChip, Time } from '../ui/controls.tsx'
import { Owner } from '../ui/definition-parts.tsx'
import { ErrorState, Note, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

export default function CredentialScreen({ name }: { readonly name: string }) {
  const { data, error, refetch } = useCredential(name)
  const { data: me } = useMe()
  const crumbs = [['Credentials', '/credentials']] as const
  if (data === undefined) {
    return (
      <PageFrame title={name} crumbs={crumbs}>
        {error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </PageFrame>
    )
  }
  return (
    <PageFrame
      title={name}
      heading={
        <span className="title-line">
          {name} <StateChip state={data.status} />
          {data.managedBy === 'folder' && <span className="tag">folder</span>}
        </span>
      }
      crumbs={crumbs}
      {...(data.description !== null && { lead: data.description })}
      actions={me === undefined || me.role === 'viewer' ? null : <Actions credential={data} />}
    >
      <Standing credential={data} />
      <div className="event event--even">
        <div>
          <Versions credential={data} />
          <Said credential={data} isAdmin={me?.role === 'admin'} />
        </div>
        <Facts credential={data} />
      </div>
    </PageFrame>
  )
}

function Actions({ credential }: { readonly credential: Credential }) {
  const { data: me } = useMe()
  const { data: provider } = useProvider(credential.provider)
  const [asking, setAsking] = useState<'rotate' | 'supply' | null>(null)
  const { name, auth, grant, status } = credential
  if (auth === 'none') return null
  const isAdmin = me?.role === 'admin'
  const close = () => setAsking(null)
  return (
    <>
      {isAdmin && grant === 'authorizationCode' && <AuthorizeButton name={name} />}
      {isAdmin && (
        <Button
          variant={status === 'missing' || status === 'waiting' ? 'primary' : 'default'}
          icon={<KeyRound size={14} aria-hidden />}
          onClick={() => setAsking('supply')}
        >
          {credential.version === null ? 'Set the value' : 'Set a new value'}
        </Button>
      )}
      {status === 'active' && (
        <Button icon={<RefreshCw size={14} aria-hidden />} onClick={() => setAsking('rotate')}>
          Rotate
        </Button>
      )}
      {asking === 'supply' && <SupplyDialog credential={credential} onClose={close} />}
      {asking === 'rotate' && (
        <ReasonDialog
          title={`Rotate ${name}`}
          text={
            provider?.canRotate === true
              ? 'The vendor creates a new secret. It is verified by one call and then replaces the current one. If it does not work, the current one stays.'
              : 'The vendor cannot create secrets: the rotation waits until you set the new value here. The current one stays until then.'
          }
          action="Rotate"
          run={(reason) => api.rotateCredential({ credentialId: name, ...optionalReason(reason) })}
          done="The rotation has started"
          isReasonNeeded={me?.environment === 'PROD'}
          onClose={close}
        />
      )}
    </>
  )
}

function Standing({ credential }: { readonly credential: Credential }) {
  const words = credentialStanding(credential)
  const { underWay, lastFailure } = credential.rotation
  return (
    <>
      {words !== null && (
        <div className="spaced">
          <Note tone={words.tone}>
            <strong>{words.what}</strong>{' '}
            {underWay !== null && (
              <>
                Begun <Time at={underWay.begunAt} /> by {underWay.by}:{' '}
                {rotationReasonInWords(underWay.reason)}
                {underWay.note !== null && ` ("${underWay.note}")`}.{' '}
                <Link href={`/work/${underWay.workId}`}>Its job</Link>.
              </>
            )}
            <span className="standing__next">{words.next}</span>
          </Note>
        </div>
      )}
      {lastFailure !== null && underWay === null && (
        <div className="spaced">
          <Note tone="red">
            <strong>The last rotation failed</strong> <Time at={lastFailure.at} />.{' '}
            {lastFailure.version === null
              ? 'There is no other value.'
              : `Version ${lastFailure.version} stays current.`}
            <span className="standing__reason mono">{lastFailure.error}</span>
            <span className="standing__next">Fix the cause, then rotate again or set another value.</span>
          </Note>
        </div>
      )}
    </>
  )
}

function Versions({ credential: { versions } }: { readonly credential: Credential }) {
  return (
    <section aria-labelledby="versions">
      <div className="section__head">
        <h2 id="versions">Versions</h2>
        <span className="faint">told apart by their fingerprints</span>
      </div>
      <div className="list">
        {versions.length === 0 && <p className="row muted">There is none yet.</p>}
        <ul aria-label="Versions">
          {versions.map((one) => (
            <li key={one.version} className="row credential-versions__grid">
              <span className="num">Version {one.version}</span>
              <span className="chips">
                <StateChip state={one.state} />
              </span>
              <span className="mono faint truncate" title="Fingerprint of the value">
                {one.fingerprint}
              </span>
              <span className="muted truncate">{one.by}</span>
              <span className="faint">
                <Time at={one.since} />
              </span>
            </li>
          ))}
        </ul>
      </div>
    </section>
  )
}

function Facts({ credential }: { readonly credential: Credential }) {
  const { provider, auth, grant, secret, connections, rotation, tokenExpiresAt } = credential
  const place = placeOfSecret(secret)
  const kinds = { ref: 'in the vault', env: 'environment variable', file: 'file' } as const
  return (
    <section aria-labelledby="facts">
      <h2 id="facts" className="spaced">
        Facts
      </h2>
      <dl className="facts card card--pad">
        <dt>Provider</dt>
        <dd>
          <Link href={`/providers/${provider}`}>{provider}</Link>
        </dd>
        <dt>Kind</dt>
        <dd>
          {authInWords(auth).label}
          {grant !== null && <span className="faint"> {grant}</span>}
        </dd>
        <dt>Secret</dt>
        <dd>
          <span className="mono">{place.name}</span> <span className="faint">{kinds[place.kind]}</span>
        </dd>
        {tokenExpiresAt !== null && (
          <>
            <dt>Token</dt>
            <dd>
              is good until <Time at={tokenExpiresAt} />; it is renewed before
            </dd>
          </>
        )}
        <dt>Connections</dt>
        <dd>
          {connections.length === 0 ? (
            <span className="muted">none uses it</span>
          ) : (
            connections.map((name, index) => (
              <Fragment key={name}>
                {index > 0 && ', '}
                <Link href={`/connections/${name}`}>{name}</Link>
              </Fragment>
            ))
          )}
        </dd>
        <dt>Rotation</dt>
        <dd>
          {rotation.everyMs === null
            ? 'on request, or when it is refused'
            : `every ${formatDuration(rotation.everyMs)}, on request, or when it is refused`}
          {rotation.nextAt !== null && (
            <div className="faint">
              the next <Time at={rotation.nextAt} />
            </div>
          )}
        </dd>
        <dt>Last rotated</dt>
        <dd>
          {rotation.lastAt === null ? <span className="muted">never</span> : <Time at={rotation.lastAt} />}
        </dd>
      </dl>
    </section>
  )
}

function Said({ credential, isAdmin }: { readonly credential: Credential; readonly isAdmin: boolean }) {
  const { data: definition } = useDefinition('Credential', credential.name)
  if (definition === undefined) return null
  return (
    <section className="section" aria-labelledby="says">
      <div className="section__head">
        <h2 id="says">Definition</h2>
        <CopyButton text={definition.yaml} label="Copy as YAML" />
      </div>
      <Owner definition={definition} isAdmin={isAdmin} />
      <div className="card">
        <Yaml text={definition.yaml} />
      </div>
    </section>
  )
}
