export { type Demo, startDemo } from './demo.ts'
export { makeDemoApi } from './demo-api.ts'
export { makeGithubSample, SAMPLE_NAMES } from './samples/index.ts'
export { DEMO_COUNT_MAX, DEMO_PER_SECOND_MAX } from './stream.ts'
