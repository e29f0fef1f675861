// The node's stream of changes: one connection per page, shared by all screens, and queries that follow it at a bounded
// rate. A burst of thousands of changes costs one refetch per query and step, not thousands.

import type { QueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import type { StreamMessage } from '../../src/sdk/client/index.ts'
import { api } from './api.ts'

export type LiveMessage = Extract<StreamMessage, { type: 'changes' | 'gap' }>
export type Change = Extract<StreamMessage, { type: 'changes' }>['changes'][number]
type LiveState = 'connecting' | 'on' | 'off'

const REFETCH_STEP_MS = 1_000
const listeners = new Set<(message: LiveMessage) => void>()
const stateListeners = new Set<() => void>()
let state: LiveState = 'connecting'

function setState(next: LiveState): void {
  if (state === next) return
  state = next
  for (const listener of stateListeners) listener()
}

function tell(message: LiveMessage): void {
  for (const listener of listeners) listener(message)
}

/** Reads until the signal; a permanent refusal (the session is over) ends it too. */
async function follow(signal: AbortSignal): Promise<void> {
  let wasOff = false
  try {
    for await (const message of api.stream({ signal })) {
      if (message.type === 'connected') {
        setState('on')
        // Changes that were missed are not sent again.
        if (wasOff) tell({ type: 'gap' })
        wasOff = false
      } else if (message.type === 'disconnected') {
        wasOff = true
        setState('off')
      } else {
        tell(message)
      }
    }
  } catch {
    if (!signal.aborted) setState('off')
  }
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

/** Which queries a change invalidates, by the first word of their keys. */
const STALE: Readonly<Record<Change['type'], readonly string[]>> = {
  event: ['overview', 'recent-events', 'last-event'],
  work: [
    'overview',
    'event',
    'work',
    'work-list',
    'parked',
    'ledger',
    'ledger-history',
    'pace',
    'held-lanes',
    'instance-work',
    'deliveries',
    'delivery',
  ],
  deadLetter: ['overview', 'dead-letter-groups', 'dead-letters', 'dead-letter', 'event', 'held-lanes'],
  failure: ['failures', 'overview'],
  escalation: ['escalations', 'overview'],
  definitions: [
    'definitions',
    'definition',
    'versions',
    'overview',
    'explain',
    'catalog',
    'catalog-subject',
    'workflows',
    'workflow',
    'providers',
    'provider',
    'connections',
    'connection',
    'credentials',
    'credential',
  ],
  instance: ['workflows', 'workflow', 'instances', 'instance', 'instance-why', 'instance-work', 'overview'],
  // Shown as it arrives, not reloaded.
  agent: [],
  orphan: ['orphans', 'orphan', 'overview'],
  replay: ['replay'],
  subscription: ['subscriptions', 'subscription', 'overview'],
}
const EVERYTHING = [...new Set(Object.values(STALE).flat())]

/** Opens the stream, and invalidates queries at most once a step. */
export function useLive(client: QueryClient, isSignedIn: boolean): void {
  useEffect(() => {
    if (!isSignedIn) return
    const old = new Set<string>()
    const ending = new AbortController()
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
    void follow(ending.signal)
    return () => {
      clearTimeout(timer)
      listeners.delete(onMessage)
      document.removeEventListener('visibilitychange', onVisible)
      ending.abort()
      setState('connecting')
    }
  }, [client, isSignedIn])
}
