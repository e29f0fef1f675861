// The timeline of an event from top to bottom: accepted, matched, attempted, settled, and what followed.

import {
  BookCheck,
  CircleCheck,
  CircleDashed,
  CircleHelp,
  CircleSlash,
  CircleX,
  CornerDownRight,
  Hourglass,
  Inbox,
  Layers,
  LoaderCircle,
  MailX,
  Pencil,
  RotateCcw,
  Split,
} from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { formatDuration } from '../lib/durations.ts'
import { ledgerHref, sourceHref, workConsumerHref, workHref } from '../lib/links.ts'
import { skippedInWords } from '../lib/route-words.ts'
import { formatExact, formatTimeOfDay } from '../lib/time.ts'
import type { Attempt, EventDetail, LedgerEntry, WorkStory } from '../types.ts'
import { ConsumerChips } from './consumer-chips.tsx'
import { Chip, Copy, StateChip, Time } from './controls.tsx'
import { classInWords } from './filters.tsx'

type Tone = 'green' | 'red' | 'amber' | 'accent' | 'grey' | 'violet'

interface StepProps {
  readonly icon: ReactNode
  readonly tone: Tone
  readonly title: ReactNode
  readonly at?: string | undefined
  readonly children?: ReactNode
}

export function Step({ icon, tone, title, at, children }: StepProps) {
  return (
    <li className={`step step--${tone}`}>
      <span className="step__mark" aria-hidden>
        {icon}
      </span>
      <div className="step__body">
        <div className="step__head">
          <span className="step__title">{title}</span>
          {at !== undefined && (
            <time className="step__at num" dateTime={at} title={formatExact(at)}>
              {formatTimeOfDay(at)}
            </time>
          )}
        </div>
        {children !== undefined && <div className="step__text">{children}</div>}
      </div>
    </li>
  )
}

export function Timeline({ event }: { readonly event: EventDetail }) {
  const names = new Set(
    event.consumers.filter(({ kind }) => kind !== 'source').map(({ kind, name }) => `${kind}:${name}`),
  )
  const matching = event.consumers.findLast(({ kind }) => kind === 'source')
  const isOpen = names.size === 0 && matching !== undefined && matching.state !== 'done'
  const untold = event.consumers.length - event.story.length
  return (
    <ol className="timeline">
      {event.edited !== undefined && <EditedStep event={event} edited={event.edited} />}
      {event.edited === undefined && (
        <Step icon={<Inbox size={14} />} tone="accent" title="Accepted" at={event.receivedAt}>
          {event.causationId === null ? (
            <>
              Verified and on disk before <Link href={sourceHref(event.source)}>{event.source}</Link> was
              answered.
            </>
          ) : (
            <>
              Made by <Link href={sourceHref(event.source)}>{event.source}</Link> of{' '}
              <Link href={`/events/${event.causationId}`}>another event</Link>.
            </>
          )}
        </Step>
      )}
      {isOpen && (matching.state === 'dead' || matching.state === 'cancelled') ? (
        <Step icon={<CircleX size={14} />} tone="red" title="Not matched">
          The event is stored, but no route was matched. The reason is below.
        </Step>
      ) : isOpen ? (
        <Step icon={<Hourglass size={14} />} tone="amber" title="Stored by its source">
          It is matched when the source is resumed.
        </Step>
      ) : names.size > 0 ? (
        <Step icon={<Split size={14} />} tone="accent" title={matchedInWords(names)} />
      ) : event.matched === 0 ? (
        <Step icon={<CircleSlash size={14} />} tone="grey" title="Unmatched">
          It is stored. The tab Explain shows why each route did not match.
        </Step>
      ) : (
        <Step icon={<Split size={14} />} tone="accent" title="Dispatched by its source">
          A rule of the source emitted events.
        </Step>
      )}
      {untold > 0 && (
        <Step icon={<Split size={14} />} tone="grey" title={`${untold} older jobs`}>
          Only the newest are shown in full.
        </Step>
      )}
      {event.story.map((work) => (
        <WorkSteps key={work.id} work={work} />
      ))}
      {(event.followUps ?? []).length > 0 && (
        <Step icon={<CornerDownRight size={14} />} tone="accent" title="Followed by">
          <ul className="follow-ups">
            {event.followUps?.map((next) => (
              <li key={next.id}>
                <Link href={`/events/${next.id}`} className="mono truncate">
                  {next.subject}
                </Link>
                <ConsumerChips event={next} />
              </li>
            ))}
          </ul>
        </Step>
      )}
    </ol>
  )
}

