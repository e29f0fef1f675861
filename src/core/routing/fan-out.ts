// `fanOut`: which of the routes that match an event run.
//
// Invariants: FO1 a `one` beside any other match is ambiguous, and then none of them runs. FO2 of those with `first` only the
// first written runs. A disabled route takes no part: it is listed, and does not displace others. Neither do triggers of
// workflows: they decide what an event means to an instance, not what is done with it.

import type { Route } from './route.ts'

export type Chosen =
  | { readonly ok: true; readonly routes: readonly Route[] }
  /** The names of all matching routes. */
  | { readonly ok: false; readonly names: readonly string[] }

/** `wanting`: in the order written. */
export function chooseRoutes(wanting: readonly Route[]): Chosen {
  // The path of nearly all events: one route, or several independent ones.
  if (wanting.length < 2 || wanting.every(isForAll)) return { ok: true, routes: wanting }
  const taking = wanting.filter(({ status, of }) => status !== 'disabled' && of === undefined)
  if (taking.length > 1 && taking.some(({ document }) => document.fanOut === 'one'))
    return { ok: false, names: taking.map(({ document }) => document.name) }
  const first = taking.find(({ document }) => document.fanOut === 'first')
  const isChosen = (route: Route): boolean =>
    route === first || route.document.fanOut !== 'first' || route.status === 'disabled'
  return { ok: true, routes: wanting.filter(isChosen) }
}

function isForAll({ document }: Route): boolean {
  return document.fanOut === undefined
}
