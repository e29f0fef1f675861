// The state of a route: whether it may call, how fast, what waits, and which job blocks which; and the actions that
// resume it.

import { Play, Unlock } from 'lucide-react'
import { Fragment, useState } from 'react'
import { Link } from 'wouter'
import { api } from '../api.ts'
import { workConsumerKind, workHref } from '../lib/links.ts'
import { buffersInWords, type RouteShape } from '../lib/route-words.ts'
import { formatNumber } from '../lib/time.ts'
import { useDeadLetterGroups, useHeldLanes, useMe, usePace } from '../queries.ts'
import type { HeldLane, Pace } from '../types.ts'
import { ReasonDialog } from './actions.tsx'
import { Button, Chip, StateChip, Time, useNow } from './controls.tsx'
import { ErrorState, Note, SkeletonRows } from './surfaces.tsx'

export function PacePanel({ route }: { readonly route: string }) {
  const { data: pace, error, refetch } = usePace(route)
  const now = useNow()
  if (pace === undefined) {
    return error === null ? (
      <SkeletonRows count={3} />
    ) : (
      <ErrorState error={error} onRetry={() => void refetch()} />
    )
  }
  const { rate, host, drain, limit, work, connection } = pace
  const isClosed = host?.closedUntil != null && Date.parse(host.closedUntil) > now
  return (
    <>
      {pace.circuit.state !== 'closed' && <OpenCircuit pace={pace} />}
      <FailedForGood route={route} />
      <dl className="facts card card--pad pace">
        <dt>Circuit</dt>
        <dd>
          <CircuitChip circuit={pace.circuit} />
          {pace.circuit.state === 'closed' && pace.circuit.failures > 0 && (
            <span className="muted"> {pace.circuit.failures} failed in a row</span>
          )}
        </dd>
        <dt>Work</dt>
        <dd>
          <Link href={`/work?state=ready&consumer=${route}`}>{count(work.ready, work.cappedAt)} ready</Link>,{' '}
          <Link href={`/work?state=waiting&consumer=${route}`}>
            {count(work.waiting, work.cappedAt)} waiting
          </Link>
          , {count(work.leased, work.cappedAt)} running
        </dd>
        <dt>Rate</dt>
        <dd>
          {rate === null ? (
            <span className="muted">no limit</span>
          ) : (
            <>
              {rate.perMinute} per minute, <span className="num">{rate.tokens}</span> of {rate.burst} left now
              <Meter value={rate.tokens} max={rate.burst} />
            </>
          )}
        </dd>
        {host !== null && (
          <>
            <dt>Host</dt>
            <dd>
              <span className="mono">{host.name}</span>{' '}
              {isClosed ? (
                <Chip tone="amber">
                  rate-limited until <Time at={host.closedUntil ?? ''} />
                </Chip>
              ) : (
                <Chip tone="green">reachable</Chip>
              )}
            </dd>
          </>
        )}
        {connection !== null && (
          <>
            <dt>Connection</dt>
            <dd>
              <Link href={`/connections/${encodeURIComponent(connection.name)}`}>{connection.name}</Link>{' '}
              {connection.state === 'open' ? (
                <Chip tone="green">takes calls</Chip>
              ) : (
                <>
                  <Chip tone={connection.state === 'closed' ? 'amber' : 'red'}>
                    {connection.state === 'closed' ? 'jobs wait' : 'refuses calls'}
                  </Chip>{' '}
                  <span className="muted">{connection.why}</span>
                </>
              )}
            </dd>
          </>
        )}
        {drain !== null && (
          <>
            <dt>Drain</dt>
            <dd>
              {drain.left === 0 ? 'nothing more' : `${formatNumber(drain.left)} more`} before the next, which
              begins <Time at={drain.nextAt} />
              {drain.profile !== null && <span className="faint"> {drain.profile}</span>}
            </dd>
          </>
        )}
        {limit !== null && (
          <>
            <dt>At once</dt>
            <dd>
              <span className="num">{limit.running}</span> of {limit.limit}
              <Meter value={limit.running} max={limit.limit} />
            </dd>
          </>
        )}
      </dl>
    </>
  )
}

const count = (value: number, cap: number) => `${formatNumber(value)}${value >= cap ? '+' : ''}`

function Meter({ value, max }: { readonly value: number; readonly max: number }) {
  return (
    <span className="meter" aria-hidden>
      <span
        className="meter__bar"
        style={{ width: `${max === 0 ? 0 : Math.min(100, (value / max) * 100)}%` }}
      />
    </span>
  )
}

/** How many jobs of a route failed permanently and were not replayed: they stay so, whatever its circuit does. */
function useDeadOf(route: string): { readonly count: number; readonly isCapped: boolean } {
  const { data } = useDeadLetterGroups('open')
  const own = data?.items.filter(({ consumer }) => consumer.kind === 'route' && consumer.name === route) ?? []
  return { count: own.reduce((sum, group) => sum + group.count, 0), isCapped: data?.isCapped === true }
}

export function DeadChip({ route }: { readonly route: string }) {
  const { count, isCapped } = useDeadOf(route)
  if (count === 0) return null
  return (
    <Chip tone="red">
      {formatNumber(count)}
      {isCapped && '+'} dead letters
    </Chip>
  )
}