interface EditedStepProps {
  readonly event: EventDetail
  readonly edited: NonNullable<EventDetail['edited']>
}

/** A copy that a user edited was not received: it says so in place of the first step. */
function EditedStep({ event, edited }: EditedStepProps) {
  const { changed } = edited
  return (
    <Step icon={<Pencil size={14} />} tone="amber" title="Edited copy" at={edited.at}>
      <span>
        {edited.by ?? 'A user'} edited <Link href={`/events/${edited.from}`}>the original event</Link> for{' '}
        <Link href={`/dead-letters/${edited.deadLetterId}`}>its dead letter</Link>
        {edited.reason === undefined ? '.' : `: ${edited.reason}`}
      </span>
      {changed !== undefined && (
        <span className="attempt">
          <span className="faint">{changed.length === 0 ? 'No field differs.' : 'Changed'}</span>
          {changed.map((path) => (
            <span key={path} className="tag mono">
              {path === '' ? 'the whole payload' : path}
            </span>
          ))}
          {edited.hasMore === true && <span className="faint">and more</span>}
        </span>
      )}
      <span className="faint">
        {event.source} did not send this payload, and no signature of the source covers it.
      </span>
    </Step>
  )
}

/** `route:a` and so on. */
function matchedInWords(names: ReadonlySet<string>): string {
  const kinds = ['route', 'workflow', 'subscription'].flatMap((kind) => {
    const count = [...names].filter((name) => name.startsWith(`${kind}:`)).length
    return count === 0 ? [] : [`${count} ${kind}${count === 1 ? '' : 's'}`]
  })
  return `Matched ${kinds.length === 0 ? names.size : kinds.join(' and ')}`
}

/** A first attempt that succeeded is on the job itself, not in its history. */
export function attemptsOf(work: WorkStory): readonly Attempt[] {
  if (work.history.length > 0 || work.state !== 'done' || work.processedAt === undefined) return work.history
  const durationMs = work.durationMs ?? 0
  const startedAt = new Date(Date.parse(work.processedAt) - durationMs).toISOString()
  return [
    {
      number: 1,
      startedAt,
      durationMs,
      outcome: 'done',
      ...(work.httpStatus !== undefined && { httpStatus: work.httpStatus }),
    },
  ]
}

function isReplayOfLetter({ replayOf }: WorkStory): boolean {
  return replayOf?.startsWith('dlq_') === true
}

