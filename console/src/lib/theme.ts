// Light, dark, or as the system says; remembered in this browser.

import { useSyncExternalStore } from 'react'

export type Theme = 'light' | 'dark' | 'system'
const NAME = 'millrace.theme'
const listeners = new Set<() => void>()
const system = matchMedia('(prefers-color-scheme: dark)')
system.addEventListener('change', () => tell())

function tell(): void {
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function getTheme(): Theme {
  const set = document.documentElement.dataset.theme
  return set === 'light' || set === 'dark' ? set : 'system'
}

export function setTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  try {
    if (theme === 'system') localStorage.removeItem(NAME)
    else localStorage.setItem(NAME, theme)
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  tell()
}

export const useTheme = (): Theme => useSyncExternalStore(subscribe, getTheme)

/** The theme in effect; charts draw with it. */
export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, () => {
    const theme = getTheme()
    return theme === 'system' ? system.matches : theme === 'dark'
  })
}
