// The result of trying a route on an event: match, key, action, ledger.

import { CircleCheck, CircleX } from 'lucide-react'
import type { ReactNode } from 'react'
import { parseJsonText } from '../lib/json-text.ts'
import type { Trial } from '../types.ts'
import { Chip, Copy, StateChip } from './controls.tsx'
import { JsonTree } from './json-tree.tsx'
import { Note } from './surfaces.tsx'
import { Why } from './why.tsx'

const LEDGER: Readonly<Record<string, readonly ['accent' | 'green' | 'amber' | 'grey', string, string]>> = {
  'would-call': ['accent', 'would call', 'Nothing is known under this key: the action would run.'],
  'would-skip': ['green', 'would skip', 'The effect is done under this key: nothing would be sent.'],
  'would-wait': ['grey', 'would wait', 'Another item holds this key right now.'],
  'would-park': ['amber', 'would park', 'The outcome under this key is unknown: a person decides first.'],
}

export function TrialResult({ trial }: { readonly trial: Trial }) {
  return (
    <dl className="facts card card--pad trial">
      <dt>Subject</dt>
      <dd>
        <Verdict isGood={trial.subjectFits} good="fits" bad="is not one it listens to" />
      </dd>
      <dt>Match</dt>
      <dd>
        <Verdict isGood={trial.matched} good="matches" bad="does not match" />
        <Why parts={trial.why} />
      </dd>
      {trial.key !== null && trial.key !== undefined && (
        <>
          <dt>Key</dt>
          <dd>
            <Copy text={trial.key} />
          </dd>
        </>
      )}
      {trial.action != null && <Action action={trial.action} />}
      {trial.ledger != null && <Ledger ledger={trial.ledger} />}
      {trial.problem !== undefined && trial.problem !== null && (
        <>
          <dt>Problem</dt>
          <dd>
            <Note tone="amber">{textOf(trial.problem)}</Note>
          </dd>
        </>
      )}
    </dl>
  )
}

function textOf(problem: unknown): string {
  if (typeof problem === 'string') return problem
  const { message, detail } = problem as { message?: string; detail?: string }
  return message ?? detail ?? JSON.stringify(problem)
}

function Verdict({
  isGood,
  good,
  bad,
}: {
  readonly isGood: boolean
  readonly good: string
  readonly bad: string
}) {
  return (
    <span className={isGood ? 'verdict verdict--good' : 'verdict'}>
      {isGood ? <CircleCheck size={15} aria-hidden /> : <CircleX size={15} aria-hidden />}
      {isGood ? good : bad}
    </span>
  )
}

function isJson(text: string | null): boolean {
  try {
    return text !== null && parseJsonText(text) !== undefined
  } catch {
    return false
  }
}

function Action({ action }: { readonly action: NonNullable<Trial['action']> }): ReactNode {
  const { request } = action
  // The address is above; a JSON body is shown as such, digit for digit.
  const text =
    request === undefined
      ? JSON.stringify(action[action.type as keyof typeof action] ?? null)
      : `{"headers":${JSON.stringify(request.headers)},"body":${isJson(request.body) ? request.body : JSON.stringify(request.body)}}`
  return (
    <>
      <dt>Action</dt>
      <dd>
        <span className="tag">{action.type}</span>{' '}
        {request !== undefined && (
          <span className="mono">
            {request.method} {request.url}
          </span>
        )}
        <div className="trial__json">
          <JsonTree node={parseJsonText(text)} />
        </div>
      </dd>
    </>
  )
}

function Ledger({ ledger }: { readonly ledger: NonNullable<Trial['ledger']> }) {
  const [tone, label, text] = LEDGER[ledger.verdict] ?? ['grey', ledger.verdict, '']
  return (
    <>
      <dt>Ledger</dt>
      <dd>
        <Chip tone={tone}>{label}</Chip> <span className="muted">{text}</span>
        {ledger.entry !== undefined && ledger.entry !== null && (
          <span>
            {' '}
            <StateChip state={ledger.entry.state} />
          </span>
        )}
      </dd>
    </>
  )
}
