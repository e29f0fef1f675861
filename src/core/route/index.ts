export type { EventForScope, Route } from './route.ts'
export { compileRoute, routeScope } from './route.ts'
