// One provider: its operations with their input and result, its limits, and how to authenticate there.

import { Plus } from 'lucide-react'
import { authInWords, idempotencyInWords } from '../lib/connection-words.ts'
import { formatDuration } from '../lib/durations.ts'
import { formatJson, parseJsonText } from '../lib/json-text.ts'
import { useMe, useProvider } from '../queries.ts'
import type { ProviderDetail } from '../types.ts'
import { Chip, LinkButton } from '../ui/controls.tsx'
import { Empty, ErrorState, Note, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

export default function ProviderScreen({ name }: { readonly name: string }) {
  const { data, error, refetch } = useProvider(name)
  const { data: me } = useMe()
  const crumbs = [['Providers', '/providers']] as const
  if (data === undefined) {
    return (
      <PageFrame title={name} crumbs={crumbs}>
        {error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </PageFrame>
    )
  }
  return (
    <PageFrame
      title={data.title}
      heading={
        <span className="title-line">
          {data.title} <span className="tag">{data.category}</span>
          {data.managedBy === 'built-in' && <span className="tag">built in</span>}
        </span>
      }
      crumbs={crumbs}
      {...(data.description !== null && { lead: data.description })}
      actions={
        me?.role === 'admin' && (
          <LinkButton
            to={`/connections?new=true&provider=${data.name}`}
            variant="primary"
            icon={<Plus size={14} aria-hidden />}
          >
            Connect
          </LinkButton>
        )
      }
    >
      {data.deprecated !== null && (
        <div className="spaced">
          <Note tone="amber">
            <strong>Use something else:</strong> {data.deprecated}
          </Note>
        </div>
      )}
      <Facts provider={data} />
      <section className="section" aria-labelledby="operations">
        <div className="section__head">
          <h2 id="operations">Operations</h2>
        </div>
        <div className="list">
          {data.operations.length === 0 && (
            <Empty icon={null} title="It has no operations of its own">
              Routes call its addresses by actions of the type http, with its connection.
            </Empty>
          )}
          <ul aria-label="Operations">
            {data.operations.map((operation) => (
              <Operation key={operation.name} operation={operation} />
            ))}
          </ul>
        </div>
      </section>
    </PageFrame>
  )
}

function Operation({ operation }: { readonly operation: ProviderDetail['operations'][number] }) {
  const { name, description, method, path, idempotency, scopes, deprecated, input, output } = operation
  const [short, text] = idempotencyInWords(idempotency)
  return (
    <li className="row operations__grid">
      <span className="definitions__name">
        <span className="row__title mono">{name}</span>
        {description !== null && <span className="row__sub">{description}</span>}
        {deprecated !== null && <span className="row__sub">Deprecated: {deprecated}</span>}
      </span>
      <span>
        <span className="mono muted request__line operations__path">
          {method} {path}
        </span>
        {scopes.length > 0 && <span className="row__sub">needs {scopes.join(', ')}</span>}
        <SchemaOf label="Takes" schema={input} />
        <SchemaOf label="Gives" schema={output} />
      </span>
      <span className="chips">
        <Chip tone={idempotency === 'none' ? 'amber' : 'green'} title={text}>
          {short}
        </Chip>
      </span>
    </li>
  )
}

function SchemaOf({ label, schema }: { readonly label: string; readonly schema: unknown }) {
  if (schema === null || schema === undefined) return null
  return (
    <details className="answer__more">
      <summary>{label}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <pre className="answer mono" role="region" tabIndex={0} aria-label={`${label}, as JSON Schema`}>
        {formatJson(parseJsonText(JSON.stringify(schema)))}
      </pre>
    </details>
  )
}

function Facts({ provider }: { readonly provider: ProviderDetail }) {
  const { baseUrl, endpoints, auth, oauth2, buckets, canProbe, canRotate, capabilities, inbound } = provider
  return (
    <section aria-labelledby="facts">
      <h2 id="facts" className="spaced">
        Facts
      </h2>
      <dl className="facts card card--pad">
        <dt>Name</dt>
        <dd className="mono">{provider.name}</dd>
        <dt>Address</dt>
        <dd className="mono">{baseUrl}</dd>
        {Object.entries(endpoints).map(([name, address]) => (
          <div key={name} className="facts__pair">
            <dt>Address of {name}</dt>
            <dd className="mono">{address}</dd>
          </div>
        ))}
        <dt>Sign-in</dt>
        <dd>{auth.map((one) => authInWords(one).label).join(', ')}</dd>
        {oauth2 !== null && oauth2.scopes.length > 0 && (
          <>
            <dt>Scopes</dt>
            <dd>{oauth2.scopes.join(', ')}</dd>
          </>
        )}
        <dt>Limits</dt>
        <dd>
          {Object.keys(buckets).length === 0 ? (
            <span className="muted">none known</span>
          ) : (
            Object.entries(buckets).map(([name, { perMinute, burst }]) => (
              <div key={name}>
                {name}: {perMinute} per minute, {burst} at once
              </div>
            ))
          )}
        </dd>
        <dt>Test</dt>
        <dd>{canProbe ? 'by one call that changes nothing' : 'cannot be tested by a call'}</dd>
        <dt>New secrets</dt>
        <dd>{canRotate ? 'made by its own API' : 'brought by a person'}</dd>
        {inbound !== null && (
          <>
            <dt>What it sends</dt>
            <dd>
              verified by <code>{inbound.scheme}</code>
            </dd>
          </>
        )}
        {capabilities.length > 0 && (
          <>
            <dt>Can do</dt>
            <dd>{capabilities.join(', ')}</dd>
          </>
        )}
        <dt>Time for a call</dt>
        <dd>
          {provider.operations.length === 0
            ? '–'
            : formatDuration(Math.max(...provider.operations.map(({ timeoutMs }) => timeoutMs)))}{' '}
          at most
        </dd>
      </dl>
    </section>
  )
}
