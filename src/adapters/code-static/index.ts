export { makeStaticCode, type StaticFunction } from './code-static.ts'
