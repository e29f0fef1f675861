// Beside the history of an instance: its data, results of its steps, what can fire and why not, its jobs, details.

import { Link } from 'wouter'
import { exactChanges } from '../lib/exact-changes.ts'
import { formatJson, type JsonNode, memberOf } from '../lib/json-text.ts'
import { ledgerHref } from '../lib/links.ts'
import { modeInWords, transitionStateInWords } from '../lib/workflow-words.ts'
import { useInstanceWork } from '../queries.ts'
import type { Explained, HistoryEntry, InstanceDetail } from '../types.ts'
import { Chip, Copy, CopyButton, StateChip, Time } from './controls.tsx'
import { Changes } from './data-changes.tsx'
import { JsonTree } from './json-tree.tsx'
import { Rules } from './rules.tsx'
import { SkeletonRows } from './surfaces.tsx'

interface ShownInstance {
  readonly instance: InstanceDetail
  readonly exact: JsonNode | undefined
}

export function InstanceData({
  instance,
  exact,
  step,
}: ShownInstance & { readonly step: HistoryEntry | undefined }) {
  const data = memberOf(exact, 'data')
  const metadata = memberOf(exact, 'metadata')
  const hasMetadata = metadata?.type === 'object' && metadata.members.length > 0
  const changes = step === undefined ? [] : exactChanges(memberOf(entryOf(exact, step.sequence), 'changes'))
  const isHiding = instance.encrypted.length > 0
  return (
    <>
      {step !== undefined && (
        <section aria-labelledby="changed" className="spaced">
          <h3 id="changed">What changed in this step</h3>
          {changes.length === 0 ? (
            <p className="muted">Nothing in its data.</p>
          ) : (
            <Changes changes={changes} />
          )}
        </section>
      )}
      {data !== undefined && (
        <div className="card">
          <div className="card__bar">
            <span className="faint">Data</span>
            <CopyButton text={formatJson(data)} label="Copy" />
          </div>
          <JsonTree node={data} isHiding={isHiding} />
        </div>
      )}
      {hasMetadata && (
        <div className="card section">
          <div className="card__bar">
            <span className="faint">Metadata</span>
          </div>
          <JsonTree node={metadata} isHiding={isHiding} />
        </div>
      )}
      {instance.correlations.length > 0 && (
        <section aria-labelledby="keys" className="section">
          <h3 id="keys">Keys</h3>
          <ul className="keys-of">
            {instance.correlations.map(({ name, value }) => (
              <li key={`${name} ${value}`}>
                <span className="muted">{name}</span> <Copy text={value} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

function entryOf(exact: JsonNode | undefined, sequence: number): JsonNode | undefined {
  const history = memberOf(exact, 'history')
  if (history?.type !== 'array') return undefined
  return history.items.find((item) => {
    const number = memberOf(item, 'sequence')
    return number?.type === 'number' && number.text === String(sequence)
  })
}

export function InstanceSteps({ instance, exact }: ShownInstance) {
  const steps = memberOf(exact, 'steps')
  const results = steps?.type === 'array' ? steps.items.map((item) => memberOf(item, 'result')) : []
  if (instance.steps.length === 0 && instance.firings.length === 0)
    return <p className="muted">No step with an action began yet.</p>
  return (
    <ul className="steps-of">
      {instance.firings.map(({ number, type, name, state, beganAt, child, inDoubt }) => (
        <li key={`firing ${number}`} className="card card--pad">
          <div className="steps-of__head">
            <span className="tag num">{number}</span>
            <strong>{type === 'undo' ? `undo of ${name}` : name}</strong>
            <Chip tone={state === 'failed' ? 'red' : state === 'running' ? 'accent' : 'amber'}>
              {transitionStateInWords(state)}
            </Chip>
            <span className="faint steps-of__when">
              <Time at={beganAt} />
            </span>
          </div>
          {inDoubt === true && <p className="muted">Nobody knows whether it took effect.</p>}
          {child !== undefined && <Link href={`/instances/${child}`}>The instance that it started</Link>}
        </li>
      ))}
      {instance.steps.map(({ number, name, key, endedAt, undone, type }, index) => {
        const result = results[index]
        return (
          <li key={`step ${number}`} className="card card--pad">
            <div className="steps-of__head">
              <span className="tag num">{number}</span>
              <strong>{type === 'enter' ? `on entry to ${name}` : name}</strong>
              {undone ? <Chip tone="violet">undone</Chip> : <Chip tone="green">done</Chip>}
              <span className="faint steps-of__when">
                <Time at={endedAt} />
              </span>
            </div>
            {key !== null && (
              <Link href={ledgerHref(key)} className="mono truncate steps-of__key">
                {key}
              </Link>
            )}
            {result !== undefined && !(result.type === 'word' && result.text === 'null') && (
              <JsonTree node={result} isHiding={instance.encrypted.length > 0} />
            )}
          </li>
        )
      })}
    </ul>
  )
}

export function InstanceWhy({
  instance,
  explained,
  selected,
}: {
  readonly instance: InstanceDetail
  readonly explained: readonly Explained[]
  readonly selected: string | undefined
}) {
  if (instance.state !== 'active') return <p className="muted">It has ended: nothing fires any more.</p>
  const shown =
    selected === undefined
      ? explained.toSorted((a, b) => Number(b.canFire) - Number(a.canFire))
      : explained.filter(({ name }) => name === selected)
  return (
    <ul className="steps-of" aria-label="Transitions">
      {shown.map(({ name, canFire, rules }) => {
        const transition = instance.net.transitions.find((one) => one.name === name)
        return (
          <li key={name} className="card card--pad">
            <div className="steps-of__head">
              <strong>{name}</strong>
              {transition !== undefined && <span className="tag">{modeInWords(transition)}</span>}
              {canFire && <Chip tone="green">you can fire it</Chip>}
            </div>
            <Rules rules={rules} />
          </li>
        )
      })}
    </ul>
  )
}

export function InstanceWork({ id }: { readonly id: string }) {
  const { data } = useInstanceWork(id, true)
  if (data === undefined) return <SkeletonRows count={3} />
  if (data.items.length === 0) return <p className="muted">It has no work items.</p>
  return (
    <ul className="list" aria-label="Work items">
      {data.items.map((work) => (
        <li key={work.id}>
          <Link href={`/work/${work.id}`} className="row recent" data-row>
            <span className="truncate mono">{work.step ?? work.kind}</span>
            <span className="chips">
              <StateChip state={work.state} attempts={work.attempts} />
            </span>
            <span className="faint">
              <Time at={work.processedAt ?? work.createdAt} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  )
}

export function InstanceFacts({ instance }: { readonly instance: InstanceDetail }) {
  const { workflow, version, definition, eventId, parent, children, createdAt, updatedAt, endedAt } = instance
  return (
    <dl className="facts card card--pad">
      <dt>Workflow</dt>
      <dd>
        <Link href={`/workflows/${workflow}`}>{workflow}</Link>{' '}
        <span className="muted">version {version}</span>
      </dd>
      <dt>Began by</dt>
      <dd>
        <Link href={`/events/${eventId}`} className="mono">
          {eventId}
        </Link>
      </dd>
      {parent !== null && (
        <>
          <dt>Started by</dt>
          <dd>
            <Link href={`/instances/${parent}`} className="mono">
              {parent}
            </Link>
          </dd>
        </>
      )}
      {children.length > 0 && (
        <>
          <dt>It started</dt>
          <dd>
            <ul className="members">
              {children.map((child) => (
                <li key={child}>
                  <Link href={`/instances/${child}`} className="mono truncate">
                    {child}
                  </Link>
                </li>
              ))}
            </ul>
          </dd>
        </>
      )}
      <dt>Began</dt>
      <dd>
        <Time at={createdAt} />
      </dd>
      <dt>{endedAt === null ? 'Changed' : 'Ended'}</dt>
      <dd>
        <Time at={endedAt ?? updatedAt} />
      </dd>
      <dt>Definition</dt>
      <dd>
        <Copy text={definition} shown={`${definition.slice(0, 19)}…`} />
      </dd>
    </dl>
  )
}