/** Beside the circuit: waiting jobs continue automatically, permanently failed ones do not. */
function FailedForGood({ route }: { readonly route: string }) {
  const { count, isCapped } = useDeadOf(route)
  if (count === 0) return null
  return (
    <div className="spaced">
      <Note tone="red">
        <strong>
          {formatNumber(count)}
          {isCapped && '+'} {count === 1 ? 'job' : 'jobs'} failed permanently.
        </strong>{' '}
        They are not retried, also when calls go through again.{' '}
        <Link href={`/dead-letters?consumer=${encodeURIComponent(route)}`}>Show and replay them</Link>
      </Note>
    </div>
  )
}

/** The operator's setting; or, while that is active, that it paused itself. */
export function RouteState({
  status,
  circuit,
}: {
  readonly status: string
  readonly circuit: Pace['circuit'] | undefined
}) {
  return status !== 'active' || circuit === undefined || circuit.state === 'closed' ? (
    <StateChip state={status} />
  ) : (
    <CircuitChip circuit={circuit} />
  )
}

function CircuitChip({ circuit }: { readonly circuit: Pace['circuit'] }) {
  if (circuit.state === 'closed') return <Chip tone="green">calls go through</Chip>
  return circuit.state === 'open' ? (
    <Chip tone="amber">circuit open</Chip>
  ) : (
    <Chip tone="amber">trial call</Chip>
  )
}

function OpenCircuit({ pace: { route, circuit } }: { readonly pace: Pace }) {
  const { data: me } = useMe()
  const [isAsking, setIsAsking] = useState(false)
  return (
    <div className="spaced">
      <Note tone="amber">
        <strong>
          The circuit is open{circuit.class === null ? '' : `: calls failed (${circuit.class})`}.
        </strong>{' '}
        {circuit.since !== null && (
          <>
            It opened <Time at={circuit.since} />
            {circuit.failures > 1 && `, ${circuit.failures} times in a row`}.{' '}
          </>
        )}
        {circuit.state === 'half-open'
          ? 'A trial call is running; when it succeeds, the other jobs follow.'
          : circuit.tryAt !== null && (
              <>
                A trial call follows <Time at={circuit.tryAt} />; when it succeeds, the other jobs follow.
              </>
            )}{' '}
        Waiting jobs are stored and continue then.
        {me?.role !== 'viewer' && (
          <div className="pace__action">
            <Button isSmall icon={<Play size={13} aria-hidden />} onClick={() => setIsAsking(true)}>
              Close the circuit
            </Button>
          </div>
        )}
      </Note>
      {isAsking && (
        <ReasonDialog
          title={`Close the circuit of ${route}`}
          text="The waiting jobs run now, as the rate limit allows. The circuit opens again if the calls still fail."
          action="Close the circuit"
          run={(reason) => api.closeCircuit({ route, reason })}
          done="The circuit is closed"
          isReasonNeeded
          onClose={() => setIsAsking(false)}
        />
      )}
    </div>
  )
}

export function Buffers({ document }: { readonly document: unknown }) {
  const said = buffersInWords(document as RouteShape)
  if (said.length === 0) return null
  return (
    <section className="section" aria-labelledby="buffers">
      <div className="section__head">
        <h2 id="buffers">Limits</h2>
      </div>
      <dl className="facts card card--pad">
        {said.map(({ what, text }) => (
          <Fragment key={what}>
            <dt>{what}</dt>
            <dd>{text}</dd>
          </Fragment>
        ))}
      </dl>
    </section>
  )
}

interface HeldLanesProps {
  readonly kind: 'route' | 'subscription'
  readonly name: string
}

export function HeldLanes({ kind, name }: HeldLanesProps) {
  const { data } = useHeldLanes()
  const { data: me } = useMe()
  const [asking, setAsking] = useState<HeldLane | null>(null)
  const held = data?.items.filter((lane) => lane.route === name && workConsumerKind(lane.work) === kind) ?? []
  if (held.length === 0 && asking === null) return null
  return (
    <section className="section" aria-labelledby="held">
      <div className="section__head">
        <h2 id="held">Blocked lanes</h2>
      </div>
      <ul className="list">
        {held.map((lane) => (
          <li key={lane.work.id} className="row held">
            <span className="held__text">
              <span className="row__title mono truncate" title={lane.lane}>
                {lane.lane}
              </span>
              <span className="row__sub">
                {lane.waiting === 0
                  ? 'no job waits behind it'
                  : lane.waiting === 1
                    ? 'one job waits behind it'
                    : `${formatNumber(lane.waiting)} jobs wait behind it`}
              </span>
            </span>
            <span className="chips">
              <Link href={workHref(lane.work)} title={lane.work.lastError}>
                blocked by
              </Link>{' '}
              <StateChip state={lane.work.state} />
            </span>
            {me?.role !== 'viewer' && (
              <Button isSmall icon={<Unlock size={13} aria-hidden />} onClick={() => setAsking(lane)}>
                Unblock
              </Button>
            )}
          </li>
        ))}
      </ul>
      {asking !== null && (
        <ReasonDialog
          title={`Unblock the lane ${asking.lane}`}
          text="The jobs behind it run now, without the effect of this job. The job itself does not change and can still be replayed or decided."
          action="Unblock"
          run={(reason) => api.leaveLane({ id: asking.work.id, reason })}
          done="The lane is unblocked"
          isReasonNeeded
          onClose={() => setAsking(null)}
        />
      )}
    </section>
  )
}
