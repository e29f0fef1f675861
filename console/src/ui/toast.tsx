// Short messages about the result of an action. They are read aloud, and failures stay until they are closed.

import { CircleAlert, CircleCheck, X } from 'lucide-react'
import { useSyncExternalStore } from 'react'
import { problemOf } from '../api.ts'
import { IconButton } from './controls.tsx'

interface Toast {
  readonly id: number
  readonly tone: 'good' | 'bad'
  readonly title: string
  readonly text?: string | undefined
}

const GOOD_MS = 4_500
const TOASTS_MAX = 4
let toasts: readonly Toast[] = []
let nextId = 1
const listeners = new Set<() => void>()

function set(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

function add(toast: Omit<Toast, 'id'>): void {
  const id = nextId
  nextId += 1
  set([...toasts, { ...toast, id }].slice(-TOASTS_MAX))
  if (toast.tone === 'good') setTimeout(() => close(id), GOOD_MS)
}

function close(id: number): void {
  set(toasts.filter((toast) => toast.id !== id))
}

export function toastDone(title: string, text?: string): void {
  add({ tone: 'good', title, text })
}

/** A lost race says so; the caller reloads what is on the screen. */
export function toastProblem(error: unknown, what: string): void {
  const problem = problemOf(error)
  if (problem.status === 409) {
    add({
      tone: 'bad',
      title: 'Somebody else was faster',
      text: `${problem.detail ?? problem.title} What you see now is how it is.`,
    })
    return
  }
  add({
    tone: 'bad',
    title: what,
    text: [problem.detail ?? problem.title, problem.next].filter(Boolean).join(' '),
  })
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  return (
    <section className="toasts" aria-live="polite" aria-label="Messages">
      {shown.map(({ id, tone, title, text }) => (
        <div key={id} className={`toast toast--${tone}`}>
          {tone === 'good' ? <CircleCheck size={16} aria-hidden /> : <CircleAlert size={16} aria-hidden />}
          <div className="toast__text">
            <div className="toast__title">{title}</div>
            {text !== undefined && <div className="muted">{text}</div>}
          </div>
          <IconButton label="Close message" onClick={() => close(id)}>
            <X size={14} aria-hidden />
          </IconButton>
        </div>
      ))}
    </section>
  )
}
