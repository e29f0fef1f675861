// Trying a route on a real event, and an expression over it. No other system is called.

import { useMutation } from '@tanstack/react-query'
import { FlaskConical, Play } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useSearch } from 'wouter'
import { api, problemOf } from '../api.ts'
import { useDefinitions, useEventDetails, useRecentEvents } from '../queries.ts'
import type { EventRow, ExpressionResult } from '../types.ts'
import { Button, LinkButton, Tabs } from '../ui/controls.tsx'
import { JsonTree } from '../ui/json-tree.tsx'
import { Empty, Note, PageFrame } from '../ui/surfaces.tsx'
import { TrialResult } from '../ui/trial.tsx'
import { YamlEditor } from '../ui/yaml-editor.tsx'

const TYPING_MS = 300

export default function Try() {
  const search = new URLSearchParams(useSearch())
  const { data: routes } = useDefinitions('Route')
  const { data: recent } = useRecentEvents({ limit: 25 })
  const [eventId, setEventId] = useState(search.get('event') ?? '')
  const [mode, setMode] = useState('route')
  const [route, setRoute] = useState(search.get('route') ?? '')
  const [yaml, setYaml] = useState('')
  const firstEvent = recent?.items[0]?.id
  const firstRoute = routes?.items[0]?.name
  useEffect(() => {
    if (eventId === '' && firstEvent !== undefined) setEventId(firstEvent)
  }, [eventId, firstEvent])
  useEffect(() => {
    if (route === '' && firstRoute !== undefined) setRoute(firstRoute)
  }, [route, firstRoute])

  const trial = useMutation({
    mutationFn: () => api.tryRoute({ ...(mode === 'route' ? { route } : { yaml }), event: eventId }),
  })
  const { mutate, reset } = trial
  useEffect(() => {
    reset()
    if (mode === 'route' && route !== '' && eventId !== '') mutate()
  }, [mode, route, eventId, mutate, reset])

  if (recent?.items.length === 0) {
    return (
      <PageFrame
        title="Try"
        lead="Try a route or an expression with a real event, without calling any system."
      >
        <Empty
          icon={<FlaskConical size={20} />}
          title="There is no event to try with"
          action={<LinkButton to="/events">Go to the events</LinkButton>}
        >
          Send one first; then pick it here.
        </Empty>
      </PageFrame>
    )
  }
  return (
    <PageFrame
      title="Try"
      lead="Pick a real event and a route. You see whether it matches and why, its key, the request it would send and what the ledger would say. No call is made."
    >
      <div className="try">
        <section aria-labelledby="try-event">
          <h2 id="try-event" className="spaced">
            Event
          </h2>
          <EventPicker events={recent?.items ?? []} eventId={eventId} onPick={setEventId} />
        </section>
        <section aria-labelledby="try-route">
          <h2 id="try-route" className="spaced">
            Route
          </h2>
          <Tabs
            label="Which route"
            tabs={[
              { id: 'route', label: 'Deployed' },
              { id: 'yaml', label: 'From YAML' },
            ]}
            selected={mode}
            onSelect={setMode}
          />
          {mode === 'route' ? (
            <select
              className="input"
              aria-label="Route"
              value={route}
              onChange={(event) => setRoute(event.target.value)}
            >
              {routes?.items.map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          ) : (
            <div className="try__yaml">
              <YamlEditor
                text={yaml}
                onChange={setYaml}
                findings={trial.data?.findings ?? []}
                label="Route as YAML"
              />
              <Button
                variant="primary"
                icon={<Play size={14} aria-hidden />}
                isBusy={trial.isPending}
                disabled={yaml.trim() === '' || eventId === ''}
                onClick={() => trial.mutate()}
              >
                Try it
              </Button>
            </div>
          )}
          <div className="try__result" aria-live="polite">
            {trial.isError && (
              <Note tone="red">
                <strong>{problemOf(trial.error).title}.</strong> {problemOf(trial.error).detail}{' '}
                {problemOf(trial.error).next}
              </Note>
            )}
            {trial.data !== undefined && <TrialResult trial={trial.data} />}
          </div>
          <h2 className="section">Expression</h2>
          <Expression eventId={eventId} />
        </section>
      </div>
    </PageFrame>
  )
}

function EventPicker({
  events,
  eventId,
  onPick,
}: {
  readonly events: readonly EventRow[]
  readonly eventId: string
  readonly onPick: (id: string) => void
}) {
  const isListed = events.some(({ id }) => id === eventId)
  return (
    <>
      <select
        className="input mono"
        aria-label="Event"
        value={eventId}
        onChange={(event) => onPick(event.target.value)}
      >
        {!isListed && eventId !== '' && <option value={eventId}>{eventId}</option>}
        {events.map(({ id, subject, objectId }) => (
          <option key={id} value={id}>
            {subject}
            {objectId === null ? '' : ` · ${objectId}`} · {id.slice(-8)}
          </option>
        ))}
      </select>
      {eventId !== '' && <PickedPayload id={eventId} />}
    </>
  )
}

function PickedPayload({ id }: { readonly id: string }) {
  const { data } = useEventDetails(id)
  if (data?.exact === undefined) return null
  return (
    <div className="card try__payload">
      <JsonTree node={data.exact} />
    </div>
  )
}

const KINDS = [
  ['pick', 'value'],
  ['condition', 'condition'],
  ['send', 'template'],
] as const

function Expression({ eventId }: { readonly eventId: string }) {
  const [expression, setExpression] = useState('')
  const [as, setAs] = useState<(typeof KINDS)[number][0]>('pick')
  const [result, setResult] = useState<ExpressionResult | null>(null)
  useEffect(() => {
    setResult(null)
    if (expression.trim() === '' || eventId === '') return
    let isOver = false
    const timer = setTimeout(() => {
      api.tryExpression({ expression, as, event: eventId }).then(
        (answer) => !isOver && setResult(answer),
        (error) => !isOver && setResult({ ok: false, message: problemOf(error).detail }),
      )
    }, TYPING_MS)
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [expression, as, eventId])
  return (
    <div className="expression">
      <div className="expression__line">
        <input
          className="input mono"
          aria-label="Expression"
          placeholder="payload.issue.title"
          value={expression}
          spellCheck={false}
          onChange={(event) => setExpression(event.target.value)}
        />
        <select
          className="input expression__kind"
          aria-label="Read as"
          value={as}
          onChange={(event) => setAs(event.target.value as typeof as)}
        >
          {KINDS.map(([id, label]) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
        </select>
      </div>
      <output className="expression__result" aria-live="polite">
        {result === null ? (
          <span className="faint">Evaluated over the picked event as you type.</span>
        ) : result.ok ? (
          <>
            <span className="tag">{result.type}</span> <code>{JSON.stringify(result.value, null, 2)}</code>
          </>
        ) : (
          <span className="expression__error">
            {placeOf(result) !== null && (
              <code className="expression__place">
                {expression.slice(0, placeOf(result) ?? 0)}
                <mark>{expression.slice(placeOf(result) ?? 0) || ' '}</mark>
              </code>
            )}
            {result.message}
          </span>
        )}
      </output>
    </div>
  )
}

function placeOf(result: ExpressionResult): number | null {
  return result.ok ? null : (result.at ?? null)
}