function WorkSteps({ work }: { readonly work: WorkStory }) {
  return (
    <li className="lane">
      <div className="lane__head">
        <Link href={workConsumerHref(work)} className="lane__name">
          {work.kind === 'intake' ? `Matching, for ${work.consumer}` : work.consumer}
        </Link>
        <StateChip state={work.state} attempts={work.attempts} />
        {work.replayOf !== undefined && (
          <Chip tone="accent">{isReplayOfLetter(work) ? 'replay of a dead letter' : 'replay'}</Chip>
        )}
        {work.instance !== undefined && (
          <Link href={`/instances/${work.instance}`} className="lane__more">
            Instance
          </Link>
        )}
        <Link href={workHref(work)} className="lane__more">
          {work.kind === 'delivery' ? 'Delivery' : 'Job'}
        </Link>
      </div>
      <ol className="timeline timeline--inner">
        <AttemptSteps attempts={attemptsOf(work)} />
        <NextStep work={work} />
        {work.ledger !== null && <LedgerStep work={work} entry={work.ledger} />}
        {work.deadLetter !== null && (
          <Step
            icon={<MailX size={14} />}
            tone={LETTER_TONES[work.deadLetter.state] ?? 'red'}
            title={
              <>
                Dead letter <StateChip state={work.deadLetter.state} />
              </>
            }
            at={work.deadLetter.createdAt}
          >
            {work.history.length === 0 && work.lastError !== undefined && (
              <span className="attempt__error mono">{work.lastError}</span>
            )}
            {work.deadLetter.class} · {work.deadLetter.reason.replaceAll('_', ' ')} ·{' '}
            <Link href={`/dead-letters/${work.deadLetter.id}`}>
              {isReplayable(work.deadLetter) ? 'show and replay it' : 'show it'}
            </Link>
          </Step>
        )}
      </ol>
    </li>
  )
}

const LETTER_TONES: Readonly<Record<string, Tone>> = {
  resolved: 'green',
  discarded: 'grey',
  replaying: 'accent',
}

/** A dead letter that is replaying, resolved or discarded accepts no replay. */
function isReplayable({ state }: { readonly state: string }): boolean {
  return state === 'open' || state === 'ready_to_replay'
}

function LedgerStep({ work, entry }: { readonly work: WorkStory; readonly entry: LedgerEntry }) {
  return (
    <Step
      icon={<BookCheck size={14} />}
      tone={entry.state === 'done' ? 'green' : entry.state === 'unknown' ? 'amber' : 'grey'}
      title={
        <>
          Ledger <StateChip state={entry.state} />
        </>
      }
      at={entry.settledAt ?? entry.createdAt}
    >
      <Copy text={entry.key} />
      {entry.proof !== undefined && <span className="faint"> proof: {entry.proof}</span>}
      {entry.workId !== work.id && <span className="faint"> (the effect of another job)</span>}
    </Step>
  )
}

const OUTCOMES: Readonly<Record<string, readonly [Tone, string, ReactNode]>> = {
  done: ['green', 'Done', <CircleCheck key="i" size={14} />],
  again: ['violet', 'Failed, retried', <RotateCcw key="i" size={14} />],
  waited: ['grey', 'Postponed', <Hourglass key="i" size={14} />],
  unknown: ['amber', 'Outcome unknown', <CircleHelp key="i" size={14} />],
  probed: ['accent', 'Asked the vendor', <CircleHelp key="i" size={14} />],
  parked: ['amber', 'Needs a decision', <CircleHelp key="i" size={14} />],
  dead: ['red', 'Dead-lettered', <CircleX key="i" size={14} />],
}

interface AttemptStepsProps {
  /** With the start of the response, if that is stored. */
  readonly attempts: readonly (Attempt & { readonly response?: string })[]
  /** The label of a successful attempt. */
  readonly done?: string
}

export function AttemptSteps({ attempts, done = 'Done' }: AttemptStepsProps) {
  return attempts.map((attempt) => {
    const [tone, outcome, icon] = OUTCOMES[attempt.outcome] ?? [
      'grey',
      attempt.outcome,
      <CircleDashed key="i" size={14} />,
    ]
    return (
      <Step
        key={`${attempt.number} ${attempt.startedAt} ${attempt.outcome}`}
        icon={icon}
        tone={tone}
        title={
          <>
            Attempt {attempt.number}: {attempt.outcome === 'done' ? done : outcome}
          </>
        }
        at={attempt.startedAt}
      >
        <span className="attempt">
          {attempt.httpStatus !== undefined && <span className="tag num">HTTP {attempt.httpStatus}</span>}
          <span className="tag num">{formatDuration(Math.max(0.1, attempt.durationMs))}</span>
          {attempt.class !== undefined && <span className="tag">{classInWords(attempt.class)}</span>}
        </span>
        {attempt.error !== undefined && <span className="attempt__error mono">{attempt.error}</span>}
        {attempt.response !== undefined && (
          <Head label={`Answer to attempt ${attempt.number}`} text={attempt.response} more="Response" />
        )}
      </Step>
    )
  })
}

