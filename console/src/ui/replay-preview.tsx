// The preview of a replay: how many of each, the calls and what they cost, and each job with what changed since.

import { ChevronRight } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { ledgerHref } from '../lib/links.ts'
import { formatNumber } from '../lib/time.ts'
import type { PreviewDiff, ReplayPreview } from '../types.ts'
import { Diff } from './code.tsx'
import { Chip } from './controls.tsx'

type Verdict = ReplayPreview['items'][number]['verdict']

const VERDICTS: readonly (readonly [Verdict, string, 'green' | 'accent' | 'amber' | 'red', string])[] = [
  ['would-call', 'would call', 'accent', 'The action runs again with the deployed definition.'],
  ['would-skip', 'would skip', 'green', 'The effect is in the ledger: nothing is sent.'],
  [
    'would-differ',
    'would differ',
    'amber',
    'The call would differ: the definition, the code or the payload changed.',
  ],
  [
    'would-wait',
    'would wait',
    'amber',
    'Another job holds the key, or the outcome of an earlier call is unknown.',
  ],
  ['would-fail', 'would fail', 'red', 'It could not start: the key or the request cannot be computed.'],
]
/** Shown if there are any. */
const RARE: ReadonlySet<Verdict> = new Set(['would-wait', 'would-fail'])
const SHOWN_MAX = 50

/** One line of a preview: the outcome for one dead letter, or for one event and one route. */
export interface PreviewLine {
  readonly key: string
  readonly href: string
  readonly label: string
  readonly verdict: Verdict | null
  readonly reason: string
  readonly diff?: PreviewDiff | undefined
  /** With would-skip: whose effect exists. */
  readonly effect?: ReplayPreview['items'][number]['effect']
}

export interface Preview extends Pick<ReplayPreview, 'totals' | 'calls' | 'cost'> {
  /** How many would be replayed. */
  readonly matched: number
  readonly lines: readonly PreviewLine[]
}

export function Totals({ preview }: { readonly preview: Preview }) {
  return (
    <div className="totals">
      {VERDICTS.filter(([verdict]) => !RARE.has(verdict) || preview.totals[verdict] > 0).map(
        ([verdict, label, tone, text]) => (
          <div key={verdict} className="totals__one" title={text}>
            <span className="totals__number num">{preview.totals[verdict]}</span>
            <Chip tone={tone}>{label}</Chip>
            <span className="faint">{text}</span>
          </div>
        ),
      )}
      <Calls calls={preview.calls} cost={preview.cost} />
    </div>
  )
}

function Calls({ calls, cost }: Pick<Preview, 'calls' | 'cost'>) {
  const hosts = Object.entries(calls)
  if (hosts.length === 0) return null
  return (
    <div className="totals__calls muted">
      <p>
        Calls go to{' '}
        {hosts.map(([host, count], index) => (
          <span key={host}>
            {index > 0 && ', '}
            <span className="mono">{host}</span> ({count})
          </span>
        ))}
        .
      </p>
      <ul>
        {cost.map(({ host, route, calls: count, perMinute, minutes }) =>
          perMinute === null || minutes === null ? null : (
            <li key={`${host} ${route}`}>
              {route}: {count === 1 ? 'one call' : `${formatNumber(count)} calls`} to{' '}
              <span className="mono">{host}</span> {count === 1 ? 'takes' : 'take'} {minutesInWords(minutes)}{' '}
              of its {formatNumber(perMinute)} per minute.
            </li>
          ),
        )}
      </ul>
    </div>
  )
}

function minutesInWords(minutes: number): string {
  if (minutes < 1) return 'less than a minute'
  return minutes === 1 ? 'one minute' : `${formatNumber(minutes)} minutes`
}

export function PreviewList({ preview }: { readonly preview: Preview }) {
  const shown = preview.lines.slice(0, SHOWN_MAX)
  const rest = Math.max(preview.matched, preview.lines.length) - shown.length
  return (
    <ul className="list preview" aria-label="What would happen">
      {shown.map((line) => (
        <Line key={line.key} line={line} />
      ))}
      {rest > 0 && <li className="list__foot">and {formatNumber(rest)} more</li>}
    </ul>
  )
}

function Line({ line: { href, label, verdict, reason, diff = [], effect } }: { readonly line: PreviewLine }) {
  const [isOpen, setIsOpen] = useState(false)
  const [, text, tone] = VERDICTS.find(([name]) => name === verdict) ?? [
    '',
    verdict ?? 'unmatched',
    'grey' as const,
  ]
  return (
    <li className="preview__item">
      <div className="row preview__row">
        <Link href={href} className="mono truncate">
          {label}
        </Link>
        <Chip tone={tone}>{text}</Chip>
        <span className="muted preview__reason">
          {reason}
          {effect !== undefined && (
            <>
              {' '}
              <Link href={ledgerHref(effect.key)}>Its effect</Link>
            </>
          )}
        </span>
        {diff.length > 0 && (
          <button
            type="button"
            className="preview__toggle"
            aria-expanded={isOpen}
            onClick={() => setIsOpen(!isOpen)}
          >
            <ChevronRight size={13} aria-hidden />
            What changed
          </button>
        )}
      </div>
      {isOpen && <Changes diff={diff} />}
    </li>
  )
}

const OF = { definition: 'Definition', code: 'Code', payload: 'Payload' } as const

/** Before and after, each with its path. */
function Changes({ diff }: { readonly diff: PreviewDiff }) {
  return (
    <div className="preview__changes">
      {diff.map(({ of, changes }) => (
        <div key={of}>
          <h4>{OF[of]}</h4>
          {changes.length === 0 ? (
            <p className="faint">It changed; how it was before is not kept any more.</p>
          ) : (
            <Diff
              lines={changes.flatMap(({ path, before, after }) => [
                { op: ' ' as const, text: path === '' ? 'all of it' : path },
                ...(before === null ? [] : [{ op: '-' as const, text: before }]),
                ...(after === null ? [] : [{ op: '+' as const, text: after }]),
              ])}
            />
          )}
        </div>
      ))}
    </div>
  )
}
