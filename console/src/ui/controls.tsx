// Buttons, chips, fields, times: the small parts that every screen is made of.

import { Check, CircleAlert, Copy as CopyIcon, LoaderCircle } from 'lucide-react'
import {
  type ButtonHTMLAttributes,
  type KeyboardEvent,
  type ReactNode,
  useId,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import { Link } from 'wouter'
import { clock, formatExact, formatRelative } from '../lib/time.ts'

type Tone = 'grey' | 'green' | 'accent' | 'amber' | 'red' | 'violet'

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly variant?: 'default' | 'primary' | 'danger' | 'ghost'
  readonly isSmall?: boolean
  readonly isBusy?: boolean
  readonly icon?: ReactNode
}

export function Button({
  variant = 'default',
  isSmall,
  isBusy,
  icon,
  children,
  className,
  ...rest
}: ButtonProps) {
  const classes = ['button', `button--${variant}`, isSmall && 'button--small', className]
  return (
    <button
      type="button"
      {...rest}
      className={classes.filter(Boolean).join(' ')}
      disabled={rest.disabled === true || isBusy === true}
      aria-busy={isBusy === true || undefined}
    >
      {isBusy === true ? <LoaderCircle size={14} className="spin" aria-hidden /> : icon}
      {children}
    </button>
  )
}

export function IconButton({
  label,
  children,
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & { readonly label: string }) {
  return (
    <button
      type="button"
      {...rest}
      className="button button--ghost button--icon"
      aria-label={label}
      title={label}
    >
      {children}
    </button>
  )
}

export function LinkButton({
  to,
  icon,
  children,
  variant = 'default',
  isSmall,
}: {
  readonly to: string
  readonly icon?: ReactNode
  readonly children: ReactNode
  readonly variant?: 'default' | 'primary' | 'ghost'
  readonly isSmall?: boolean
}) {
  return (
    <Link
      href={to}
      className={['button', `button--${variant}`, isSmall && 'button--small'].filter(Boolean).join(' ')}
    >
      {icon}
      {children}
    </Link>
  )
}

export function Chip({
  tone = 'grey',
  children,
  title,
}: {
  readonly tone?: Tone
  readonly children: ReactNode
  readonly title?: string | undefined
}) {
  return (
    <span className={`chip chip--${tone}`} title={title}>
      <span className="chip__dot" aria-hidden />
      {children}
    </span>
  )
}

const STATES: Readonly<Record<string, readonly [Tone, string]>> = {
  ready: ['grey', 'ready'],
  waiting: ['grey', 'waiting'],
  leased: ['accent', 'running'],
  done: ['green', 'done'],
  skipped: ['grey', 'skipped'],
  merged: ['grey', 'merged'],
  parked: ['amber', 'parked'],
  dead: ['red', 'dead'],
  cancelled: ['grey', 'cancelled'],
  reserved: ['accent', 'reserved'],
  released: ['grey', 'released'],
  unknown: ['amber', 'unknown'],
  open: ['red', 'open'],
  ready_to_replay: ['accent', 'ready to replay'],
  replaying: ['accent', 'replaying'],
  resolved: ['green', 'resolved'],
  discarded: ['grey', 'discarded'],
  active: ['green', 'active'],
  paused: ['amber', 'paused'],
  disabled: ['grey', 'disabled'],
  running: ['accent', 'running'],
  escalated: ['amber', 'escalated'],
  raised: ['red', 'raised'],
  acknowledged: ['grey', 'acknowledged'],
  completed: ['green', 'completed'],
  failed: ['red', 'failed'],
  interrupted: ['amber', 'interrupted'],
  correlated: ['green', 'correlated'],
  failing: ['red', 'failing'],
  pending: ['grey', 'pending'],
  delivering: ['accent', 'delivering'],
  retrying: ['violet', 'retrying'],
  delivered: ['green', 'delivered'],
  'dead-lettered': ['red', 'dead'],
  degraded: ['amber', 'degraded'],
  retired: ['grey', 'retired'],
  rotating: ['accent', 'rotating'],
  missing: ['red', 'no value'],
  healthy: ['green', 'healthy'],
  unhealthy: ['red', 'unhealthy'],
  former: ['grey', 'former'],
  refused: ['red', 'refused'],
}

/** A state of anything, in its colour. A job that was tried before and is ready again says so. */
export function StateChip({
  state,
  label,
  attempts = 0,
  title,
}: {
  readonly state: string
  readonly label?: string
  readonly attempts?: number
  readonly title?: string
}) {
  const isRetrying = state === 'ready' && attempts > 0
  const [tone, text] = isRetrying ? (['violet', 'retrying'] as const) : (STATES[state] ?? ['grey', state])
  return (
    <Chip tone={tone} title={title}>
      {label === undefined ? text : `${label} · ${text}`}
    </Chip>
  )
}

export function useNow(): number {
  return useSyncExternalStore(clock.subscribe, clock.now)
}

/** In words, exact on hover. */
export function Time({ at }: { readonly at: string }) {
  const now = useNow()
  const instant = Date.parse(at)
  // The clock advances in steps: what has passed since its last one is not in the future.
  const from = instant > now && instant <= Date.now() ? instant : now
  return (
    <time dateTime={at} title={formatExact(at)} className="num nowrap">
      {formatRelative(instant, from)}
    </time>
  )
}

async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    // Not allowed outside HTTPS and localhost: the old way.
    const area = document.createElement('textarea')
    area.value = text
    document.body.append(area)
    area.select()
    document.execCommand('copy')
    area.remove()
  }
}