/** Short ones are shown as they are: most responses are a line or two. */
const ANSWER_LENGTH_SHOWN = 320

interface HeadProps {
  readonly label: string
  readonly text: string
  readonly more: string
}

/** The start of a request or a response. */
export function Head({ label, text, more }: HeadProps) {
  const answer = (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <pre className="answer mono" role="region" tabIndex={0} aria-label={label}>
      {text}
    </pre>
  )
  if (text.length <= ANSWER_LENGTH_SHOWN) return answer
  return (
    <details className="answer__more">
      <summary>{more}</summary>
      {answer}
    </details>
  )
}

export function NextStep({ work }: { readonly work: WorkStory }) {
  if (work.state === 'leased') {
    return <Step icon={<LoaderCircle size={14} className="spin" />} tone="accent" title="Running now" />
  }
  if (work.kind === 'intake' && work.replayOf === undefined && work.state === 'ready') {
    return <Step icon={<Hourglass size={14} />} tone="grey" title="Waits until its source goes on" />
  }
  if (work.state === 'waiting') {
    return (
      <Step icon={<Hourglass size={14} />} tone="grey" title="Waiting">
        {work.lane !== undefined && (
          <>
            In the lane <span className="mono">{work.lane}</span>
            {work.turn !== undefined && work.turn.ahead > 0 && `, ${work.turn.ahead} before it`}.
            {work.turn?.heldBy != null && (
              <>
                {' '}
                It is blocked by <Link href={`/work/${work.turn.heldBy}`}>another job</Link>.
              </>
            )}
          </>
        )}
      </Step>
    )
  }
  if (work.state === 'ready') {
    return (
      <Step
        icon={<Hourglass size={14} />}
        tone="grey"
        title={
          <>
            {work.attempts === 0 ? 'Due' : 'Next attempt'} <Time at={work.dueAt} />
          </>
        }
      />
    )
  }
  if (work.state === 'parked') {
    return (
      <Step icon={<CircleHelp size={14} />} tone="amber" title="Needs a decision">
        The call may have been made or not. <Link href="/unknown">Record the outcome</Link>.
      </Step>
    )
  }
  if (work.state === 'skipped') return <SkippedStep work={work} />
  if (work.state === 'merged' && work.into !== undefined) {
    return (
      <Step icon={<Layers size={14} />} tone="accent" title="Part of a batch">
        It shares one call with others. <Link href={`/work/${work.into}`}>Show the batch</Link>.
      </Step>
    )
  }
  if (work.state === 'cancelled') {
    return (
      <Step icon={<CircleSlash size={14} />} tone="grey" title="Cancelled" at={work.processedAt}>
        {work.lastError}
      </Step>
    )
  }
  return null
}

/** With a link to what replaced it: the job that made the effect before, or the event that came after. */
function SkippedStep({ work }: { readonly work: WorkStory }) {
  const { ledger, lastError, effectRef } = work
  const first = ledger !== null && ledger.state === 'done' && ledger.workId !== work.id ? ledger : null
  return (
    <Step icon={<CircleSlash size={14} />} tone="grey" title="Skipped" at={work.processedAt}>
      {first === null ? (
        skippedInWords(lastError)
      ) : (
        <>
          The effect already happened: <Link href={`/work/${first.workId}`}>the job that made it</Link>,{' '}
          <Link href={ledgerHref(first.key)}>its key in the ledger</Link>.
        </>
      )}
      {lastError === 'SUPERSEDED' && effectRef !== undefined && (
        <>
          {' '}
          <Link href={`/work/${effectRef}`}>Show that job</Link>.
        </>
      )}
    </Step>
  )
}
