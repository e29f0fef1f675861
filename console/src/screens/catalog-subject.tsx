// One subject of the catalog: its payload, the routes that match it, and a route to start with.

import { FilePlus2, Send } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { formatJson, parseJsonText } from '../lib/json-text.ts'
import { sourceHref } from '../lib/links.ts'
import { routeFor } from '../lib/source-words.ts'
import { useCatalogSubject, useMe } from '../queries.ts'
import { Button, CopyButton, LinkButton } from '../ui/controls.tsx'
import { JsonTree } from '../ui/json-tree.tsx'
import { PublishDialog } from '../ui/publish-dialog.tsx'
import { ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

export default function CatalogSubject({ subject }: { readonly subject: string }) {
  const { data, error, refetch } = useCatalogSubject(subject)
  const { data: me } = useMe()
  const [isSending, setIsSending] = useState(false)
  const crumbs = [['Catalog', '/catalog']] as const
  if (data === undefined) {
    return (
      <PageFrame title={subject} crumbs={crumbs}>
        {error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </PageFrame>
    )
  }
  const route = routeFor(subject)
  return (
    <PageFrame
      title={subject}
      heading={<span className="mono event__subject">{subject}</span>}
      crumbs={crumbs}
      lead={
        <div className="event__facts">
          {data.description !== null && <span>{data.description}</span>}
          <span>
            from{' '}
            {data.source.startsWith('function:') ? (
              data.source
            ) : (
              <Link href={sourceHref(data.source)}>{data.source}</Link>
            )}
          </span>
        </div>
      }
      actions={
        <>
          {me?.role !== 'viewer' && (
            <Button icon={<Send size={14} aria-hidden />} onClick={() => setIsSending(true)}>
              Send a test event
            </Button>
          )}
          {me?.role === 'admin' && (
            <LinkButton
              to={`/definitions/edit?on=${encodeURIComponent(subject)}`}
              variant="primary"
              icon={<FilePlus2 size={14} aria-hidden />}
            >
              Write a route
            </LinkButton>
          )}
        </>
      }
    >
      <div className="event event--even">
        <div>
          <section aria-labelledby="wanted">
            <div className="section__head">
              <h2 id="wanted">Routes that want it</h2>
              <CopyButton text={route} label="Copy a route for it" />
            </div>
            {data.routes.length === 0 ? (
              <p className="muted">None yet: its events are kept and shown as unmatched.</p>
            ) : (
              <ul className="list">
                {data.routes.map((name) => (
                  <li key={name}>
                    <Link href={`/routes/${name}`} className="row" data-row>
                      {name}
                    </Link>
                  </li>
                ))}
              </ul>
            )}
          </section>
          <section className="section" aria-labelledby="schema">
            <div className="section__head">
              <h2 id="schema">Schema</h2>
            </div>
            {data.schema === null || data.schema === undefined ? (
              <p className="muted">Nothing is said about its payload.</p>
            ) : (
              <Json value={data.schema} label="JSON Schema" />
            )}
          </section>
        </div>
        <section aria-labelledby="example">
          <div className="section__head">
            <h2 id="example">Example</h2>
          </div>
          {data.example === undefined ? (
            <p className="muted">There is none.</p>
          ) : (
            <Json value={data.example} label="Payload" />
          )}
        </section>
      </div>
      {isSending && (
        <PublishDialog source={data.source} subject={subject} onClose={() => setIsSending(false)} />
      )}
    </PageFrame>
  )
}

function Json({ value, label }: { readonly value: unknown; readonly label: string }) {
  const node = parseJsonText(JSON.stringify(value))
  return (
    <div className="card">
      <div className="card__bar">
        <span className="faint">{label}</span>
        <CopyButton text={formatJson(node)} label="Copy" />
      </div>
      <JsonTree node={node} />
    </div>
  )
}
