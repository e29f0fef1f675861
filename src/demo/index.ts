export { makeGithubSample, SAMPLE_NAMES } from './samples/index.ts'
export { DEMO_COUNT_MAX, DEMO_PER_SECOND_MAX, type DemoState, makeDemoStream } from './stream.ts'
export { startVendor, type Vendor } from './vendor.ts'
