// One signed call to an endpoint, now: what was sent, what came back, and how long it took.

import { useMutation } from '@tanstack/react-query'
import { RefreshCw } from 'lucide-react'
import { useEffect } from 'react'
import { api } from '../api.ts'
import { formatDuration } from '../lib/durations.ts'
import type { SubscriptionTest } from '../types.ts'
import { ProblemNote } from './actions.tsx'
import { HeaderFacts, TextCard } from './code.tsx'
import { Button, Chip } from './controls.tsx'
import { classInWords } from './filters.tsx'
import { Dialog, Note, SkeletonRows } from './surfaces.tsx'

interface TestDialogProps {
  readonly name: string
  readonly onClose: () => void
}

export function TestDialog({ name, onClose }: TestDialogProps) {
  const test = useMutation({ mutationFn: () => api.testSubscription({ name }) })
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever opened it asked for one call.
  useEffect(() => test.mutate(), [])
  return (
    <Dialog
      title={`Test of ${name}`}
      onClose={onClose}
      isWide
      foot={
        <>
          <Button
            icon={<RefreshCw size={14} aria-hidden />}
            isBusy={test.isPending}
            onClick={() => test.mutate()}
          >
            Send another
          </Button>
          <Button variant="primary" onClick={onClose}>
            Close
          </Button>
        </>
      }
    >
      <p className="muted">
        One signed call with a test event. It is not repeated, kept nowhere, and counts neither for nor
        against the endpoint.
      </p>
      {test.isPending && <SkeletonRows count={3} />}
      {test.isError && <ProblemNote error={test.error} />}
      {test.data !== undefined && !test.isPending && <Result test={test.data} />}
    </Dialog>
  )
}

function Result({ test }: { readonly test: SubscriptionTest }) {
  const { ok, status, durationMs, class: name, error, request, response } = test
  return (
    <>
      <div className="test__verdict" role="status">
        <Chip tone={ok ? 'green' : 'red'}>{ok ? 'arrived' : 'did not arrive'}</Chip>
        {status !== null && <span className="tag num">HTTP {status}</span>}
        {request !== null && <span className="tag num">{formatDuration(Math.max(0.1, durationMs))}</span>}
        {name !== null && <span className="tag">{classInWords(name)}</span>}
      </div>
      {error !== null && <Note tone="red">{error}</Note>}
      {response !== null && (
        <section className="test__part" aria-label="Answer">
          <h3>Answer</h3>
          {Object.keys(response.headers).length > 0 && (
            <div className="card card--pad">
              <HeaderFacts headers={response.headers} />
            </div>
          )}
          {response.body === '' ? (
            <p className="faint">Without a body.</p>
          ) : (
            <TextCard
              label="Body of the answer"
              text={response.body}
              about={response.isCut ? 'Body, its beginning' : 'Body'}
            />
          )}
        </section>
      )}
      {request !== null && (
        <section className="test__part" aria-label="Request">
          <h3>Request</h3>
          <RequestCard request={request} />
        </section>
      )}
    </>
  )
}

/** A POST with its headers. */
export function RequestCard({
  request,
}: {
  readonly request: { readonly url: string; readonly headers: Readonly<Record<string, string>> }
}) {
  return (
    <div className="card">
      <div className="card__bar request__line mono">
        <span>
          <strong>POST</strong> {request.url}
        </span>
      </div>
      <div className="card--pad">
        <HeaderFacts headers={request.headers} />
      </div>
    </div>
  )
}
