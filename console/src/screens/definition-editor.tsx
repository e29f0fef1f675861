// Applying YAML: write, check with findings at their lines, preview the changes, apply.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Check, ListChecks } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { api, problemOf } from '../api.ts'
import { routeFor } from '../lib/source-words.ts'
import { useMe } from '../queries.ts'
import type { Definition, DefinitionChange, Finding, Plan } from '../types.ts'
import { Diff } from '../ui/code.tsx'
import { Button, Chip, Field } from '../ui/controls.tsx'
import { Empty, Note, PageFrame } from '../ui/surfaces.tsx'
import { toastDone, toastProblem } from '../ui/toast.tsx'
import { YamlEditor } from '../ui/yaml-editor.tsx'

const FILE = 'console.yaml'
const SAMPLE = `kind: Source
name: shop
verify:
  scheme: hmac
  secret: { env: SHOP_SECRET }
  header: x-shop-signature
subject: "shop.events.{{ payload.type }}"
event:
  id: payload.id
  objectType: order
  objectId: payload.order.number
---
kind: Route
name: announce_paid_order
on: [shop.events.order.paid]
key: "'ANNOUNCE:' + payload.order.number"
do:
  emit: shop.order.announced
  data: { order: "{{ payload.order.number }}" }
`

/** The server's findings when it refuses the text. */
function findingsOf(error: unknown): readonly Finding[] {
  if (error === null) return []
  const findings = (problemOf(error).details as { readonly findings?: unknown } | undefined)?.findings
  return Array.isArray(findings) ? findings : []
}

const filesOf = (text: string) => [{ path: FILE, text }]

export default function DefinitionEditor() {
  const search = new URLSearchParams(useSearch())
  const [kind, name, on] = [search.get('kind'), search.get('name'), search.get('on')]
  const client = useQueryClient()
  const [, go] = useLocation()
  const { data: me } = useMe()
  const [text, setText] = useState(kind !== null ? '' : on === null ? SAMPLE : routeFor(on))
  const [reason, setReason] = useState('')
  const [planned, setPlanned] = useState<{ readonly text: string; readonly plan: Plan } | null>(null)
  useEffect(() => {
    if (kind === null || name === null) return
    api.getDefinition({ kind: kind as Definition['kind'], name }).then(
      ({ yaml }) => setText(yaml),
      (error) => toastProblem(error, 'The definition could not be read'),
    )
  }, [kind, name])

  const plan = useMutation({
    mutationFn: (of: string) => api.planDefinitions({ files: filesOf(of) }),
    onSuccess: (answer, of) => setPlanned({ text: of, plan: answer }),
  })
  const apply = useMutation({
    mutationFn: (made: { readonly text: string; readonly plan: Plan }) =>
      api.applyDefinitions({
        files: filesOf(made.text),
        base: made.plan.base,
        ...(reason.trim() !== '' && { reason: reason.trim() }),
      }),
    onSuccess: ({ version }) => {
      toastDone(`Version ${version} is deployed`)
      void client.invalidateQueries()
      go('/routes')
    },
    onError: (error) => {
      if (problemOf(error).status !== 409) return
      toastProblem(error, 'It was not applied')
      plan.mutate(text)
    },
  })
  const isCurrent = planned !== null && planned.text === text
  const findings = isCurrent ? planned.plan.findings : []
  const refused = apply.error ?? plan.error
  const refusedFindings = findingsOf(refused)
  const shown = findings.length > 0 ? findings : refusedFindings
  const changes = isCurrent ? planned.plan.changes.filter(({ change }) => change !== 'unchanged') : []
  const canApply = me?.role === 'admin' && isCurrent && planned.plan.ok && changes.length > 0
  return (
    <PageFrame
      title="Apply definitions"
      lead="What is applied here belongs to the API. Definitions of the folder stay untouched, and nothing is removed."
      crumbs={[['Routes', '/routes']]}
      actions={
        <>
          <Button
            icon={<ListChecks size={14} aria-hidden />}
            isBusy={plan.isPending}
            onClick={() => plan.mutate(text)}
          >
            Check and plan
          </Button>
          <Button
            variant="primary"
            icon={<Check size={14} aria-hidden />}
            disabled={!canApply}
            isBusy={apply.isPending}
            onClick={() => planned !== null && apply.mutate(planned)}
          >
            Apply
          </Button>
        </>
      }
    >
      {me !== undefined && me.role !== 'admin' && (
        <div className="spaced">
          <Note>
            <strong>You may check and plan.</strong> Applying needs the role admin; yours is {me.role}.
          </Note>
        </div>
      )}
      <div className="event event--even">
        <section aria-label="YAML">
          <YamlEditor text={text} onChange={setText} findings={shown} />
        </section>
        <section aria-label="Plan">
          {refused !== null && refusedFindings.length === 0 && problemOf(refused).status !== 409 && (
            <div className="spaced">
              <Note tone="red">
                <strong>{problemOf(refused).title}.</strong> {problemOf(refused).detail}{' '}
                {problemOf(refused).next}
              </Note>
            </div>
          )}
          <Findings findings={shown} />
          {!isCurrent && shown.length === 0 && (
            <Empty icon={<ListChecks size={20} />} title="Not checked yet">
              Check first: findings show up at their lines, and then what would change.
            </Empty>
          )}
          {isCurrent && planned.plan.ok && changes.length === 0 && (
            <Note tone="accent">
              <strong>Nothing would change.</strong> The deployed definitions are the same.
            </Note>
          )}
          {changes.length > 0 && (
            <>
              <h2 className="spaced">What would change</h2>
              <ul className="changes">
                {changes.map((change) => (
                  <Change key={`${change.kind} ${change.name}`} change={change} />
                ))}
              </ul>
              <div className="section">
                <Field label="Reason (optional)" hint="Kept with the version, with your name.">
                  {(field) => (
                    <input
                      {...field}
                      className="input"
                      value={reason}
                      onChange={(event) => setReason(event.target.value)}
                    />
                  )}
                </Field>
              </div>
            </>
          )}
        </section>
      </div>
    </PageFrame>
  )
}

function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  if (findings.length === 0) return null
  return (
    <ul className="findings" aria-label="Findings">
      {findings.map((finding) => (
        <li key={`${finding.line}:${finding.column} ${finding.message}`}>
          <Note tone={finding.severity === 'error' ? 'red' : 'amber'}>
            <strong className="num">
              Line {finding.line ?? '?'}
              {finding.column !== undefined && `, column ${finding.column}`}:
            </strong>{' '}
            {finding.message}
            {finding.suggestion !== undefined && (
              <>
                {' '}
                Did you mean <code>{finding.suggestion}</code>?
              </>
            )}
          </Note>
        </li>
      ))}
    </ul>
  )
}

const CHANGES = {
  create: ['green', 'new'],
  update: ['accent', 'changed'],
  remove: ['red', 'removed'],
  unchanged: ['grey', 'unchanged'],
} as const

function Change({ change }: { readonly change: DefinitionChange }) {
  const [tone, text] = CHANGES[change.change]
  return (
    <li className="card">
      <div className="card__bar">
        <span>
          <span className="faint">{change.kind}</span> <strong>{change.name}</strong>
        </span>
        <Chip tone={tone}>{text}</Chip>
      </div>
      {change.diff !== undefined && <Diff lines={change.diff} />}
    </li>
  )
}
