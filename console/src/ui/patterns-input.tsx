// Patterns of subjects, one by one: typed, or taken from the catalog.

import { Plus, X } from 'lucide-react'
import { useId, useState } from 'react'
import { useCatalog } from '../queries.ts'
import { Button } from './controls.tsx'

interface PatternsInputProps {
  readonly field: {
    readonly id: string
    readonly 'aria-invalid': boolean
    readonly 'aria-describedby': string | undefined
  }
  readonly patterns: readonly string[]
  readonly onChange: (patterns: readonly string[]) => void
  /** Typed and not added yet: saving includes it. */
  readonly typed: string
  readonly onTyped: (text: string) => void
}

const SUGGESTED_MAX = 100

export function PatternsInput({ field, patterns, onChange, typed, onTyped }: PatternsInputProps) {
  const listId = useId()
  const [isUsed, setIsUsed] = useState(false)
  const { data } = useCatalog({ limit: SUGGESTED_MAX })
  const subjects = (data?.items ?? []).map(({ subject }) => subject)
  const add = () => {
    const text = typed.trim()
    onTyped('')
    if (text !== '' && !patterns.includes(text)) onChange([...patterns, text])
  }
  return (
    <div className="patterns">
      {patterns.length > 0 && (
        <ul className="chips" aria-label="Subjects">
          {patterns.map((pattern) => (
            <li key={pattern} className="tag mono patterns__one">
              {pattern}
              <button
                type="button"
                aria-label={`Remove ${pattern}`}
                onClick={() => onChange(patterns.filter((one) => one !== pattern))}
              >
                <X size={12} aria-hidden />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="patterns__add">
        <input
          {...field}
          className="input mono"
          list={isUsed ? listId : undefined}
          placeholder={patterns.length === 0 ? 'shop.events.order.*' : 'One more'}
          spellCheck={false}
          autoComplete="off"
          value={typed}
          onFocus={() => setIsUsed(true)}
          onChange={(event) => onTyped(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || typed.trim() === '') return
            event.preventDefault()
            add()
          }}
        />
        <datalist id={listId}>
          {subjects.map((subject) => (
            <option key={subject} value={subject} />
          ))}
        </datalist>
        <Button icon={<Plus size={14} aria-hidden />} disabled={typed.trim() === ''} onClick={add}>
          Add
        </Button>
      </div>
    </div>
  )
}
