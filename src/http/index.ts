export type { Gauge, HttpApi, Readiness, RefusedCode, RunCheck } from './api.ts'
export { pauseSentences } from './paused-page.ts'
export { signInUrl } from './routes-access.ts'
export { type HttpServer, type HttpServerOptions, makeHttpServer } from './server.ts'
