export { type Demo, startDemo } from './demo.ts'
export { makeDemoApi } from './demo-api.ts'
export { makeGithubSample } from './samples/index.ts'
export { findTameNumber } from './tame.ts'
