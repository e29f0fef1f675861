export type { Gauge, HttpApi, Readiness } from './api.ts'
export { signInUrl } from './routes-access.ts'
export { type HttpServer, type HttpServerOptions, makeHttpServer } from './server.ts'
