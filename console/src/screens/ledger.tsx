// The ledger: effects by idempotency key. A key shows all its generations; each is an intended effect.

import { BookCheck, Search } from 'lucide-react'
import { useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { ledgerHref, withSearch } from '../lib/links.ts'
import { useLedgerHistory } from '../queries.ts'
import type { LedgerEntry } from '../types.ts'
import { Button, Copy, LinkButton, StateChip, Time } from '../ui/controls.tsx'
import { filtersOf, useRouteNames } from '../ui/filters.tsx'
import { type ListDeclaration, ListView } from '../ui/list-view.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

type State = LedgerEntry['state']

/** What a state means for the next job with the key. */
const MEANING: Readonly<Record<State, string>> = {
  done: 'The effect happened. Further jobs with this key are skipped.',
  reserved: 'A call is in progress or about to start. Other jobs with this key wait for it.',
  unknown: 'A call was sent, and its outcome is unknown. Other jobs with this key wait.',
  released: 'The effect provably did not happen. The next job with this key makes the call.',
}

export default function Ledger() {
  const search = new URLSearchParams(useSearch())
  const [, go] = useLocation()
  const key = search.get('key') ?? ''
  const [text, setText] = useState(key)
  const find = (wanted: string) => go(withSearch('/ledger', { key: wanted.trim() }))
  return (
    <PageFrame
      title="Ledger"
      lead="Every external effect by its key: an effect that is done is not repeated. Payloads are never stored here."
    >
      <form
        className="toolbar"
        onSubmit={(event) => {
          event.preventDefault()
          find(text)
        }}
      >
        <span className="search ledger__find">
          <Search size={14} aria-hidden />
          <input
            className="input mono"
            type="search"
            aria-label="Key"
            placeholder="A whole key, such as INVOICE:1001"
            spellCheck={false}
            autoComplete="off"
            data-search
            value={text}
            onChange={(event) => {
              setText(event.target.value)
              if (event.target.value === '' && key !== '') find('')
            }}
          />
        </span>
        <Button type="submit">Find</Button>
        {key !== '' && (
          <Button
            variant="ghost"
            onClick={() => {
              setText('')
              find('')
            }}
          >
            Show all
          </Button>
        )}
      </form>
      {key === '' ? <Entries /> : <Generations key={key} of={key} />}
    </PageFrame>
  )
}

const { tabs, name } = filtersOf('listLedger')
const FILTERS = [
  tabs(
    'state',
    'State',
    [
      ['done', 'Done'],
      ['reserved', 'Reserved'],
      ['unknown', 'Unknown'],
      ['released', 'Released'],
    ],
    { all: 'All' },
  ),
  name('consumer', 'Route', 'All routes', useRouteNames),
]

const EFFECTS: ListDeclaration<'listLedger'> = {
  list: 'listLedger',
  queryKey: 'ledger',
  label: 'Effects',
  grid: 'ledger__grid',
  idOf: ({ key, generation }) => `${key} ${generation}`,
  hrefOf: ({ key }) => ledgerHref(key),
  columns: [
    { head: 'Key', className: 'truncate mono ledger__key', title: ({ key }) => key, cell: ({ key }) => key },
    {
      head: 'State',
      className: 'chips',
      cell: ({ state, generation }) => (
        <>
          <StateChip state={state} title={MEANING[state]} />
          {generation > 1 && <span className="tag num">generation {generation}</span>}
        </>
      ),
    },
    { head: 'Route', className: 'truncate', cell: ({ consumer }) => consumer },
    {
      head: 'Object',
      className: 'truncate muted mono ledger__effect',
      cell: ({ objectId }) => objectId ?? '',
    },
    {
      head: 'Since',
      className: 'events__when faint',
      cell: ({ settledAt, createdAt }) => <Time at={settledAt ?? createdAt} />,
    },
  ],
}

function Entries() {
  return (
    <ListView
      href="/ledger"
      declaration={EFFECTS}
      filters={FILTERS}
      note={({ state = '' }) => isState(state) && <span className="muted">{MEANING[state]}</span>}
      empty={({ state = '' }) => (
        <Empty
          icon={<BookCheck size={20} />}
          title={state === '' ? 'No effect yet' : `Nothing is ${state}`}
          action={<LinkButton to="/events">See the events</LinkButton>}
        >
          Before a route makes a call, it reserves the key of the call here.
        </Empty>
      )}
    />
  )
}

const isState = (text: string): text is State => Object.hasOwn(MEANING, text)

function Generations({ of }: { readonly of: string }) {
  const { data, error, refetch } = useLedgerHistory(of)
  if (data === undefined) {
    return error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />
  }
  if (data.items.length === 0) {
    return (
      <div className="list">
        <Empty icon={<BookCheck size={20} />} title="The ledger does not know this key">
          Keys are found whole, letter for letter. No effect was made under this one, or it is longer ago than
          the ledger remembers.
        </Empty>
      </div>
    )
  }
  return (
    <ol className="groups" aria-label="Generations, the newest first">
      {[...data.items].reverse().map((entry) => (
        <Generation key={entry.generation} entry={entry} isOnly={data.items.length === 1} />
      ))}
    </ol>
  )
}

function Generation({ entry, isOnly }: { readonly entry: LedgerEntry; readonly isOnly: boolean }) {
  const { work } = entry
  return (
    <li className="card parked__item">
      <div className="parked__head">
        <Copy text={entry.key} />
        <StateChip state={entry.state} />
        {!isOnly && (
          <span className="tag num">
            {entry.generation === 1 ? 'first effect' : `generation ${entry.generation}, on purpose`}
          </span>
        )}
        <span className="parked__when faint">
          <Time at={entry.settledAt ?? entry.createdAt} />
        </span>
      </div>
      <p className="muted">{MEANING[entry.state]}</p>
      <dl className="facts">
        <dt>Made by</dt>
        <dd>
          {work == null ? (
            <span className="faint">an item that is not kept any more</span>
          ) : (
            <>
              <Link href={`/work/${work.id}`} className="mono">
                {work.id}
              </Link>{' '}
              <StateChip state={work.state} />
            </>
          )}
        </dd>
        <dt>Route</dt>
        <dd>
          <Link href={`/routes/${entry.consumer}`}>{entry.consumer}</Link>
        </dd>
        <dt>Event</dt>
        <dd>
          <Link href={`/events/${entry.eventId}`} className="mono">
            {entry.eventId}
          </Link>
        </dd>
        {entry.effectRef !== null && entry.effectRef !== entry.key && (
          <>
            <dt>Effect</dt>
            <dd className="mono">{entry.effectRef}</dd>
          </>
        )}
        {entry.objectId !== null && (
          <>
            <dt>Object</dt>
            <dd className="mono">{entry.objectId}</dd>
          </>
        )}
        {entry.proof !== undefined && (
          <>
            <dt>Proof</dt>
            <dd>{entry.proof}</dd>
          </>
        )}
      </dl>
      {entry.state === 'unknown' && (
        <div>
          <LinkButton to="/unknown" isSmall>
            Record the outcome
          </LinkButton>
        </div>
      )}
    </li>
  )
}
