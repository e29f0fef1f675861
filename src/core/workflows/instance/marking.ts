// A marking as one text, for stores that find instances by it: equal markings give equal texts.

import type { Marking } from './instance.ts'

/** `approved,waiting*2`: places by name, without those that have no token. Other than plain letters are escaped. */
export function markingText(marking: Marking): string {
  const places = Object.keys(marking).filter((place) => (marking[place] as number) > 0)
  return places
    .sort()
    .map((place) => {
      const tokens = marking[place] as number
      const name = place.replace(/[%,*]/g, encodeMark)
      return tokens === 1 ? name : `${name}*${tokens}`
    })
    .join(',')
}

export function parseMarking(text: string): Marking {
  if (text === '') return {}
  return Object.fromEntries(
    text.split(',').map((part) => {
      const [name = '', tokens = '1'] = part.split('*')
      return [name.replace(/%2[5AC]/g, decodeURIComponent), Number(tokens)]
    }),
  )
}

/** As a store returns it: no place without a token. */
export function normalMarking(marking: Marking): Marking {
  return parseMarking(markingText(marking))
}

export function hasToken(marking: Marking, place: string): boolean {
  return Object.hasOwn(marking, place) && (marking[place] as number) > 0
}

/** `encodeURIComponent` leaves the star alone. */
function encodeMark(mark: string): string {
  return `%${mark.charCodeAt(0).toString(16).toUpperCase()}`
}
