// YAML and other texts with line numbers, coloured by a few rules: enough for definitions, not a YAML parser.

import type { ReactNode } from 'react'
import { CopyButton } from './controls.tsx'

const KEY = /^(\s*(?:- )*)([\w.$-]+|"[^"]*"|'[^']*')(:)(?=\s|$)/
const TOKEN =
  /("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|(\{\{.*?\}\})|(\s#.*$|^#.*$)|\b(true|false|null)\b|(?<![\w.-])(-?\d+(?:\.\d+)?)(?![\w.-])/g

function colourValue(text: string, keyOf: number): ReactNode[] {
  const parts: ReactNode[] = []
  let last = 0
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > last) parts.push(text.slice(last, match.index))
    const [whole, string, template, comment, word] = match
    const name = string ? 'string' : template ? 'word' : comment ? 'comment' : word ? 'word' : 'number'
    parts.push(
      <span key={`${keyOf}-${match.index}`} className={`code__${name}`}>
        {whole}
      </span>,
    )
    last = match.index + whole.length
  }
  if (last < text.length) parts.push(text.slice(last))
  return parts
}

function colourLine(line: string): ReactNode[] {
  if (/^\s*#/.test(line))
    return [
      <span key="c" className="code__comment">
        {line}
      </span>,
    ]
  if (/^---\s*$/.test(line))
    return [
      <span key="d" className="code__comment">
        {line}
      </span>,
    ]
  const key = KEY.exec(line)
  if (key === null) return colourValue(line, 0)
  const [whole, indent = '', name = '', colon = ''] = key
  return [
    indent,
    <span key="k" className="code__key">
      {name}
    </span>,
    colon,
    ...colourValue(line.slice(whole.length), whole.length),
  ]
}

export function Yaml({ text, marked = [] }: { readonly text: string; readonly marked?: readonly number[] }) {
  const lines = text.replace(/\n$/, '').split('\n')
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <pre className="code" role="region" tabIndex={0} aria-label="YAML">
      {lines.map((line, index) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name than their number.
          key={index}
          className={marked.includes(index + 1) ? 'code__line code__line--marked' : 'code__line'}
        >
          {colourLine(line)}
          {'\n'}
        </span>
      ))}
    </pre>
  )
}

export function Diff({
  lines,
}: {
  readonly lines: readonly { readonly op: ' ' | '+' | '-'; readonly text: string }[]
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <pre className="code code--diff" role="region" tabIndex={0} aria-label="Difference">
      {lines.map(({ op, text }, index) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name than their number.
          key={index}
          className={`code__line ${op === '+' ? 'code__line--added' : op === '-' ? 'code__line--removed' : ''}`}
        >
          {op} {text}
          {'\n'}
        </span>
      ))}
    </pre>
  )
}

interface TextCardProps {
  /** What it is, for screen readers. */
  readonly label: string
  readonly text: string
  /** The text above it; omitted: the label. */
  readonly about?: ReactNode
}

/** A text as it is, to read and to copy. */
export function TextCard({ label, text, about = label }: TextCardProps) {
  return (
    <div className="card">
      <div className="card__bar">
        <span className="faint">{about}</span>
        <CopyButton text={text} label="Copy" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <pre className="code raw" role="region" tabIndex={0} aria-label={label}>
        {text}
      </pre>
    </div>
  )
}

/** Headers of HTTP by name. */
export function HeaderFacts({ headers }: { readonly headers: Readonly<Record<string, unknown>> }) {
  return (
    <dl className="facts">
      {Object.keys(headers)
        .sort()
        .map((name) => (
          <div key={name} className="facts__pair">
            <dt className="mono">{name}</dt>
            <dd className="mono">{[headers[name]].flat().join(', ')}</dd>
          </div>
        ))}
    </dl>
  )
}
