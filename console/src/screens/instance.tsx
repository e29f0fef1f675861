// One instance: its position in the net and its path there, its data now or after any step, and its actions.

import { Bot, History } from 'lucide-react'
import { useCallback, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { pathOfInstance } from '../lib/instance-path.ts'
import { memberOf } from '../lib/json-text.ts'
import { withSearch } from '../lib/links.ts'
import { formatExact, formatNumber } from '../lib/time.ts'
import { attentionInShort, attentionInWords, entryInWords } from '../lib/workflow-words.ts'
import { type Change, type LiveMessage, useLiveMessages } from '../live.ts'
import { useInstance, useInstanceWhy, useMe, useWorkflows } from '../queries.ts'
import type { InstanceDetail } from '../types.ts'
import { Button, Chip, Copy, StateChip, Tabs } from '../ui/controls.tsx'
import { InstanceActions } from '../ui/instance-actions.tsx'
import {
  InstanceData,
  InstanceFacts,
  InstanceSteps,
  InstanceWhy,
  InstanceWork,
} from '../ui/instance-parts.tsx'
import { InstanceTimeline } from '../ui/instance-timeline.tsx'
import { NetView } from '../ui/net.tsx'
import { ErrorState, Note, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

const TABS = ['data', 'steps', 'why', 'work'] as const

export default function InstanceScreen({ id }: { readonly id: string }) {
  const search = new URLSearchParams(useSearch())
  const at = search.get('at')
  const tab = TABS.find((one) => one === search.get('tab')) ?? 'data'
  const [, go] = useLocation()
  const now = useInstance(id, null)
  const past = useInstance(id, at, at !== null)
  const { data: me } = useMe()
  const { data: workflows } = useWorkflows()
  const why = useInstanceWhy(id, now.data?.answer.state === 'active')
  const agents = useAgents(id)
  const { data: found, error, refetch } = now
  if (found === undefined) {
    return (
      <PageFrame title="Instance" crumbs={[['Workflows', '/workflows']]}>
        {error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </PageFrame>
    )
  }
  const instance = found.answer
  const isPast = at !== null && past.data !== undefined
  const shown = isPast && past.data !== undefined ? past.data : found
  const goTo = (part: Readonly<Record<string, string | undefined>>) =>
    go(withSearch(`/instances/${id}`, { at: at ?? undefined, tab, ...part }), { replace: true })
  const path = pathOfInstance(shown.answer)
  const explained = why.data?.transitions ?? []
  const step = at === null ? undefined : instance.history.find(({ sequence }) => String(sequence) === at)
  const transition = search.get('transition') ?? undefined
  return (
    <PageFrame
      title={`Instance of ${instance.workflow}`}
      heading={
        <span className="title-line">
          {instance.workflow} <StateChip state={instance.state} />
          {instance.attention !== null && <Chip tone="amber">{attentionInShort(instance.attention)}</Chip>}
          <span className="tag num">{instance.version}</span>
        </span>
      }
      crumbs={[
        ['Workflows', '/workflows'],
        [instance.workflow, `/workflows/${instance.workflow}`],
      ]}
      lead={<Copy text={id} />}
      actions={
        me?.role === 'viewer' ? null : (
          <InstanceActions
            instance={instance}
            data={memberOf(found.exact, 'data')}
            why={explained}
            inForce={workflows?.items.find(({ name }) => name === instance.workflow)}
          />
        )
      }
    >
      <Standing instance={instance} />
      {agents.map(({ work, agent, text, characters }) => (
        <div className="spaced" key={work}>
          <div className="agent card card--pad" role="status">
            <div className="agent__head">
              <Bot size={15} aria-hidden /> <strong>{agent}</strong> answers{' '}
              <span className="faint num">{formatNumber(characters)} characters so far</span>
            </div>
            <pre className="agent__text">{text}</pre>
          </div>
        </div>
      ))}
      {at !== null && (
        <div className="spaced">
          <Note tone="accent">
            <strong>
              As it was after step {at}
              {step !== undefined && `: ${entryInWords(step)}`}.
            </strong>{' '}
            {shown.answer.at !== undefined && formatExact(shown.answer.at.time)}
            {shown.answer.at?.isWhole === false &&
              ' Its workflow keeps no values in the history: data is not whole.'}{' '}
            <Button isSmall onClick={() => goTo({ at: undefined })} icon={<History size={13} aria-hidden />}>
              Back to now
            </Button>
          </Note>
        </div>
      )}
      {past.error !== null && at !== null && <ErrorState error={past.error} />}
      <NetView
        label={`Net of ${instance.workflow} with the tokens of this instance`}
        net={shown.answer.net}
        marks={{
          tokens: (place) => shown.answer.marking[place] ?? 0,
          ...path,
          selectedTransition: transition,
          onTransition: (name) =>
            goTo({ tab: 'why', at: undefined, transition: transition === name ? undefined : name }),
        }}
      />
      <div className="event section">
        <section aria-labelledby="history">
          <h2 id="history" className="spaced">
            History
          </h2>
          <InstanceTimeline
            instance={instance}
            selected={at}
            onSelect={(sequence) =>
              goTo({ at: at === String(sequence) ? undefined : String(sequence), tab: 'data' })
            }
          />
        </section>
        <div>
          <Tabs
            label="Parts"
            tabs={[
              { id: 'data', label: at === null ? 'Data' : 'Data then' },
              { id: 'steps', label: 'Steps', count: shown.answer.steps.length },
              { id: 'why', label: 'What can fire' },
              { id: 'work', label: 'Work' },
            ]}
            selected={tab}
            onSelect={(next) => goTo({ tab: next })}
          />
          {tab === 'data' && <InstanceData instance={shown.answer} exact={shown.exact} step={step} />}
          {tab === 'steps' && <InstanceSteps instance={shown.answer} exact={shown.exact} />}
          {tab === 'why' && <InstanceWhy instance={instance} explained={explained} selected={transition} />}
          {tab === 'work' && <InstanceWork id={id} />}
          <section className="section" aria-labelledby="facts">
            <h2 id="facts" className="spaced">
              Facts
            </h2>
            <InstanceFacts instance={instance} />
          </section>
        </div>
      </div>
    </PageFrame>
  )
}

/** Why it needs attention, what failed, and what it waits for. */
function Standing({ instance }: { readonly instance: InstanceDetail }) {
  const { attention, failure, rollBack, waitsFor } = instance
  return (
    <>
      {attention !== null && (
        <div className="spaced">
          <Note tone="amber">
            <strong>Needs attention.</strong> {attentionInWords(attention)}{' '}
            {attention === 'step_parked' && <Link href="/unknown">Unknown outcomes</Link>}
          </Note>
        </div>
      )}
      {failure !== null && (
        <div className="spaced">
          <Note tone="red">
            <strong>{failure.name} failed:</strong> {failure.error} ({failure.class.replaceAll('_', ' ')},{' '}
            {failure.reason.replaceAll('_', ' ')})
          </Note>
        </div>
      )}
      {rollBack !== null && (
        <div className="spaced">
          <Note tone="amber">
            <strong>Rolling back.</strong>{' '}
            {rollBack.left.length === 1 ? 'One step is' : `${rollBack.left.length} steps are`} yet to be
            undone; then it goes to {rollBack.to}.
          </Note>
        </div>
      )}
      {waitsFor !== null && (
        <div className="spaced">
          <Note>
            <strong>It may not move yet.</strong>{' '}
            {waitsFor === 'lock'
              ? 'Another instance has its lock; it continues when that one ends.'
              : 'The workflow’s limit of running instances is reached; it continues when one ends.'}
          </Note>
        </div>
      )}
    </>
  )
}

type AgentChange = Extract<Change, { readonly type: 'agent' }>

/** What agents stream for this instance right now. */
function useAgents(id: string): readonly AgentChange[] {
  const [said, setSaid] = useState<readonly AgentChange[]>([])
  const onMessage = useCallback(
    (message: LiveMessage) => {
      if (message.type !== 'changes') return
      for (const change of message.changes) {
        if (change.type === 'agent' && change.instance === id)
          setSaid((before) => [...before.filter(({ work }) => work !== change.work), change])
        // Its job has ended, or will be retried.
        if (change.type === 'work' && change.state !== 'leased')
          setSaid((before) =>
            before.some(({ work }) => work === change.id)
              ? before.filter(({ work }) => work !== change.id)
              : before,
          )
      }
    },
    [id],
  )
  useLiveMessages(onMessage)
  return said
}
