// Numbers that are read at a glance, side by side.

import type { ReactNode } from 'react'
import { Link } from 'wouter'

interface BigProps {
  readonly label: string
  /** null: it is not known yet. */
  readonly value: ReactNode
  readonly unit?: string
  /** Where to see more of it. */
  readonly href?: string
  readonly tone?: 'amber' | 'red' | undefined
}

export function Big({ label, value, unit, href, tone }: BigProps) {
  const classes = `big ${tone === undefined ? '' : `big--${tone}`}`
  const content = (
    <>
      <span className="big__label">{label}</span>
      {value === null ? (
        <span className="skeleton big__wait" role="status" aria-label="Loading" />
      ) : (
        <span className="big__value num">
          {value} {unit !== undefined && <span className="big__unit">{unit}</span>}
        </span>
      )}
    </>
  )
  if (href === undefined) return <div className={classes}>{content}</div>
  return (
    <Link href={href} className={classes}>
      {content}
    </Link>
  )
}