function useCopied(): readonly [boolean, (text: string) => void] {
  const [isCopied, setIsCopied] = useState(false)
  const copy = (text: string) => {
    void copyText(text).then(() => {
      setIsCopied(true)
      setTimeout(() => setIsCopied(false), 1_400)
    })
  }
  return [isCopied, copy]
}

/** An id or key that is copied by a click. */
export function Copy({ text, shown = text }: { readonly text: string; readonly shown?: string }) {
  const [isCopied, copy] = useCopied()
  return (
    <button type="button" className="copy mono" title={`Copy ${text}`} onClick={() => copy(text)}>
      <span className="truncate">{shown}</span>
      {isCopied ? <Check size={12} aria-label="copied" /> : <CopyIcon size={12} aria-hidden />}
    </button>
  )
}

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, copy] = useCopied()
  return (
    <Button
      isSmall
      icon={isCopied ? <Check size={13} aria-hidden /> : <CopyIcon size={13} aria-hidden />}
      onClick={() => copy(text)}
    >
      {isCopied ? 'Copied' : label}
    </Button>
  )
}

/** A command to copy into a terminal. */
export function Command({ text }: { readonly text: string }) {
  return (
    <span className="command">
      <code>{text}</code>
      <CopyButton text={text} label="Copy" />
    </span>
  )
}

interface FieldProps {
  readonly label: string
  readonly hint?: ReactNode
  readonly error?: string | undefined
  readonly children: (props: {
    readonly id: string
    readonly 'aria-invalid': boolean
    readonly 'aria-describedby': string | undefined
  }) => ReactNode
}

/** A label, its control, and the server's error for it. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId()
  const noteId = `${id}-note`
  const hasNote = error !== undefined || hint !== undefined
  return (
    <div className="field">
      <label className="field__label" htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        'aria-invalid': error !== undefined,
        'aria-describedby': hasNote ? noteId : undefined,
      })}
      {error !== undefined ? (
        <span className="field__error" id={noteId} role="alert">
          <CircleAlert size={13} aria-hidden />
          {error}
        </span>
      ) : hint !== undefined ? (
        <span className="field__hint" id={noteId}>
          {hint}
        </span>
      ) : null}
    </div>
  )
}

export interface Tab {
  readonly id: string
  readonly label: string
  readonly count?: ReactNode
}

export function Tabs({
  tabs,
  selected,
  onSelect,
  label,
}: {
  readonly tabs: readonly Tab[]
  readonly selected: string
  readonly onSelect: (id: string) => void
  readonly label: string
}) {
  const list = useRef<HTMLDivElement>(null)
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    const index = tabs.findIndex(({ id }) => id === selected)
    const next = tabs[(index + step + tabs.length) % tabs.length]
    if (next === undefined) return
    onSelect(next.id)
    list.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus()
  }
  return (
    <div className="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
      {tabs.map(({ id, label: text, count }) => (
        <button
          key={id}
          type="button"
          role="tab"
          data-tab={id}
          className="tabs__tab"
          aria-selected={id === selected}
          tabIndex={id === selected ? 0 : -1}
          onClick={() => onSelect(id)}
        >
          {text}
          {count !== undefined && <span className="tabs__count num">{count}</span>}
        </button>
      ))}
    </div>
  )
}
