export type { Route, Vars } from './route.ts'
export { compileRoute, routeScope } from './route.ts'
