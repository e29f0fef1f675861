// Why a condition holds or not: each part with its verdict and what it saw.

import { Check, Minus, X } from 'lucide-react'
import type { WhyPart } from '../types.ts'

function show(saw: unknown): string {
  return typeof saw === 'string' ? saw : JSON.stringify(saw)
}

export function Why({ parts }: { readonly parts: readonly WhyPart[] }) {
  if (parts.length === 0) return null
  return (
    <ul className="why">
      {parts.map(({ part, holds, saw }) => (
        <li key={part} className={holds === true ? 'why__part why__part--holds' : 'why__part'}>
          {holds === true ? (
            <Check size={14} aria-label="holds" />
          ) : holds === false ? (
            <X size={14} aria-label="does not hold" />
          ) : (
            <Minus size={14} aria-label="not asked" />
          )}
          <span>
            <code>{part}</code>
            {saw !== undefined && (
              <span className="why__saw">
                saw <code>{show(saw)}</code>
              </span>
            )}
          </span>
        </li>
      ))}
    </ul>
  )
}
