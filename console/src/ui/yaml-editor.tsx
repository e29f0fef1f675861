// A text area with line numbers; lines with findings are marked.

import { useRef } from 'react'
import type { Finding } from '../types.ts'

interface YamlEditorProps {
  readonly text: string
  readonly onChange: (text: string) => void
  readonly findings: readonly Finding[]
  readonly label?: string
}

export function YamlEditor({ text, onChange, findings, label = 'Definitions as YAML' }: YamlEditorProps) {
  const gutter = useRef<HTMLDivElement>(null)
  const marked = new Map(findings.map(({ line, message }) => [line, message]))
  const lines = text.split('\n').length
  return (
    <div className="yaml-editor">
      <div className="yaml-editor__gutter" ref={gutter} aria-hidden>
        {Array.from({ length: lines }, (_, index) => (
          <div
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name than their number.
            key={index}
            className={
              marked.has(index + 1) ? 'yaml-editor__line yaml-editor__line--marked' : 'yaml-editor__line'
            }
            title={marked.get(index + 1)}
          >
            {index + 1}
          </div>
        ))}
      </div>
      <textarea
        className="yaml-editor__text"
        aria-label={label}
        aria-invalid={findings.some(({ severity }) => severity === 'error')}
        value={text}
        spellCheck={false}
        wrap="off"
        onChange={(event) => onChange(event.target.value)}
        onScroll={(event) => {
          if (gutter.current !== null) gutter.current.scrollTop = event.currentTarget.scrollTop
        }}
      />
    </div>
  )
}
