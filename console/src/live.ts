// The node's stream of changes: one connection per page, shared by all screens, and queries that follow it at a
// bounded pace. A burst of thousands of changes costs one refetch per query and step, not thousands.

import type { QueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import type { Change } from './types.ts'

export type LiveMessage =
  | { readonly type: 'changes'; readonly changes: readonly Change[] }
  | { readonly type: 'gap' }

type LiveState = 'connecting' | 'on' | 'off'

const REFETCH_STEP_MS = 1_000
const RECONNECT_MS = 3_000
const listeners = new Set<(message: LiveMessage) => void>()
const stateListeners = new Set<() => void>()
let state: LiveState = 'connecting'
let source: EventSource | null = null
let reconnect: ReturnType<typeof setTimeout> | undefined

function setState(next: LiveState): void {
  if (state === next) return
  state = next
  for (const listener of stateListeners) listener()
}

function tell(message: LiveMessage): void {
  for (const listener of listeners) listener(message)
}

function open(): void {
  source?.close()
  const own = new EventSource('/v1/stream')
  source = own
  let wasOff = state === 'off'
  own.addEventListener('open', () => {
    setState('on')
    // What happened while nobody listened is not told again.
    if (wasOff) tell({ type: 'gap' })
    wasOff = false
  })
  own.addEventListener('changes', (event) => {
    const { changes } = JSON.parse((event as MessageEvent<string>).data) as { changes: readonly Change[] }
    tell({ type: 'changes', changes })
  })
  own.addEventListener('gap', () => tell({ type: 'gap' }))
  own.addEventListener('error', () => {
    setState('off')
    if (own.readyState !== EventSource.CLOSED || source !== own) {
      wasOff = true
      return
    }
    clearTimeout(reconnect)
    reconnect = setTimeout(open, RECONNECT_MS)
  })
}

function close(): void {
  clearTimeout(reconnect)
  source?.close()
  source = null
  setState('connecting')
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (listener) => {
      stateListeners.add(listener)
      return () => stateListeners.delete(listener)
    },
    () => state,
  )
}

export function useLiveMessages(onMessage: (message: LiveMessage) => void): void {
  useEffect(() => {
    listeners.add(onMessage)
    return () => {
      listeners.delete(onMessage)
    }
  }, [onMessage])
}

/** Which queries a change makes old, by the first word of their keys. */
const STALE: Readonly<Record<Change['type'], readonly string[]>> = {
  event: ['overview', 'unmatched'],
  work: ['overview', 'event', 'work', 'work-list', 'parked'],
  deadLetter: ['overview', 'dead-letter-groups', 'dead-letters', 'dead-letter', 'event'],
  definitions: ['definitions', 'definition', 'versions', 'overview'],
  replay: ['replay', 'replays'],
}
const EVERYTHING = [...new Set(Object.values(STALE).flat())]

/** Opens the stream, and marks what it makes old at most once a step. */
export function useLive(client: QueryClient, isSignedIn: boolean): void {
  useEffect(() => {
    if (!isSignedIn) return
    const old = new Set<string>()
    let timer: ReturnType<typeof setTimeout> | undefined
    const flush = () => {
      timer = undefined
      if (document.hidden) return
      for (const name of old) void client.invalidateQueries({ queryKey: [name] }, { cancelRefetch: false })
      old.clear()
    }
    const plan = () => {
      timer ??= setTimeout(flush, REFETCH_STEP_MS)
    }
    const onMessage = (message: LiveMessage) => {
      if (message.type === 'gap') for (const name of EVERYTHING) old.add(name)
      else for (const { type } of message.changes) for (const name of STALE[type] ?? []) old.add(name)
      if (old.size > 0) plan()
    }
    const onVisible = () => {
      if (!document.hidden && old.size > 0) plan()
    }
    listeners.add(onMessage)
    document.addEventListener('visibilitychange', onVisible)
    open()
    return () => {
      clearTimeout(timer)
      listeners.delete(onMessage)
      document.removeEventListener('visibilitychange', onVisible)
      close()
    }
  }, [client, isSignedIn])
}
