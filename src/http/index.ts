export type { HttpApi, IngestRequest } from './api.ts'
export { type HttpServer, type HttpServerOptions, makeHttpServer } from './server.ts'
