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
            {count(work.waiting, work.cappedAt)} wait for their turn
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
                  closed, opens <Time at={host.closedUntil ?? ''} />
                </Chip>
              ) : (
                <Chip tone="green">open</Chip>
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
      {isCapped && '+'} failed for good
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
          {isCapped && '+'} {count === 1 ? 'job' : 'jobs'} failed for good.
        </strong>{' '}
        They are not retried, also when calls go through again.{' '}
        <Link href={`/dead-letters?consumer=${encodeURIComponent(route)}`}>Look at them and replay</Link>
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
    <Chip tone="amber">paused itself</Chip>
  ) : (
    <Chip tone="amber">tries one</Chip>
  )
}

function OpenCircuit({ pace: { route, circuit } }: { readonly pace: Pace }) {
  const { data: me } = useMe()
  const [isAsking, setIsAsking] = useState(false)
  return (
    <div className="spaced">
      <Note tone="amber">
        <strong>
          The route paused itself{circuit.class === null ? '' : `: its calls failed (${circuit.class})`}.
        </strong>{' '}
        {circuit.since !== null && (
          <>
            It did so <Time at={circuit.since} />
            {circuit.failures > 1 && `, for the ${circuit.failures}. time in a row`}.{' '}
          </>
        )}
        {circuit.state === 'half-open'
          ? 'One item is being tried now; when it succeeds, the rest follows.'
          : circuit.tryAt !== null && (
              <>
                It tries one <Time at={circuit.tryAt} />; when that succeeds, the rest follows.
              </>
            )}{' '}
        What waits is stored and goes on then.
        {me?.role !== 'viewer' && (
          <div className="pace__action">
            <Button isSmall icon={<Play size={13} aria-hidden />} onClick={() => setIsAsking(true)}>
              Let it go on now
            </Button>
          </div>
        )}
      </Note>
      {isAsking && (
        <ReasonDialog
          title={`Let ${route} go on now`}
          text="All that waits is called at once, as its rate allows. It pauses itself again when the calls still fail."
          action="Let it go on"
          run={(reason) => api.closeCircuit({ route, reason })}
          done="It goes on"
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
        <h2 id="buffers">What it keeps to</h2>
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
        <h2 id="held">Held lanes</h2>
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
                  ? 'nobody waits behind it yet'
                  : lane.waiting === 1
                    ? 'one item waits behind it'
                    : `${formatNumber(lane.waiting)} items wait behind it`}
              </span>
            </span>
            <span className="chips">
              <Link href={workHref(lane.work)} title={lane.work.lastError}>
                held by
              </Link>{' '}
              <StateChip state={lane.work.state} />
            </span>
            {me?.role !== 'viewer' && (
              <Button isSmall icon={<Unlock size={13} aria-hidden />} onClick={() => setAsking(lane)}>
                Let it go on
              </Button>
            )}
          </li>
        ))}
      </ul>
      {asking !== null && (
        <ReasonDialog
          title={`Let the lane ${asking.lane} go on`}
          text="Those behind it are worked on now, without what this item should have done before them. The item itself stays as it is and can still be replayed or decided."
          action="Let it go on"
          run={(reason) => api.leaveLane({ id: asking.work.id, reason })}
          done="The lane goes on"
          isReasonNeeded
          onClose={() => setAsking(null)}
        />
      )}
    </section>
  )
}
