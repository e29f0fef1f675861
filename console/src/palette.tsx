// The command palette: go anywhere, open anything by its id, run actions that need no further question.

import { useQueryClient } from '@tanstack/react-query'
import {
  ArrowRight,
  BookCheck,
  CirclePause,
  FilePlus2,
  History,
  Keyboard,
  LogOut,
  type LucideIcon,
  Monitor,
  Moon,
  Play,
  PlugZap,
  Search,
  Send,
  Sun,
  Webhook,
} from 'lucide-react'
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { api } from './api.ts'
import { definitionHref, ledgerHref } from './lib/links.ts'
import { setTheme } from './lib/theme.ts'
import { ALL_PLACES } from './navigation.ts'
import { useDefinitions, useDemo, useEffectByKey } from './queries.ts'
import type { Me } from './types.ts'
import { Button } from './ui/controls.tsx'
import { Dialog } from './ui/surfaces.tsx'
import { toastDone, toastProblem } from './ui/toast.tsx'

interface Entry {
  readonly id: string
  readonly label: string
  readonly hint: string
  readonly icon: LucideIcon
  readonly run: () => void
}

const IDS: readonly (readonly [RegExp, string, string])[] = [
  [/^evt_[\w-]+$/, 'Open event', '/events/'],
  [/^wrk_[\w-]+$/, 'Open work item', '/work/'],
  [/^(dlq|dl)_[\w-]+$/, 'Open dead letter', '/dead-letters/'],
  [/^ins_[\w-]+$/, 'Open instance', '/instances/'],
  [/^run_[\w-]+$/, 'Open run', '/runs/'],
]
const SHOWN_MAX = 9
/** As long as the API accepts a key. */
const KEY_LENGTH_MAX = 512

/** How long a text stays unchanged before the ledger is asked for it. */
const TYPING_MS = 150

/** The effect whose key is exactly the typed text, if the ledger has one. */
function useEffectOfKey(text: string): string | null {
  const [key, setKey] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setKey(text.trim()), TYPING_MS)
    return () => clearTimeout(timer)
  }, [text])
  const isAsked = key !== '' && key.length <= KEY_LENGTH_MAX && IDS.every(([pattern]) => !pattern.test(key))
  const { data } = useEffectByKey(key, isAsked)
  return isAsked && key === text.trim() ? (data?.items[0]?.key ?? null) : null
}

function useEntries(me: Me, onHelp: () => void): (text: string, effect: string | null) => readonly Entry[] {
  const [, go] = useLocation()
  const client = useQueryClient()
  const { data: definitions } = useDefinitions()
  const { data: demo } = useDemo()
  const fixed = useMemo(() => {
    const entries: Entry[] = ALL_PLACES.map(({ href, label, icon, key }) => ({
      id: href,
      label,
      hint: `g ${key}`,
      icon,
      run: () => go(href),
    }))
    for (const { kind, name } of definitions?.items ?? []) {
      const href = definitionHref(kind, name)
      entries.push({ id: href, label: name, hint: kind.toLowerCase(), icon: ArrowRight, run: () => go(href) })
    }
    const action = (id: string, label: string, icon: LucideIcon, run: () => void) =>
      entries.push({ id, label, hint: 'action', icon, run })
    if (demo?.available === true && me.role !== 'viewer') {
      action('demo', 'Send demo events', Send, () => {
        api.sendDemo().then(
          () => {
            void client.invalidateQueries({ queryKey: ['demo'] })
            toastDone('Demo events are on their way')
            go('/events')
          },
          (error) => toastProblem(error, 'The demo could not start'),
        )
      })
    }
    for (const { kind, name, status } of me.role === 'viewer' ? [] : (definitions?.items ?? [])) {
      if (kind === 'Workflow')
        action(`start ${name}`, `Start ${name}`, Play, () => go(`/workflows/${name}?start=true`))
      if (kind !== 'Source' && kind !== 'Route') continue
      const verb = status === 'active' ? 'Pause' : 'Resume'
      const href = definitionHref(kind, name)
      action(`switch ${href}`, `${verb} ${kind.toLowerCase()} ${name}`, CirclePause, () =>
        go(`${href}?do=${verb.toLowerCase()}`),
      )
      if (kind === 'Route') continue
      action(`send ${name}`, `Send a test event as ${name}`, Send, () => go(`/sources/${name}?send=true`))
    }
    if (me.role === 'admin') {
      action('edit', 'Apply definitions', FilePlus2, () => go('/definitions/edit'))
      action('connect', 'New connection', PlugZap, () => go('/connections?new=true'))
      action('subscribe', 'New subscription', Webhook, () => go('/subscriptions?new=true'))
    }
    action('versions', 'Show versions of the definitions', History, () => go('/definitions/versions'))
    action('light', 'Use the light theme', Sun, () => setTheme('light'))
    action('dark', 'Use the dark theme', Moon, () => setTheme('dark'))
    action('system', 'Use the theme of the system', Monitor, () => setTheme('system'))
    action('keys', 'Show keyboard shortcuts', Keyboard, onHelp)
    action('sign-out', 'Sign out', LogOut, () => {
      void api.signOut().finally(() => window.location.assign('/sign-in'))
    })
    return entries
  }, [definitions, demo, me.role, go, client, onHelp])

  return (text, effect) => {
    const wanted = text.trim().toLowerCase()
    const found = fixed.filter(({ label, hint }) => `${label} ${hint}`.toLowerCase().includes(wanted))
    const first: Entry[] = []
    for (const [pattern, label, folder] of IDS) {
      if (!pattern.test(text.trim())) continue
      first.push({
        id: 'by-id',
        label,
        hint: text.trim(),
        icon: ArrowRight,
        run: () => go(folder + text.trim()),
      })
    }
    if (effect !== null) {
      first.push({
        id: 'effect',
        label: 'Open effect',
        hint: effect,
        icon: BookCheck,
        run: () => go(ledgerHref(effect)),
      })
    }
    if (wanted !== '' && !first.some(({ id }) => id === 'by-id')) {
      const query = encodeURIComponent(text.trim())
      found.push({
        id: 'search',
        label: `Search events for "${text.trim()}"`,
        hint: 'events',
        icon: Search,
        run: () => go(`/events?q=${query}`),
      })
    }
    return [...first, ...found].slice(0, SHOWN_MAX)
  }
}

