// A dialog that the address opens, such as `?new=true`; the rest of the address stays.

import { useSearchParams } from 'wouter'

export function useOpened(name: string): readonly [boolean, (isOpen: boolean) => void] {
  const [search, setSearch] = useSearchParams()
  const open = (isOpen: boolean) =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before)
        if (isOpen) next.set(name, 'true')
        else next.delete(name)
        return next
      },
      { replace: true },
    )
  return [search.get(name) === 'true', open]
}
