// Shared by the pages of sources and routes: the owner, the history, and the switch that stops it.

import { CircleSlash, FilePlus2, History, Pause, Play, SquarePen } from 'lucide-react'
import { useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { api } from '../api.ts'
import { SOURCE_SWITCHES } from '../lib/source-words.ts'
import type { DefinitionDetails } from '../types.ts'
import { optionalReason, ReasonDialog } from './actions.tsx'
import { Button, Command, LinkButton, Time } from './controls.tsx'
import { Note } from './surfaces.tsx'

export function Owner({
  definition,
  isAdmin,
}: {
  readonly definition: DefinitionDetails
  readonly isAdmin: boolean
}) {
  if (definition.managedBy === 'api') {
    if (!isAdmin) return null
    return (
      <div className="spaced">
        <LinkButton
          isSmall
          to={`/definitions/edit?kind=${definition.kind}&name=${definition.name}`}
          icon={<SquarePen size={13} aria-hidden />}
        >
          Edit
        </LinkButton>
      </div>
    )
  }
  return (
    <div className="spaced">
      <Note>
        <strong>
          Read-only here: it belongs to the {definition.managedBy === 'demo' ? 'demo' : 'folder'}.
        </strong>{' '}
        Change its file and apply the folder. Pausing and disabling work from here.
      </Note>
    </div>
  )
}

export function Past({ definition }: { readonly definition: DefinitionDetails }) {
  if (definition.history.length === 0) return <p className="muted">It never changed.</p>
  return (
    <ul className="list">
      {definition.history.map(({ hash, appliedAt, by, version }) => (
        <li key={version} className="row past">
          <span className="num">Version {version}</span>
          <span className="mono faint truncate" title={hash}>
            {hash.slice(0, 19)}
          </span>
          <span className="muted truncate">{by}</span>
          <span className="faint">
            <Time at={appliedAt} />
          </span>
        </li>
      ))}
    </ul>
  )
}

const ROUTE_SWITCHES = {
  pause: {
    title: 'Pause',
    text: 'What matches is kept and waits. Nothing is lost, and everything goes on when it is resumed.',
    done: 'It is paused',
  },
  resume: {
    title: 'Resume',
    text: 'What waited is worked on now.',
    done: 'It is active again',
  },
  disable: {
    title: 'Disable',
    text: 'What is queued stays. What arrives from now on is skipped, listed, and can be replayed.',
    done: 'It is disabled',
  },
} as const

const RUNS = { pause: api.pauseDefinition, resume: api.resumeDefinition, disable: api.disableDefinition }

export function Switches({ definition }: { readonly definition: DefinitionDetails }) {
  const { kind, name, status } = definition
  const [path, go] = useLocation()
  // The palette opens the dialog by `?do=pause`.
  const asked = new URLSearchParams(useSearch()).get('do')
  return (
    <SwitchButtons
      key={asked}
      initial={asked === 'pause' || asked === 'resume' ? asked : null}
      onClosed={() => {
        if (asked !== null) go(path, { replace: true })
      }}
      name={name}
      status={status ?? 'active'}
      words={kind === 'Source' ? SOURCE_SWITCHES : ROUTE_SWITCHES}
      run={(verb, reason) => RUNS[verb]({ kind, name, ...optionalReason(reason) })}
    />
  )
}

type Verb = keyof typeof RUNS

interface SwitchButtonsProps {
  readonly name: string
  readonly status: string
  readonly words: Readonly<
    Record<Verb, { readonly title: string; readonly text: string; readonly done: string }>
  >
  readonly run: (verb: Verb, reason: string) => Promise<unknown>
  readonly isReasonNeeded?: boolean
  /** The dialog that opens as soon as it is shown. */
  readonly initial?: Verb | null
  readonly onClosed?: () => void
}

/** Buttons that stop and resume something, each saying what it means before it is done. */
export function SwitchButtons({
  name,
  status,
  words,
  run,
  isReasonNeeded,
  initial = null,
  onClosed,
}: SwitchButtonsProps) {
  const [asking, setAsking] = useState<Verb | null>(initial)
  return (
    <>
      {status !== 'paused' && status !== 'disabled' ? (
        <Button icon={<Pause size={14} aria-hidden />} onClick={() => setAsking('pause')}>
          {words.pause.title}
        </Button>
      ) : (
        <Button variant="primary" icon={<Play size={14} aria-hidden />} onClick={() => setAsking('resume')}>
          {words.resume.title}
        </Button>
      )}
      {status !== 'disabled' && (
        <Button
          variant="danger"
          icon={<CircleSlash size={14} aria-hidden />}
          onClick={() => setAsking('disable')}
        >
          {words.disable.title}
        </Button>
      )}
      {asking !== null && (
        <ReasonDialog
          title={`${words[asking].title} ${name}`}
          text={words[asking].text}
          action={words[asking].title}
          run={(reason) => run(asking, reason)}
          done={words[asking].done}
          isDangerous={asking === 'disable'}
          isReasonNeeded={isReasonNeeded === true}
          onClose={() => {
            setAsking(null)
            onClosed?.()
          }}
        />
      )}
    </>
  )
}

/** Above the lists of definitions. */
export function DefinitionActions({ isAdmin }: { readonly isAdmin: boolean }) {
  return (
    <>
      <LinkButton to="/definitions/versions" icon={<History size={14} aria-hidden />}>
        Versions
      </LinkButton>
      {isAdmin && (
        <LinkButton to="/definitions/edit" variant="primary" icon={<FilePlus2 size={14} aria-hidden />}>
          Apply YAML
        </LinkButton>
      )}
    </>
  )
}

export function FirstSteps({ isAdmin }: { readonly isAdmin: boolean }) {
  return (
    <>
      {isAdmin && (
        <LinkButton to="/definitions/edit" variant="primary">
          Apply YAML
        </LinkButton>
      )}
      <Command text="npx millrace apply ./flows" />
    </>
  )
}

interface NameProps {
  readonly definition: { readonly name: string; readonly description?: string | null }
}

export function DefinitionName({ definition: { name, description } }: NameProps) {
  return (
    <>
      <span className="row__title truncate">{name}</span>
      {description != null && <span className="row__sub definitions__about">{description}</span>}
    </>
  )
}
