// The frame around every screen: navigation, palette, keys, theme, and whether the page is live.

import { Command as CommandIcon, Menu, Monitor, Moon, Search, Sun } from 'lucide-react'
import { type ReactNode, useCallback, useEffect, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useKeyboard } from './keyboard.ts'
import { setTheme, type Theme, useTheme } from './lib/theme.ts'
import { useLiveState } from './live.ts'
import { ALL_PLACES, isHere, PLACES, type Place } from './navigation.ts'
import { Help, Palette } from './palette.tsx'
import { useOverview } from './queries.ts'
import type { Me, Overview } from './types.ts'

export function Frame({ me, children }: { readonly me: Me; readonly children: ReactNode }) {
  const [path] = useLocation()
  const [open, setOpen] = useState<'palette' | 'help' | 'nav' | null>(null)
  const { data: overview } = useOverview()
  const openPalette = useCallback(() => setOpen('palette'), [])
  const openHelp = useCallback(() => setOpen('help'), [])
  useKeyboard({ openPalette, openHelp })
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page is read from its top.
  useEffect(() => {
    setOpen(null)
    window.scrollTo(0, 0)
  }, [path])

  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to content
      </a>
      {open === 'nav' && (
        <button
          type="button"
          className="nav-backdrop"
          aria-label="Close navigation"
          onClick={() => setOpen(null)}
        />
      )}
      <header className={open === 'nav' ? 'nav nav--open' : 'nav'}>
        <Link href="/" className="nav__brand">
          <img src="/mark.svg" alt="" />
          Millrace
          <span className="nav__env">{me.environment}</span>
        </Link>
        <button type="button" className="nav__find" onClick={openPalette}>
          <Search size={14} aria-hidden />
          Find or do …<kbd>{isMac() ? '⌘K' : 'Ctrl K'}</kbd>
        </button>
        <nav aria-label="Main">
          {PLACES.map(({ title, places }) => (
            <div className="nav__group" key={title ?? ''}>
              {title !== null && <div className="nav__group-title">{title}</div>}
              <ul>
                {places.map((place) => (
                  <li key={place.href}>
                    <NavLink place={place} path={path} overview={overview} />
                  </li>
                ))}
              </ul>
            </div>
          ))}
        </nav>
        <div className="nav__foot">
          <div className="nav__who">
            <span className="truncate" title={`${me.actor}, ${me.role} of ${me.tenant}`}>
              <span className="nav__who-name">{me.tenant}</span> <span className="faint">{me.role}</span>
            </span>
          </div>
          <div className="nav__who">
            <LiveDot />
            <span className="nav__theme">
              <ThemeSwitch />
            </span>
          </div>
        </div>
      </header>
      <main className="main" id="main" tabIndex={-1}>
        {children}
      </main>
      <BottomBar path={path} overview={overview} onMore={() => setOpen('nav')} onFind={openPalette} />
      {open === 'palette' && <Palette me={me} onClose={() => setOpen(null)} onHelp={openHelp} />}
      {open === 'help' && <Help onClose={() => setOpen(null)} />}
    </div>
  )
}

const isMac = () => /Mac|iPhone|iPad/.test(navigator.userAgent)

function countOf(place: Place, overview: Overview | undefined): string | null {
  if (place.count === undefined || overview === undefined) return null
  if (place.count === 'failingSubscriptions') {
    const { failing } = overview.subscriptions
    return failing === 0 ? null : String(failing)
  }
  const count = overview.counts[place.count]
  if (count === 0) return null
  return overview.isCapped[place.count] === true ? `${count}+` : String(count)
}

interface NavLinkProps {
  readonly place: Place
  readonly path: string
  readonly overview: Overview | undefined
}

function NavLink({ place, path, overview }: NavLinkProps) {
  const count = countOf(place, overview)
  const Icon = place.icon
  return (
    <Link
      href={place.href}
      className="nav__link"
      aria-current={isHere(path, place.href) ? 'page' : undefined}
      title={`${place.label} (g ${place.key})`}
    >
      <Icon size={16} strokeWidth={1.9} aria-hidden />
      {place.label}
      {count !== null && (
        <span
          className={`nav__count num nav__count--${place.count === 'parked' || place.count === 'openOrphans' ? 'amber' : 'red'}`}
        >
          {count}
        </span>
      )}
    </Link>
  )
}

function LiveDot() {
  const state = useLiveState()
  const text = state === 'on' ? 'Live' : state === 'off' ? 'Reconnecting' : 'Connecting'
  return (
    <span className={`live live--${state}`} role="status">
      <span className="live__dot" aria-hidden />
      {text}
    </span>
  )
}

const THEMES: readonly (readonly [Theme, string, typeof Sun])[] = [
  ['light', 'Light', Sun],
  ['dark', 'Dark', Moon],
  ['system', 'As the system', Monitor],
]

function ThemeSwitch() {
  const theme = useTheme()
  return (
    <fieldset className="switch" aria-label="Theme">
      {THEMES.map(([name, label, Icon]) => (
        <button
          key={name}
          type="button"
          className="switch__option"
          aria-pressed={theme === name}
          aria-label={label}
          title={label}
          onClick={() => setTheme(name)}
        >
          <Icon size={13} aria-hidden />
        </button>
      ))}
    </fieldset>
  )
}

const BAR = ['/', '/events', '/dead-letters'] as const

function BottomBar({
  path,
  overview,
  onMore,
  onFind,
}: {
  readonly path: string
  readonly overview: Overview | undefined
  readonly onMore: () => void
  readonly onFind: () => void
}) {
  const places = BAR.map((href) => ALL_PLACES.find((place) => place.href === href)).filter(
    (p) => p !== undefined,
  )
  return (
    <nav className="bar" aria-label="Quick">
      {places.map((place) => {
        const Icon = place.icon
        const count = countOf(place, overview)
        return (
          <Link
            key={place.href}
            href={place.href}
            className="bar__item"
            aria-current={isHere(path, place.href) ? 'page' : undefined}
          >
            <Icon size={19} strokeWidth={1.9} aria-hidden />
            {place.label}
            {count !== null && <span className="bar__badge num">{count}</span>}
          </Link>
        )
      })}
      <button type="button" className="bar__item" onClick={onFind}>
        <CommandIcon size={19} strokeWidth={1.9} aria-hidden />
        Find
      </button>
      <button type="button" className="bar__item" onClick={onMore}>
        <Menu size={19} strokeWidth={1.9} aria-hidden />
        More
      </button>
    </nav>
  )
}
