// Matches an event against routes and expands it into jobs.

export type { Elements } from './each-element.ts'
export type { Chosen } from './fan-out.ts'
export { chooseRoutes } from './fan-out.ts'
export { filterHashOf } from './filter-hash.ts'
export type { Route, Vars } from './route.ts'
export { callScope, compileRoute, itemScope, keyedScope, routeScope } from './route.ts'
