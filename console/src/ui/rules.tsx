// Why a transition can fire or not: each rule with its verdict.

import { Check, Minus, X } from 'lucide-react'
import type { Explained } from '../types.ts'

export function Rules({ rules }: { readonly rules: Explained['rules'] }) {
  return (
    <ul className="why rules">
      {rules.map(({ rule, holds, message }) => (
        <li key={`${rule} ${message}`} className={holds ? 'why__part why__part--holds' : 'why__part'}>
          {holds ? (
            <Check size={14} aria-label="holds" />
          ) : rule === 'mode' ? (
            // The trigger mode is not an obstacle: no one has to act on it.
            <Minus size={14} className="rules__mode" aria-label="not by hand" />
          ) : (
            <X size={14} aria-label="does not hold" />
          )}
          <span>{message}</span>
        </li>
      ))}
    </ul>
  )
}
