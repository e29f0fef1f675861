// Keys that work everywhere: `g` and a letter to go, j and k in lists, / to search, ? for help, Ctrl-K for the palette.

import { useEffect } from 'react'
import { useLocation } from 'wouter'
import { ALL_PLACES } from './navigation.ts'

const SEQUENCE_MS = 900

interface Actions {
  readonly openPalette: () => void
  readonly openHelp: () => void
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
  )
}

/** The next row of the list on the screen; the first if none has the focus. */
function moveInList(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')]
  const index = rows.indexOf(document.activeElement as HTMLElement)
  const next = rows[index === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, index + step))]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}

export function useKeyboard({ openPalette, openHelp }: Actions): void {
  const [, go] = useLocation()
  useEffect(() => {
    let isGoing = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const onKeyDown = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        openPalette()
        return
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return
      if (document.querySelector('dialog[open]') !== null) return
      if (isGoing) {
        isGoing = false
        const place = ALL_PLACES.find(({ key }) => key === event.key)
        if (place === undefined) return
        event.preventDefault()
        go(place.href)
        return
      }
      const act: Readonly<Record<string, () => void>> = {
        g: () => {
          isGoing = true
          clearTimeout(timer)
          timer = setTimeout(() => {
            isGoing = false
          }, SEQUENCE_MS)
        },
        j: () => moveInList(1),
        k: () => moveInList(-1),
        '?': openHelp,
        '/': () => document.querySelector<HTMLElement>('main [data-search]')?.focus(),
      }
      if (act[event.key] === undefined) return
      event.preventDefault()
      act[event.key]?.()
    }
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  }, [go, openPalette, openHelp])
}
