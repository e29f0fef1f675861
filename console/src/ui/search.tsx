// Fields that narrow a list once the typing pauses.

import { Search } from 'lucide-react'
import { useEffect, useState } from 'react'

const TYPING_MS = 250

/** Waits until the typing pauses. */
export function useDelayed(value: string, onChange: (value: string) => void) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a change of the text starts the wait.
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => onChange(text), TYPING_MS)
    return () => clearTimeout(timer)
  }, [text])
  return [text, setText] as const
}

interface SearchInputProps {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly label: string
  readonly placeholder: string
}

export function SearchInput({ value, onChange, label, placeholder }: SearchInputProps) {
  const [text, setText] = useDelayed(value, onChange)
  return (
    <div className="search">
      <Search size={14} aria-hidden />
      <input
        className="input"
        type="search"
        aria-label={label}
        placeholder={placeholder}
        value={text}
        data-search
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
      />
      {text === '' && <kbd aria-hidden>/</kbd>}
    </div>
  )
}
