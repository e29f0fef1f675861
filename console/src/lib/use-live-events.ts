// The live list of events: the newest page is reloaded at a bounded rate, states follow the stream, and nothing moves
// while the user has scrolled down.

import { useCallback, useEffect, useRef, useState } from 'react'
import { api } from '../api.ts'
import { type Change, type LiveMessage, useLiveMessages } from '../live.ts'
import type { EventRow } from '../types.ts'
import type { FilterValues } from '../ui/filters.tsx'
import { askedBy } from '../ui/list-view.tsx'
import { applyChanges, mergeHead, ROWS_MAX } from './event-rows.ts'

/** Of the events about Millrace itself. */
const SYSTEM_SOURCE = 'millrace'
const PAGE = 50
const HEAD_STEP_MS = 900

interface State {
  readonly rows: readonly EventRow[]
  readonly nextCursor: string | null
  readonly status: 'loading' | 'ready' | 'failed'
  readonly error: unknown
  /** Ids of rows that arrived by themselves, for their animation. */
  readonly fresh: ReadonlySet<string>
}

const EMPTY: State = { rows: [], nextCursor: null, status: 'loading', error: null, fresh: new Set() }

/** `filter`: as `listEvents` of the API takes it; the same object as long as it says the same. */
export function useLiveEvents(filter: FilterValues) {
  const [state, setState] = useState(EMPTY)
  const [held, setHeld] = useState(0)
  const [isLoadingMore, setIsLoadingMore] = useState(false)
  const isHolding = useRef(false)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const run = useRef(0)
  const isSystemShown = filter.system === 'true' || (filter.source ?? '') !== ''

  const readPage = useCallback(
    (cursor: string | null) =>
      api.listEvents({ ...askedBy(filter), limit: PAGE, cursor: cursor ?? undefined }),
    [filter],
  )

  const reload = useCallback(() => {
    run.current += 1
    const own = run.current
    setHeld(0)
    setState((before) => ({ ...before, status: before.rows.length > 0 ? 'ready' : 'loading' }))
    readPage(null).then(
      ({ items, nextCursor }) => {
        if (run.current === own)
          setState({ rows: items, nextCursor, status: 'ready', error: null, fresh: new Set() })
      },
      (error) => {
        if (run.current === own) setState({ ...EMPTY, status: 'failed', error })
      },
    )
  }, [readPage])

  useEffect(() => {
    setState(EMPTY)
    reload()
    return () => {
      clearTimeout(timer.current)
      timer.current = undefined
    }
  }, [reload])

  const refreshHead = useCallback(() => {
    timer.current = undefined
    if (isHolding.current || document.hidden) return
    const own = run.current
    readPage(null).then(
      (page) => {
        if (run.current !== own || isHolding.current) return
        setState((before) => {
          const { rows, fresh, isWhole } = mergeHead(before.rows, page.items)
          const isCut = rows.length > ROWS_MAX
          return {
            ...before,
            rows: isCut ? rows.slice(0, PAGE) : rows,
            nextCursor: isWhole && !isCut && before.rows.length > 0 ? before.nextCursor : page.nextCursor,
            status: 'ready',
            error: null,
            fresh: new Set(page.items.slice(0, fresh).map(({ id }) => id)),
          }
        })
      },
      () => {
        // The next change reloads; what is shown stays.
      },
    )
  }, [readPage])

  const onMessage = useCallback(
    (message: LiveMessage) => {
      const isListed = (change: Change) =>
        change.type === 'event' && (isSystemShown || change.source !== SYSTEM_SOURCE)
      const events = message.type === 'gap' ? 1 : message.changes.filter(isListed).length
      if (message.type === 'changes') {
        setState((before) => {
          const rows = applyChanges(before.rows, message.changes)
          return rows === before.rows ? before : { ...before, rows }
        })
      }
      if (events === 0) return
      if (isHolding.current) setHeld((count) => count + events)
      else timer.current ??= setTimeout(refreshHead, HEAD_STEP_MS)
    },
    [refreshHead, isSystemShown],
  )
  useLiveMessages(onMessage)

  const loadMore = () => {
    if (state.nextCursor === null || isLoadingMore) return
    const own = run.current
    setIsLoadingMore(true)
    readPage(state.nextCursor)
      .then((page) => {
        if (run.current !== own) return
        setState((before) => {
          const known = new Set(before.rows.map(({ id }) => id))
          const more = page.items.filter(({ id }) => !known.has(id))
          return { ...before, rows: [...before.rows, ...more], nextCursor: page.nextCursor }
        })
      })
      .catch((error) => setState((before) => ({ ...before, error })))
      .finally(() => setIsLoadingMore(false))
  }

  /** Held while the user is further down; released, the list starts again at the top. */
  const hold = useCallback(
    (holds: boolean) => {
      if (isHolding.current === holds) return
      isHolding.current = holds
      if (!holds) refreshHead()
      if (!holds) setHeld(0)
    },
    [refreshHead],
  )

  return { ...state, held, isLoadingMore, reload, loadMore, hold }
}
