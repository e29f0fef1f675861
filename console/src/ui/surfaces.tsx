// Pages, dialogs, notes, and the three things that a list can be instead of a list: waiting, empty, broken.

import { ChevronRight, CircleAlert, Info, RefreshCw, TriangleAlert, X } from 'lucide-react'
import { type FormEvent, Fragment, type ReactNode, useEffect, useId, useRef } from 'react'
import { Link } from 'wouter'
import { problemOf } from '../api.ts'
import { Button, IconButton } from './controls.tsx'

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Millrace`
  }, [title])
}

interface PageProps {
  readonly title: string
  readonly heading?: ReactNode
  readonly lead?: ReactNode
  readonly crumbs?: readonly (readonly [label: string, href: string])[]
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export function PageFrame({ title, heading, lead, crumbs, actions, children }: PageProps) {
  useTitle(title)
  return (
    <div className="page">
      <header className="page__head">
        <div className="page__titles">
          {crumbs !== undefined && (
            <nav className="crumbs" aria-label="Breadcrumb">
              {crumbs.map(([label, href]) => (
                <Fragment key={href}>
                  <Link href={href}>{label}</Link>
                  <ChevronRight size={12} aria-hidden />
                </Fragment>
              ))}
            </nav>
          )}
          <h1>{heading ?? title}</h1>
          {lead !== undefined && (
            <div className="page__lead">{typeof lead === 'string' ? <p>{lead}</p> : lead}</div>
          )}
        </div>
        {actions !== undefined && <div className="page__actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

export function Note({
  tone = 'grey',
  children,
}: {
  readonly tone?: 'grey' | 'red' | 'amber' | 'accent'
  readonly children: ReactNode
}) {
  const Icon = tone === 'red' ? CircleAlert : tone === 'amber' ? TriangleAlert : Info
  return (
    <div className={`note note--${tone}`} role={tone === 'red' ? 'alert' : undefined}>
      <Icon size={15} aria-hidden />
      <div>{children}</div>
    </div>
  )
}

export function Empty({
  icon,
  title,
  children,
  action,
}: {
  readonly icon: ReactNode
  readonly title: string
  readonly children?: ReactNode
  readonly action?: ReactNode
}) {
  return (
    <div className="empty">
      <div className="empty__icon" aria-hidden>
        {icon}
      </div>
      <p className="empty__title">{title}</p>
      {children !== undefined && <div className="empty__text">{children}</div>}
      {action !== undefined && <div className="empty__action">{action}</div>}
    </div>
  )
}

/** The server's message, what to do, and a button that retries. */
export function ErrorState({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  const problem = problemOf(error)
  return (
    <div className="empty" role="alert">
      <div className="empty__icon" aria-hidden>
        <CircleAlert size={20} />
      </div>
      <p className="empty__title">{problem.title}</p>
      {problem.detail !== undefined && <p className="empty__text">{problem.detail}</p>}
      {problem.next !== undefined && <p className="empty__text faint">{problem.next}</p>}
      {onRetry !== undefined && (
        <div className="empty__action">
          <Button icon={<RefreshCw size={14} aria-hidden />} onClick={onRetry}>
            Try again
          </Button>
        </div>
      )}
    </div>
  )
}

const WIDTHS = ['72%', '54%', '63%', '48%', '68%', '58%']

export function SkeletonRows({ count = 6 }: { readonly count?: number }) {
  return (
    <div role="status" aria-label="Loading">
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike.
        <div className="row" key={index}>
          <div className="skeleton" style={{ width: WIDTHS[index % WIDTHS.length] }} />
        </div>
      ))}
    </div>
  )
}

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly onSubmit?: () => void
  readonly children: ReactNode
  readonly foot: ReactNode
  readonly isWide?: boolean
}

/** The next rows of a list, after its last one. */
export function LoadMore({
  hasMore,
  isBusy,
  onClick,
}: {
  readonly hasMore: boolean
  readonly isBusy: boolean
  readonly onClick: () => void
}) {
  if (!hasMore) return null
  return (
    <div className="list__foot">
      <Button isSmall isBusy={isBusy} onClick={onClick}>
        Load more
      </Button>
    </div>
  )
}

/** The browser's own modal dialog: it keeps the focus and closes by Escape. */
export function Dialog({ title, onClose, onSubmit, children, foot, isWide }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    const element = dialog.current
    if (element !== null && !element.open) element.showModal()
    return () => element?.close()
  }, [])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSubmit?.()
  }
  return (
    <dialog
      ref={dialog}
      className={isWide === true ? 'dialog--wide' : undefined}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <form className="dialog__form" onSubmit={submit} noValidate>
        <div className="dialog__head">
          <h2 id={titleId}>{title}</h2>
          <IconButton label="Close" onClick={onClose}>
            <X size={16} aria-hidden />
          </IconButton>
        </div>
        <div className="dialog__body">{children}</div>
        <div className="dialog__foot">{foot}</div>
      </form>
    </dialog>
  )
}

export function Progress({
  value,
  total,
  label,
}: {
  readonly value: number
  readonly total: number
  readonly label: string
}) {
  const percent = total === 0 ? 0 : Math.min(100, (value / total) * 100)
  return (
    <div
      className="progress"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={total}
      aria-valuenow={value}
    >
      <div className="progress__bar" style={{ width: `${percent}%` }} />
    </div>
  )
}
