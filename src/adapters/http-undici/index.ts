export { type HttpClientOptions, makeHttpClient } from './http-undici.ts'