interface PaletteProps {
  readonly me: Me
  readonly onClose: () => void
  readonly onHelp: () => void
}

export function Palette({ me, onClose, onHelp }: PaletteProps) {
  const [text, setText] = useState('')
  const [index, setIndex] = useState(0)
  const dialog = useRef<HTMLDialogElement>(null)
  const effect = useEffectOfKey(text)
  const entries = useEntries(me, onHelp)(text, effect)
  useEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  const run = (entry: Entry | undefined) => {
    if (entry === undefined) return
    onClose()
    entry.run()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      setIndex((index + step + entries.length) % Math.max(1, entries.length))
    } else if (event.key === 'Enter') {
      event.preventDefault()
      run(entries[index])
    }
  }
  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label="Command palette"
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose()
      }}
      onKeyDown={onKeyDown}
    >
      <div className="palette__find">
        <Search size={16} aria-hidden />
        <input
          autoFocus
          value={text}
          placeholder="Go to, find by id or effect key, or do something …"
          role="combobox"
          aria-label="Command"
          aria-expanded
          aria-controls="palette-list"
          aria-activedescendant={entries[index] === undefined ? undefined : `palette-${index}`}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setText(event.target.value)
            setIndex(0)
          }}
        />
        <kbd>Esc</kbd>
      </div>
      <div className="palette__list" id="palette-list" role="listbox" aria-label="Commands">
        {entries.map((entry, at) => {
          const Icon = entry.icon
          return (
            <div
              key={entry.id}
              id={`palette-${at}`}
              role="option"
              tabIndex={-1}
              aria-selected={at === index}
              className="palette__entry"
              onMouseMove={() => setIndex(at)}
              onClick={() => run(entry)}
              onKeyDown={() => {}}
            >
              <Icon size={15} aria-hidden />
              <span className="truncate">{entry.label}</span>
              <span className="palette__hint truncate">{entry.hint}</span>
            </div>
          )
        })}
      </div>
    </dialog>
  )
}

const KEYS: readonly (readonly [string, string])[] = [
  ['Ctrl K or ⌘ K', 'Command palette'],
  ['/', 'Search in this list'],
  ['j and k', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['?', 'This help'],
]

export function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose} foot={<Button onClick={onClose}>Close</Button>}>
      <dl className="keys">
        {[...KEYS, ...ALL_PLACES.map(({ key, label }) => [`g ${key}`, `Go to ${label}`] as const)].map(
          ([keys, what]) => (
            <div key={keys}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{what}</dd>
            </div>
          ),
        )}
      </dl>
    </Dialog>
  )
}
