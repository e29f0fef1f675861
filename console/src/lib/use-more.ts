// Pages after the first one, which is reloaded as things change.

import { useState } from 'react'
import type { Page } from '../types.ts'
import { toastProblem } from '../ui/toast.tsx'

interface More<Row> {
  readonly items: readonly Row[]
  readonly hasMore: boolean
  readonly isBusy: boolean
  readonly loadMore: () => void
}

/** Another filter mounts the list again. */
export function useMore<Row>(
  first: Page<Row> | undefined,
  idOf: (row: Row) => string,
  load: (cursor: string) => Promise<Page<Row>>,
): More<Row> {
  const [more, setMore] = useState<Page<Row> | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  const shown = new Set(first?.items.map(idOf))
  const items = [...(first?.items ?? []), ...(more?.items.filter((row) => !shown.has(idOf(row))) ?? [])]
  const cursor = (more === null ? first?.nextCursor : more.nextCursor) ?? null
  const loadMore = () => {
    if (cursor === null) return
    setIsBusy(true)
    load(cursor)
      .then((page) =>
        setMore({ items: [...(more?.items ?? []), ...page.items], nextCursor: page.nextCursor }),
      )
      .catch((error) => toastProblem(error, 'More could not be read'))
      .finally(() => setIsBusy(false))
  }
  return { items, hasMore: cursor !== null, isBusy, loadMore }
}
