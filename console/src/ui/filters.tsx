// Filters of lists: a route, a class, and whatever else the address contains.

import { X } from 'lucide-react'
import { useDefinitions } from '../queries.ts'
import type { Failure } from '../types.ts'
import { Button } from './controls.tsx'

export function useRouteNames(): readonly string[] {
  const { data: routes } = useDefinitions('Route')
  return routes?.items.map(({ name }) => name) ?? []
}

/** The class as shown to users. */
export const classInWords = (name: string): string => name.replaceAll('_', ' ')

const CLASSES: readonly Failure['class'][] = [
  'transient',
  'rate_limited',
  'auth',
  'config',
  'validation',
  'poison',
  'unknown',
]

export const CLASS_CHOICES = CLASSES.map((name) => [name, classInWords(name)] as const)

/** A condition that came with the address, and a button that removes it. */
export function Condition({ text, onRemove }: { readonly text: string; readonly onRemove: () => void }) {
  return (
    <Button isSmall icon={<X size={13} aria-hidden />} onClick={onRemove} title="Show all">
      {text}
    </Button>
  )
}

const PAGE_MAX = 200

/** More of a list that is read from its start; beyond a page, filters find the rest. */
export function MoreRows({
  hasMore,
  limit,
  onMore,
}: {
  readonly hasMore: boolean
  readonly limit: number
  readonly onMore: (limit: number) => void
}) {
  if (!hasMore) return null
  return (
    <div className="list__foot">
      {limit < PAGE_MAX ? (
        <Button isSmall onClick={() => onMore(Math.min(PAGE_MAX, limit + 75))}>
          Load more
        </Button>
      ) : (
        'There are more. Choose a route or a state to see them.'
      )}
    </div>
  )
}
