export type { Gauge, HttpApi, Readiness, RunCheck } from './api.ts'
export { pauseSentences } from './paused-page.ts'
export { signInUrl } from './routes-access.ts'
export { type HttpServer, type HttpServerOptions, makeHttpServer } from './server.ts'
